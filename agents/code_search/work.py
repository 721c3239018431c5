"""A code search as a work: within a budget, with kept replies, and what it finds is kept in the workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from agents.code_search.findings import Findings, not_shown
from agents.code_search.index import UnitIndex, VectorIndex, WordIndex
from agents.code_search.library import Library, is_document
from agents.code_search.multi_stream import MultiStreamSearch, SearchOptions
from agents.code_search.searching import (
    LEXICAL,
    check_query,
    default_encoder,
    functions_in,
    search_by_query,
    with_words,
)
from agents.code_search.web import look_up_web
from agents.jobs.asking import WorkAsk
from agents.jobs.budget import Spending
from agents.jobs.limits import held
from agents.jobs.role_models import RoleModel
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import ReportWork, WorkProgress, ignore_progress
from agents.llm.registry import open_model
from agents.repositories.git import is_git_url
from agents.repositories.reading import read_repository
from agents.repositories.units import has_units, units_in
from agents.retrieval.lexical import bm25
from agents.retrieval.methods import open_retriever
from store.errors import ImportFailed
from store.formatting import pluralize

if TYPE_CHECKING:
    from agents.code_search.agents import Page
    from agents.code_search.index import MakeIndex
    from agents.jobs.control import Control
    from agents.llm.protocol import LanguageModel
    from agents.repositories.reading import Repository
    from agents.repositories.units import Unit

KIND = "code-search"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The query of a search, its repository and its options.

    Attributes:
        repository: A folder, an archive or a git URL: see `agents.repositories.reading.read_repository`.
        query: The query.
        model: The model that writes about the query and code for it; empty for none: then the query itself is
            compared, by the encoder and by words.
        encoder: What compares texts; empty for the default one.
        options: The streams, with a model.
        paragraph: A paragraph about the query; empty to have one written.
        top: The number of results without a model.
    """

    repository: str
    query: str
    model: str = ""
    encoder: str = ""
    options: SearchOptions = field(default_factory=SearchOptions)
    paragraph: str = ""
    top: int = 10

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> SearchRequest:
        """Return the request of a description, which is its fields as JSON.

        Raises:
            WorkbenchError: Another version made it.
        """
        try:
            return TypeAdapter(cls).validate_python(description)
        except ValidationError as error:
            raise not_shown() from error


def absolute(repository: str) -> str:
    """Return the place of a repository as any working folder would have it.

    Raises:
        ImportFailed: It is a URL that is not fetched, or of the home of a user who is not known.
    """
    if is_git_url(repository):
        return repository
    try:
        return str(Path(repository).expanduser().absolute())
    except RuntimeError as error:
        raise ImportFailed(
            "No such folder", f"{repository}: its user is not known.", "Give the whole path of the folder."
        ) from error


def search_without_model(
    request: SearchRequest, settings: WorkSettings, report: ReportWork = ignore_progress
) -> Findings:
    """Search for functions near the query itself.

    Raises:
        WorkbenchError: The query is empty, the repository cannot be read or holds no function, or there is no
            such encoder.
    """
    began = monotonic()
    findings = Findings(check_query(request.query))
    _, units = _read(request, findings, report)
    method = with_words(request.encoder or default_encoder())
    retriever = open_retriever(method, settings.retrieval, settings.models)
    findings.results = search_by_query(units, findings.query, retriever, request.top, report)
    named = method.replace("+", " and ")
    findings.notes.insert(
        0, f"Without a model the query itself is compared ({named}): no code is written for it."
    )
    findings.searched.append("query")
    findings.compared, findings.seconds = method, monotonic() - began
    return findings


def files_read(*, documents: bool) -> Callable[[str], bool]:
    """Return which files of a repository are read: those of code, and documents where a model reads them."""
    return (lambda path: has_units(path) or is_document(path)) if documents else has_units


def _read(request: SearchRequest, findings: Findings, report: ReportWork) -> tuple[Repository, list[Unit]]:
    still = partial(report, WorkProgress("reading the repository", 0, 0))
    still()
    read = read_repository(request.repository, files_read(documents=bool(request.model)), still)
    units = units_in(read)
    functions_in(units, read.sentences())
    findings.repository, findings.commit, findings.units = read.name, read.commit, len(units)
    findings.notes += read.sentences()
    return read, units


@dataclass(frozen=True, slots=True)
class CodeSearch:
    """A search for the functions of a repository that answer a query (`agents.jobs.work.Work`).

    What it has found is its result, and what it keeps: `Findings`.

    Attributes:
        settings: How services are reached, where vectors are kept, and what may be spent.
        when_failing: At the end of the budget: pause, for somebody to look, or end.
    """

    request: SearchRequest
    settings: WorkSettings
    when_failing: Literal["pause", "end"] = "pause"

    @property
    def kind(self) -> str:
        """The name of its part."""
        return KIND

    @property
    def name(self) -> str:
        """Its name in lists: the query."""
        return self.request.query

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Search; the result is the `Findings`.

        Raises:
            Halted: It was stopped, or its budget is used up; what was found until then is kept.
        """
        control.pauses = self.when_failing == "pause"
        # Who stops a search does not wait for it.
        control.stop_seconds = 0.0
        if self.request.model:
            await _WithModel(self, control).run()
        else:
            findings = await self._compute(
                control, partial(search_without_model, self.request, self.settings)
            )
            _keep(control, findings)
        findings = control.result
        return f"{pluralize(len(findings.results), 'result')} for {findings.query[:100]}"

    async def _compute(self, control: Control, function: Callable[[ReportWork], T]) -> T:
        """Call a function that may compute with a model on this machine."""
        computes = (self.request.encoder or default_encoder()) != LEXICAL
        if computes and control.limits.gpu.locked():
            control.note(WorkProgress("waiting for another work to end", 0, 0))
        async with held(control.limits.gpu if computes else None, control.gate):
            return await aside(control, function)


def _keep(control: Control, findings: Findings) -> None:
    control.result = findings
    control.keep(findings.to_dict())


class _WithModel:
    """A search by streams, as it works."""

    def __init__(self, work: CodeSearch, control: Control) -> None:
        self._work, self._control = work, control
        self._began = monotonic()
        self._findings = Findings(check_query(work.request.query))
        self._ask: WorkAsk | None = None

    async def run(self) -> None:
        request, settings, control = self._work.request, self._work.settings, self._control
        findings = self._findings
        control.budget = Spending(settings.budget, settings.models.prices)
        model = open_model(request.model, settings.models)
        findings.model = model.name
        try:
            control.budget.require_prices((model.name,))
            read, units = await aside(control, partial(_read, request, findings))
            await self._search(model, read, units)
        finally:
            await model.close()
            self._note_cost()
            _keep(control, findings)

    async def _search(self, model: LanguageModel, read: Repository, units: Sequence[Unit]) -> None:
        request, settings, control = self._work.request, self._work.settings, self._control
        self._begin("opening the encoder")
        encoder = request.encoder or default_encoder()
        self._findings.compared, make_index = await aside(control, partial(indexing, encoder, settings))
        web = None if settings.web is None else partial(look_up_web, settings.web)
        library = Library(read, units, make_index, web)
        self._ask = WorkAsk(
            control, RoleModel(model, settings.models.temperature), settings.models, request.query
        )

        async def look_up(words: str) -> Page:
            self._begin(f"looking up: {words[:100]}")
            return await self._compute(partial(library.page, words))

        search = MultiStreamSearch(
            UnitIndex(units, make_index),
            self._findings,
            self._ask,
            look_up,
            request.options,
            self._compute,
            self._begin,
        )
        try:
            await search.run(request.paragraph)
        finally:
            self._findings.notes += library.notes

    async def _compute(self, function: Callable[[], T]) -> T:
        return await self._work._compute(self._control, lambda _: function())

    def _begin(self, step: str) -> None:
        """Keep what was found until now, and say what begins."""
        self._note_cost()
        _keep(self._control, self._findings)
        self._control.note(WorkProgress(step, 0, 0))

    def _note_cost(self) -> None:
        self._findings.seconds = monotonic() - self._began
        if self._ask is not None:
            self._findings.requests, self._findings.cost = self._ask.requests, self._ask.money


def indexing(encoder: str, settings: WorkSettings, report: ReportWork) -> tuple[str, MakeIndex]:
    """Return what makes texts ready to be compared, with its name: an encoder, or BM25.

    Raises:
        WorkbenchError: There is no such encoder.
    """
    if encoder == LEXICAL:
        return encoder, partial(WordIndex, bm25())
    from agents.retrieval.encoders import open_encoders
    from agents.retrieval.vectors import VectorCache

    retrieval = settings.retrieval
    (opened,) = open_encoders([encoder], batch_size=retrieval.batch_size, api=settings.models)
    return opened.name, partial(VectorIndex, opened, VectorCache(retrieval.folder), report)


def open_search(description: Mapping[str, Any], settings: WorkSettings) -> CodeSearch:
    """Return the search of a description."""
    return CodeSearch(SearchRequest.of(description), settings)


PART = WorkPart(
    KIND,
    "code search",
    "Finds the functions of a repository that answer a query.",
    open_search,
    asks=True,
)
"""Code searches among the works."""
