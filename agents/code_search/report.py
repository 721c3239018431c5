"""The report of an evaluated search: rows for each method, and one for each query (RepoRift, Table 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from store.formatting import pluralize
from store.measures.intervals import wilson
from store.reports.value import Cell, Report, Row, Table, number, share

if TYPE_CHECKING:
    from agents.code_search.evaluation import Evaluation, MethodScores
    from store.measures.ranking import RankingScores


def search_report(evaluation: Evaluation, drawn: str) -> Report:
    """Return the report of an evaluation.

    Args:
        evaluation: What was found.
        drawn: What its queries are, in words.
    """
    methods, asked = evaluation.scores(), len(evaluation.searched)
    caption = [f"{pluralize(asked, 'query', 'queries')}: {drawn}"]
    if evaluation.partial:
        caption.append("partial: it ended before all queries were searched")
    caption += [f"left out: {why}: {count:,}" for why, count in evaluation.left_out.items() if count]
    functions = pluralize(sum(evaluation.functions.values()), "function")
    places = (
        ""
        if evaluation.repository
        else f" of {pluralize(len(evaluation.functions), 'repository', 'repositories')}"
    )
    caption.append(f"searched: {functions}{places} without comments and docstrings")
    if evaluation.noted:
        failed = pluralize(evaluation.noted, "query", "queries")
        caption.append(f"something went wrong in the turns of the model for {failed}")
    if not methods:
        return Report(tuple(caption), (), empty="Nothing was measured.")
    return Report(
        tuple(caption), (), (*_measures(evaluation, methods), _cost(methods), _queries(evaluation, methods))
    )


def _measures(evaluation: Evaluation, methods: Sequence[MethodScores]) -> list[Table]:
    """Return the measures where the function alone counts and, where classes are searched, with its class."""
    notes = ["intervals: Wilson's, 95 %"]
    of_function = [(one.method, one.scores) for one in methods]
    if "classes" not in evaluation.found:
        notes.append(
            "only functions are searched: that the class of one counts, as in the paper, changes nothing"
        )
        return [_table("The function is found", of_function, notes)]
    notes.append("the stream classes finds no functions, so that it has 0 here")
    of_class = [(one.method, one.with_classes) for one in methods]
    return [
        _table("The function is found", of_function, notes),
        _table("The function or its class is found, as in the paper", of_class, ()),
    ]


def _table(title: str, scores: Sequence[tuple[str, RankingScores]], notes: Sequence[str]) -> Table:
    rows = []
    for method, one in scores:
        means, queries = one.means(), len(one.queries)
        hits = [_hits(means[f"success@{cut}"], queries) for cut in (1, 5, 10)]
        rows.append(Row((method, *hits, number(means["mrr"], 3))))
    columns = ("method", "Success@1", "Success@5", "Success@10", "MRR")
    return Table(columns, tuple(rows), title, notes=tuple(notes))


def _hits(rate: float, queries: int) -> Cell:
    return share(rate, *wilson(round(rate * queries), queries))


def _cost(methods: Sequence[MethodScores]) -> Table:
    rows = [
        Row((one.method, number(1000 * one.seconds, 1), number(one.requests, 1), number(one.cost, 4)))
        for one in methods
    ]
    return Table(
        ("method", "ms", "requests", "US dollars"),
        tuple(rows),
        "What a query takes",
        notes=(
            "ms: with functions encoded; queries encoded before are known.",
            "requests and money: of the turns that the method needs; kept replies cost nothing.",
        ),
    )


def _queries(evaluation: Evaluation, methods: Sequence[MethodScores]) -> Table:
    rows = [
        # Without its class, so that a narrow terminal has room for the query.
        Row(
            (
                evaluation.queries[query],
                re.split(r"[.:]", query)[-1],
                *(_rank(one.run[query], query, evaluation.classes.get(query, "")) for one in methods),
            )
        )
        for query in evaluation.searched
    ]
    return Table(
        ("query", "function", *(one.method for one in methods)),
        tuple(rows),
        "Rank of the function of each query",
        names=2,
        notes=("in brackets: that of its class, where it is not found",) * ("classes" in evaluation.found),
    )


def _rank(ranked: Sequence[str], function: str, of_class: str) -> Cell:
    if function in ranked:
        return number(float(ranked.index(function) + 1), 0)
    if of_class in ranked:
        return Cell(f"({ranked.index(of_class) + 1})")
    return number(None)
