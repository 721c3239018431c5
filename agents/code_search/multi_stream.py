"""A search by several streams, with a model that writes what is compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from agents.code_search.agents import Augmented, Page, assess_code, augment, main_language, rank, write_code
from agents.code_search.asking import Ask
from agents.code_search.index import Near, UnitIndex
from agents.code_search.searching import SearchResult
from agents.code_search.streams import STREAMS, Stream, by_parts, nearest, union
from agents.llm.errors import ModelError

StreamQuery = Literal["original", "augmented"]
RankBy = Literal["cosine", "model"]
Found = TypeVar("Found")


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


@dataclass(slots=True)
class MultiStreamSearch:
    """A search of one query.

    Args:
        index: The functions and classes.
        query: The query.
        repository: The name of the repository.
        ask: Asks the model.
        look_up: Returns a page about some words.
        options: How it is searched.

    Attributes:
        augmented: The paragraph; None until it is written, and where none is.
        code: The code that was written; empty for none.
        notes: What went wrong, a sentence each.
    """

    index: UnitIndex
    query: str
    repository: str
    ask: Ask
    look_up: Callable[[str], Page]
    options: SearchOptions
    augmented: Augmented | None = None
    code: str = ""
    notes: list[str] = field(default_factory=list)

    async def run(self, paragraph: str = "") -> list[SearchResult]:
        """Search.

        Args:
            paragraph: A paragraph about the query that is used as it is; empty to have one written.

        Returns:
            What the streams found together, best first.
        """
        options = self.options
        found: dict[Stream, Sequence[Near]] = {}
        if "query" in options.streams and options.stream_query == "original":
            found["query"] = nearest(self.index, self.query, "query", "function")
        if options.needs_paragraph:
            await self._augment(paragraph)
        about = self.augmented.paragraph if self.augmented is not None else self.query
        if "query" in options.streams and options.stream_query == "augmented":
            found["query"] = nearest(self.index, about, "query", "function")
        if options.needs_code:
            await self._write_code(about)
        if self.code:
            if "code" in options.streams:
                found["code"] = nearest(self.index, self.code, "code", "function")
            if "classes" in options.streams:
                found["classes"] = nearest(self.index, self.code, "code", "class")
            if "parts" in options.streams:
                found["parts"] = by_parts(self.index, self.code, main_language(self.index.units))
                if not found["parts"]:
                    self.notes.append("The code that was written holds no function to compare.")
        results = union(self.index, {stream: found[stream] for stream in STREAMS if stream in found})
        if options.rank == "model" and results:
            ranked = await self._tried("ranks what was found", rank(self.ask, self.query, results))
            return ranked or results
        return results

    async def _augment(self, paragraph: str) -> None:
        if paragraph:
            self.augmented = Augmented(paragraph, ())
            return
        asked = augment(self.ask, self.query, self.repository, self.look_up)
        found = await self._tried("writes about the query", asked)
        if found is not None and found.paragraph:
            self.augmented = found
        elif found is not None:
            self.notes.append("The model wrote no paragraph: the query stands for it.")

    async def _write_code(self, about: str) -> None:
        language = main_language(self.index.units)
        self.code = await self._tried("writes code", write_code(self.ask, about, language)) or ""
        if self.code:
            assessed = assess_code(self.ask, about, language, self.code)
            self.code = await self._tried("assesses the code", assessed) or self.code

    async def _tried(self, what: str, asked: Awaitable[Found]) -> Found | None:
        """Return what was asked for; None, and a note, where no usable reply came."""
        try:
            return await asked
        except ModelError as error:
            self.notes.append(f"The model that {what} gave no usable reply: {error.title}. {error.message}")
            return None
