"""The functions and classes of a repository, compared with texts by vectors or by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.repositories.units import Kind, Unit
from agents.retrieval.retriever import Ranking, Retriever

if TYPE_CHECKING:
    from agents.retrieval.encoder import Encoder, Role
    from agents.retrieval.vectors import VectorCache, Vectors

_MOST_SEARCHED = 3
"""Lists of texts whose vectors are known: functions, classes and passages of a repository."""


@dataclass(frozen=True, slots=True)
class Near:
    """A text near another one.

    Attributes:
        place: The place of the function or class among the units, or of a passage among the passages.
        score: The cosine; by words the score of BM25.
    """

    place: int
    score: float


class Compare(Protocol):
    """Finds the nearest of some texts."""

    def __call__(self, asked: Sequence[str], texts: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """Return for each text that is asked the nearest ones, best first; equal ones in their order.

        Args:
            asked: What is compared: queries, or codes.
            texts: What is searched.
            role: What is asked, a query or a code.
            top: How many are wanted.
        """
        ...


class ByVectors:
    """Compares by the vectors of a model, which are cached; see `Compare`.

    Args:
        encoder: The model.
        cache: Where vectors are kept.
        report: Receives the progress.
    """

    def __init__(self, encoder: Encoder, cache: VectorCache, report: ReportWork = ignore_progress) -> None:
        self._encoder, self._cache, self._report = encoder, cache, report
        # Where the vectors of the last texts are: to look that up takes longer than to compare them.
        self._searched: list[tuple[Sequence[str], Vectors]] = []

    def __call__(self, asked: Sequence[str], texts: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """See `Compare`."""
        from agents.retrieval.search import exact_top

        if not asked or not texts:
            return [[] for _ in asked]
        searched = next((known for given, known in self._searched if given is texts), None)
        if searched is None:
            searched = self._cache.vectors(self._encoder, texts, "code", self._report)
            self._searched = [*self._searched[1 - _MOST_SEARCHED :], (texts, searched)]
        vectors = self._cache.vectors(self._encoder, asked, role, self._report).all()
        return near(exact_top([vectors], [searched], min(top, len(texts))).ranking)


class ByWords:
    """Compares by words; see `Compare`."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def __call__(self, asked: Sequence[str], texts: Sequence[str], role: Role, top: int) -> list[list[Near]]:
        """See `Compare`."""
        return (
            near(self._retriever.search(asked, texts, min(top, len(texts)))) if texts else [[] for _ in asked]
        )


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
        compare: Finds the nearest of their texts.
    """

    def __init__(self, units: Sequence[Unit], compare: Compare) -> None:
        self.units = units
        self._compare = compare
        self._places: dict[Kind, list[int]] = {"function": [], "class": []}
        for place, unit in enumerate(units):
            self._places[unit.kind].append(place)
        self._texts = {kind: [units[place].text for place in found] for kind, found in self._places.items()}

    def nearest(self, asked: Sequence[str], role: Role, kind: Kind, top: int) -> list[list[Near]]:
        """Return the functions or classes nearest to each text; see `Compare`."""
        places = self._places[kind]
        found = self._compare(asked, self._texts[kind], role, top)
        return [[Near(places[one.place], one.score) for one in row] for row in found]
