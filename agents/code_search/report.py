"""The report of an evaluated search: a row for each method, and one for each query (RepoRift, Table 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.code_search.evaluation import MethodScores, SearchBenchmark
from store.measures.intervals import wilson
from store.reports.value import Cell, Report, Row, Table, number, share


def search_report(benchmark: SearchBenchmark, found: Sequence[MethodScores], seed: int) -> Report:
    """Return the report of an evaluation.

    Args:
        benchmark: The queries.
        found: What each method reached.
        seed: The seed with which the queries were drawn.
    """
    caption = [f"{len(benchmark.queries):,} functions by the first sentence of their docstrings, seed {seed}"]
    caption += [f"left out: {why}: {count:,}" for why, count in benchmark.left_out.items()]
    functions = sum(unit.kind == "function" for unit in benchmark.units)
    caption.append(f"searched: {functions:,} functions without comments and docstrings")
    return Report(tuple(caption), (), (_methods(found), _queries(benchmark, found)))


def _methods(found: Sequence[MethodScores]) -> Table:
    rows = []
    for one in found:
        means, queries = one.scores.means(), len(one.scores.queries)
        hits = [_hits(means[f"success@{cut}"], queries) for cut in (1, 5, 10)]
        of_class = share(one.with_classes.means()["success@10"])
        rows.append(
            Row((one.method, *hits, number(means["mrr"], 3), of_class, number(1000 * one.seconds, 1)))
        )
    return Table(
        ("method", "Success@1", "Success@5", "Success@10", "MRR", "@10 or class", "ms a query"),
        tuple(rows),
        "Methods",
        notes=(
            "intervals: Wilson's, 95 %. @10 or class: the class of the function counts, too.",
            "ms a query: with functions encoded; queries encoded before are known.",
        ),
    )


def _hits(rate: float, queries: int) -> Cell:
    return share(rate, *wilson(round(rate * queries), queries))


def _queries(benchmark: SearchBenchmark, found: Sequence[MethodScores]) -> Table:
    rows = [
        # Without its class, so that a narrow terminal has room for the query.
        Row((text, re.split(r"[.:]", query)[-1], *(_rank(one, query) for one in found)))
        for query, text in benchmark.queries.items()
    ]
    return Table(
        ("query", "function", *(one.method for one in found)),
        tuple(rows),
        "Rank of the function of each query",
        names=2,
    )


def _rank(one: MethodScores, query: str) -> Cell:
    ranked = one.run[query]
    return number(float(ranked.index(query) + 1), 0) if query in ranked else number(None)
