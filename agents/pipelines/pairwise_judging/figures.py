"""The figures of a run of judging models, for reports and for the Jobs screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.pipelines.pairwise_judging.configurations import CONSISTENT, INCONSISTENT, LEVELS
from agents.pipelines.spec import FunnelLine, PipelineFigures
from store.queries.judged_comparisons import both_orders

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run


def read_counts(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read the quick figures of a run; see `agents.pipelines.spec.AgentsPart`."""
    counts = {path: figures.paths.get(path, 0) for path in (CONSISTENT, INCONSISTENT)}
    judged = sum(counts.values())
    share = counts[CONSISTENT] / judged if judged else None
    words = None if share is None else f"{counts[CONSISTENT]:,} of {judged:,} ({100 * share:.1f} %)"
    return PipelineFigures(
        {**counts, "consistency": share},
        (("same in both orders", words),),
        {"consistent": counts[CONSISTENT], "inconsistent": counts[INCONSISTENT]},
        funnel=(
            FunnelLine("judged twice", judged),
            *(FunnelLine(path, count, 1) for path, count in counts.items()),
        ),
    )


def read_report(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read all figures of a run: those above, and its verdicts in both orders as a table."""
    quick = read_counts(connection, run, figures)
    counts = both_orders(connection, run.id)
    values = list(LEVELS.values())
    matrix = [[counts.get((one, other), 0) for other in values] for one in values]
    return PipelineFigures(
        {**quick.numbers, "both_orders": matrix},
        quick.facts,
        quick.columns,
        quick.funnel,
        table=(
            ("the first as A", *(f"as B: {level}" for level in LEVELS)),
            [(level, *row) for level, row in zip(LEVELS, matrix, strict=True)] if counts else [],
        ),
    )
