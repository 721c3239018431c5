"""Long texts of which the beginning and the end are kept: where the cut is, and what lay between."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from store.formatting import counted


@dataclass(frozen=True, slots=True)
class Cut:
    """What is missing in a text.

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
        """What stands in the place of what is missing."""
        return f"… {counted(self.lines, 'line')} between ({counted(self.bytes, 'byte')}) …"


def cut_as_text(cut: Cut | None) -> str:
    """Write a cut as it is stored, empty where there is none."""
    return "" if cut is None else json.dumps(asdict(cut))


def cut_of_text(stored: str) -> Cut | None:
    """Read a stored cut."""
    return Cut(**json.loads(stored)) if stored else None


def with_note(text: str, cut: Cut | None) -> str:
    """Return a text with a line that says what is missing, in the place where it is."""
    if cut is None:
        return text
    head, tail = text[: cut.at], text[cut.at :]
    return f"{head}{'' if head.endswith(chr(10)) or not head else chr(10)}{cut.note}\n{tail}"
