"""Exact search: the best codes of each query by the mean of several models' cosines, or of their z-scores.

Both are one inner product: of the query's vectors, each multiplied by its model's weight, and the code's
vectors, one after the other. The products are computed in blocks, on a GPU where there is one: in float32, or
in bfloat16 where that is quicker (`fast_type`). Rounding cannot change the result: more codes than wanted are
kept (`SPARE`), all of them that rounding could bring among the best are scored again in float64, and a query
for which that may not be enough (such as one with a hundred equal codes) is searched again in float32 without
a limit. Equal scores are in the order of the corpus.

Vectors in memory (`HeldVectors`) are compared with a few queries in one product; all that rounding could
bring among the best are scored again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agents.jobs.work_progress import Pace, ReportWork, ignore_progress
from agents.retrieval.best import Best
from agents.retrieval.retriever import Ranking

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]
    Tensor = Any
    """A torch.Tensor; torch is imported where it is used first."""

SPARE = {"float32": 12, "bfloat16": 44}
"""Codes of a query that are kept beyond those that are wanted, by the type of the first pass."""

CODES_AT_ONCE = 4096
_ROUNDED_AT_ONCE = 512
"""Vectors that stay in the processor's cache."""
QUERIES_AT_ONCE = 1024
PAIRS_AT_ONCE = 131_072
_PAIRS_OF_A_THREAD = 1024
"""Pairs that take as long as starting a thread, about."""
UNIT = 2.0**-24
"""Largest relative error of rounding to float32."""
_SHORT_UNIT = 2.0**-9
"""That of rounding to bfloat16."""
MOST_HELD = 1 << 30
"""Bytes of the vectors that are held in memory."""
_SCORES_AT_ONCE = 16_000_000
"""Scores of held vectors that are in memory at once."""


class CodeVectors(Protocol):
    """Vectors of all codes by one model, read a block at a time.

    Attributes:
        width: Numbers of a vector.
    """

    width: int

    def __len__(self) -> int: ...

    def read(self, start: int, into: Array) -> None:
        """Read the vectors from `start` on into a contiguous float32 array."""
        ...


class HeldVectors:
    """Vectors of all codes in memory, for queries that come a few at a time; see `CodeVectors`.

    Attributes:
        vectors: Float32, of shape (codes, width).
        longest: The length of the longest.
    """

    def __init__(self, vectors: Array) -> None:
        import numpy

        self.vectors, self.width = vectors, vectors.shape[1]
        self.longest = float(numpy.sqrt(numpy.einsum("ij,ij->i", vectors, vectors).max(initial=0)))

    def __len__(self) -> int:
        return len(self.vectors)

    def read(self, start: int, into: Array) -> None:
        """See `CodeVectors`."""
        into[:] = self.vectors[start : start + len(into)]


def held(codes: CodeVectors) -> CodeVectors:
    """Return vectors in memory, so that they are read once; those of more than 1 GiB stay where they are."""
    import numpy

    if 4 * len(codes) * codes.width > MOST_HELD:
        return codes
    vectors = numpy.empty((len(codes), codes.width), dtype=numpy.float32)
    if len(codes):
        codes.read(0, vectors)
    return HeldVectors(vectors)


@dataclass(frozen=True)
class Found:
    """The best codes of each query.

    Attributes:
        ranking: The codes and their scores.
        similarities: Those of each model or method, float64, of shape (queries, top, models).
    """

    ranking: Ranking
    similarities: Array


@dataclass(frozen=True)
class Weights:
    """The weights of a query's score: the sum of each model's inner product times a factor, minus an offset.

    Attributes:
        factors: Float64, of shape (queries, models).
        offsets: Float64, of shape (queries,).
    """

    factors: Array
    offsets: Array


def mean_weights(queries: Sequence[Array]) -> Weights:
    """Return the weights of the mean of the models' cosines (CoSQA+, section IV.B)."""
    import numpy

    number = len(queries[0])
    return Weights(numpy.full((number, len(queries)), 1 / len(queries)), numpy.zeros(number))


def z_weights(
    queries: Sequence[Array], codes: Sequence[CodeVectors], report: ReportWork = ignore_progress
) -> Weights:
    """Return the weights of the mean of the models' z-scores.

    A query's z-score of a code is its cosine less the mean of all codes' cosines, in units of their standard
    deviation. Both follow from the mean of the codes' vectors and of their outer products, so the cosines of
    all codes need not be computed first.
    """
    import numpy

    models = len(queries)
    factors, offsets = numpy.zeros((len(queries[0]), models)), numpy.zeros(len(queries[0]))
    pace = Pace("spread of the cosines", models * len(codes[0]), report)
    for place, (asked, given) in enumerate(zip(queries, codes, strict=True)):
        total, products = numpy.zeros(given.width), numpy.zeros((given.width, given.width))
        # About the first code, so that nothing is lost where all vectors are nearly the same.
        shift = numpy.zeros(given.width)
        for start, block in _blocks([given]):
            exact = block.astype(numpy.float64)
            if start == 0:
                shift = exact[0].copy()
            exact -= shift
            total += exact.sum(axis=0)
            products += exact.T @ exact
            pace.add(len(block))
        number = len(given)
        covariance = products / number - numpy.outer(total, total) / number**2
        wide = asked.astype(numpy.float64)
        spread = numpy.sqrt(numpy.maximum(((wide @ covariance) * wide).sum(axis=1), 0))
        # Where all cosines are the same, none is better than another.
        flat = spread <= 1e-9
        factors[:, place] = numpy.where(flat, 0, 1 / numpy.where(flat, 1, spread) / models)
        offsets += factors[:, place] * (wide @ (shift + total / number))
    return Weights(factors, offsets)


def _blocks(codes: Sequence[CodeVectors]) -> Iterator[tuple[int, Array]]:
    """Yield the codes' vectors, those of all models side by side, in one buffer that is used again."""
    import numpy

    number, widths = len(codes[0]), [one.width for one in codes]
    rows = min(CODES_AT_ONCE, number)
    whole = numpy.empty((rows, sum(widths)), dtype=numpy.float32)
    single = numpy.empty(rows * max(widths), dtype=numpy.float32) if len(codes) > 1 else None
    for start in range(0, number, CODES_AT_ONCE):
        count = min(CODES_AT_ONCE, number - start)
        if single is None:
            codes[0].read(start, whole[:count])
        else:
            column = 0
            for one in codes:
                part = single[: count * one.width].reshape(count, one.width)
                one.read(start, part)
                whole[:count, column : column + one.width] = part
                column += one.width
        yield start, whole[:count]


def exact_top(
    queries: Sequence[Array],
    codes: Sequence[CodeVectors],
    top: int,
    weights: Weights | None = None,
    *,
    stage: str = "searching",
    report: ReportWork = ignore_progress,
) -> Found:
    """Return the best codes of each query.

    Args:
        queries: The queries' vectors by each model, float32, of shape (queries, width).
        codes: The codes' vectors by each model, in the same order.
        top: How many codes of each query are wanted.
        weights: How the models' inner products are put together; their mean by default.
        stage: The name of the step for the progress.
        report: Receives the progress, in comparisons of a query and a code.
    """
    import numpy
    import torch

    number, among = len(queries[0]), len(codes[0])
    weights = weights or mean_weights(queries)
    found = Found(
        Ranking(numpy.full((number, top), -1, dtype=numpy.int64), numpy.zeros((number, top))),
        numpy.zeros((number, top, len(codes))),
    )
    if not number or not among:
        return found
    search = _Search(queries, codes, weights, min(top, among))
    pace = Pace(stage, number * among, report)
    with torch.inference_mode():
        search.run(pace)
    place = slice(0, search.top)
    found.ranking.codes[:, place] = search.best.positions
    found.ranking.scores[:, place] = search.best.scores - weights.offsets[:, None]
    found.similarities[:, place] = search.best.similarities
    return found


def fast_type() -> str:
    """Return the type in which the first pass multiplies vectors.

    Some processors multiply bfloat16 four times as fast.
    """
    import torch

    has_bfloat16 = not torch.cuda.is_available() and torch.cpu.get_capabilities().get("avx512_bf16")
    return "bfloat16" if has_bfloat16 else "float32"


class _Search:
    """One search.

    Attributes:
        top: Codes that are wanted of each query; there are that many.
        best: The best codes, once `run` is through.
    """

    def __init__(
        self, queries: Sequence[Array], codes: Sequence[CodeVectors], weights: Weights, top: int
    ) -> None:
        import numpy
        import torch

        from agents.retrieval.selection import selection

        self.top = top
        self.best = Best(weights.factors, top)
        self._codes = codes
        self._edges = numpy.cumsum([0, *(one.width for one in codes)])
        self._queries = numpy.concatenate(queries, axis=1, dtype=numpy.float32)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._threads = 1 if self._device == "cuda" else torch.get_num_threads()
        widths = [one.width for one in codes]
        factors = numpy.repeat(weights.factors, widths, axis=1).astype(numpy.float32)
        self._weighted = torch.from_numpy(self._queries * factors).to(self._device)
        number = len(self._queries)
        fast = fast_type()
        self._type = getattr(torch, fast)
        self._kept = min(top + SPARE[fast], len(codes[0]))
        self._short = self._weighted.to(self._type)
        self._selection = selection(number, self._kept, self._device, self._type)
        self._longest = self._lost = 0.0

    def run(self, pace: Pace) -> None:
        """Search."""
        import torch

        # A thread for each part of the queries: where all threads share each step, as torch has it, they wait
        # for each other after every one of them.
        try:
            with ThreadPoolExecutor(
                self._threads, initializer=torch.set_num_threads, initargs=(1,)
            ) as self._pool:
                if len(self._codes) == 1 and isinstance(self._codes[0], HeldVectors):
                    self._compare_held(self._codes[0], pace)
                else:
                    self._sift(pace)
                    self._search_again(self._rescore(pace), pace)
        finally:
            if self._device == "cpu":
                torch.set_num_threads(self._threads)  # for threads that begin later

    def _compare_held(self, codes: HeldVectors, pace: Pace) -> None:
        """Compare vectors in memory."""
        import numpy

        self._longest = codes.longest
        weighted, errors = self._weighted.cpu().numpy(), self._errors()
        at_once = max(1, _SCORES_AT_ONCE // len(codes))
        for first in range(0, len(weighted), at_once):
            part = slice(first, first + at_once)
            scores = weighted[part] @ codes.vectors.T
            last = numpy.partition(scores, -self.top, axis=1)[:, -self.top]
            rows, places = numpy.nonzero(scores >= (last - 2 * errors[part])[:, None])
            self._merge_block(first + rows, places, 0, codes.vectors)
            pace.add(scores.size)

    # -- the first pass ---------------------------------------------------------------------------------

    def _sift(self, pace: Pace) -> None:
        """Keep the best codes of each query by rounded scores."""
        import torch

        parts = self._parts()
        for start, block in _blocks(self._codes):
            exact = torch.from_numpy(block).to(self._device)
            codes = torch.empty_like(exact, dtype=self._type)
            pieces = torch.split(exact, _ROUNDED_AT_ONCE), torch.split(codes, _ROUNDED_AT_ONCE)
            for longest, lost in self._pool.map(_round, *pieces):
                self._longest, self._lost = max(self._longest, longest), max(self._lost, lost)
            for cells in self._pool.map(partial(self._sift_part, codes, start), parts):
                pace.add(cells)

    def _parts(self) -> list[slice]:
        """Return the queries in parts, as many for each thread."""
        number = len(self._queries)
        size = min(QUERIES_AT_ONCE, max(1, math.ceil(number / self._threads)))
        return [slice(first, min(first + size, number)) for first in range(0, number, size)]

    def _sift_part(self, codes: Tensor, start: int, queries: slice) -> int:
        """Compare some queries with a block of codes."""
        import torch

        with torch.inference_mode():
            scores = self._short[queries] @ codes.T
            self._selection.add(queries, scores, start)
            return len(codes) * len(scores)

    def _errors(self) -> Array:
        """Return by how much a float32 score of each query can be wrong at most."""
        import torch

        width = self._queries.shape[1]
        lengths = torch.linalg.vector_norm(self._weighted.double(), dim=1).cpu().numpy()
        bound: Array = (width + 4) * UNIT * lengths * self._longest
        return bound

    def _first_errors(self, highest: Array) -> Array:
        """Return by how much a score of the first pass can be wrong at most.

        Args:
            highest: The largest absolute value of each query's kept scores.
        """
        import torch

        errors = self._errors()
        if self._type == torch.float32:
            return errors
        # What rounding took from the vectors, by the Cauchy-Schwarz inequality, and then from the score.
        lengths = torch.linalg.vector_norm(self._weighted, dim=1).numpy()
        lost = torch.linalg.vector_norm(self._weighted - self._short, dim=1).numpy()
        apart = lost * (self._longest + self._lost) + lengths * self._lost
        bound: Array = 1.001 * (errors + apart) + 2 * _SHORT_UNIT * highest
        return bound

    # -- the second, in float64 -------------------------------------------------------------------------

    def _rescore(self, pace: Pace) -> Array:
        """Score in float64 what rounding could bring among the best, and order it.

        Returns:
            The queries of which more codes may be among the best than were kept.
        """
        import numpy

        best, places = self._selection.ordered()
        errors = self._first_errors(numpy.abs(best).max(axis=1))
        wanted = best >= (best[:, self.top - 1] - 2 * errors)[:, None]
        rows, columns = numpy.nonzero(wanted)
        self._merge(rows, places[rows, columns], pace)
        # Whatever was not kept scored no more than the last one that was.
        if self._kept == len(self._codes[0]):
            return numpy.zeros(0, dtype=numpy.int64)
        unsure: Array = numpy.flatnonzero(self.best.scores[:, -1] <= best[:, -1] + errors)
        return unsure

    def _search_again(self, unsure: Array, pace: Pace) -> None:
        """Search once more for some queries, without a limit of what is kept."""
        import numpy
        import torch

        if not len(unsure):
            return
        errors = self._errors()
        for start, block in _blocks(self._codes):
            pace.add(0)
            kept = _without_repeated(block, self.top)
            codes = torch.from_numpy(block[kept]).to(self._device)
            for first in range(0, len(unsure), QUERIES_AT_ONCE):
                rows = unsure[first : first + QUERIES_AT_ONCE]
                least = torch.from_numpy((self.best.scores[rows, -1] - errors[rows]).astype(numpy.float64))
                scores = self._weighted[torch.from_numpy(rows).to(self._device)] @ codes.T
                hits = torch.nonzero(scores.double() >= least.to(self._device)[:, None]).cpu().numpy()
                self._merge_block(rows[hits[:, 0]], start + kept[hits[:, 1]], start, block)

    def _merge(self, rows: Array, places: Array, pace: Pace) -> None:
        """Score pairs of queries and codes anywhere in the corpus, and keep the best."""
        import numpy

        order = numpy.argsort(places, kind="stable")
        rows, places = rows[order], places[order]
        cosines = numpy.empty((len(rows), len(self._codes)))
        for start, block in _blocks(self._codes):
            pace.add(0)
            first, last = numpy.searchsorted(places, [start, start + len(block)])
            if last > first:
                cosines[first:last] = self._cosines(rows[first:last], places[first:last] - start, block)
        self.best.insert(rows, places, cosines)

    def _merge_block(self, rows: Array, places: Array, start: int, block: Array) -> None:
        """Score pairs of queries and codes of one block, and keep the best."""
        for first in range(0, len(rows), PAIRS_AT_ONCE):
            part = slice(first, first + PAIRS_AT_ONCE)
            self.best.insert(rows[part], places[part], self._cosines(rows[part], places[part] - start, block))

    def _cosines(self, rows: Array, places: Array, block: Array) -> Array:
        """Return the models' inner products of pairs in float64."""
        import numpy

        from agents.retrieval.selection import inner_products

        cosines = numpy.empty((len(rows), len(self._codes)))
        step = max(math.ceil(len(rows) / self._threads), _PAIRS_OF_A_THREAD)
        parts = [slice(first, first + step) for first in range(0, len(rows), step)]

        def score(part: slice) -> None:
            inner_products((self._queries, block), (rows[part], places[part]), self._edges, cosines[part])

        for _ in map(score, parts) if len(parts) == 1 else self._pool.map(score, parts):
            pass
        return cosines


def _without_repeated(block: Array, top: int) -> Array:
    """Return the places of a block's vectors, of equal ones the first `top`: they are before all others."""
    import numpy

    _, same = numpy.unique(block.view(f"V{block[0].nbytes}").ravel(), return_inverse=True)
    order = numpy.argsort(same, kind="stable")
    earlier = numpy.arange(len(same)) - numpy.searchsorted(same[order], same[order])
    return numpy.sort(order[earlier < top])


def _round(exact: Tensor, into: Tensor) -> tuple[float, float]:
    """Copy vectors to another type; return the length of the longest, and of the longest difference."""
    import torch

    with torch.inference_mode():
        into.copy_(exact)
        longest = float(torch.linalg.vector_norm(exact, dim=1).max())
        if into.dtype == exact.dtype:
            return longest, 0.0
        return longest, float(torch.linalg.vector_norm(exact - into, dim=1).max())
