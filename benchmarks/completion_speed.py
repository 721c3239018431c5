"""Scoring Python completions, against a loop that parses at every character, as the published program does.

    python benchmarks/completion_speed.py [TASKS PREDICTIONS]

Without files it scores completions that it makes up. Prints seconds and their ratio.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

import tree_sitter
import tree_sitter_python

from store.ingest.completions import read_completions
from store.measures.completion import first_statement, score_completion

LINE = "    total_{0} = self.drawer.count(coin_{0}, [note for note in notes if note.value > {0}])\n"
PROMPT = "class Till:\n    def close(self, notes):\n" + "".join(map(LINE.format, range(90)))
COMPLETION = (
    "(\n        self.drawer,\n        notes,\n    )\n    return total\n\n    def open(self):\n        pass\n"
)


def made_up(number: int) -> list[tuple[str, str, str]]:
    """Return prompts of 92 lines, references and completions of 50 tokens."""
    return [
        (f"{PROMPT}    total = self.sum_{place}", "(self.drawer, notes)", COMPLETION)
        for place in range(number)
    ]


def character_by_character(prompt: str, completion: str) -> str:
    """Return the first statement, by a parse of the whole file at every character."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))

    def is_free_of_errors(code: str) -> bool:
        waiting = [parser.parse(code.encode()).root_node]
        while waiting:
            node = waiting.pop()
            if node.is_error:
                return False
            waiting += node.children
        return True

    for end in range(1, len(completion)):
        if is_free_of_errors(prompt + completion[:end]) and completion[end] == "\n":
            return completion[:end].rstrip()
    return completion


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="*", type=Path)
    options.add_argument("--number", type=int, default=60)
    given = options.parse_args()
    rows = made_up(given.number)
    if given.files:
        (file,) = read_completions(given.files, "python")
        rows = [(row.prompt, row.reference, row.text) for row in file.rows[: given.number]]
    started = perf_counter()
    for prompt, reference, text in rows:
        score_completion("python", prompt, reference, text)
    ours = perf_counter() - started
    started = perf_counter()
    found = [character_by_character(prompt, text) for prompt, _, text in rows]
    bare = perf_counter() - started
    if found != [first_statement("python", prompt, text) for prompt, _, text in rows]:
        sys.exit("the two find other statements")
    print(f"{len(rows)} completions: scored in {ours:.3f} s, character by character {bare:.3f} s")
    print(f"ratio {bare / ours:.1f}")


if __name__ == "__main__":
    main()
