"""Numbers with what they count, as a person says them: "1 item", "1,204 items"."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: How many.
        thing: What one of them is called.
        things: What several are called; the word for one with an s by default.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
