"""An evaluation of code search as a work: one search a query, within a budget and with kept replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agents.code_search.asking import no_model
from agents.code_search.code_search_net import by_rows, no_query, read_rows
from agents.code_search.evaluation import (
    TOP,
    Evaluation,
    Found,
    SearchBenchmark,
    by_docstrings,
    evaluate_method,
)
from agents.code_search.findings import Findings
from agents.code_search.index import UnitIndex
from agents.code_search.kept_rankings import KeptRankings
from agents.code_search.library import Library
from agents.code_search.multi_stream import MultiStreamSearch, SearchOptions
from agents.code_search.searching import LEXICAL, default_encoder, with_words
from agents.code_search.streams import union
from agents.code_search.web import look_up_web
from agents.code_search.work import files_read, indexing
from agents.jobs.asking import WorkAsk, money_of
from agents.jobs.budget import Spending
from agents.jobs.limits import held
from agents.jobs.pause_gate import Halted
from agents.jobs.role_models import RoleModel
from agents.jobs.work import WorkPart, WorkSettings, aside, undivided
from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.llm.registry import open_model
from agents.repositories.reading import read_repository
from agents.retrieval.methods import open_retriever, settings_of
from store.errors import WorkspaceError
from store.formatting import pluralize

if TYPE_CHECKING:
    from agents.code_search.agents import Page
    from agents.code_search.index import MakeIndex
    from agents.code_search.searching import SearchResult
    from agents.code_search.streams import Stream
    from agents.jobs.control import Control
    from agents.llm.protocol import LanguageModel
    from agents.retrieval.retriever import Retriever
    from store.tables.runs import Step

KIND = "search-evaluation"
UNION = "union"
"""The method that has what all streams found."""
REQUESTS_OF_A_QUERY = 10
"""Requests that a query takes at most, but for repeated ones: look-ups, a paragraph, code, its assessment."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The queries of an evaluation, and its methods.

    Attributes:
        source: A repository (see `agents.repositories.reading.read_repository`), or a file of CodeSearchNet.
        repositories: The folder with the repositories of such a file; empty for a repository.
        number: The number of queries.
        seed: The seed with which they are drawn.
        cut_parameters: Whether parameters and returned values are cut from docstrings.
        encoder: What compares texts; empty for the default one.
        model: The model of the streams; empty for none.
        options: The streams; None for none.
        keep: Whether the rankings are kept in the workspace.
    """

    source: str
    repositories: str = ""
    number: int = 100
    seed: int = 0
    cut_parameters: bool = False
    encoder: str = ""
    model: str = ""
    options: SearchOptions | None = None
    keep: bool = False

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> EvaluationRequest:
        """Return the request of a description, which is its fields as JSON."""
        options = description["options"]
        if options is not None:
            options = SearchOptions(**{**options, "streams": tuple(options["streams"])})
        return cls(**{**description, "options": options})

    def benchmarks(self, evaluation: Evaluation) -> Iterator[SearchBenchmark]:
        """Yield the queries with the repositories in which they are searched, one at a time.

        Args:
            evaluation: Receives what is left out, and what is to be known of a repository.

        Raises:
            WorkbenchError: Something cannot be read, or there is no query.
        """
        wanted, left_out = files_read(documents=bool(self.model)), evaluation.left_out
        if not self.repositories:
            read = read_repository(self.source, wanted)
            evaluation.repository, evaluation.commit = read.name, read.commit
            evaluation.notes += read.sentences()
            yield by_docstrings(read, self.number, self.seed, left_out, cut=self.cut_parameters)
            return
        rows = read_rows(Path(self.source), left_out, cut=self.cut_parameters)
        yield from by_rows(rows, Path(self.repositories), self.number, self.seed, left_out, wanted=wanted)
        if not evaluation.queries:
            raise no_query(Path(self.source), left_out)


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """An evaluation of the methods of a code search (`agents.jobs.work.Work`); its result is an `Evaluation`.

    Attributes:
        settings: How services are reached, where vectors are kept, and what may be spent.
        when_failing: At the end of the budget: pause, for somebody to look, or end.
    """

    request: EvaluationRequest
    settings: WorkSettings
    when_failing: Literal["pause", "end"] = "pause"

    @property
    def kind(self) -> str:
        """The name of its part."""
        return KIND

    @property
    def name(self) -> str:
        """Its name in lists: what is evaluated."""
        return f"evaluation of {Path(self.request.source).name}"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Evaluate.

        Raises:
            Halted: It was stopped, or its budget is used up; what was searched until then is kept.
        """
        control.pauses = self.when_failing == "pause"
        control.stop_seconds = self.settings.stop_seconds
        control.budget = Spending(self.settings.budget, self.settings.models.prices)
        evaluation = control.result = Evaluation()
        name = self.request.model
        model = open_model(name, self.settings.models) if name else None
        try:
            control.budget.require_prices((model.name,) if model is not None else ())
            await _Evaluating(self, control, evaluation, model).run()
        finally:
            if model is not None:
                await model.close()
        found = [f"{one.method} {one.scores.means()['success@10']:.1%}" for one in evaluation.scores()]
        return f"Success@10 of {pluralize(len(evaluation.searched), 'query', 'queries')}: {', '.join(found)}"


class _Evaluating:
    """An evaluation, as it works.

    Args:
        work: What is evaluated.
        control: The steering.
        evaluation: Receives what is found.
        model: The model of the streams; None for none.
    """

    def __init__(
        self, work: SearchEvaluation, control: Control, evaluation: Evaluation, model: LanguageModel | None
    ) -> None:
        self._request, self._settings = work.request, work.settings
        self._control, self._evaluation, self._model = control, evaluation, model
        self._encoder = work.request.encoder or default_encoder()
        self._kept = KeptRankings(control.workspace) if work.request.keep else None

    async def run(self) -> None:
        evaluation, options = self._evaluation, self._request.options
        retrievers = await aside(self._control, lambda _: self._opened())
        evaluation.found = {one.name: {} for one in retrievers}
        make_index: MakeIndex | None = None
        if options is not None:
            evaluation.found |= {name: {} for name in (*options.streams, UNION)}
            _, make_index = await aside(
                self._control, lambda report: indexing(self._encoder, self._settings, report)
            )
        benchmarks = self._request.benchmarks(evaluation)
        try:
            while (benchmark := await aside(self._control, partial(self._next, benchmarks))) is not None:
                for one in retrievers:
                    evaluation.found[one.name] |= await self._compute(
                        partial(evaluate_method, benchmark, one)
                    )
                if make_index is not None and options is not None:
                    await self._search_by_streams(benchmark, make_index, options)
            evaluation.partial = False
        finally:
            if self._kept is not None and evaluation.searched:
                await undivided(partial(self._store, self._kept, retrievers))

    def _opened(self) -> list[Retriever]:
        names = dict.fromkeys((LEXICAL, self._encoder, with_words(self._encoder)))
        return [open_retriever(name, self._settings.retrieval, self._settings.models) for name in names]

    def _next(self, benchmarks: Iterator[SearchBenchmark], report: ReportWork) -> SearchBenchmark | None:
        """Return the next repository with its queries, which are added to the evaluation; None at the end."""
        report(WorkProgress("reading", len(self._evaluation.queries), self._request.number))
        benchmark = next(benchmarks, None)
        if benchmark is not None:
            self._evaluation.add(benchmark)
            if self._kept is not None:
                self._kept.add(benchmark)
        return benchmark

    async def _compute(self, function: Callable[[ReportWork], T]) -> T:
        share = None if self._encoder == LEXICAL else self._control.limits.gpu
        async with held(share, self._control.gate):
            return await aside(self._control, function)

    # -- streams ----------------------------------------------------------------------------------------

    async def _search_by_streams(
        self, benchmark: SearchBenchmark, make_index: MakeIndex, options: SearchOptions
    ) -> None:
        """Search the queries of a repository, several at the same time.

        Raises:
            Halted: It was stopped; turns under way came to their end.
        """
        index = UnitIndex(benchmark.units, make_index)
        names = {id(unit): name for name, unit in zip(benchmark.ids, benchmark.units, strict=True)}
        web = None if self._settings.web is None else partial(look_up_web, self._settings.web)
        library = Library(benchmark.repository, benchmark.units, make_index, web)
        room = asyncio.Semaphore(self._at_once())
        ended = 0

        async def search(query: str, text: str) -> None:
            nonlocal ended
            findings = Findings(text, benchmark.repository.name)
            async with room:
                try:
                    await self._control.gate.passing()
                    found = await self._search(findings, index, copy(library), names, options)
                except Halted:
                    return
            for method, one in found.items():
                self._evaluation.found[method][query] = one
            self._evaluation.noted += bool(findings.notes)
            ended += 1
            self._control.note(WorkProgress("searching by streams", ended, len(benchmark.queries)))

        try:
            async with asyncio.TaskGroup() as group:
                for query, text in benchmark.queries.items():
                    group.create_task(search(query, text))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        await self._control.gate.passing()

    def _at_once(self) -> int:
        """Return how many queries are searched at once: as many as the budget brings to an end."""
        spending = self._control.budget
        if spending.budget.requests is None:
            return self._settings.concurrency
        left = spending.budget.requests - spending.requests
        return max(1, min(self._settings.concurrency, left // REQUESTS_OF_A_QUERY))

    async def _search(
        self,
        findings: Findings,
        index: UnitIndex,
        library: Library,
        names: Mapping[int, str],
        options: SearchOptions,
    ) -> dict[str, Found]:
        """Search one query; return what each stream found, and all of them together."""
        library.notes = findings.notes
        recorded = None
        if self._model is not None:
            role_model = RoleModel(self._model, self._settings.models.temperature)
            recorded = WorkAsk(self._control, role_model, self._settings.models, findings.query)

        async def look_up(words: str) -> Page:
            return await self._compute(lambda _: library.page(words))

        async def compared(function: Callable[[], T]) -> T:
            return await self._compute(lambda _: function())

        began, ended = monotonic(), dict[str, float]()

        def begin(_step: str) -> None:
            # A stream has ended when the next step begins.
            for stream in search.found:
                ended.setdefault(stream, monotonic() - began)

        search = MultiStreamSearch(index, findings, recorded or no_model, look_up, options, compared, begin)
        await search.run()
        begin("the end")
        seconds, turns = monotonic() - began, [] if recorded is None else recorded.turns

        def found(results: Sequence[SearchResult], seconds: float, turns: Sequence[Step]) -> Found:
            ids, scores = (names[id(one.unit)] for one in results[:TOP]), (one.score for one in results[:TOP])
            return Found(
                tuple(ids), tuple(scores), seconds, sum(turn.requests for turn in turns), money_of(turns)
            )

        return {
            stream: found(
                union(index, {stream: search.found.get(stream, [])}),
                ended.get(stream, seconds),
                [turn for turn in turns if _needs(stream, turn, options)],
            )
            for stream in options.streams
        } | {UNION: found(findings.results, seconds, turns)}

    # -- what is kept -----------------------------------------------------------------------------------

    def _store(self, kept: KeptRankings, retrievers: list[Retriever]) -> None:
        """Store the rankings; where they cannot be, that is noted, since measuring them cost money."""
        evaluation, options = self._evaluation, self._request.options
        settings: dict[str, Mapping[str, Any]] = {one.name: settings_of(one) for one in retrievers}
        if options is not None:
            encoder = settings_of(retrievers[:2][-1])
            asked = {"encoder": encoder, "model": self._request.model, "query": options.stream_query}
            settings |= {
                name: {**asked, "streams": options.streams if name == UNION else [name]}
                for name in (*options.streams, UNION)
            }
        try:
            replaced = kept.store(evaluation, settings)
        except WorkspaceError as error:
            evaluation.notes.append(f"Rankings not kept. {error.title}: {error.message} {error.hint}")
            return
        evaluation.kept = True
        if replaced:
            names = ", ".join(replaced)
            evaluation.notes.append(
                f"The stored rankings of {names} were of something else; they are replaced."
            )


def _needs(stream: Stream, turn: Step, options: SearchOptions) -> bool:
    """Return whether a stream alone needs a turn."""
    return stream != "query" or (options.stream_query == "augmented" and turn.role == "researcher")


def open_evaluation(description: Mapping[str, Any], settings: WorkSettings) -> SearchEvaluation:
    """Return the evaluation of a description."""
    return SearchEvaluation(EvaluationRequest.of(description), settings)


PART = WorkPart(
    KIND,
    "search evaluation",
    "Measures how well a code search finds functions by what documents them.",
    open_evaluation,
    asks=True,
)
"""Evaluations of code search among the works."""
