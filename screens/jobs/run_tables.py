"""Tables of a run, drawn in characters: funnel, roles, failures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from agents.jobs.events import Spent
from agents.pipelines.spec import FunnelLine, PipelineFigures
from screens.widgets.item_list.columns import value_word
from screens.widgets.text.sanitize import one_line
from store.formatting import compact, dollars, pluralize, progress_bar
from store.queries.run_figures import RoleFigures, RunFigures
from store.queries.run_items import FailureCause

FUNNEL_CELLS = 30
"""Cells of a line of the funnel before its bar."""
LEAST_BAR = 8

_NO_BREAK = "\N{NO-BREAK SPACE}"


def funnel(counts: RunFigures, pipeline: PipelineFigures, kind: str, width: int) -> list[str]:
    """Return the way of a run's items through its pipeline, and their labels, as lines of characters.

    Args:
        pipeline: Those of its pipeline.
        width: Cells of a line; the bars take what the words leave.
    """
    steps = pipeline.funnel
    whole = (steps[0].count if any(step.depth for step in steps) else 0) or counts.labelled
    notes = max((len(step.note) + 2 for step in steps if step.note), default=0)
    cells = max(width - FUNNEL_CELLS - notes, LEAST_BAR)
    lines = []
    for place, step in enumerate(steps):
        bar = progress_bar(min(step.count / whole, 1), cells) if whole else ""
        note = f"  {step.note}" if step.note else ""
        lines.append(f"{_branches(steps, place) + step.label:<19}{step.count:>9,}  {bar}{note}".rstrip())
    labels = (f"{value_word(kind, value)} {count:,}" for value, count in counts.labels.items())
    # A label stays on one line with its count.
    words = " · ".join(label.replace(" ", _NO_BREAK) for label in labels)
    text = textwrap.fill(
        f"{'labels':<19}{counts.labelled:>9,}  {words}",
        max(width, FUNNEL_CELLS + LEAST_BAR),
        subsequent_indent=" " * FUNNEL_CELLS,
    )
    return [*lines, *text.replace(_NO_BREAK, " ").splitlines()]


def _branches(steps: Sequence[FunnelLine], place: int) -> str:
    """Draw the branches of a tree before the label of one of its lines."""

    def goes_on(depth: int) -> bool:
        """Tell whether another line of this depth follows under the same parent."""
        return next((each.depth for each in steps[place + 1 :] if each.depth <= depth), 0) == depth

    depth = steps[place].depth
    if not depth:
        return ""
    above = ("│  " if goes_on(each) else "   " for each in range(1, depth))
    return "".join(above) + ("├─ " if goes_on(depth) else "└─ ")


def progress_lines(counts: RunFigures) -> list[str]:
    """Return the progress of a run as lines, without what reveals labels: for a blind review."""
    values = {
        "worked on": counts.items,
        "labelled": counts.labelled,
        "failed": counts.failed,
        "need sandbox": counts.needs_sandbox,
    }
    lines = [f"{name:<19}{count:>9,}" for name, count in values.items() if count or name != "need sandbox"]
    return [*lines, "", "You review blind: labels and assessments are hidden."]


def spent_of(stages: Sequence[RoleFigures]) -> Spent:
    """Add up what the roles of a run took."""
    known = [stage.money for stage in stages if stage.money is not None]
    return Spent(
        requests=sum(stage.requests for stage in stages),
        tokens=sum(stage.tokens_in + stage.tokens_out for stage in stages),
        money=sum(known) if known else None,
        unpriced=sum(stage.unpriced for stage in stages),
        from_cache=sum(stage.from_cache for stage in stages),
    )


ROLE_CELLS = 16

_COLUMNS = (
    *(("turns", 8), ("failed", 8), ("retries", 14), ("/min", 6)),
    *(("s/turn", 7), ("money", 9), ("tokens", 7)),
)
"""Headings with their widths, the most important first."""


def stage_table(stages: Sequence[RoleFigures], width: int, *, live: bool) -> list[str]:
    """Return a line for each role with what it has done, under a heading.

    Args:
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
        values = {
            "turns": f"{stage.turns:,}",
            "failed": f"{stage.failed:,}",
            "retries": f"{compact(stage.retries)} on {compact(stage.retried_items)}"
            if stage.retries
            else "0",
            "/min": f"{stage.lately:,}",
            "s/turn": f"{stage.seconds / stage.turns:,.1f}" if stage.turns else "",
            "money": "" if stage.money is None else dollars(stage.money),
            "tokens": compact(stage.tokens_in + stage.tokens_out),
        }
        name = one_line(stage.role.replace("_", " "), ROLE_CELLS - 1)
        lines.append(f"{name:<{ROLE_CELLS}}" + "".join(f"{values[name]:>{cells}}" for name, cells in columns))
    return lines


def cause_lines(causes: Sequence[FailureCause], width: int, room: int) -> list[str]:
    """Return the causes of failure with their counts, and below each its most frequent messages.

    Args:
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
            lines.append(f"{'':11}{pluralize(others, 'other message')}")
    if len(lines) <= room:
        return lines
    left = len(lines) - max(1, room - 1)
    return [*lines[: max(1, room - 1)], f"{'':11}{pluralize(left, 'more cause')}"]
