"""Python programs in fenced blocks beside the JSON object of a reply.

A program inside a JSON string needs every quote and line break escaped, which models that are not held to a
schema get wrong. A field marked with `FencedPython` may therefore be left out of the object and follow it
as a fenced block of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

_PYTHON = {"", "python", "py", "python3", "py3"}
# No brace behind the language: in "```json{" the object begins, which is found by its brace.
_OPENING = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([\w+.#-]*)[^\n`{]*$", re.MULTILINE)
_CLOSING = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t\r]*$", re.MULTILINE)
_LEXEME = re.compile(
    r"""\#[^\n]* | \"{3} | '{3} | "(?:\\[\s\S]|[^"\\\n])* | '(?:\\[\s\S]|[^'\\\n])*"""
    r"""| ^[ ]{0,3}(?P<fence>`{3,}|~{3,})[ \t\r]*(?P<more>[^\n]*)$""",
    re.MULTILINE | re.VERBOSE,
)
_END_OF_TRIPLE = {quote: re.compile(rf"\\[\s\S]|{quote}") for quote in ('"""', "'''")}


class FencedPython:
    """Annotates the one text field of a reply type that may be given as a fenced block."""


@cache
def fenced_field(reply_type: type[BaseModel]) -> str | None:
    """Return the name of the field that may be given as a fenced block; None where there is none."""
    for name, field in reply_type.model_fields.items():
        if any(isinstance(each, FencedPython) for each in field.metadata):
            return name
    return None


@dataclass(frozen=True, slots=True)
class Fence:
    """An opening line of a fenced block.

    Attributes:
        start: Where the line begins.
        end: Where it ends, before its line break.
        indent: The spaces before the marks.
        marks: The backticks or tildes.
        language: The word behind them, in small letters.
    """

    start: int
    end: int
    indent: int
    marks: str
    language: str

    def closes(self, marks: str) -> bool:
        """Return whether this line can close a block that was opened by some marks."""
        return not self.language and _closes(self.marks, marks)

    def is_around_object(self, text: str) -> bool:
        """Return whether what is fenced is a JSON object, whatever the language says."""
        return text[self.end : self.end + 200].lstrip().startswith("{")

    @property
    def is_python(self) -> bool:
        """Whether the block holds a program, as its language says or as it says nothing."""
        return self.language in _PYTHON


def next_fence(text: str, at: int) -> Fence | None:
    """Return the next line from a place on that can open a fenced block; None where there is none."""
    found = _OPENING.search(text, at)
    if found is None:
        return None
    indent, marks, language = found.groups()
    return Fence(found.start(), found.end(), len(indent), marks, language.lower())


def program_in(text: str, fence: Fence) -> tuple[str, int] | None:
    """Return the program in a fenced block.

    The block ends at the first line of marks outside of Python's strings: a docstring may hold fences itself.

    Returns:
        The program with plain line ends, and the place behind the block; None where the block is not closed.
    """
    at = fence.end
    while (found := _LEXEME.search(text, at)) is not None:
        at = found.end()
        if (end_of_triple := _END_OF_TRIPLE.get(found[0])) is not None:
            closing = next((each for each in end_of_triple.finditer(text, at) if each[0] == found[0]), None)
            if closing is None:
                return None
            at = closing.end()
        elif found["fence"]:
            if found["more"].strip() or not _closes(found["fence"], fence.marks):
                return None  # another block begins, or nothing that Python knows
            content = text[fence.end : found.start()].replace("\r\n", "\n").removeprefix("\n")
            if fence.indent:
                content = re.sub(rf"^ {{1,{fence.indent}}}", "", content, flags=re.MULTILINE)
            return content, at
        elif text[at : at + 1] == found[0][0]:
            at += 1  # the end of a string of one line
    return None


def end_of_block(text: str, fence: Fence) -> int | None:
    """Return the place behind a block of another language; None where it is not closed."""
    for found in _CLOSING.finditer(text, fence.end):
        if _closes(found[1], fence.marks):
            return found.end()
    return None


def _closes(marks: str, opening: str) -> bool:
    return marks[0] == opening[0] and len(marks) >= len(opening)
