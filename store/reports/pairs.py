"""Figures of query-code pairs, as CoSQA+ has them: Table II and Figures 3, 4 and 7."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from store.analysis.pair_figures import (
    BenchmarkFigures,
    PairLabels,
    RankMatches,
    benchmark_figures,
    pair_labellers,
    pair_labels,
    pairs_at_rank,
    pairs_by_matches,
    pairs_by_queries,
    worth_sentence,
)
from store.analysis.pair_runs import PairCounts, executed_programs, mean_test_cases
from store.errors import WorkbenchError
from store.formatting import part_of, pluralize
from store.json_fields import fields_of
from store.kinds.counting import counted_kinds
from store.kinds.pair import PAIR
from store.reports.options import Options
from store.reports.value import (
    NONE,
    WORKSPACE,
    Cell,
    Report,
    Row,
    Table,
    counted,
    facts,
    filled,
    interval,
    number,
    share,
)
from store.tables.columns import table_of
from store.tables.imported import Item

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

MOST_ROWS = 21
"""Rows of a figure, such as queries with 0 to 20 matches; what is beyond shares the last one."""

PAPER_SHARE = 36.7
"""The percentage of codes of CoSQA+ that answer two queries or more, of those that answer any (Figure 7)."""


@dataclass(frozen=True, slots=True)
class PairFigures:
    """The figures of the pairs of a workspace.

    Attributes:
        whose: Whose labels they are made of.
        programs: Of a run: its counts of executed pairs.
        mean_test_cases: The mean number of tests of its programs; None without any.
        others: Raters with labels, where there are none of those that were asked for.
    """

    found: BenchmarkFigures
    whose: PairLabels
    programs: PairCounts
    mean_test_cases: float | None
    others: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, a part for the table and for each figure."""
        parts = self.found.to_dict()
        parts["table_2"] |= fields_of(self.programs, "executed", "executable", "executable_rate")
        parts["table_2"]["mean_test_cases"] = self.mean_test_cases
        whose = self.whose
        labels = {"rater": whose.name or None, "kind": whose.kind, "run": whose.run_id}
        without = self.found.pairs - self.found.labelled
        return {"labels": {**labels, "without_label": without}, **parts}


def read_figures(connection: Connection, options: Options) -> PairFigures:
    """Read the figures of pairs, by the labels of the agents or of the rater that is named.

    Raises:
        WorkbenchError: There are no pairs, or two raters are named.
        UnknownName: No rater or run is called so.
    """
    if options.rater is not None and options.run is not None:
        raise WorkbenchError(
            "Two raters",
            "--rater and --run both say whose labels the figures are made of.",
            "Leave one of them out.",
        )
    _check_pairs(connection)
    whose = pair_labels(connection, options.rater, options.run_of(connection))
    found = benchmark_figures(connection, whose.labels)
    counts, mean = PairCounts(), None
    if whose.run_id is not None:
        executed, executable = executed_programs(connection, whose.run_id)
        counts = PairCounts(executed=executed, executable=executable)
        mean = mean_test_cases(connection, whose.run_id)
    others = () if found.labelled else tuple(pair_labellers(connection))
    return PairFigures(found, whose, counts, mean, others)


def _check_pairs(connection: Connection) -> None:
    """Refuse a workspace without pairs.

    Raises:
        WorkbenchError: There are none.
    """
    item = table_of(Item)
    counted_items = select(item.c.kind, func.count()).group_by(item.c.kind)
    counts = {kind: int(number) for kind, number in connection.execute(counted_items)}
    if PAIR.name not in counts:
        raise WorkbenchError(
            "No pairs",
            f"These are figures of query-code pairs, and the workspace has {counted_kinds(counts)}.",
            "Import pairs: workbench import WORKSPACE FILE",
        )


def benchmark_table(read: PairFigures) -> Table:
    """Return the benchmark in numbers (Table II)."""
    found = read.found
    without = found.pairs - found.labelled
    rate = None
    if read.programs.executed:
        tests = read.mean_test_cases
        mean = "" if tests is None else f", {tests:.2f} tests on average"
        rate = f"{part_of(read.programs.executable, read.programs.executed)} test programs{mean}"
    return facts(
        [
            ("labels of", read.whose.phrase),
            ("queries", f"{found.queries:,}{_mean_length(found.query_mean_length)}"),
            ("codes", f"{found.codes:,}{_mean_length(found.code_mean_length)}"),
            ("pairs", found.pairs),
            (
                "labelled",
                part_of(found.labelled, found.pairs) + (f", {without:,} without a label" * bool(without)),
            ),
            ("matches", part_of(found.matches, found.labelled) if found.labelled else None),
            ("executable", rate),
        ],
        "The benchmark in numbers",
    )


def _mean_length(length: float | None) -> str:
    return "" if length is None else f", {length:,.1f} characters on average"


def matches_table(read: PairFigures) -> Table:
    """Return queries by their number of matching codes (Figure 3)."""
    found, labels = read.found, read.whose.labels
    by_matches = {one.matches: one for one in found.by_matches}
    groups = [
        (name, [by_matches[each] for each in numbers if each in by_matches])
        for name, numbers in folded(range(max(by_matches, default=-1) + 1))
    ]
    most = (
        max((sum(one.queries + one.partly_labelled for one in group) for _, group in groups), default=0) or 1
    )
    rows = []
    for name, group in groups:
        queries, partly = (
            sum(getattr(one, each) for one in group) for each in ("queries", "partly_labelled")
        )
        statement = pairs_by_matches(labels, group[0].matches) if len(group) == 1 else None
        named = f"queries with {pluralize(group[0].matches, 'match', 'matches')}" if group else ""
        rows.append(
            Row(
                (
                    name,
                    _items(queries + partly, statement, named),
                    counted(partly),
                    share(queries / found.labelled_queries if found.labelled_queries else None),
                ),
                (queries + partly) / most,
            )
        )
    notes = []
    if whole := found.labelled_queries:
        of = f"{pluralize(whole, 'query', 'queries')} of which all candidates are labelled"
        notes.append(f"Mean: {number(found.mean_matches).text} matches a query, of {of}.")
    if found.partly_labelled_queries:
        notes.append(
            "partly: of these, queries with a candidate without a label, of which there may be more matches; "
            "in no share and no mean."
        )
    if found.unlabelled_queries:
        notes.append(f"Without a label: {pluralize(found.unlabelled_queries, 'query', 'queries')}.")
    return Table(
        ("matches", "queries", "partly", "share"),
        tuple(rows),
        "Queries by the number of matching codes",
        drawn="queries",
        ordered=True,
        scale=(0.0, float(most)),
        notes=tuple(notes),
    )


def ranks_table(read: PairFigures) -> Table:
    """Return the probability that the candidate at a rank matches (Figure 4)."""
    found, labels = read.found, read.whose.labels
    by_rank = {row.rank: row for row in found.by_rank}
    rows = []
    for name, ranks in folded(list(by_rank)):
        group = [by_rank[rank] for rank in ranks]
        one, single = group[-1], len(group) == 1
        at = partial(pairs_at_rank, labels, one.rank)
        rate = _pooled(group)
        # Of several ranks together there is no interval of independent pairs.
        low, high = (one.ci_low, one.ci_high) if single else (None, None)
        matching = sum(each.matches for each in group)
        rows.append(
            Row(
                (
                    name,
                    _items(sum(each.labelled for each in group), at() if single else None, f"rank {name}"),
                    _items(matching, at(matching=True) if single else None, f"rank {name}, matches"),
                    Cell(share(rate).text, rate, ends=None if low is None or high is None else (low, high)),
                    interval(low, high, 100, 1),
                    number(one.expected_matches),
                ),
                (low, rate, high),
            )
        )
    notes = ["expected: matches among the candidates up to the rank; 95 % intervals: Wilson's."]
    if worth := worth_sentence(found):
        notes.append(worth)
    if found.similarity_ranks:
        notes.append(f"Ranked by mean similarity: {pluralize(found.similarity_ranks, 'pair')}.")
    if found.shared_ranks:
        several = pluralize(found.shared_ranks, "pair")
        notes.append(f"At the rank or similarity of another pair of their query: {several}.")
    if found.without_rank:
        several = pluralize(found.without_rank, "pair")
        notes.append(f"Without a rank or similarities to rank by: {several}.")
    return Table(
        ("rank", "n", "matches", "share", "interval, %", "expected"),
        tuple(rows),
        "Probability that the candidate at a rank matches",
        drawn="share of matches",
        ordered=True,
        notes=tuple(notes),
    )


def _pooled(group: Sequence[RankMatches]) -> float | None:
    labelled = sum(each.labelled for each in group)
    return sum(each.matches for each in group) / labelled if labelled else None


def codes_table(read: PairFigures) -> Table:
    """Return codes by the number of queries that they answer (Figure 7)."""
    found, labels = read.found, read.whose.labels
    codes = {group.queries: group.codes for group in found.by_queries}
    whole = found.answering_codes
    counts = [
        (name, numbers[0], len(numbers), sum(codes.get(each, 0) for each in numbers))
        for name, numbers in folded(range(1, max(codes, default=0) + 1))
    ]
    most = max((count for *_, count in counts), default=0) or 1
    rows = tuple(
        Row(
            (
                name,
                _items(
                    count,
                    pairs_by_queries(labels, first) if single == 1 else None,
                    f"codes that answer {pluralize(first, 'query', 'queries')}",
                ),
                share(count / whole if whole else None),
            ),
            count / most,
        )
        for name, first, single, count in counts
    )
    notes = [
        f"{pluralize(whole, 'code')} that answer any; two or more: "
        f"{part_of(found.codes_of_several, whole)}; in CoSQA+ {PAPER_SHARE} %."
    ]
    if found.labelled < found.pairs:
        notes.append("Codes may answer more queries: some pairs have no label.")
    return Table(
        ("queries", "codes", "share"),
        rows or (Row(("No code answers a query.", Cell(NONE), Cell(NONE))),),
        "Codes by the number of queries that they answer",
        drawn="codes",
        ordered=True,
        scale=(0.0, float(most)),
        notes=tuple(notes) if rows else (),
    )


def figures_report(
    name: str, *parts: Callable[[PairFigures], Table]
) -> Callable[[PairFigures, Options], Report]:
    """Return what makes the report of some tables."""

    def report(read: PairFigures, options: Options) -> Report:
        found, whose = read.found, read.whose
        named = {} if options.run is not None or not whose.name else {"rater": whose.name}
        empty = ""
        if not found.labelled:
            empty = "Without labels there are no figures. "
            if read.others:
                others = ", ".join(read.others)
                one = f"workbench report {WORKSPACE} {name} --rater {shlex.quote(read.others[0])}"
                empty += f"Raters with labels: {others}. Name one:\n{one}"
            else:
                empty += f"Let agents label the pairs:\nworkbench annotate {WORKSPACE} --model PROVIDER:NAME"
        return Report(
            caption=(
                f"Labels of {whose.phrase}: {found.labelled:,} of {found.pairs:,} pairs, "
                f"{pluralize(found.queries, 'query', 'queries')}",
            ),
            command=(name, *options.arguments(**named)),
            tables=filled(*(part(read) for part in parts if found.labelled or part is benchmark_table)),
            empty=empty,
        )

    return report


def folded(numbers: Sequence[int]) -> list[tuple[str, Sequence[int]]]:
    """Return numbers one by one, each with its name; a long tail is one, such as "20 and more"."""
    if len(numbers) <= MOST_ROWS:
        return [(str(each), [each]) for each in numbers]
    kept, tail = numbers[: MOST_ROWS - 1], numbers[MOST_ROWS - 1 :]
    return [*((str(each), [each]) for each in kept), (f"{tail[0]} and more", tail)]


def _items(count: int, statement: Select[int] | None, named: str) -> Cell:
    return counted(count, None if statement is None else partial(_read_items, statement), named)


def _read_items(statement: Select[int], connection: Connection) -> list[int]:
    return list(connection.execute(statement).scalars())
