"""A search by several streams, with a model that writes what is compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol, TypeVar

from agents.code_search.agents import (
    Augmented,
    LookUp,
    assess_code,
    augment,
    main_language,
    rank,
    write_code,
)
from agents.code_search.asking import Ask
from agents.code_search.findings import Findings
from agents.code_search.index import Near, UnitIndex
from agents.code_search.streams import STREAMS, RankBy, Stream, by_parts, nearest, parts_of, union
from agents.llm.errors import ModelError

StreamQuery = Literal["original", "augmented"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search.

    Attributes:
        streams: The streams.
        stream_query: What the stream of the query compares: the query, or the paragraph about it.
        rank: By what the union of the streams is ranked.
    """

    streams: tuple[Stream, ...] = STREAMS
    stream_query: StreamQuery = "original"
    rank: RankBy = "cosine"

    @property
    def needs_paragraph(self) -> bool:
        """Whether a paragraph about the query is written."""
        return self.needs_code or self.stream_query == "augmented"

    @property
    def needs_code(self) -> bool:
        """Whether code is written for the query."""
        return bool({"code", "classes", "parts"} & set(self.streams))


class Compute(Protocol):
    """Calls a function that computes or waits, beside the loop that asks the model."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return what the function returns."""
        ...


@dataclass(slots=True)
class MultiStreamSearch:
    """A search of one query.

    Args:
        index: The functions and classes.
        findings: The query, and what was found; it grows stream by stream.
        ask: Asks the model.
        look_up: Returns a page about some words.
        options: How it is searched.
        compute: Calls what compares texts.
        begin: Called with each step as it begins, in words.

    Attributes:
        found: What each stream found, best first.
    """

    index: UnitIndex
    findings: Findings
    ask: Ask
    look_up: LookUp
    options: SearchOptions
    compute: Compute
    begin: Callable[[str], None] = lambda _: None
    found: dict[Stream, list[Near]] = field(default_factory=dict)

    async def run(self, paragraph: str = "") -> None:
        """Search.

        Args:
            paragraph: A paragraph about the query that is used as it is; empty to have one written.
        """
        findings, options = self.findings, self.options
        if "query" in options.streams and options.stream_query == "original":
            await self._stream("query", nearest, findings.query, "query", "function")
        if options.needs_paragraph:
            await self._augment(paragraph)
        about = findings.augmented.paragraph if findings.augmented is not None else findings.query
        if "query" in options.streams and options.stream_query == "augmented":
            await self._stream("query", nearest, about, "query", "function")
        if options.needs_code:
            await self._write_code(about)
        if findings.code:
            if "code" in options.streams:
                await self._stream("code", nearest, findings.code, "code", "function")
            if "classes" in options.streams:
                await self._stream("classes", nearest, findings.code, "code", "class")
            if "parts" in options.streams:
                parts = parts_of(findings.code, main_language(self.index.units))
                await self._stream("parts", by_parts, parts)
                if not parts:
                    findings.notes.append("The code that was written holds no function to compare.")
        if options.rank == "model" and findings.results:
            self.begin("ranking what was found")
            asked = rank(self.ask, findings.query, findings.results)
            ranked = await self._tried("ranks what was found", asked)
            if ranked is not None:
                findings.results, findings.ranked = ranked, "model"

    async def _stream(self, stream: Stream, find: Callable[..., list[Near]], *asked: object) -> None:
        self.begin(f"comparing: {stream}")
        self.found[stream] = await self.compute(partial(find, self.index, *asked))
        self.findings.searched.append(stream)
        in_order = {one: self.found[one] for one in STREAMS if one in self.found}
        self.findings.results = union(self.index, in_order)

    async def _augment(self, paragraph: str) -> None:
        findings = self.findings
        if paragraph:
            findings.augmented = Augmented(paragraph, ())
            return
        self.begin("writing about the query")
        asked = augment(self.ask, findings.query, findings.repository, self.look_up)
        found = await self._tried("writes about the query", asked)
        if found is not None and found.paragraph:
            findings.augmented = found
        elif found is not None:
            findings.notes.append("The model wrote no paragraph: the query stands for it.")

    async def _write_code(self, about: str) -> None:
        language = main_language(self.index.units)
        self.begin("writing code")
        code = await self._tried("writes code", write_code(self.ask, about, language)) or ""
        if code:
            self.begin("assessing the code")
            assessed = assess_code(self.ask, about, language, code)
            self.findings.code = await self._tried("assesses the code", assessed) or code

    async def _tried(self, what: str, asked: Awaitable[T]) -> T | None:
        """Return what was asked for; None, and a note, where no usable reply came."""
        try:
            return await asked
        except ModelError as error:
            self.findings.notes.append(
                f"The model that {what} gave no usable reply: {error.title}. {error.message}"
            )
            return None
