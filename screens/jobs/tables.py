"""The roles of a run and its failures, drawn in characters."""

from __future__ import annotations

from collections.abc import Sequence

from screens.widgets.text.sanitize import one_line
from store.counted import counted, dollars
from store.queries.run_failures import FailureCause
from store.queries.run_stages import StageCounts

ROLE_CELLS = 18

_COLUMNS = (
    ("turns", 9),
    ("failed", 8),
    ("/min", 7),
    ("s a turn", 9),
    ("money", 10),
    ("tokens", 13),
)
"""Headings with their widths, the most important first."""


def stage_table(stages: Sequence[StageCounts], width: int, *, live: bool) -> list[str]:
    """Return a line for each role with what it has done, under a heading.

    Args:
        stages: The roles.
        width: Cells of a line; columns for which there is no room are left out.
        live: Whether the run is at work, so that there is a rate.
    """
    if not stages:
        return ["nothing yet"]
    columns = [(name, cells) for name, cells in _COLUMNS if live or name != "/min"]
    while ROLE_CELLS + sum(cells for _, cells in columns) > width and len(columns) > 2:
        columns.pop()
    lines = [" " * ROLE_CELLS + "".join(f"{name:>{cells}}" for name, cells in columns)]
    for stage in stages:
        told = {
            "turns": f"{stage.turns:,}",
            "failed": f"{stage.failed:,}",
            "/min": f"{stage.lately:,}",
            "s a turn": f"{stage.seconds / stage.turns:,.1f}" if stage.turns else "",
            "money": "" if stage.money is None else dollars(stage.money),
            "tokens": f"{stage.tokens_in + stage.tokens_out:,}",
        }
        name = one_line(stage.role.replace("_", " "), ROLE_CELLS - 1)
        lines.append(f"{name:<{ROLE_CELLS}}" + "".join(f"{told[name]:>{cells}}" for name, cells in columns))
    return lines


def cause_lines(causes: Sequence[FailureCause], width: int, room: int) -> list[str]:
    """Return the causes of failure with their counts, and below each its most frequent messages.

    Args:
        causes: The causes.
        width: Cells of a line.
        room: Lines at most; causes go before messages.
    """
    if not causes:
        return ["none"]
    messages = max(0, room - len(causes))
    lines: list[str] = []
    for cause in causes:
        lines.append(f"{cause.items:>9,}  {one_line(cause.words, width - 11)}")
        for message in cause.messages:
            if messages:
                messages -= 1
                lines.append(f"{'':11}{message.items:,} × {one_line(message.text, width - 22)}")
        others = cause.different - len(cause.messages)
        if messages and others > 0:
            messages -= 1
            lines.append(f"{'':11}{counted(others, 'other message')}")
    if len(lines) <= room:
        return lines
    left = len(lines) - max(1, room - 1)
    return [*lines[: max(1, room - 1)], f"{'':11}{counted(left, 'more cause')}"]
