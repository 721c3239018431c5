"""Long texts of which only the beginning and the end are stored, with a cut between."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from store.formatting import pluralize


@dataclass(frozen=True, slots=True)
class Cut:
    """The missing part of a text.

    Attributes:
        at: How many characters of the text stand before it.
        bytes: How many bytes lay there.
        lines: How many line ends were among them.
    """

    at: int
    bytes: int
    lines: int

    @property
    def note(self) -> str:
        """The note in the place of the missing part."""
        return f"… {pluralize(self.lines, 'line')} between ({pluralize(self.bytes, 'byte')}) …"


def cut_as_text(cut: Cut | None) -> str:
    """Write a cut as it is stored, empty where there is none."""
    return "" if cut is None else json.dumps(asdict(cut))


def cut_of_text(stored: str) -> Cut | None:
    """Read a stored cut."""
    return Cut(**json.loads(stored)) if stored else None


def with_note(text: str, cut: Cut | None) -> str:
    """Return a text with a line that describes the missing part in its place."""
    if cut is None:
        return text
    head, tail = text[: cut.at], text[cut.at :]
    return f"{head}{'' if head.endswith(chr(10)) or not head else chr(10)}{cut.note}\n{tail}"
