"""`workbench report WORKSPACE retrieval`: stored rankings against the labels of now."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError, blind_review
from workbench.cli.ranking import print_differences, print_left_out, print_scores, score_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.measures.intervals import Bootstrap
    from store.retrieval.comparison import QueryComparison, QueryScore
    from store.retrieval.labels import LabelSource
    from store.retrieval.report import RetrievalReport

AT_EACH_END = 20
"""Queries that are printed of each end of a comparison."""
_LEVELS = 10
"""Cells of the bar of a difference of 1."""


def report_retrieval(
    path: Path,
    source: LabelSource,
    *,
    preset: str,
    compared: Sequence[str],
    bootstrap: Bootstrap,
    blind: bool,
    as_json: bool,
) -> None:
    """Print the measures of the stored rankings, or two methods query by query.

    Args:
        path: The workspace.
        source: Whose labels count as true.
        preset: The name of how a benchmark measures.
        compared: The two methods; none for all, measured over all queries.
        bootstrap: How intervals are drawn.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether JSON is printed.

    Raises:
        WorkbenchError: The review is blind, there is no ranking or no label, or not two methods are compared.
        UnknownName: A name is unknown.
    """
    from store.retrieval.comparison import MethodPair, compare_by_query
    from store.retrieval.report import retrieval_report
    from store.workspace.duckdb import Workspace

    if blind:
        raise blind_review("The retrieval report uses")
    source.check("A retrieval report")
    if (compared and len(set(compared)) != 2) or len(compared) > 2:
        raise WorkbenchError(
            "Not two methods",
            f"Two methods are compared query by query, not {', '.join(compared)}.",
            "Name two: --compare A,B; without it every two methods are compared.",
        )
    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            if compared:
                _print_comparison(
                    compare_by_query(connection, MethodPair(source, preset, (compared[0], compared[1]))),
                    as_json=as_json,
                )
                return
            found = retrieval_report(connection, source, preset, bootstrap)
    if found is None:
        raise WorkbenchError(
            "No query to measure",
            f"No query that was ranked has a code with a grade above 0 by {source.named}.",
            "Label pairs, take other labels, or rank again: workbench evaluate retrieval.",
        )
    _print_report(path, found, as_json=as_json)


def _print_report(path: Path, found: RetrievalReport, *, as_json: bool) -> None:
    from store.retrieval.report import POOL
    from workbench.output import print_json, say

    if as_json:
        print_json(
            {
                "report": "retrieval",
                "labels": asdict(found.source),
                "part": found.part,
                "codes": found.codes,
                "preset": found.preset.name,
                "methods": {
                    name: {
                        **score_fields(scores),
                        "left_out_of_pool": asdict(found.left_out[name]) if found.left_out else None,
                    }
                    for name, scores in found.scores.items()
                },
                "pool": POOL,
                "differences": [each.to_dict() for each in found.differences],
                "intervals": {
                    name: {"measure": found.measure, "low": one.low, "high": one.high}
                    for name, one in found.intervals.items()
                },
                "by_rank": found.curves,
                "rankings": [asdict(one) for one in (*found.rankings, *found.unused)],
                "notes": found.notes(),
            }
        )
        return
    print_scores(
        f"{path.name}: {found.codes:,} codes, labels of {found.source.named}",
        found.scores,
        complete=False,
        zero_ideal=found.preset.zero_ideal,
    )
    print_left_out(found.measure, found.left_out, POOL)
    print_differences(found.differences)
    if notes := found.notes():
        say("", *notes)


def _print_comparison(found: QueryComparison, *, as_json: bool) -> None:
    from store.retrieval.comparison import tally
    from workbench.output import print_facts, print_json, print_table, say

    measure = found.measures[0]
    rows = found.by_query(measure)
    asked = found.asked
    first, second = asked.methods
    counts = tally(rows)
    if as_json:
        print_json(
            {
                "report": "retrieval",
                "labels": asdict(asked.source),
                "part": found.grades.part,
                "preset": asked.preset,
                "measure": measure,
                "first": first,
                "second": second,
                **asdict(counts),
                "queries": [{**asdict(row), "difference": row.difference} for row in rows],
            }
        )
        return
    print_facts(
        f"{first} and {second} in {measure}, labels of {asked.source.named}",
        [
            ("queries", len(rows)),
            (f"{first} better", counts.first_better),
            (f"{second} better", counts.second_better),
            ("equal", counts.equal),
        ],
    )
    whole = len(rows) <= 2 * AT_EACH_END
    ends = [rows] if whole else [rows[:AT_EACH_END], rows[-AT_EACH_END:]]
    for place, part in enumerate(ends):
        say("" if not place else f"… {len(rows) - 2 * AT_EACH_END:,} more queries …")
        print_table(("query", first, second, "difference", ""), [_row(row) for row in part], wide=("query",))


def _row(row: QueryScore) -> tuple[str, ...]:
    text = " ".join(row.text.split())
    bar = ("+" if row.difference > 0 else "-") * round(_LEVELS * abs(row.difference))
    return text, f"{row.first:.4f}", f"{row.second:.4f}", f"{row.difference:+.4f}", bar
