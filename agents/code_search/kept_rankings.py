"""Keeps what an evaluation searched and found in a workspace, where reports compare methods by query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agents.code_search.evaluation import TOP
from store.ingest.importing import import_records
from store.rankings.rankings import store_ranking

if TYPE_CHECKING:
    from agents.code_search.evaluation import Evaluation, SearchBenchmark
    from store.workspace.duckdb import Workspace

RATER = "docstrings"
"""To whom the label of a query with its function belongs."""
RATER_WITH_CLASSES = "docstrings or classes"
"""To whom that belongs, and the label of the query with the class of its function."""


class KeptRankings:
    """Keeps an evaluation in a workspace.

    Texts are compared there: functions with the same text are one code, and of queries with the same text the
    first one is kept.

    Args:
        workspace: The open workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._hashes: dict[str, str] = {}
        self._queries: dict[str, str] = {}

    def add(self, benchmark: SearchBenchmark) -> None:
        """Add functions and classes as codes, and each query with its function as a pair.

        Raises:
            WorkspaceError: The workspace is a packet, or cannot be written.
        """
        for name, unit in zip(benchmark.ids, benchmark.units, strict=True):
            self._hashes[name] = _md5(unit.text)
        source = f"functions of {benchmark.repository.name.replace('/', ' ')}"
        import_records(self._workspace, _codes(benchmark), format="codes", source=source)
        own = {
            query: text
            for query, text in benchmark.queries.items()
            if self._queries.setdefault(_md5(text), query) == query
        }
        if not own:
            return
        functions = {query: [query] for query in own}
        classes = {query: [query, *_class(benchmark, query)] for query in own}
        for rater, matches in ((RATER, functions), (RATER_WITH_CLASSES, classes)):
            pairs = _pairs(benchmark, own, matches)
            import_records(self._workspace, pairs, format="jsonl", source=source, label_as=rater)

    def store(self, evaluation: Evaluation, settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Store the ranking of each method, of the queries that all have searched.

        Args:
            evaluation: What was found.
            settings: What the ranking of each method depends on.

        Returns:
            The methods of which a ranking of something else was replaced.

        Raises:
            WorkspaceError: The workspace lacks a text, or cannot be written.
        """
        import numpy

        searched = set(evaluation.searched)
        queries = {text: query for text, query in self._queries.items() if query in searched}
        codes = {code: place for place, code in enumerate(sorted(set(self._hashes.values())))}
        corpus = hashlib.sha256("".join(codes).encode()).hexdigest()
        replaced = []
        for method, found in evaluation.found.items():
            places = numpy.full((len(queries), TOP), -1, dtype=numpy.int64)
            scores = numpy.zeros((len(queries), TOP))
            for row, query in enumerate(queries.values()):
                ranked: dict[int, float] = {}
                for name, score in zip(found[query].ids, found[query].scores, strict=True):
                    ranked.setdefault(codes[self._hashes[name]], score)
                places[row, : len(ranked)] = list(ranked)
                scores[row, : len(ranked)] = list(ranked.values())
            is_other = store_ranking(
                self._workspace,
                method,
                {**settings[method], "corpus": corpus},
                depth=TOP,
                queries=list(queries),
                codes=list(codes),
                places=places,
                scores=scores,
            )
            replaced += [method] if is_other else []
        return replaced


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _class(benchmark: SearchBenchmark, query: str) -> list[str]:
    return [benchmark.classes[query]] if query in benchmark.classes else []


def _codes(benchmark: SearchBenchmark) -> Iterator[dict[str, Any]]:
    for unit in benchmark.units:
        yield {
            "code": unit.text,
            "name": unit.name,
            "language": unit.language,
            "repository": benchmark.repository.name,
            "path": unit.path,
        }


def _pairs(
    benchmark: SearchBenchmark, queries: Mapping[str, str], matches: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    places = {name: place for place, name in enumerate(benchmark.ids)}
    for query, text in queries.items():
        for name in matches[query]:
            unit = benchmark.units[places[name]]
            named = "\0".join((text, benchmark.repository.name, unit.path, unit.name, unit.text))
            yield {
                "id": f"docstring-{hashlib.sha256(named.encode()).hexdigest()[:16]}",
                "query": text,
                "code": unit.text,
                "name": unit.name,
                "language": unit.language,
                "repository": benchmark.repository.name,
                "path": unit.path,
                "label": 1,
            }
