"""Measures of code completions, as CrossCodeEval's published program computes them (sections 3.2 and 3.3).

A completion is cut to its first statement, the reference is not. Comments are removed from both: what
follows `#` or `//` in a line, in every language and within strings too. Where the paper and its program
differ, the program is followed, so that figures can be compared with those published.
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

LANGUAGES = ("csharp", "java", "python", "typescript")
"""The languages whose completions are scored."""

LONGEST = 5_000
"""Characters of a completion, and of a reference, that are compared; a model is asked for 50 tokens."""

LINE_ENDS = 50
"""Line ends of a Python completion at which its first statement may end; 50 tokens have no more."""

MEASURES: Mapping[str, str] = {
    "em": "exact match",
    "es": "edit similarity (difflib)",
    "es_levenshtein": "edit similarity (Levenshtein)",
    "es_rapidfuzz": "edit similarity (RapidFuzz)",
    "id_em": "exact match of identifiers",
    "id_precision": "precision of identifiers",
    "id_recall": "recall of identifiers",
    "id_f1": "F1 of identifiers",
}
"""The measures, in the order of their fields, with what they are."""

SHARES = frozenset({"em", "id_em", "id_precision", "id_recall", "id_f1"})
"""Those that are shares from 0 to 1; the others are in percent."""

_COMMENTS = (re.compile(r"#.*"), re.compile(r"//.*"))
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|' r"'[^'\\]*+(?:\\.[^'\\]*+)*+'")
_WORD = re.compile(r"\w+")
_END = re.compile(r"[;{}]")
_FIRST = re.compile(r"[_A-Za-z]")

_JAVA = """
    abstract assert boolean break byte case catch char class const continue default do double else enum
    extends final finally float for goto if implements import instanceof int interface long native new package
    private protected public return short static strictfp super switch synchronized this throw throws
    transient try var void volatile while
"""
_CSHARP = """
    abstract as base bool break byte case catch char checked class const continue decimal default delegate do
    double else enum event explicit extern finally fixed float for foreach goto if implicit in int interface
    internal is lock long namespace new null object operator out override params private protected public
    readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this throw try typeof
    uint ulong unchecked unsafe ushort using virtual void volatile while
"""
_TYPESCRIPT = """
    break case catch class const continue debugger default delete do else enum export extends finally for
    function if implements import in instanceof interface let new package private protected public return
    static super switch this throw try typeof var void while with yield
"""
KEYWORDS: Mapping[str, frozenset[str]] = {
    "csharp": frozenset(_CSHARP.split()),
    "java": frozenset(_JAVA.split()),
    "python": frozenset(keyword.kwlist) - {"True", "False"},
    "typescript": frozenset(_TYPESCRIPT.split()),
}
"""The words that are no identifiers. `true` and `false` count as identifiers, and `null` but in C#."""


@dataclass(frozen=True, slots=True)
class CompletionScores:
    """The scores of one completion.

    Attributes:
        truncated: Its first statement without comments, which is what is scored.
        em: 1 where its lines are those of the reference, otherwise 0.
        es: Similarity to the reference in percent, by difflib (fuzzywuzzy without python-Levenshtein).
        es_levenshtein: The same by insertions and deletions, rounded (fuzzywuzzy with python-Levenshtein).
        es_rapidfuzz: The same, not rounded.
        pred_ids: Its identifiers, in order.
        target_ids: Those of the reference.
        id_em: 1 where the two lists are equal, otherwise 0.
        id_precision: Share of its distinct identifiers that the reference has, from 0 to 1; 0 without any.
        id_recall: Share of the reference's distinct identifiers that it has, from 0 to 1; 0 without any.
        id_f1: Their harmonic mean; 0 where both are 0.
    """

    truncated: str
    em: int
    es: int
    es_levenshtein: int
    es_rapidfuzz: float
    pred_ids: tuple[str, ...]
    target_ids: tuple[str, ...]
    id_em: int
    id_precision: float
    id_recall: float
    id_f1: float


def score_completion(language: str, prompt: str, reference: str, completion: str) -> CompletionScores:
    """Score a completion.

    Args:
        language: One of `LANGUAGES`.
        prompt: What the model continued. Only Python needs it, to find where the first statement ends.
        reference: The code that was there.
        completion: What the model wrote, as it wrote it.
    """
    truncated = _without_comments(first_statement(language, prompt, completion[:LONGEST]))
    target = _without_comments(reference[:LONGEST])
    found, expected = identifiers(language, truncated), identifiers(language, target)
    given, wanted = truncated.strip(), target.strip()
    indel = _indel(given, wanted)
    precision, recall, f1 = _overlap(set(found), set(expected))
    return CompletionScores(
        truncated=truncated,
        em=int(_lines(given) == _lines(wanted)),
        es=100 if given == wanted else round(100 * difflib.SequenceMatcher(None, given, wanted).ratio()),
        es_levenshtein=round(indel),
        es_rapidfuzz=indel,
        pred_ids=found,
        target_ids=expected,
        id_em=int(found == expected),
        id_precision=precision,
        id_recall=recall,
        id_f1=f1,
    )


def first_statement(language: str, prompt: str, completion: str) -> str:
    """Return the first statement of a completion; all of it where no end of one is found.

    In Java, C# and TypeScript it ends with the first `;`, `{` or `}`, unless that is the first character. In
    Python it is the shortest beginning up to a line's end that is free of syntax errors after the prompt.
    """
    if language != "python":
        end = _END.search(completion)
        return completion if end is None or end.start() == 0 else completion[: end.end()]
    before, at = prompt.encode("utf-8", "replace"), -1
    for _ in range(LINE_ENDS):
        at = completion.find("\n", at + 1)
        if at < 0:
            break
        if at > 0 and not _has_error(before + completion[:at].encode("utf-8", "replace")):
            return completion[:at].rstrip()
    return completion


def identifiers(language: str, code: str) -> tuple[str, ...]:
    """Return the identifiers of a piece of code, in order: words outside of quotes that are no keywords."""
    known = KEYWORDS[language]
    words = _WORD.findall(_STRING.sub("", code))
    return tuple(word for word in words if _FIRST.match(word) and word not in known)


def mean_scores(scores: Sequence[CompletionScores]) -> dict[str, float]:
    """Return the means of the measures in percent; nothing of no completion."""
    if not scores:
        return {}
    return {
        name: fmean(getattr(one, name) for one in scores) * (100 if name in SHARES else 1)
        for name in MEASURES
    }


@dataclass(frozen=True, slots=True)
class Gain:
    """The tasks that are completed exactly in a setting, against the setting before it (Table 3).

    Attributes:
        name: The setting.
        correct: How many are.
        gained: How many of them were not before; None for the first setting.
        lost: How many were, and are not any more; None for the first setting.
    """

    name: str
    correct: int
    gained: int | None = None
    lost: int | None = None


def gains(exact: Mapping[str, Mapping[Hashable, bool]]) -> tuple[int, list[Gain]]:
    """Return what each setting gains and loses, over the tasks that all of them have.

    Args:
        exact: By setting, in order, and by task, whether its completion is exact.

    Returns:
        The number of these tasks, and a line for each setting.
    """
    tasks = set[Hashable]().union(*exact.values()).intersection(*exact.values())
    lines: list[Gain] = []
    before: set[Hashable] | None = None
    for name, found in exact.items():
        correct = {task for task in tasks if found[task]}
        change = () if before is None else (len(correct - before), len(before - correct))
        lines.append(Gain(name, len(correct), *change))
        before = correct
    return len(tasks), lines


def _without_comments(code: str) -> str:
    for comment in _COMMENTS:
        code = comment.sub("", code)
    return code


def _lines(code: str) -> list[str]:
    return [line.strip() for line in code.split("\n") if line.strip()]


def _indel(given: str, wanted: str) -> float:
    """Return the similarity by insertions and deletions in percent; that of two empty texts is 100."""
    from rapidfuzz.fuzz import ratio

    return 100.0 if given == wanted else float(ratio(given, wanted))


def _overlap(found: set[str], expected: set[str]) -> tuple[float, float, float]:
    both = len(found & expected)
    precision = both / len(found) if found else 0.0
    recall = both / len(expected) if expected else 0.0
    return precision, recall, 2 * both / (len(found) + len(expected)) if both else 0.0


def _has_error(code: bytes) -> bool:
    """Return whether a Python file has a syntax error; a token that is missing is none."""
    from tree_sitter import Parser

    # A parser belongs to one thread.
    root = Parser(_python()).parse(code).root_node
    if not root.has_error:
        return False
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error:
            return True
        waiting += [child for child in node.children if child.has_error]
    return False


@cache
def _python() -> Language:
    import tree_sitter
    import tree_sitter_python

    return tree_sitter.Language(tree_sitter_python.language())
