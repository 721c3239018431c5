"""Queries and codes as vectors of one model or of several, and their search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.retrieval.search import Found, Weights, exact_top, mean_weights, z_weights
from agents.retrieval.vectors import width_changed

if TYPE_CHECKING:
    import numpy

    from agents.retrieval.encoder import Encoder
    from agents.retrieval.vectors import VectorCache, Vectors

    Array = numpy.ndarray[Any, Any]

COMBINATIONS: Mapping[str, Callable[[Sequence[Array], Sequence[Vectors], ReportWork], Weights]] = {
    "mean": lambda queries, _codes, _report: mean_weights(queries),
    "z": z_weights,
}
"""The ways to combine the cosines of several models, by name."""


@dataclass(frozen=True)
class Corpus:
    """Queries and codes as vectors of several models.

    Attributes:
        queries: The queries' vectors by each model, of shape (queries, width).
        codes: The codes' vectors by each model.
        truncated: How many queries and codes were longer than each model reads.
    """

    models: tuple[str, ...]
    queries: list[Array]
    codes: list[Vectors]
    truncated: list[tuple[int, int]]

    def search(self, top: int, combine: str, report: ReportWork = ignore_progress) -> Found:
        """Return the best codes of each query by all models together."""
        weights = COMBINATIONS[combine](self.queries, self.codes, report)
        return exact_top(self.queries, self.codes, top, weights, stage="comparing", report=report)

    def search_each(
        self, top: int, combine: str, report: ReportWork = ignore_progress
    ) -> tuple[Found, list[Array]]:
        """Return the best codes of each query by all models together, and by each alone."""
        found = self.search(top, combine, report)
        own = []
        for name, queries, codes in zip(self.models, self.queries, self.codes, strict=True):
            stage = f"comparing by {name}"
            own.append(exact_top([queries], [codes], top, stage=stage, report=report).ranking.codes)
        return found, own


def encode_corpus(
    encoders: Sequence[Encoder],
    cache: VectorCache,
    queries: Sequence[str],
    codes: Sequence[str],
    report: ReportWork = ignore_progress,
) -> Corpus:
    """Encode queries and codes with several models; what the cache has is taken from there.

    Raises:
        WorkbenchError: A text is empty, a model fails or has vectors of two widths, or the cache cannot be
            written.
    """
    asked: list[Array] = []
    given: list[Vectors] = []
    truncated = []
    for encoder in encoders:
        # The queries are few: whatever is wrong with the model shows before the codes are encoded.
        some = cache.vectors(encoder, queries, "query", report)
        whole = cache.vectors(encoder, codes, "code", report)
        if len(some) and len(whole) and some.width != whole.width:
            raise width_changed(encoder.name, whole.width, some.width)
        asked.append(some.all())
        given.append(whole)
        truncated.append((some.truncated, whole.truncated))
    return Corpus(tuple(one.name for one in encoders), asked, given, truncated)
