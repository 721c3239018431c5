"""Tables of a run, drawn in characters: funnel, roles, failures."""

from __future__ import annotations

from collections.abc import Sequence

from agents.jobs.events import Spent
from screens.widgets.item_list.columns import value_word
from screens.widgets.text.sanitize import one_line
from store.formatting import counted, dollars
from store.queries.run_counts import RunCounts
from store.queries.run_failures import FailureCause
from store.queries.run_stages import StageCounts

BAR_CELLS = 16
BAR = "▇"


def funnel(counts: RunCounts, kind: str) -> list[str]:
    """Return the way of a run's items through Algorithm 1 (CoSQA+, section IV.C) as lines of characters.

    A run whose agents execute nothing has the way that its items took instead: simulated, or read.
    """
    screened = counts.clear_match + counts.clear_nonmatch + counts.unclear
    ruled = max(0, counts.labelled - counts.clear_match - counts.clear_nonmatch)
    silent = counts.executed - counts.executable
    without = f"  {silent:,} without a result" if silent else ""
    whole = screened or counts.labelled

    def line(head: str, count: int, note: str = "") -> str:
        cells = -(-count * BAR_CELLS // whole) if whole else 0
        return f"{head:<19}{count:>9,}  {BAR * min(cells, BAR_CELLS):<{BAR_CELLS}}{note}".rstrip()

    waiting = [line("   └─ need sandbox", counts.needs_sandbox)] if counts.needs_sandbox else []
    branch = "├─" if waiting else "└─"
    lines = [
        line("screened", screened),
        line("├─ clear match", counts.clear_match),
        line("├─ clear non-match", counts.clear_nonmatch),
        line("└─ unclear", counts.unclear),
    ]
    unexecuted = [(path, counts.paths[path]) for path in ("simulated", "read") if path in counts.paths]
    if unexecuted and not screened:
        lines = [line(path, count) for path, count in unexecuted]
    elif unexecuted:
        lines += [line(f"   └─ {path}", count) for path, count in unexecuted]
    else:
        lines += [
            line(f"   {branch} executed", counts.executed, without),
            line(f"   {'│' if waiting else ' '}  └─ ruled", ruled),
            *waiting,
        ]
    labels = " · ".join(f"{value_word(kind, value)} {count:,}" for value, count in counts.labels.items())
    lines.append(f"{'labels':<19}{counts.labelled:>9,}" + (f"  {labels}" if labels else ""))
    return lines


def progress_lines(counts: RunCounts) -> list[str]:
    """Return the progress of a run as lines, without what reveals labels: for a blind review."""
    values = {
        "worked on": counts.items,
        "labelled": counts.labelled,
        "failed": counts.failed,
        "need sandbox": counts.needs_sandbox,
    }
    lines = [f"{name:<19}{count:>9,}" for name, count in values.items() if count or name != "need sandbox"]
    return [*lines, "", "You review blind: labels and assessments are hidden."]


def spent_of(stages: Sequence[StageCounts]) -> Spent:
    """Add up what the roles of a run took."""
    known = [stage.money for stage in stages if stage.money is not None]
    return Spent(
        requests=sum(stage.requests for stage in stages),
        tokens=sum(stage.tokens_in + stage.tokens_out for stage in stages),
        money=sum(known) if known else None,
        unpriced=sum(stage.unpriced for stage in stages),
        from_cache=sum(stage.from_cache for stage in stages),
    )


def in_all(spent: Spent) -> str:
    """Return what all jobs of a run took together, in words; empty where nothing was asked."""
    if not spent.requests and not spent.tokens and not spent.from_cache:
        return ""
    words = [counted(spent.requests, "request"), counted(spent.tokens, "token")]
    if spent.money is not None:
        words.append(dollars(spent.money) + (" and more" if spent.unpriced else ""))
    return " · ".join(words + ([f"{spent.from_cache:,} from the cache"] if spent.from_cache else []))


ROLE_CELLS = 18

_COLUMNS = (("turns", 9), ("failed", 8), ("/min", 7), ("s a turn", 9), ("money", 10), ("tokens", 13))
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
            lines.append(f"{'':11}{counted(others, 'other message')}")
    if len(lines) <= room:
        return lines
    left = len(lines) - max(1, room - 1)
    return [*lines[: max(1, room - 1)], f"{'':11}{counted(left, 'more cause')}"]
