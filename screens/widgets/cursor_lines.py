"""Lines of a short list, with a cursor before one of them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from store.formatting import pluralize

CURSOR = "▸"


def cursor_line(text: str, *, here: bool, in_use: bool = True) -> Content:
    """Return a line, marked where it is under the cursor.

    Args:
        here: Whether it is the one under the cursor.
        in_use: Whether the keys are those of this list, and not of another part of the screen.
    """
    cursor = CURSOR if in_use else "▹"
    return Content.styled(f"{cursor} {text}", "bold $text-accent") if here else Content(f"  {text}")


def cursor_lines(
    texts: Sequence[str], index: int, *, room: int | None = None, noun: str = ""
) -> list[Content]:
    """Return lines with a cursor before one of them.

    Args:
        index: The one under the cursor.
        room: How many lines are shown, the one under the cursor among them; None for all. Where there are
            more, a last line says how many.
    """
    room = len(texts) if room is None else room
    more = len(texts) - room
    top = max(0, min(index - room + 1, more))
    shown = enumerate(texts[top : top + room], start=top)
    lines = [cursor_line(text, here=place == index) for place, text in shown]
    if more > 0:
        lines.append(Content.styled(f"  {pluralize(more, noun)}", "$foreground-muted"))
    return lines
