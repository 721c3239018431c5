"""The functions and classes of a repository, compared with texts by vectors or by words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from agents.repositories.units import Kind, Unit

if TYPE_CHECKING:
    from agents.jobs.work_progress import ReportWork
    from agents.retrieval.encoder import Encoder, Role
    from agents.retrieval.lexical import LexicalIndex, LexicalRetriever
    from agents.retrieval.retriever import Ranking
    from agents.retrieval.search import CodeVectors
    from agents.retrieval.vectors import VectorCache


@dataclass(frozen=True, slots=True)
class Near:
    """A text near another one.

    Attributes:
        place: The place of the function or class among the units, or of a passage among the passages.
        score: The cosine; by words the score of BM25.
    """

    place: int
    score: float


class TextIndex(Protocol):
    """Texts that are compared with others; they are read and encoded once, when the first comes."""

    def nearest(self, asked: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """Return for each text that is asked the nearest ones, best first; equal ones in their order.

        Args:
            asked: What is compared: queries, or codes.
            role: What is asked, a query or a code.
            top: How many are wanted.
        """
        ...


MakeIndex = Callable[[Sequence[str]], TextIndex]
"""Makes texts ready to be compared with others."""


class VectorIndex:
    """Compares by the vectors of a model, which are cached; one thread at a time: see `TextIndex`.

    Args:
        encoder: The model.
        cache: Where vectors are kept.
        report: Receives the progress.
        texts: What is searched.
    """

    def __init__(
        self, encoder: Encoder, cache: VectorCache, report: ReportWork, texts: Sequence[str]
    ) -> None:
        self._encoder, self._cache, self._report = encoder, cache, report
        self._texts = texts
        self._lock = Lock()

    def nearest(self, asked: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """See `TextIndex`."""
        from agents.retrieval.search import exact_top

        if not asked or not self._texts:
            return [[] for _ in asked]
        with self._lock:
            vectors = self._cache.vectors(self._encoder, asked, role, self._report).all()
            return near(exact_top([vectors], [self._vectors], min(top, len(self._texts))).ranking)

    @cached_property
    def _vectors(self) -> CodeVectors:
        from agents.retrieval.search import held

        return held(self._cache.vectors(self._encoder, self._texts, "code", self._report))


class WordIndex:
    """Compares by words, one thread at a time; see `TextIndex`."""

    def __init__(self, retriever: LexicalRetriever, texts: Sequence[str]) -> None:
        self._retriever, self._texts = retriever, texts
        self._lock = Lock()

    def nearest(self, asked: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """See `TextIndex`."""
        if not self._texts:
            return [[] for _ in asked]
        with self._lock:
            return near(self._index.search(asked, min(top, len(self._texts))))

    @cached_property
    def _index(self) -> LexicalIndex:
        return self._retriever.index(self._texts)


def near(found: Ranking) -> list[list[Near]]:
    """Return the codes that were found for each query."""
    return [
        [Near(place, score) for place, score in zip(places, scores, strict=True) if place >= 0]
        for places, scores in zip(found.codes.tolist(), found.scores.tolist(), strict=True)
    ]


class UnitIndex:
    """The functions and classes of a repository.

    Args:
        units: By path and line.
        make_index: Makes their texts ready to be compared.
    """

    def __init__(self, units: Sequence[Unit], make_index: MakeIndex) -> None:
        self.units = units
        self._places: dict[Kind, list[int]] = {"function": [], "class": []}
        for place, unit in enumerate(units):
            self._places[unit.kind].append(place)
        self._texts = {
            kind: make_index([units[place].text for place in found]) for kind, found in self._places.items()
        }

    def nearest(self, asked: Sequence[str], role: Role, kind: Kind, top: int) -> list[list[Near]]:
        """Return the functions or classes nearest to each text; see `TextIndex`."""
        places, found = self._places[kind], self._texts[kind].nearest(asked, role, top)
        return [[Near(places[one.place], one.score) for one in row] for row in found]
