"""The lines that a judgment cites as its evidence: the form of `Judgment.evidence`, read and written here.

The field holds a JSON array, `[]` where nothing is cited. Each of its objects is one stretch of lines:

    {"part": "log", "sha256": "9f86...", "first": 3, "last": 5, "text": "...", "execution": "0190..."}

`part` is `code`, `test` or `log`; of other items `context`, `completion`, `issue`, `question`, `reference` or
`answer`; of a comparison `first` or `second`, on whichever side that was. `sha256` is that of the whole text
of the part, as it was on the screen, in UTF-8: it tells whether the line numbers still fit. `first` and
`last` count lines from 1, both included.
`text` is what the lines said, joined by line feeds and cut after `TEXT_MOST` characters, so that a citation
can be read where the part itself cannot. `execution` names the execution whose test or log it was; it is
left out where there was none. Citations stand in the order of part, execution and line; those of one text
neither overlap nor touch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import UUID

ItemPart = Literal[
    "code",
    "test",
    "log",
    "context",
    "completion",
    "issue",
    "question",
    "reference",
    "answer",
    "first",
    "second",
]
PARTS: tuple[ItemPart, ...] = get_args(ItemPart)
"""The texts whose lines can be cited, in the order of citations."""

NONE = "[]"
"""The evidence of a judgment that cites nothing."""

TEXT_MOST = 2000
"""Characters of the cited lines that are stored with a citation."""

CITATIONS_MOST = 200
"""Citations that one judgment can have."""

LINES_MOST = 10_000_000
"""Lines of a text that can be cited."""

_NAMES = {"part", "sha256", "first", "last", "text"}
_HEX = set("0123456789abcdef")


class BadEvidence(ValueError):
    """A text is not of the form that evidence has; the message names the fault."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Some consecutive lines of a text.

    Attributes:
        part: The text to which the lines belong.
        sha256: The digest of the whole text, in hex.
        first: The first line, from 1.
        last: The last line.
        text: Their text, at most `TEXT_MOST` characters of it.
        execution: The execution whose test or log it is; None for the code, and for a test never run.
    """

    part: ItemPart
    sha256: str
    first: int
    last: int
    text: str
    execution: UUID | None = None

    @property
    def place(self) -> str:
        """Where the lines are, as a person reads it: `code 3-5`."""
        return f"{self.part} {lines_in_words(self.first, self.last)}"

    def fits(self, text: str) -> bool:
        """Return whether its line numbers are those of a text."""
        return self.sha256 == digest(text)


def lines_in_words(first: int, last: int) -> str:
    """Return `3` for one line, `3-5` for several."""
    return f"{first}" if first == last else f"{first}-{last}"


def digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cite(
    part: ItemPart, text: str, lines: Sequence[str], numbers: Iterable[int], execution: UUID | None
) -> list[Citation]:
    """Return the citations of some lines of a text, lines that follow each other together.

    Args:
        part: The name of the text.
        text: The whole text.
        lines: Its lines.
        numbers: Which of them are cited, from 1; numbers that it does not have are left out.
        execution: The execution whose test or log it is.
    """
    known = sorted({number for number in numbers if 1 <= number <= len(lines)})
    stretches: list[list[int]] = []
    for number in known:
        if stretches and number == stretches[-1][1] + 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    sha256 = digest(text) if stretches else ""
    return [
        Citation(part, sha256, first, last, "\n".join(lines[first - 1 : last])[:TEXT_MOST], execution)
        for first, last in stretches
    ]


def in_order(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Return citations in their stored order."""
    return tuple(
        sorted(
            citations,
            key=lambda one: (PARTS.index(one.part), str(one.execution or ""), one.sha256, one.first),
        )
    )


def as_json(citations: Iterable[Citation]) -> str:
    """Return citations as a judgment holds them."""
    rows = []
    for one in in_order(citations):
        fields: dict[str, Any] = {
            "part": one.part, "sha256": one.sha256, "first": one.first, "last": one.last, "text": one.text
        }  # fmt: skip
        if one.execution is not None:
            fields["execution"] = str(one.execution)
        rows.append(fields)
    return json.dumps(rows, ensure_ascii=True) if rows else NONE


def citations_of(evidence: str) -> tuple[Citation, ...]:
    """Read the evidence of a judgment.

    Raises:
        BadEvidence: It does not have the form.
    """
    if evidence == NONE:
        return ()
    try:
        rows = json.loads(evidence)
    except (ValueError, RecursionError) as error:
        raise BadEvidence("evidence is no JSON") from error
    if not isinstance(rows, list):
        raise BadEvidence("evidence is no JSON array")
    if len(rows) > CITATIONS_MOST:
        raise BadEvidence(f"evidence has more than {CITATIONS_MOST} citations")
    return tuple(_citation(one) for one in rows)


def _citation(row: Any) -> Citation:
    if not isinstance(row, dict) or not _NAMES <= set(row) <= _NAMES | {"execution"}:
        raise BadEvidence(f"a citation has the fields {', '.join(sorted(_NAMES))}, and perhaps execution")
    part, sha256, first, last = (row[name] for name in ("part", "sha256", "first", "last"))
    if part not in PARTS:
        raise BadEvidence(f"a citation is of {', '.join(PARTS)}, not of {part!r}")
    if not isinstance(sha256, str) or len(sha256) != 64 or not set(sha256) <= _HEX:
        raise BadEvidence("the sha256 of a citation is 64 lower-case hexadecimal digits")
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        raise BadEvidence("a citation goes from its first to its last line, counted from 1")
    if last > LINES_MOST:
        raise BadEvidence(f"a text has at most {LINES_MOST:,} lines")
    if not isinstance(row["text"], str) or len(row["text"]) > TEXT_MOST:
        raise BadEvidence(f"the text of a citation has at most {TEXT_MOST} characters")
    try:
        execution = UUID(row["execution"]) if "execution" in row else None
    except (ValueError, TypeError, AttributeError) as error:
        raise BadEvidence("the execution of a citation is a UUID") from error
    return Citation(part, sha256, first, last, row["text"], execution)


def readable_citations(evidence: str) -> tuple[Citation, ...]:
    """Read the evidence of a judgment to show it; one of another form has no citations."""
    try:
        return citations_of(evidence)
    except BadEvidence:
        return ()
