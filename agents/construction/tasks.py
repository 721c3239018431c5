"""Makes tasks of places: the cursor, the reference, and which tasks are kept (CrossCodeEval, 2.2 and 2.3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.construction.places import Place, line_starts
from agents.construction.syntax import python_statement, tokens_between
from agents.repositories.syntax import CSHARP, JAVA, PYTHON, TYPESCRIPT, imports_in, parsed
from store.errors import ImportFailed, WorkbenchError
from store.kinds.completion_settings import CONSTRUCTED

if TYPE_CHECKING:
    from tree_sitter import Node

DRAWN, AT_NAME = "drawn", "name"
"""Where the cursor is: before a token of the line that is drawn, up to the name; or right before the name."""

MOST_BYTES = 256 << 20
"""Of a tokenizer's file."""
FEWEST_LINES = {PYTHON: 10, JAVA: 20, TYPESCRIPT: 30, CSHARP: 5}
"""Lines of a prompt at least that are neither blank nor import."""
FEWEST_TOKENS, MOST_TOKENS = 3, 30
"""Tokens of a reference."""

AGAIN = "the name is found earlier in its file"
NO_STATEMENT = "its statement has no end"
SHORT_PROMPT = "the prompt has too few lines"
SHORT = "the reference is too short"
LONG = "the reference is too long"
ELSEWHERE = "the reference is in another file, too"
TWICE = "another task has the same reference"
LONG_STRING = "the reference has a long string"
PREDICTED = "completed by a model without context"
"""Why places give no task, in the order in which that is looked at."""

_END = re.compile(rb"[;{}]")
_TOKEN = re.compile(r"\w+|[^\w\s]")
# The end of a reference can be within one.
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*(?:"|\Z)|' r"'(?:[^'\\\n]|\\.)*(?:'|\Z)|`(?:[^`\\]|\\.)*(?:`|\Z)")


class Task(NamedTuple):
    """A completion task.

    Attributes:
        line: The line of the cursor, from 0; `column` in bytes.
        name: The name that another file explains.
        lines: Lines of the prompt that are neither blank nor import.
        tokens: Tokens of prompt and reference.
    """

    path: str
    line: int
    column: int
    name: str
    prompt: str
    reference: str
    right: str
    lines: int
    tokens: tuple[int, int]

    @property
    def id_in_repository(self) -> str:
        """Its id, without the repository's."""
        return f"{self.path}:{self.line + 1}:{self.column + 1}"


class Tokenizer:
    """Counts tokens: by a rule, or by a file of a tokenizer.

    Args:
        given: A file `tokenizer.json` as Hugging Face's library writes it; empty for the rule: words, and
            other characters one by one.

    Attributes:
        name: What reports call it.

    Raises:
        WorkbenchError: There is no such file, or its library is not installed.
    """

    def __init__(self, given: str = "") -> None:
        self.name = "words and signs"
        self._count: Callable[[str], int] = lambda text: len(_TOKEN.findall(text))
        if not given:
            return
        file = Path(given).expanduser()
        try:
            from tokenizers import Tokenizer as FromFile
        except ImportError as error:
            raise WorkbenchError(
                "Tokenizers are not installed",
                "A tokenizer of a file needs the extra `models`.",
                "Install it: pip install 'workbench[models]'",
            ) from error
        try:
            if not file.is_file() or file.stat().st_size > MOST_BYTES:
                raise OSError(f"no file of at most {MOST_BYTES >> 20} MiB")
            loaded: Any = FromFile.from_file(str(file))
        except Exception as error:  # the library raises nothing more exact
            raise ImportFailed(
                "No tokenizer", f"{file}: {error}", "Give a file tokenizer.json, or leave --tokenizer out."
            ) from error
        self.name = f"{file.absolute().parent.name}/{file.name}"
        # What is kept for a model would cut a text, or fill it up.
        loaded.no_truncation()
        loaded.no_padding()
        self._count = lambda text: len(loaded.encode(text, add_special_tokens=False).ids)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._count(text)


@dataclass(frozen=True, slots=True)
class Rules:
    """Which tasks are made.

    Attributes:
        tokenizer: Counts tokens.
        seed: By which cursors are drawn.
        cursor: `DRAWN` or `AT_NAME`.
        longest_string: Characters that a string of a reference may have; None for any number.
    """

    language: str
    tokenizer: Tokenizer
    seed: int = 0
    cursor: str = DRAWN
    longest_string: int | None = None


def tasks_of(
    repository: str,
    files: Mapping[str, str],
    places: Iterable[Place],
    rules: Rules,
    left_out: Counter[str],
) -> Iterator[Task]:
    """Yield the tasks of a repository, in the order of files and places.

    Those with the reference of another task are among them: which one came first is known to who has all.

    Args:
        repository: Its name, on which cursors depend.
        files: Texts by path.
        places: What was found in them.
        rules: Which tasks are made.
        left_out: Counts the places of which no task is made, by why.
    """
    by_file = defaultdict[str, list[Place]](list)
    for place in places:
        by_file[place.path].append(place)
    for path, of_file in sorted(by_file.items()):
        file = _File(path, files[path].encode(), rules)
        known = set[str]()
        for place in sorted(of_file):
            why = AGAIN if place.name in known else ""
            known.add(place.name)
            made = None if why else file.task(place, repository)
            if made is None:
                left_out[why or NO_STATEMENT] += 1
            elif why := _why_not(made, files, rules):
                left_out[why] += 1
            else:
                yield made


def _why_not(task: Task, files: Mapping[str, str], rules: Rules) -> str:
    """Return why a task is not kept; empty where it is."""
    if task.lines < FEWEST_LINES[rules.language]:
        return SHORT_PROMPT
    if task.tokens[1] < FEWEST_TOKENS:
        return SHORT
    if task.tokens[1] > MOST_TOKENS:
        return LONG
    if any(task.reference in text for path, text in files.items() if path != task.path):
        return ELSEWHERE
    strings = (found[0].strip("\"'`") for found in _STRING.finditer(task.reference))
    if rules.longest_string is not None and any(len(one) > rules.longest_string for one in strings):
        return LONG_STRING
    return ""


class _File:
    """A file with places."""

    def __init__(self, path: str, code: bytes, rules: Rules) -> None:
        self._path, self._code, self._rules = path, code, rules
        self._root: Node = parsed(rules.language, path, code)
        self._starts = line_starts(code)
        imports = set[int]()
        for node in imports_in(rules.language, path, self._root):
            imports.update(range(node.start_point[0], node.end_point[0] + 1))
        self._imports = imports

    def task(self, place: Place, repository: str) -> Task | None:
        """Return the task of a place; None where its statement has no end."""
        first, end = self._statement(place)
        if end is None:
            return None
        rules, cursor = self._rules, place.start
        if rules.cursor == DRAWN:
            tokens = tokens_between(self._root, max(first, self._line_of(place)), place.start)
            # Of the place alone, so that what else is found does not change it.
            drawn = Random(f"{rules.seed}/{repository}/{self._path}/{place.start}")
            cursor = drawn.choice([*(one.start_byte for one in tokens), place.start])
        prompt, reference = (self._code[a:b].decode() for a, b in ((0, cursor), (cursor, end)))
        line = bisect_right(self._starts, cursor) - 1
        texts = enumerate(prompt.split("\n"))
        return Task(
            self._path,
            line,
            cursor - self._starts[line],
            place.name,
            prompt,
            reference,
            self._code[end:].decode(),
            sum(bool(text.strip()) and number not in self._imports for number, text in texts),
            (rules.tokenizer.count(prompt), rules.tokenizer.count(reference)),
        )

    def _statement(self, place: Place) -> tuple[int, int | None]:
        """Return where the statement of a place begins and ends."""
        if self._rules.language == PYTHON:
            return python_statement(self._root, self._code, place.start, place.end)
        ends = [found.end() for found in _END.finditer(self._code, self._line_of(place), place.start)]
        after = _END.search(self._code, place.end)
        return (ends[-1] if ends else 0), (None if after is None else after.end())

    def _line_of(self, place: Place) -> int:
        return self._starts[bisect_right(self._starts, place.start) - 1]


def record_of(task: Task, repository: str, language: str) -> dict[str, Any]:
    """Return a task as a record of CrossCodeEval's form."""
    last = task.line + task.reference.count("\n")
    return {
        "prompt": task.prompt,
        "groundtruth": task.reference,
        "right_context": task.right,
        "metadata": {
            "task_id": f"{repository}/{task.id_in_repository}",
            "repository": repository,
            "file": task.path,
            "language": language,
            "context_start_lineno": 0,
            "groundtruth_start_lineno": task.line,
            "right_context_start_lineno": last + 1,
        },
        CONSTRUCTED: {"name": task.name, "lines": task.lines, "tokens": list(task.tokens)},
    }


def first_of_each(tasks: Sequence[Task], known: set[str], left_out: Counter[str]) -> list[Task]:
    """Return the tasks whose reference no earlier one has, and note their references among those known."""
    kept = []
    for task in tasks:
        if task.reference in known:
            left_out[TWICE] += 1
        else:
            known.add(task.reference)
            kept.append(task)
    return kept
