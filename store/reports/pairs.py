"""Figures 3, 4 and 7 of CoSQA+: matches of queries, matches by rank, queries that codes answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from store.formatting import pluralize
from store.kinds.pair import PAIR
from store.queries.pair_figures import (
    BenchmarkFigures,
    PairLabels,
    benchmark_figures,
    pair_labellers,
    pair_labels,
    pairs_at_rank,
    pairs_by_matches,
    pairs_by_queries,
    worth_sentence,
)
from store.queries.runs import all_runs
from store.reports.value import (
    Cell,
    Choice,
    Options,
    Page,
    Row,
    Table,
    counted,
    interval,
    number,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

Read = tuple[BenchmarkFigures, PairLabels, tuple[str, ...]]
"""The figures, whose labels they are made of, and whose else there are."""


def read_figures(connection: Connection, choice: Choice) -> Read:
    """Read the figures of pairs: of the agents, or of a person where no agent has labelled any."""
    runs = [run for run in all_runs(connection) if run.kind == PAIR.name]
    people = pair_labellers(connection)
    whose = pair_labels(connection, choice.first)
    if choice.first is None and not whose.name and people:
        whose = pair_labels(connection, people[0])
    return benchmark_figures(connection, whose.labels), whose, (*(run.name for run in runs), *people)


def matches_page(read: Read, choice: Choice) -> Page:
    """Return queries by their number of matching codes (Figure 3)."""
    found, whose, _ = read
    most = max((one.queries + one.partly_labelled for one in found.by_matches), default=0) or 1
    mean = number(found.mean_matches).text
    said = f"mean {mean} matches a query, of those of which all candidates are labelled"
    rows = tuple(
        Row(
            (
                f"{one.matches}",
                _items(
                    one.queries + one.partly_labelled,
                    pairs_by_matches(whose.labels, one.matches),
                    f"queries with {pluralize(one.matches, 'match', 'matches')}",
                ),
                counted(one.partly_labelled),
                share(one.queries / found.labelled_queries if found.labelled_queries else None),
            ),
            (one.queries + one.partly_labelled) / most,
        )
        for one in found.by_matches
    )
    table = Table(
        ("matches", "queries", "partly", "share"),
        rows,
        drawn="queries",
        ordered=True,
        notes=("partly: of these, queries with a candidate without a label; in no share and no mean.",),
    )
    return _page(read, (said,), table)


def ranks_page(read: Read, choice: Choice) -> Page:
    """Return the probability that the candidate at a rank matches (Figure 4)."""
    found, whose, _ = read
    rows = tuple(
        Row(
            (
                f"{one.rank}",
                _items(one.labelled, pairs_at_rank(whose.labels, one.rank), f"rank {one.rank}"),
                _items(
                    one.matches,
                    pairs_at_rank(whose.labels, one.rank, matching=True),
                    f"rank {one.rank}, matches",
                ),
                share(one.probability),
                interval(one.ci_low, one.ci_high, 100, 1),
                number(one.expected_matches),
            ),
            (one.ci_low, one.probability, one.ci_high),
        )
        for one in found.by_rank
    )
    notes = ["expected: matches among the candidates up to the rank."]
    if worth := worth_sentence(found):
        notes.append(worth)
    if found.similarity_ranks:
        notes.append(f"Ranked by mean similarity: {pluralize(found.similarity_ranks, 'pair')}.")
    if found.without_rank:
        notes.append(f"Without a rank: {pluralize(found.without_rank, 'pair')}.")
    columns = ("rank", "n", "matches", "share", "interval, %", "expected")
    table = Table(columns, rows, drawn="share of matches", ordered=True, notes=tuple(notes))
    return _page(
        read,
        ("95 % intervals: Wilson's",),
        table,
    )


def codes_page(read: Read, choice: Choice) -> Page:
    """Return codes by the number of queries that they answer (Figure 7)."""
    found, whose, _ = read
    most = max((one.codes for one in found.by_queries), default=1)
    rows = tuple(
        Row(
            (
                f"{one.queries}",
                _items(
                    one.codes,
                    pairs_by_queries(whose.labels, one.queries),
                    f"codes that answer {pluralize(one.queries, 'query', 'queries')}",
                ),
                share(one.codes / found.answering_codes),
            ),
            one.codes / most,
        )
        for one in found.by_queries
    )
    several = found.codes_of_several / found.answering_codes if found.answering_codes else None
    said = f"{pluralize(found.answering_codes, 'code')} that answer any; two or more: {share(several).text}"
    return _page(read, (said,), Table(("queries", "codes", "share"), rows, drawn="codes", ordered=True))


def _page(read: Read, said: tuple[str, ...], table: Table) -> Page:
    found, whose, names = read
    return Page(
        caption=(
            f"Labels of {whose.phrase}: {found.labelled:,} of {found.pairs:,} pairs, "
            f"{pluralize(found.queries, 'query', 'queries')}",
            *said,
        ),
        command=("figures", *(("--rater", whose.name) if whose.name else ())),
        tables=(table,) if table.rows else (),
        empty="" if table.rows else "No labels yet. Let the agents label the pairs, or label some.",
        options={"first": Options("rater", names, whose.name)} if names else {},
    )


def _items(count: int, statement: Select[int], named: str) -> Cell:
    return counted(count, partial(_read_items, statement), named)


def _read_items(statement: Select[int], connection: Connection) -> list[int]:
    return list(connection.execute(statement).scalars())
