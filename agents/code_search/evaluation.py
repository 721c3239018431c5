"""Measures how well a search finds functions by their docstrings: Success@k (RepoRift, section 3.3)."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agents.code_search.index import near
from agents.code_search.searching import functions_in
from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.repositories.units import Unit, first_sentence, without_comments
from agents.retrieval.retriever import Retriever
from store.errors import WorkbenchError
from store.measures.intervals import wald, wilson
from store.measures.ranking import Qrels, Run, evaluate_run

if TYPE_CHECKING:
    from store.measures.ranking import RankingScores

TOP = 10
"""The results of a query that count."""
MEASURES = ("success@1", "success@5", "success@10", "mrr")


@dataclass(frozen=True, slots=True)
class SearchBenchmark:
    """Queries whose functions are known, and the functions and classes among which they are searched.

    Attributes:
        units: The functions and classes, without comments and docstrings.
        ids: The name of each of them in runs and qrels.
        queries: The text of each query, under the name of its function.
        classes: The class of the function of a query, where it is in one.
        left_out: How many queries were left out, by why.
    """

    units: tuple[Unit, ...]
    ids: tuple[str, ...]
    queries: Mapping[str, str]
    classes: Mapping[str, str]
    left_out: Mapping[str, int]

    @property
    def qrels(self) -> Qrels:
        """The function of each query."""
        return {query: {query: 1.0} for query in self.queries}

    @property
    def qrels_with_classes(self) -> Qrels:
        """The function of each query, and its class: as in the paper either counts."""
        return {
            query: {query: 1.0, **({self.classes[query]: 1.0} if query in self.classes else {})}
            for query in self.queries
        }


def by_docstrings(units: Sequence[Unit], number: int, seed: int) -> SearchBenchmark:
    """Take some functions by the first sentences of their own docstrings.

    Args:
        units: The functions and classes of a repository, by path and line.
        number: How many are taken; all where there are fewer.
        seed: The seed of the draw.

    Raises:
        WorkbenchError: No function has a docstring.
    """
    ids = tuple(f"{unit.path}:{unit.line}:{unit.name}" for unit in units)
    documented = {
        name: first_sentence(unit.doc)
        for name, unit in zip(ids, units, strict=True)
        if unit.kind == "function" and unit.doc
    }
    said = {name: sentence for name, sentence in documented.items() if sentence}
    if not said:
        functions_in(units)
        raise WorkbenchError(
            "No docstring",
            "No function of the repository has a docstring, or a comment above it.",
            "Name a repository whose functions are documented.",
        )
    taken = random.Random(seed).sample(sorted(said), min(number, len(said)))
    bare = tuple(_bare(unit) for unit in units)
    classes = _classes(units, ids)
    return SearchBenchmark(
        bare,
        ids,
        {name: said[name] for name in taken},
        {name: classes[name] for name in taken if name in classes},
        {
            why: count
            for why, count in (
                ("docstrings without a sentence", len(documented) - len(said)),
                ("fewer docstrings than asked for", number - len(taken)),
            )
            if count
        },
    )


def _bare(unit: Unit) -> Unit:
    # Encoders take no empty text.
    return replace(unit, text=without_comments(unit.text, unit.language) or unit.name, doc="")


def _classes(units: Sequence[Unit], ids: Sequence[str]) -> dict[str, str]:
    """Return the innermost class around each function that is in one."""
    found: dict[str, str] = {}
    around: list[tuple[Unit, str]] = []
    for unit, name in zip(units, ids, strict=True):
        while around and (around[-1][0].path != unit.path or around[-1][0].end_line < unit.end_line):
            around.pop()
        if unit.kind == "class":
            around.append((unit, name))
        elif around:
            found[name] = around[-1][1]
    return found


@dataclass(frozen=True, slots=True)
class MethodScores:
    """The scores of a method on a benchmark.

    Attributes:
        scores: Its measures where the function alone counts.
        with_classes: Those where its class counts, too.
        run: What it found, best first.
        seconds: The seconds of a query, once the functions are read and encoded. A query that was encoded
            before is not encoded again.
    """

    method: str
    scores: RankingScores
    with_classes: RankingScores
    run: Run
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields: shares from 0 to 1, intervals as their two ends."""
        means, number = self.scores.means(), len(self.scores.queries)
        hits = {cut: round(means[f"success@{cut}"] * number) for cut in (1, 10)}
        return {
            "method": self.method,
            **means,
            "success@10_class": self.with_classes.means()["success@10"],
            **{f"wilson@{cut}": wilson(count, number) for cut, count in hits.items()},
            **{f"wald@{cut}": wald(count, number) for cut, count in hits.items()},
            "seconds": self.seconds,
        }


def evaluate_method(
    benchmark: SearchBenchmark, method: str, retriever: Retriever, report: ReportWork = ignore_progress
) -> MethodScores:
    """Search all queries of a benchmark among its functions.

    Args:
        benchmark: The benchmark.
        method: What the method is called.
        retriever: What compares a query with functions.
        report: Receives the progress.
    """
    places = [place for place, unit in enumerate(benchmark.units) if unit.kind == "function"]
    texts = [benchmark.units[place].text for place in places]
    # Before the time is taken: vectors of functions are made once.
    retriever.search([*benchmark.queries.values()][:1], texts, 1, report)
    began = time.monotonic()
    found = retriever.search([*benchmark.queries.values()], texts, min(TOP, len(places)), report)
    seconds = (time.monotonic() - began) / len(benchmark.queries)
    run = {
        query: [benchmark.ids[places[one.place]] for one in row]
        for query, row in zip(benchmark.queries, near(found), strict=True)
    }

    def scored(qrels: Qrels) -> RankingScores:
        return evaluate_run(qrels, run, MEASURES, level=1, complete=True, zero_ideal="zero")

    return MethodScores(method, scored(benchmark.qrels), scored(benchmark.qrels_with_classes), run, seconds)
