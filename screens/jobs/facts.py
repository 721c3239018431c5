"""What the jobs screen shows of the runs: read in a thread, drawn here in characters."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from screens.jobs.wording import dollars
from screens.widgets.item_columns import value_word
from screens.widgets.visible import one_line
from store.counted import counted
from store.queries.runs import RunCounts, all_runs, run_counts
from store.tables.runs import Run
from store.workspace import Workspace

BAR_CELLS = 16
BAR = "▇"


@dataclass(frozen=True, slots=True)
class RunsRead:
    """The runs, the one begun last first, and what one of them adds up to."""

    runs: tuple[Run, ...]
    run_id: UUID | None
    counts: RunCounts


def read_runs(workspace: Workspace, run_id: UUID | None) -> RunsRead:
    """Read all runs, and add up one of them.

    Args:
        workspace: The open workspace.
        run_id: Which one is added up; the one begun last where it is None or unknown.
    """
    with workspace.reading() as connection:
        runs = tuple(all_runs(connection))
        if run_id not in {run.id for run in runs}:
            run_id = runs[0].id if runs else None
        return RunsRead(runs, run_id, run_counts(connection, run_id) if run_id else RunCounts())


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


def failures(counts: RunCounts, width: int) -> list[str]:
    """Return the causes of failure with their counts, the most frequent first."""
    if not counts.reasons:
        return ["none"]
    return [f"{count:>6,}  {one_line(title, width - 8)}" for title, count in counts.reasons.items()]


def spent(counts: RunCounts) -> str:
    """Return what a run cost, in words."""
    if not counts.requests and not counts.tokens_in and not counts.from_cache:
        return ""
    words = (
        f"{counted(counts.requests, 'request')} · {counted(counts.tokens_in + counts.tokens_out, 'token')}"
    )
    if counts.money is not None:
        words += f" · {dollars(counts.money)}" + (" and more" if counts.unpriced else "")
    return words + (f" · {counts.from_cache:,} from the cache" if counts.from_cache else "")
