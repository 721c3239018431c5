"""Measures how well a search finds functions by what documents them: Success@k (RepoRift, section 3.3)."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agents.code_search.docstrings import cut_parameters
from agents.code_search.index import near
from agents.code_search.searching import functions_in
from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.repositories.units import Unit, clean, first_sentence, units_in, without_comments
from agents.retrieval.retriever import Retriever
from store.errors import WorkbenchError
from store.measures.intervals import wald, wilson
from store.measures.ranking import Qrels, Run, evaluate_run

if TYPE_CHECKING:
    from agents.repositories.reading import Repository
    from store.measures.ranking import RankingScores

TOP = 10
"""The results of a query that count."""
MEASURES = ("success@1", "success@5", "success@10", "mrr")


@dataclass(frozen=True, slots=True)
class SearchBenchmark:
    """Queries whose functions are known, and the repository in which they are searched.

    Attributes:
        repository: Its files.
        units: The functions and classes, without comments and docstrings.
        ids: The name of each of them in runs and qrels.
        classes: The class of each function that is in one, by their names.
        queries: The text of each query, under the name of its function.
    """

    repository: Repository
    units: tuple[Unit, ...]
    ids: tuple[str, ...]
    classes: Mapping[str, str]
    queries: Mapping[str, str] = field(default_factory=dict)

    @property
    def functions(self) -> int:
        """The number of functions."""
        return sum(unit.kind == "function" for unit in self.units)


def without_docstrings(repository: Repository, units: Sequence[Unit], prefix: str = "") -> SearchBenchmark:
    """Return the functions and classes of a repository without comments and docstrings, and no query yet.

    Args:
        repository: The files.
        units: Their functions and classes, by path and line.
        prefix: What the name of each begins with.
    """
    # One word each, as TREC's files have them.
    ids = [
        re.sub(r"[%#\s]", lambda blank: quote(blank[0]), f"{prefix}{unit.path}:{unit.line}:{unit.name}")
        for unit in units
    ]
    return SearchBenchmark(repository, tuple(map(_bare, units)), tuple(ids), _classes(units, ids))


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


def by_docstrings(
    repository: Repository, number: int, seed: int, left_out: Counter[str], *, cut: bool = False
) -> SearchBenchmark:
    """Take some functions by the first sentences of their own docstrings.

    Args:
        repository: The files.
        number: How many are taken; all where there are fewer.
        seed: The seed of the draw.
        left_out: Receives how many were left out, by why.
        cut: Whether parameters and returned values are cut from the docstrings.

    Raises:
        WorkbenchError: No function has a docstring.
    """
    units = units_in(repository)
    benchmark = without_docstrings(repository, units)
    documented = {
        name: clean(first_sentence(cut_parameters(unit.doc) if cut else unit.doc)).strip()
        for name, unit in zip(benchmark.ids, units, strict=True)
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
    left_out["docstrings without a sentence"] += len(documented) - len(said)
    left_out["fewer docstrings than asked for"] += number - len(taken)
    return replace(benchmark, queries={name: said[name] for name in taken})


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a method for a query, with their cost.

    Attributes:
        ids: What it found, best first, at most `TOP`.
        scores: Their scores.
        seconds: How long it took, once the functions are read and encoded. A query that was encoded before is
            not encoded again.
        requests: The requests to a model.
        cost: What they cost in US dollars; None where that is not known.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    requests: int = 0
    cost: float | None = 0.0


def evaluate_method(
    benchmark: SearchBenchmark, retriever: Retriever, report: ReportWork = ignore_progress
) -> dict[str, Found]:
    """Search all queries of a benchmark among its functions.

    Args:
        benchmark: The benchmark.
        retriever: What compares a query with functions.
        report: Receives the progress.
    """
    places = [place for place, unit in enumerate(benchmark.units) if unit.kind == "function"]
    texts, queries = [benchmark.units[place].text for place in places], [*benchmark.queries.values()]
    # Before the time is taken: vectors of functions are made once.
    retriever.search(queries[:1], texts, 1, report)
    began = time.monotonic()
    rows = near(retriever.search(queries, texts, min(TOP, len(places)), report))
    seconds = (time.monotonic() - began) / len(queries)
    return {
        query: Found(
            tuple(benchmark.ids[places[one.place]] for one in row), tuple(one.score for one in row), seconds
        )
        for query, row in zip(benchmark.queries, rows, strict=True)
    }


@dataclass(frozen=True, slots=True)
class MethodScores:
    """The scores of a method.

    Attributes:
        scores: Its measures where the function alone counts.
        with_classes: Those where its class counts, too.
        run: What it found, best first.
        seconds: The seconds of a query: see `Found`.
        requests: The requests of a query.
        cost: What these cost in US dollars; None where that is not known.
    """

    method: str
    scores: RankingScores
    with_classes: RankingScores
    run: Run
    seconds: float
    requests: float = 0.0
    cost: float | None = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields: shares from 0 to 1, intervals as their two ends."""
        means, number = self.scores.means(), len(self.scores.queries)
        hits = {cut: round(means[f"success@{cut}"] * number) for cut in (1, 10)}
        return {
            "method": self.method,
            **means,
            **{f"{name}_class": mean for name, mean in self.with_classes.means().items()},
            **{f"wilson@{cut}": wilson(count, number) for cut, count in hits.items()},
            **{f"wald@{cut}": wald(count, number) for cut, count in hits.items()},
            "seconds": self.seconds,
            "requests": self.requests,
            "cost": self.cost,
        }


@dataclass(slots=True)
class Evaluation:
    """An evaluation, as it works and when it has ended.

    Attributes:
        repository: The name of the repository; empty where each query has its own.
        commit: Its commit; empty where that is not known.
        functions: The number of functions of each repository that was searched.
        queries: The text of each query that was taken, under the name of its function.
        classes: The class of the function of a query, where it is in one.
        left_out: How many queries were left out, by why.
        found: What each method found for each query that it has searched.
        notes: What is to be known besides, a sentence each.
        noted: For how many queries something went wrong.
        partial: Whether it has not come to its end.
        kept: Whether its rankings are kept in a workspace.
    """

    repository: str = ""
    commit: str = ""
    functions: dict[str, int] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    found: dict[str, dict[str, Found]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    noted: int = 0
    partial: bool = True
    kept: bool = False

    def add(self, benchmark: SearchBenchmark) -> None:
        """Add the queries of a benchmark, which are searched next."""
        self.functions[benchmark.repository.name] = benchmark.functions
        self.queries |= benchmark.queries
        self.classes |= {
            query: benchmark.classes[query] for query in benchmark.queries if query in benchmark.classes
        }

    @property
    def searched(self) -> list[str]:
        """The queries that all methods have searched; only these are measured."""
        return [query for query in self.queries if all(query in found for found in self.found.values())]

    @property
    def qrels(self) -> Qrels:
        """The function of each searched query."""
        return {query: {query: 1.0} for query in self.searched}

    @property
    def qrels_with_classes(self) -> Qrels:
        """The function of each searched query, and its class: as in the paper either counts."""
        return {
            query: {query: 1.0, **({self.classes[query]: 1.0} if query in self.classes else {})}
            for query in self.searched
        }

    def scores(self) -> list[MethodScores]:
        """Return the scores of each method; none where no query was searched by all."""
        strict, with_classes = self.qrels, self.qrels_with_classes
        return [
            _scores(method, found, strict, with_classes) for method, found in self.found.items() if strict
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `workbench evaluate search --json` prints."""
        return {
            "repository": self.repository or None,
            "commit": self.commit or None,
            "repositories": len(self.functions),
            "functions": sum(self.functions.values()),
            "queries": len(self.searched),
            "left_out": {why: count for why, count in self.left_out.items() if count},
            "partial": self.partial,
            "noted": self.noted,
            "methods": [one.to_dict() for one in self.scores()],
        }


def _scores(method: str, found: Mapping[str, Found], strict: Qrels, with_classes: Qrels) -> MethodScores:
    run = {query: list(found[query].ids) for query in strict}
    rows, number = [found[query] for query in strict], len(strict)
    costs = [one.cost for one in rows if one.cost is not None]

    def scored(qrels: Qrels) -> RankingScores:
        return evaluate_run(qrels, run, MEASURES, level=1, complete=True, zero_ideal="zero")

    return MethodScores(
        method,
        scored(strict),
        scored(with_classes),
        run,
        sum(one.seconds for one in rows) / number,
        sum(one.requests for one in rows) / number,
        sum(costs) / number if len(costs) == number else None,
    )
