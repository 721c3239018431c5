"""The interface of retrievers, which rank the codes of a corpus for each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agents.jobs.work_progress import ReportWork, ignore_progress

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

BLOCK = 4096
"""Texts of a corpus that are read at once."""


@dataclass(frozen=True)
class Ranking:
    """The best codes of each query, best first; equal scores in the order of the corpus.

    Attributes:
        codes: Positions in the corpus, int64, of shape (queries, top); -1 where there are fewer.
        scores: What the retriever gave them, float64, of the same shape; 0 where there is no code.
    """

    codes: Array
    scores: Array


class Retriever(Protocol):
    """Ranks the codes of a corpus for queries.

    Attributes:
        name: What commands, runs and reports call it.
    """

    name: str

    def search(
        self,
        queries: Sequence[str],
        codes: Sequence[str],
        top: int,
        report: ReportWork = ignore_progress,
    ) -> Ranking:
        """Return the best codes of each query.

        Args:
            queries: Their texts.
            codes: The corpus, which may be larger than the memory: see `blocks_of`.
            top: How many codes of each query are wanted, at least 1.
            report: Receives the progress.
        """
        ...


def blocks_of(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in order, a slice of at most 4,096 at a time."""
    for start in range(0, len(texts), BLOCK):
        yield texts[start : start + BLOCK]
