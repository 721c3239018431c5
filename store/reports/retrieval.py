"""The report on retrieval: measures of stored rankings, intervals, what is found by rank, differences."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.json_fields import json_fields
from store.measures.ranking import PRESETS, measure_named
from store.rankings.comparison import MethodPair, QueryComparison, QueryScore, compare_by_query, tally
from store.rankings.labels import LabelSource, label_sources
from store.rankings.report import CURVE_RANKS, DEFAULT_PRESET, POOL, RetrievalReport, retrieval_report
from store.reports.options import Options
from store.reports.ranking import STEP, differences_tables, left_out_table, score_fields, scores_tables
from store.reports.spec import Choice, Choices
from store.reports.value import Cell, Report, Row, Table, ends_of, facts, filled, interval, number

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.ranking_differences import RankingDifference

KINDS = (
    ("ndcg", False), ("mrr", False), ("map", False), ("recall", False),
    ("judged", False), ("ndcg", True),
)  # fmt: skip
"""The columns of the table beside the first measure: the sort of a measure, and whether it is condensed."""
SHORT = {"judged": "judged", "ndcg_condensed": "condensed"}


def read_retrieval(connection: Connection, options: Options) -> RetrievalReport | QueryComparison:
    """Read the measures of the stored rankings, or two methods query by query.

    Raises:
        WorkbenchError: There is no ranking or no label, not two methods are compared, or not the labels of
            one are asked for.
        UnknownName: A name is unknown.
    """
    source = _source(options)
    source.check("A retrieval report")
    preset, compared = options.preset or DEFAULT_PRESET, options.compare
    if (compared and len(set(compared)) != 2) or len(compared) > 2:
        raise WorkbenchError(
            "Not two methods",
            f"Two methods are compared query by query, not {', '.join(compared)}.",
            "Name two: --compare A,B; without it every two methods are compared.",
        )
    if compared:
        first, second = compared
        return compare_by_query(connection, MethodPair(source, preset, (first, second)))
    found = retrieval_report(connection, source, preset, options.resampling)
    if found is None:
        raise WorkbenchError(
            "No query to measure",
            f"No query that was ranked has a code with a grade above 0 by {source.named}.",
            "Label pairs, take other labels, or rank again: workbench evaluate retrieval.",
        )
    return found


def _source(options: Options) -> LabelSource:
    return LabelSource(options.rater, options.policy, options.split, options.part)


def with_labels(connection: Connection, options: Options) -> Options:
    """Return the options with the labels of most pairs, where none are asked for.

    Raises:
        WorkbenchError: No pair has a label.
    """
    if any((options.rater, options.policy, options.split)):
        return options
    sources = label_sources(connection)
    if not sources:
        raise WorkbenchError(
            "No labels", "No labels of pairs yet.", "Label some, or import pairs with labels."
        )
    return by_labels(options, sources[0])


def by_labels(options: Options, source: LabelSource) -> Options:
    """Return the options with other labels that count as true."""
    return replace(options, rater=source.rater, policy=source.policy, split=source.split, part=source.part)


def retrieval_fields(found: RetrievalReport | QueryComparison, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    if isinstance(found, QueryComparison):
        measure, asked = found.measures[0], found.asked
        rows = found.by_query(measure)
        return {
            "labels": asdict(asked.source),
            "part": found.grades.part,
            "preset": asked.preset,
            "measure": measure,
            "first": asked.methods[0],
            "second": asked.methods[1],
            **asdict(tally(rows)),
            "queries": [{**asdict(row), "difference": row.difference} for row in rows],
        }
    return {
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
        "differences": [json_fields(each) for each in found.differences],
        "intervals": {
            name: {"measure": found.measure, "low": one.low, "high": one.high}
            for name, one in found.intervals.items()
        },
        "by_rank": found.curves,
        "rankings": [asdict(one) for one in (*found.rankings, *found.unused)],
        "notes": found.notes(),
    }


def retrieval_of(found: RetrievalReport | QueryComparison, options: Options) -> Report:
    """Return the measures by method, as a table and drawn, and what every two methods differ by."""
    if isinstance(found, QueryComparison):
        return _comparison(found)
    command = ("retrieval", *options.arguments(preset=found.preset.name))
    names = found.best_first
    compared = {
        name: MethodPair(found.source, found.preset.name, (name, names[1] if name == names[0] else names[0]))
        for name in names
        if len(names) > 1
    }

    def opening(name: str, cell: Cell) -> Cell:
        return replace(cell, compares=compared.get(name))

    best = {_named(found, name): found.left_out[name] for name in names if found.left_out}
    of = {_named(found, name): name for name in names}
    order = {name: place for place, name in enumerate(names)}
    differences = sorted(
        (_best_first(one, order) for one in found.differences),
        key=lambda one: (order[one.first], order[one.second]),
    )
    return Report(
        caption=_caption(found),
        command=command,
        tables=filled(
            _measures(found, compared),
            _intervals(found, compared),
            *(
                _by_rank(found, kind, title, compared)
                for kind, title in (
                    ("success", "Queries with a relevant code among the first"),
                    ("recall", "Share of the relevant codes among the first"),
                )
            ),
            left_out_table(found.measure, best, POOL, lambda name, cell: opening(of[name], cell)),
            *differences_tables(
                differences, lambda one, other: MethodPair(found.source, found.preset.name, (one, other))
            ),
            *scores_tables(
                {name: found.scores[name] for name in names},
                complete=False,
                zero_ideal=found.preset.zero_ideal,
            ),
        ),
    )


def _comparison(found: QueryComparison) -> Report:
    measure = found.measures[0]
    rows = found.by_query(measure)
    asked = found.asked
    first, second = asked.methods
    counts = tally(rows)
    return Report(
        caption=(f"{first} and {second} in {measure}, labels of {asked.source.named}",),
        command=asked.arguments,
        tables=(
            facts(
                [
                    ("queries", len(rows)),
                    (f"{first} better", counts.first_better),
                    (f"{second} better", counts.second_better),
                    ("equal", counts.equal),
                ]
            ),
            Table(
                ("query", first, second, "difference"),
                tuple(map(_query_row, rows)),
                "By query",
                scale=(-1.0, 1.0),
                middle=0.0,
                drawn=f"difference in {measure}",
            ),
        ),
    )


def _query_row(row: QueryScore) -> Row:
    figures = (number(row.first, 4), number(row.second, 4), number(row.difference, 4, sign=True))
    return Row((row.text, *figures), (None, row.difference, None))


def retrieval_choices(connection: Connection, options: Options, found: Any | None) -> Choices:
    """Return the labels and the presets that can be chosen."""
    sources = {one.named: one for one in label_sources(connection)}
    preset = options.preset or DEFAULT_PRESET
    return {
        "first": Choice(
            "labels",
            tuple(sources),
            _source(options).named,
            lambda asked, one: by_labels(asked, sources[one]),
        ),
        "second": Choice("preset", tuple(PRESETS), preset, lambda asked, one: replace(asked, preset=one)),
    }


def _caption(found: RetrievalReport) -> tuple[str, ...]:
    def each(values: list[int], thing: str, things: str) -> str:
        low, high = min(values), max(values)
        return ("" if low == high else f"{low:,} to ") + pluralize(high, thing, things)

    scores = found.scores.values()
    queries = each([len(one.queries) for one in scores], "query", "queries")
    relevant = each([one.relevant for one in scores], "relevant code", "relevant codes")
    left = max(one.zero_ideal for one in scores)
    counted = "left out" if found.preset.zero_ideal == "leave out" else "counted as 0"
    without = f" · {pluralize(left, 'query', 'queries')} without a relevant code: {counted}" if left else ""
    return (
        f"Labels of {found.source.named}: {queries}, {relevant}{without} · {found.codes:,} codes",
        "95 % intervals: bootstrap over queries · unjudged codes count as not relevant · "
        "judged: the share of codes that is judged · condensed: without unjudged codes",
        *found.notes(),
    )


def _named(found: RetrievalReport, name: str) -> str:
    """Return a method with its place, which tells long names apart where they are shortened."""
    names = found.best_first
    return name if len(names) <= 2 else f"{names.index(name) + 1} {name}"


def _columns(found: RetrievalReport) -> list[str]:
    """Return the measures of the table: the first one, then one of each sort, at 10 where there is."""
    columns = [found.measure]
    for kind, condensed in KINDS:
        of_kind = [
            name
            for name in found.preset.measures
            if (one := measure_named(name)).kind == kind and one.condensed == condensed
        ]
        chosen = next((name for name in of_kind if name.endswith("@10")), next(iter(of_kind), ""))
        if chosen and chosen not in columns:
            columns.append(chosen)
    return columns


def _measures(found: RetrievalReport, compared: dict[str, MethodPair]) -> Table:
    columns = _columns(found)
    rows = []
    for name in found.best_first:
        means = found.scores[name].means()
        first, *others = (number(means[column], 3) for column in columns)
        rows.append(Row((_named(found, name), replace(first, compares=compared.get(name)), *others)))
    # What the caption explains is short, so that names of methods have room.
    headings = [SHORT.get(column.partition("@")[0], column) for column in columns]
    return Table(("method", *headings), tuple(rows), title=f"Measures of {found.preset.name}")


def _intervals(found: RetrievalReport, compared: dict[str, MethodPair]) -> Table:
    rows = []
    for name in found.best_first:
        one, value = found.intervals[name], found.scores[name].means()[found.measure]
        cell = Cell(f"{value:.3f}", value, compares=compared.get(name))
        rows.append(
            Row(
                (_named(found, name), cell, interval(one.low, one.high, places=3)), (one.low, value, one.high)
            )
        )
    ends = ends_of(rows)
    low, high = floor(min(ends) / STEP) * STEP, ceil(max(ends) / STEP) * STEP
    return Table(
        ("method", found.measure, "95 % interval"),
        tuple(rows),
        title=f"{found.measure} with its interval",
        drawn=found.measure,
        scale=(low, high if high > low else low + STEP),
    )


def _by_rank(found: RetrievalReport, kind: str, title: str, compared: dict[str, MethodPair]) -> Table:
    rows = []
    for name in found.best_first:
        values = [found.curves[name][f"{kind}@{rank}"] for rank in CURVE_RANKS]
        first, *others = (Cell(f"{value:.2f}", value, level=value) for value in values)
        rows.append(Row((_named(found, name), replace(first, compares=compared.get(name)), *others)))
    return Table(
        ("method", *map(str, CURVE_RANKS)), tuple(rows), title=f"{title} k ({kind}@k)", axes=("", "k")
    )


def _best_first(one: RankingDifference, order: dict[str, int]) -> RankingDifference:
    """Return a difference with the better method first."""
    if order[one.first] < order[one.second]:
        return one
    return replace(
        one,
        first=one.second,
        second=one.first,
        difference=-one.difference,
        low=None if one.high is None else -one.high,
        high=None if one.low is None else -one.low,
    )
