"""The parts of the Jobs screen: which of them are shown as boxes where there is not room for all."""

from __future__ import annotations

from collections.abc import Mapping

PARTS = {"funnel": "Funnel", "stages": "Stages", "failures": "Failures by cause", "log": "Log"}
"""The parts with their titles."""

FOLDED_CELLS = max(map(len, PARTS.values())) + 2
"""Cells of the title of a part that is folded to a line."""

CAUSES_LINES, LOG_LINES = 4, 3
"""The lines that failures have at most while others need the room, and those that the log has at least."""


def open_parts(wanted: Mapping[str, int], room: int, first: str, *, border: int) -> set[str]:
    """Return which parts are shown as boxes; each of the others takes a line.

    Args:
        wanted: The lines of each part; one without any is folded.
        room: The lines for all of them.
        first: The part that is shown before the others; these follow in their order, as they fit.
        border: The lines of the border of a box.
    """
    opened: set[str] = set()
    left = room - len(wanted)
    for name in sorted(wanted, key=lambda name: name != first):
        more = wanted[name] + border - 1
        if wanted[name] and (more <= left or not opened):
            opened.add(name)
            left -= more
    return opened
