"""The report on retrieval: measures of stored rankings, intervals, what is found by rank, differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.measures.ranking import PRESETS, measure_named
from store.reports.value import Cell, Choice, Options, Page, Row, Table, counted, interval, number
from store.retrieval.comparison import MethodPair
from store.retrieval.labels import LabelSource, label_sources
from store.retrieval.rankings import list_rankings
from store.retrieval.report import CURVE_RANKS, DEFAULT_PRESET, POOL, RetrievalReport, retrieval_report

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.ranking_differences import RankingDifference

KINDS = (
    ("ndcg", False), ("mrr", False), ("map", False), ("recall", False),
    ("judged", False), ("ndcg", True),
)  # fmt: skip
"""The columns of the table beside the first measure: the sort of a measure, and whether it is condensed."""
SHORT = {"judged": "judged", "ndcg_condensed": "condensed"}
STEP = 0.05
"""The ends of the scale of intervals are multiples of it."""


@dataclass(frozen=True, slots=True)
class Read:
    """The figures of the report, and the labels that can be chosen.

    Attributes:
        report: The report; None where no query counts.
        failure: Why there is none.
        sources: Whose labels there are.
        source: Those that count as true; None where there are none.
        preset: The name of how a benchmark measures.
        is_ranked: Whether any method has ranked the codes.
    """

    report: RetrievalReport | None
    failure: WorkbenchError | None
    sources: tuple[LabelSource, ...]
    source: LabelSource | None
    preset: str
    is_ranked: bool


def read_retrieval(connection: Connection, choice: Choice) -> Read:
    """Read the measures of the stored rankings by the labels that were chosen, or by the first there are."""
    sources = label_sources(connection)
    preset = choice.second if choice.second in PRESETS else DEFAULT_PRESET
    source = next((one for one in sources if one.named == choice.first), next(iter(sources), None))
    found, failure = None, None
    is_ranked = bool(list_rankings(connection))
    if source is not None and is_ranked:
        try:
            found = retrieval_report(connection, source, preset)
        except WorkbenchError as error:
            failure = error
    return Read(found, failure, sources, source, preset, is_ranked)


def retrieval_page(read: Read, choice: Choice) -> Page:
    """Return the measures by method, as a table and drawn, and what every two methods differ by."""
    options = {"second": Options("preset", tuple(PRESETS), read.preset)}
    if read.source is not None:
        named = tuple(one.named for one in read.sources)
        options["first"] = Options("labels", named, read.source.named)
    found = read.report
    if found is None or read.source is None:
        return Page(("Methods that find codes for queries",), (), empty=_why_nothing(read), options=options)
    command = ("retrieval", *read.source.arguments, "--preset", read.preset)
    names = found.best_first
    compared = {
        name: MethodPair(read.source, read.preset, (name, names[1] if name == names[0] else names[0]))
        for name in names
        if len(names) > 1
    }
    tables = [_measures(found, compared), _intervals(found, compared)]
    for kind, title in (
        ("success", "Queries with a relevant code among the first"),
        ("recall", "Share of the relevant codes among the first"),
    ):
        tables.append(_by_rank(found, kind, title, compared))
    if found.left_out:
        tables += [_left_out(found, compared), _differences(found, read.source)]
    return Page(caption=_caption(found), command=command, tables=tuple(tables), options=options)


def _why_nothing(read: Read) -> str:
    if not read.is_ranked:
        return (
            "No method has ranked the codes yet. It is done by command: "
            "workbench evaluate retrieval WORKSPACE --methods bm25,bow --rater NAME"
        )
    if read.source is None:
        return "No labels of pairs yet. Label some, or import pairs with labels."
    if read.failure is not None:
        return f"{read.failure.message} {read.failure.hint}"
    return (
        f"No query that was ranked has a relevant code by the labels of {read.source.named}. "
        "Choose other labels, or rank the codes again: workbench evaluate retrieval."
    )


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
    ends = [end for row in rows if isinstance(row.drawn, tuple) for end in row.drawn if end is not None]
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
    return Table(("method", *map(str, CURVE_RANKS)), tuple(rows), title=f"{title} k ({kind}@k)")


def _left_out(found: RetrievalReport, compared: dict[str, MethodPair]) -> Table:
    rows = []
    for name in found.best_first:
        one = found.left_out[name]
        cell = replace(number(one.all_labels.get(found.measure), 3), compares=compared.get(name))
        left_out = number(one.left_out.get(found.measure), 3)
        rows.append(Row((_named(found, name), counted(one.queries), cell, left_out)))
    return Table(
        ("method", "queries", "all labels", "left out"),
        tuple(rows),
        title=f"Left out of the pool: {found.measure}",
        notes=(f"left out: without the labels of pairs that only this method has in its first {POOL}.",),
    )


def _differences(found: RetrievalReport, source: LabelSource) -> Table:
    order = {name: place for place, name in enumerate(found.best_first)}
    ordered = sorted(
        (_best_first(one, order) for one in found.differences),
        key=lambda one: (order[one.first], order[one.second]),
    )
    rows = tuple(
        Row(
            (
                _named(found, one.first),
                _named(found, one.second),
                Cell(
                    f"{one.difference:+.3f}",
                    one.difference,
                    compares=MethodPair(source, found.preset.name, (one.first, one.second)),
                ),
                Cell("<0.001" if one.adjusted < 0.001 else f"{one.adjusted:.3f}", one.adjusted),
            ),
            (one.low, one.difference, one.high),
        )
        for one in ordered
    )
    ends = [abs(end) for row in rows if isinstance(row.drawn, tuple) for end in row.drawn if end is not None]
    most = max(ceil(max(ends) / STEP), 1) * STEP
    return Table(
        ("method", "less", "differs", "adj. p"),
        rows,
        title=f"Differences in {found.measure}",
        names=2,
        scale=(-most, most),
        middle=0.0,
        drawn=f"difference in {found.measure}",
        notes=(
            "Plot: the difference with its interval.",
            "adj. p: of a sign-flip test over queries, by Holm's method for all these differences.",
            "Enter on a figure in brackets compares two methods query by query.",
        ),
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
