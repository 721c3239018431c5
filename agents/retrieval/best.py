"""The best codes of each query so far, by scores in float64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


class Best:
    """The best codes of each query; equal scores in the order of the corpus.

    Attributes:
        positions: The codes, int64, of shape (queries, top); -1 where there is none yet.
        scores: Their scores without offsets, float64; minus infinity where there is none yet.
        similarities: Theirs by each method, float64, of shape (queries, top, methods).
    """

    def __init__(self, factors: Array, top: int) -> None:
        """Create it empty.

        Args:
            factors: What each method's similarities are multiplied with, of shape (queries, methods).
            top: How many codes of each query are kept.
        """
        import numpy

        queries, methods = factors.shape
        self._factors = factors
        self.positions = numpy.full((queries, top), -1, dtype=numpy.int64)
        self.scores = numpy.full((queries, top), -numpy.inf)
        self.similarities = numpy.zeros((queries, top, methods))

    def insert(self, rows: Array, places: Array, similarities: Array) -> None:
        """Merge scored pairs with the best ones so far.

        Args:
            rows: The query of each pair.
            places: Its code.
            similarities: Its similarity by each method, of shape (pairs, methods).
        """
        import numpy

        top = self.positions.shape[1]
        affected = numpy.unique(rows)
        old_rows = numpy.repeat(affected, top)
        old_places = self.positions[affected].ravel()
        there = old_places >= 0
        rows = numpy.concatenate([old_rows[there], rows])
        places = numpy.concatenate([old_places[there], places])
        old = self.similarities[affected].reshape(-1, similarities.shape[1])[there]
        similarities = numpy.concatenate([old, similarities])
        scores = weighted_sum(similarities.T, self._factors[rows].T)
        order = numpy.lexsort((places, -scores, rows))
        rows, places = rows[order], places[order]
        once = numpy.ones(len(rows), dtype=bool)
        once[1:] = (rows[1:] != rows[:-1]) | (places[1:] != places[:-1])
        order, rows, places = order[once], rows[once], places[once]
        rank = numpy.arange(len(rows)) - numpy.searchsorted(rows, rows)
        inside = rank < top
        order, into = order[inside], (rows[inside], rank[inside])
        self.positions[into] = places[inside]
        self.scores[into] = scores[order]
        self.similarities[into] = similarities[order]


def weighted_sum(similarities: Iterable[Array], factors: Iterable[Array]) -> Array:
    """Return the sum of each method's similarities times its factors, always in the same order."""
    total, *others = (one * factor for one, factor in zip(similarities, factors, strict=True))
    for other in others:
        total += other
    return total
