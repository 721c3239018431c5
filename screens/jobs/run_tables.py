"""Tables of a run, drawn in characters: funnel, roles, failures."""

from __future__ import annotations

from collections.abc import Sequence

from agents.jobs.events import Spent
from agents.pipelines.spec import FunnelLine, PipelineFigures
from screens.widgets.item_list.columns import value_word
from screens.widgets.text.sanitize import one_line
from store.formatting import dollars, pluralize
from store.queries.run_figures import RoleFigures, RunFigures
from store.queries.run_items import FailureCause

BAR_CELLS = 16
BAR = "▇"


def funnel(counts: RunFigures, pipeline: PipelineFigures, kind: str) -> list[str]:
    """Return the way of a run's items through its pipeline, and their labels, as lines of characters."""
    steps = pipeline.funnel
    whole = (steps[0].count if any(step.depth for step in steps) else 0) or counts.labelled
    lines = []
    for place, step in enumerate(steps):
        cells = -(-step.count * BAR_CELLS // whole) if whole else 0
        shown = f"{BAR * min(cells, BAR_CELLS):<{BAR_CELLS}}{'  ' + step.note if step.note else ''}"
        lines.append(f"{_branches(steps, place) + step.label:<19}{step.count:>9,}  {shown}".rstrip())
    labels = " · ".join(f"{value_word(kind, value)} {count:,}" for value, count in counts.labels.items())
    lines.append(f"{'labels':<19}{counts.labelled:>9,}" + (f"  {labels}" if labels else ""))
    return lines


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


def format_spent(spent: Spent) -> str:
    """Return what all jobs of a run took together, in words; empty where nothing was asked."""
    if not spent.requests and not spent.tokens and not spent.from_cache:
        return ""
    words = [pluralize(spent.requests, "request"), pluralize(spent.tokens, "token")]
    if spent.money is not None:
        words.append(dollars(spent.money) + (" and more" if spent.unpriced else ""))
    return " · ".join(words + ([f"{spent.from_cache:,} from the cache"] if spent.from_cache else []))


ROLE_CELLS = 18

_COLUMNS = (("turns", 9), ("failed", 8), ("/min", 7), ("s a turn", 9), ("money", 10), ("tokens", 13))
"""Headings with their widths, the most important first."""


def stage_table(stages: Sequence[RoleFigures], width: int, *, live: bool) -> list[str]:
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
        values = {
            "turns": f"{stage.turns:,}",
            "failed": f"{stage.failed:,}",
            "/min": f"{stage.lately:,}",
            "s a turn": f"{stage.seconds / stage.turns:,.1f}" if stage.turns else "",
            "money": "" if stage.money is None else dollars(stage.money),
            "tokens": f"{stage.tokens_in + stage.tokens_out:,}",
        }
        name = one_line(stage.role.replace("_", " "), ROLE_CELLS - 1)
        lines.append(f"{name:<{ROLE_CELLS}}" + "".join(f"{values[name]:>{cells}}" for name, cells in columns))
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
            lines.append(f"{'':11}{pluralize(others, 'other message')}")
    if len(lines) <= room:
        return lines
    left = len(lines) - max(1, room - 1)
    return [*lines[: max(1, room - 1)], f"{'':11}{pluralize(left, 'more cause')}"]
