"""Tables of the measures of rankings: of every run, of what only one of them found, of their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from store.json_fields import fields_of
from store.reports.value import Cell, Row, Table, counted, ends_of, facts, number, probability

if TYPE_CHECKING:
    from store.measures.ranking import LeftOut, RankingScores
    from store.measures.ranking_differences import RankingDifference
    from store.rankings.comparison import MethodPair

STEP = 0.05
"""The ends of the scale of intervals are multiples of it."""
PLACES = 4


def score_fields(scores: RankingScores) -> dict[str, Any]:
    """Return the counts and means of a run as plain values for JSON."""
    return {
        "queries": len(scores.queries),
        **fields_of(scores, "relevant", "not_ranked", "not_judged", "zero_ideal"),
        **scores.means(),
    }


def scores_tables(
    scores: Mapping[str, RankingScores], *, complete: bool, zero_ideal: str
) -> tuple[Table, Table]:
    """Return counts of queries as facts, and a table with a row for each measure and a column for each run.

    Args:
        scores: The measures of each run.
        complete: Whether judged queries that a run lacks count as 0.
        zero_ideal: What becomes of queries without a grade above 0: `zero` counts them as 0.
    """

    def each(values: Mapping[str, int]) -> str:
        if len(set(values.values())) == 1:
            return f"{next(iter(values.values())):,}"
        return ", ".join(f"{name} {value:,}" for name, value in values.items())

    def fact(name: str, of: str, consequence: str) -> tuple[str, str | None]:
        values = {run: getattr(found, of) for run, found in scores.items()}
        return name, f"{each(values)}, {consequence}" if any(values.values()) else None

    no_ideal = "count as 0" if zero_ideal == "zero" else "left out"
    counts = facts(
        [
            ("queries", each({run: len(found.queries) for run, found in scores.items()})),
            ("relevant codes", each({run: found.relevant for run, found in scores.items()})),
            fact("judged, but not ranked", "not_ranked", "count as 0" if complete else "left out"),
            fact("ranked, but not judged", "not_judged", "left out"),
            fact("without a grade above 0", "zero_ideal", no_ideal),
        ]
    )
    means = {run: found.means() for run, found in scores.items()}
    rows = tuple(
        Row((name, *(number(found[name], PLACES) for found in means.values())))
        for name in next(iter(means.values()))
    )
    return counts, Table(("measure", *means), rows, "Measures")


def left_out_table(
    measure: str, found: Mapping[str, LeftOut], pool: int, first: Callable[[str, Cell], Cell] | None = None
) -> Table:
    """Return what each method has where what only it found was not judged.

    Args:
        measure: The measure.
        found: By method, the best first.
        pool: How many codes of a query were pooled.
        first: Gives the figure of a method what is behind it; None for nothing.
    """
    rows = []
    for name, one in found.items():
        whole, left = (number(means.get(measure), PLACES) for means in (one.all_labels, one.left_out))
        rows.append(Row((name, counted(one.queries), first(name, whole) if first else whole, left)))
    return Table(
        ("method", "queries", "all labels", "left out"),
        tuple(rows),
        f"Left out of the pool: {measure}",
        notes=(f"left out: without the labels of pairs that only this method has in its first {pool:,}.",),
    )


def differences_tables(
    differences: Sequence[RankingDifference], compares: Callable[[str, str], MethodPair] | None = None
) -> list[Table]:
    """Return the differences of runs, a table for each measure, with intervals and tests.

    Args:
        differences: The differences.
        compares: Gives the two methods that are compared query by query; None for nothing.
    """
    tables = []
    for measure in dict.fromkeys(each.measure for each in differences):
        rows = []
        for one in differences:
            if one.measure != measure:
                continue
            pair = None if compares is None else compares(one.first, one.second)
            shown = number(one.difference, PLACES, one.low, one.high, sign=True, end_places=3)
            difference = Cell(shown.text, shown.value, compares=pair, ends=shown.ends)
            cells = (one.first, one.second, difference, probability(one.p_value), probability(one.adjusted))
            rows.append(Row(cells, difference.drawn))
        most = max(ceil(max(map(abs, ends_of(rows)), default=0.0) / STEP), 1) * STEP
        tables.append(
            Table(
                ("method", "less", "difference", "p", "Holm"),
                tuple(rows),
                f"Differences in {measure}",
                names=2,
                scale=(-most, most),
                middle=0.0,
                drawn=f"difference in {measure}",
                notes=(
                    "p: of a sign-flip test over queries; Holm: p corrected for all these differences; 95 % "
                    "intervals: bootstrap over queries.",
                ),
            )
        )
    return tables
