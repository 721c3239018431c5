"""`workbench report figures`: Table II and Figures 3, 4 and 7 of CoSQA+, from the labels of pairs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError, blind_review
from store.formatting import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from store.queries.pair_figures import BenchmarkFigures, PairLabels, RankMatches
    from store.queries.pair_runs import PairCounts

MOST_ROWS = 21
"""Rows of a figure for people, such as queries with 0 to 20 matches; what is beyond shares the last one."""

PAPER_SHARE = 36.7
"""The percentage of codes of CoSQA+ that answer two queries or more, of those that answer any (Figure 7)."""


@dataclass(frozen=True, slots=True)
class _Programs:
    """The test programs of a run: its counts of executed pairs, and the mean number of tests of a program."""

    counts: PairCounts
    mean_test_cases: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, as in the report on the pipeline."""
        names = ("executed", "executable", "executable_rate")
        fields = {name: getattr(self.counts, name) for name in names}
        return {**fields, "mean_test_cases": self.mean_test_cases}


def report_figures(path: Path, rater: str | None, run: str | None, *, blind: bool, as_json: bool) -> None:
    """Print the figures of the pairs of a workspace.

    Args:
        path: The workspace file.
        rater: The rater whose labels count; None for the agents.
        run: The run whose labels count, by its name or how that begins or ends; None for the shown one.
        blind: Whether the review is blind.
        as_json: Whether JSON is printed.

    Raises:
        WorkbenchError: The review is blind, there are no pairs, or two raters are named.
        UnknownName: No rater or run is called so.
    """
    from store.queries.pair_figures import benchmark_figures, pair_labellers, pair_labels
    from store.queries.pair_runs import PairCounts, executed_programs, mean_test_cases
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("The figures use")
    if rater is not None and run is not None:
        raise WorkbenchError(
            "Two raters",
            "--rater and --run both say whose labels the figures are made of.",
            "Leave one of them out.",
        )
    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            _check_pairs(connection, path)
            whose = pair_labels(connection, rater, chosen_run(connection, run, blind=False))
            found = benchmark_figures(connection, whose.labels)
            programs = _Programs(PairCounts())
            if whose.run_id is not None:
                executed, executable = executed_programs(connection, whose.run_id)
                counts = PairCounts(executed=executed, executable=executable)
                programs = _Programs(counts, mean_test_cases(opened, whose.run_id))
            others = [] if found.labelled else pair_labellers(connection)
    if as_json:
        parts = found.to_dict()
        parts["table_2"] |= programs.to_dict()
        labels = {"rater": whose.name or None, "kind": whose.kind, "run": whose.run_id}
        without = found.pairs - found.labelled
        print_json({"report": "figures", "labels": {**labels, "without_label": without}, **parts})
    else:
        _print_figures(path, whose, found, programs, others)


def _check_pairs(connection: Connection, path: Path) -> None:
    """Refuse a workspace without pairs.

    Raises:
        WorkbenchError: There are none.
    """
    from sqlalchemy import func, select

    from store.kinds.counting import counted_kinds
    from store.kinds.pair import PAIR
    from store.tables.columns import table_of
    from store.tables.imported import Item

    item = table_of(Item)
    counted = select(item.c.kind, func.count()).group_by(item.c.kind)
    counts = {kind: int(number) for kind, number in connection.execute(counted)}
    if PAIR.name not in counts:
        raise WorkbenchError(
            "No pairs",
            f"These are figures of query-code pairs, and {path.name} has {counted_kinds(counts)}.",
            f"Import pairs: workbench import {path} FILE",
        )


def _print_figures(
    path: Path, whose: PairLabels, found: BenchmarkFigures, programs: _Programs, others: Sequence[str]
) -> None:
    from workbench.output import print_facts, say, share

    without = found.pairs - found.labelled
    print_facts(
        path.name,
        [
            ("labels of", whose.phrase),
            ("queries", f"{found.queries:,}{_mean_length(found.query_mean_length)}"),
            ("codes", f"{found.codes:,}{_mean_length(found.code_mean_length)}"),
            ("pairs", found.pairs),
            (
                "labelled",
                share(found.labelled, found.pairs) + (f", {without:,} without a label" * bool(without)),
            ),
            ("matches", share(found.matches, found.labelled) if found.labelled else None),
            ("executable", _executable(programs)),
        ],
    )
    if not found.labelled:
        say("", "Without labels there are no figures.")
        if others:
            say(
                f"Raters with labels: {', '.join(others)}",
                f"Name one: workbench report {path} figures --rater {shlex.quote(others[0])}",
            )
        else:
            say(f"Let agents label the pairs: workbench annotate {path} --model PROVIDER:NAME")
        return
    _print_queries(found)
    _print_ranks(found)
    _print_codes(found)


def _print_queries(found: BenchmarkFigures) -> None:
    from workbench.output import harmless, print_bars, say

    say("", harmless("Queries by the number of matching codes (Figure 3)", style="bold underline"))
    by_matches = {group.matches: group for group in found.by_matches}
    groups = [
        (name, [by_matches[number] for number in numbers if number in by_matches])
        for name, numbers in _folded(range(max(by_matches) + 1))
    ]
    counts = [
        (name, sum(each.queries for each in group), sum(each.partly_labelled for each in group))
        for name, group in groups
    ]
    whole, open_queries = found.labelled_queries, found.partly_labelled_queries
    if whole:
        print_bars(
            ("matches", "queries", "share", *(("partly labelled",) if open_queries else ())),
            [
                (name, number, _percent(number, whole), *((rest,) if open_queries else ()))
                for name, number, rest in counts
            ],
            [number for _, number, _ in counts],
        )
        say(f"Mean: {found.mean_matches:.2f} matches a query, of {pluralize(whole, 'query', 'queries')}.")
    else:
        print_bars(
            ("matches", "partly labelled"),
            [(name, rest) for name, _, rest in counts],
            [rest for *_, rest in counts],
        )
    if open_queries:
        number = pluralize(open_queries, "query", "queries")
        say(f"Partly labelled: {number}. There may be more matches than are known; in no share.")
    if found.unlabelled_queries:
        say(f"Without a label: {pluralize(found.unlabelled_queries, 'query', 'queries')}.")


def _print_ranks(found: BenchmarkFigures) -> None:
    from store.queries.pair_figures import worth_sentence
    from workbench.output import harmless, print_bars, say

    say("", harmless("Probability that the candidate at a rank matches (Figure 4)", style="bold underline"))
    if found.by_rank:
        by_rank = {row.rank: row for row in found.by_rank}
        groups = [(name, [by_rank[rank] for rank in ranks]) for name, ranks in _folded(list(by_rank))]
        print_bars(
            ("rank", "labelled", "match", "95 % interval", "expected"),
            [(name, *_rank_row(group)) for name, group in groups],
            [_pooled(group) for _, group in groups],
        )
        say("Expected: matches among the candidates up to the rank. The interval is Wilson's.")
        if worth := worth_sentence(found):
            say(worth)
    if found.similarity_ranks:
        say(f"Ranked by mean similarity: {pluralize(found.similarity_ranks, 'pair')}.")
    if found.shared_ranks:
        number = pluralize(found.shared_ranks, "pair")
        say(f"At the rank or similarity of another pair of their query: {number}.")
    if found.without_rank:
        say(f"Without a rank or similarities to rank by: {pluralize(found.without_rank, 'pair')}.")


def _rank_row(group: Sequence[RankMatches]) -> tuple[object, ...]:
    """Return the cells of a rank, or of several together: these have no interval of independent pairs."""
    one, probability = group[-1], _pooled(group)
    interval = ""
    if len(group) == 1 and one.ci_low is not None and one.ci_high is not None:
        interval = f"{100 * one.ci_low:.1f} to {100 * one.ci_high:.1f}"
    return (
        sum(each.labelled for each in group),
        "" if probability is None else f"{100 * probability:.1f} %",
        interval,
        "" if one.expected_matches is None else f"{one.expected_matches:.2f}",
    )


def _pooled(group: Sequence[RankMatches]) -> float | None:
    labelled = sum(each.labelled for each in group)
    return sum(each.matches for each in group) / labelled if labelled else None


def _print_codes(found: BenchmarkFigures) -> None:
    from workbench.output import harmless, print_bars, say, share

    say("", harmless("Codes by the number of queries that they answer (Figure 7)", style="bold underline"))
    whole = found.answering_codes
    if not whole:
        say("No code answers a query.")
        return
    codes = {group.queries: group.codes for group in found.by_queries}
    counts = [
        (name, sum(codes.get(number, 0) for number in numbers))
        for name, numbers in _folded(range(1, max(codes) + 1))
    ]
    print_bars(
        ("queries", "codes", "share"),
        [(name, number, _percent(number, whole)) for name, number in counts],
        [number for _, number in counts],
    )
    several = share(found.codes_of_several, whole)
    say(f"Two or more: {several} that answer any; in CoSQA+ {PAPER_SHARE} %.")
    if found.labelled < found.pairs:
        say("Codes may answer more queries: some pairs have no label.")


def _folded(numbers: Sequence[int]) -> list[tuple[str, Sequence[int]]]:
    """Return numbers one by one, each with its name; a long tail is one, such as "20 and more"."""
    if len(numbers) <= MOST_ROWS:
        return [(str(number), [number]) for number in numbers]
    kept, tail = numbers[: MOST_ROWS - 1], numbers[MOST_ROWS - 1 :]
    return [*((str(number), [number]) for number in kept), (f"{tail[0]} and more", tail)]


def _executable(programs: _Programs) -> str | None:
    from workbench.output import share

    counts, tests = programs.counts, programs.mean_test_cases
    if not counts.executed:
        return None
    mean = "" if tests is None else f", {tests:.2f} tests on average"
    return f"{share(counts.executable, counts.executed)} test programs{mean}"


def _percent(part: int, whole: int) -> str:
    return "<0.1 %" if 0 < part < whole / 2000 else f"{100 * part / whole:.1f} %"


def _mean_length(length: float | None) -> str:
    return "" if length is None else f", {length:,.1f} characters on average"
