"""What a run adds up to, in words and drawn in characters."""

from __future__ import annotations

from collections.abc import Sequence

from agents.jobs.events import Spent
from screens.widgets.item_columns import value_word
from store.counted import counted, dollars
from store.queries.run_counts import RunCounts
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
    """Return how far a run is as lines of characters, without what tells of labels: for a blind review."""
    told = {
        "worked on": counts.items,
        "labelled": counts.labelled,
        "failed": counts.failed,
        "need sandbox": counts.needs_sandbox,
    }
    lines = [f"{name:<19}{count:>9,}" for name, count in told.items() if count or name != "need sandbox"]
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
