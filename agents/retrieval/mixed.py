"""Exact search by several methods together, of which some compare words: a model and BM25, or BM25 and bow.

Queries and codes are compared in blocks. The methods' similarities, those of vectors rounded to float32, are
put together, and what could be among the best is scored again in float64. By words, a code without a term of
the query has the similarity 0. Equal scores are in the order of the corpus.

Models alone are searched by `agents.retrieval.search`, which is quicker. This needs no package of the extra
`models` where no model is among the methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agents.jobs.work_progress import Pace, ReportWork, ignore_progress
from agents.retrieval.best import Best, weighted_sum
from agents.retrieval.dense import Corpus, encode_corpus
from agents.retrieval.lexical import LexicalRetriever, TermWeights
from agents.retrieval.retriever import Ranking
from agents.retrieval.search import (
    CODES_AT_ONCE,
    PAIRS_AT_ONCE,
    QUERIES_AT_ONCE,
    UNIT,
    CodeVectors,
    Found,
    Weights,
    z_weights,
)

if TYPE_CHECKING:
    import numpy

    from agents.retrieval.encoder import Encoder
    from agents.retrieval.vectors import VectorCache

    Array = numpy.ndarray[Any, Any]


class Block(Protocol):
    """A method's similarities of all queries and a block of codes."""

    def rounded(self, queries: slice) -> Array:
        """Return those of some queries, of shape (queries, codes)."""
        ...

    def errors(self, queries: slice) -> Array:
        """Return by how much they can be wrong at most, for each of the queries."""
        ...

    def exact(self, queries: Array, codes: Array, rounded: Array) -> Array:
        """Return those of pairs in float64, given what `rounded` said of them."""
        ...


class Method(Protocol):
    """A method of an ensemble.

    Attributes:
        shape: How many queries and codes there are.
    """

    name: str
    shape: tuple[int, int]

    def z_weights(self, report: ReportWork) -> Weights:
        """Return what makes its similarities z-scores, as of an ensemble of it alone."""
        ...

    def block(self, codes: slice) -> Block:
        """Return its similarities of consecutive codes."""
        ...


class ByVectors:
    """A model as a `Method`."""

    def __init__(self, name: str, queries: Array, codes: CodeVectors) -> None:
        self.name = name
        self.shape = len(queries), len(codes)
        self._queries, self._codes = queries, codes

    def z_weights(self, report: ReportWork) -> Weights:
        """See `Method`."""
        return z_weights([self._queries], [self._codes], report)

    def block(self, codes: slice) -> Block:
        """See `Method`."""
        import numpy

        vectors = numpy.empty((codes.stop - codes.start, self._codes.width), dtype=numpy.float32)
        self._codes.read(codes.start, vectors)
        return _VectorBlock(self._queries, vectors)


@dataclass(frozen=True)
class _VectorBlock:
    """Vectors of all queries and of a block of codes; see `Block`."""

    queries: Array
    codes: Array

    def rounded(self, queries: slice) -> Array:
        products: Array = self.queries[queries] @ self.codes.T
        return products

    def errors(self, queries: slice) -> Array:
        import numpy

        longest = numpy.linalg.norm(self.codes, axis=1).max()
        lengths = numpy.linalg.norm(self.queries[queries].astype(numpy.float64), axis=1)
        bound: Array = (self.codes.shape[1] + 4) * UNIT * lengths * longest
        return bound

    def exact(self, queries: Array, codes: Array, rounded: Array) -> Array:
        import numpy

        from agents.retrieval.selection import inner_products

        products = numpy.empty((len(rounded), 1))
        edges = numpy.array([0, self.codes.shape[1]])
        inner_products((self.queries, self.codes), (queries, codes), edges, products)
        return products[:, 0]


class ByWords:
    """A lexical method as a `Method`."""

    def __init__(self, name: str, weights: TermWeights) -> None:
        self.name = name
        self.shape = weights.queries.shape[0], weights.codes.shape[1]
        self._weights = weights

    def z_weights(self, report: ReportWork) -> Weights:
        """See `Method`; codes without a term of the query count as 0."""
        import numpy

        number, among = self.shape
        means = self._weights.queries @ self._weights.codes.sum(axis=1) / among
        squares = numpy.zeros(number)
        for _, queries, (block,) in _blocks([self], f"spread of {self.name}", report):
            apart = block.rounded(queries) - means[queries, None]
            squares[queries] += (apart * apart).sum(axis=1)
        spread = numpy.sqrt(squares / among)
        # Where all scores are the same, none is better than another.
        factors = numpy.where(spread <= 1e-9, 0, 1 / numpy.maximum(spread, 1e-9))
        return Weights(factors[:, None], factors * means)

    def block(self, codes: slice) -> Block:
        """See `Method`."""
        return _WordBlock(TermWeights(self._weights.queries, self._weights.codes[:, codes]))


@dataclass(frozen=True)
class _WordBlock:
    """Weights of all queries and of a block of codes; see `Block`."""

    weights: TermWeights

    def rounded(self, queries: slice) -> Array:
        scores: Array = (self.weights.queries[queries] @ self.weights.codes).toarray()
        return scores

    def errors(self, queries: slice) -> Array:
        import numpy

        # A score is the same wherever it is computed.
        return numpy.zeros(queries.stop - queries.start)

    def exact(self, queries: Array, codes: Array, rounded: Array) -> Array:
        return rounded


def _blocks(
    methods: Sequence[Method], stage: str, report: ReportWork
) -> Iterator[tuple[int, slice, list[Block]]]:
    """Yield all queries with all codes, some of each at a time.

    Yields:
        The place of the first code, the queries, and the codes' block of each method.
    """
    number, among = methods[0].shape
    pace = Pace(stage, number * among, report)
    for start in range(0, among, CODES_AT_ONCE):
        codes = slice(start, min(start + CODES_AT_ONCE, among))
        blocks = [method.block(codes) for method in methods]
        for first in range(0, number, QUERIES_AT_ONCE):
            queries = slice(first, min(first + QUERIES_AT_ONCE, number))
            yield start, queries, blocks
            pace.add((queries.stop - first) * (codes.stop - start))


def _add(
    best: Best, start: int, queries: slice, blocks: Sequence[tuple[Block, Array]], factors: Array
) -> None:
    """Merge what some queries find in a block of codes with the best ones so far.

    Args:
        best: The best ones so far.
        start: The place of the first code.
        queries: The queries.
        blocks: The block of each method, and what it says of these queries when rounded.
        factors: What each method's similarities are multiplied with, of shape (queries, methods).
    """
    import numpy

    scores = weighted_sum([rounded for _, rounded in blocks], factors.T[:, :, None])
    off = weighted_sum([block.errors(queries) for block, _ in blocks], abs(factors).T)[:, None]
    # A later code of an equal score is not among the best.
    inside = scores > best.scores[queries, -1:] - off
    top = best.scores.shape[1]
    many = numpy.flatnonzero(numpy.count_nonzero(inside, axis=1) > top)
    if len(many):
        last = numpy.partition(scores[many], -top, axis=1)[:, -top, None]
        inside[many] &= scores[many] >= last - 2 * off[many]
    rows, columns = numpy.nonzero(inside)
    for first in range(0, len(rows), PAIRS_AT_ONCE):
        part = slice(first, first + PAIRS_AT_ONCE)
        row, column = rows[part], columns[part]
        asked = queries.start + row
        exact = [block.exact(asked, column, rounded[row, column]) for block, rounded in blocks]
        best.insert(asked, start + column, numpy.stack(exact, axis=1))


@dataclass(frozen=True)
class Mixture:
    """Queries and codes as several methods see them; what `agents.retrieval.dense.Corpus` is of models alone.

    Attributes:
        truncated: How many queries and codes were longer than each method reads.
    """

    methods: tuple[Method, ...]
    truncated: list[tuple[int, int]]

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(method.name for method in self.methods)

    def search(self, top: int, combine: str, report: ReportWork = ignore_progress) -> Found:
        """Return the best codes of each query by all methods together."""
        return self._search(top, combine, report, each=False)[0]

    def search_each(
        self, top: int, combine: str, report: ReportWork = ignore_progress
    ) -> tuple[Found, list[Array]]:
        """Return the best codes of each query by all methods together, and by each alone.

        Those of a lexical method share a term with the query; -1 where there are fewer.
        """
        return self._search(top, combine, report, each=True)

    def _search(self, top: int, combine: str, report: ReportWork, *, each: bool) -> tuple[Found, list[Array]]:
        import numpy

        number, among = self.methods[0].shape
        found = Found(
            Ranking(numpy.full((number, top), -1, dtype=numpy.int64), numpy.zeros((number, top))),
            numpy.zeros((number, top, len(self.methods))),
        )
        kept, alone = min(top, among), numpy.ones((number, 1))
        if not kept:
            return found, [found.ranking.codes for _ in self.methods]
        weights = self.weights(combine, report)
        best = Best(weights.factors, kept)
        own = [Best(alone, kept) for _ in self.methods] if each else []
        for start, queries, blocks in _blocks(self.methods, "comparing", report):
            both = [(block, block.rounded(queries)) for block in blocks]
            _add(best, start, queries, both, weights.factors[queries])
            for one, block in zip(own, both, strict=False):
                _add(one, start, queries, [block], alone[queries])
        found.ranking.codes[:, :kept] = best.positions
        found.ranking.scores[:, :kept] = best.scores - weights.offsets[:, None]
        found.similarities[:, :kept] = best.similarities
        for one, method in zip(own, self.methods, strict=False):
            if isinstance(method, ByWords):
                one.positions[one.scores <= 0] = -1
        return found, [one.positions for one in own]

    def weights(self, combine: str, report: ReportWork = ignore_progress) -> Weights:
        """Return how the methods' similarities are put together."""
        import numpy

        number, share = self.methods[0].shape[0], 1 / len(self.methods)
        if combine == "mean":
            return Weights(numpy.full((number, len(self.methods)), share), numpy.zeros(number))
        each = [method.z_weights(report) for method in self.methods]
        return Weights(
            share * numpy.concatenate([one.factors for one in each], axis=1),
            share * numpy.sum([one.offsets for one in each], axis=0),
        )


def read_by_members(
    members: Sequence[Encoder | LexicalRetriever],
    cache: VectorCache,
    queries: Sequence[str],
    codes: Sequence[str],
    report: ReportWork = ignore_progress,
) -> Corpus | Mixture:
    """Have models and lexical methods read queries and codes; vectors that are known are not made again.

    Returns:
        What is searched in: of models alone a `Corpus`, which is quicker.

    Raises:
        WorkbenchError: See `agents.retrieval.dense.encode_corpus`.
    """
    encoders = [member for member in members if not isinstance(member, LexicalRetriever)]
    if len(encoders) == len(members):
        return encode_corpus(encoders, cache, queries, codes, report)
    methods: list[Method] = []
    truncated = []
    for member in members:
        if isinstance(member, LexicalRetriever):
            methods.append(ByWords(member.name, member.weigh(queries, codes, report).as_products()))
            truncated.append((0, 0))
        else:
            encoded = encode_corpus([member], cache, queries, codes, report)
            methods.append(ByVectors(member.name, encoded.queries[0], encoded.codes[0]))
            truncated += encoded.truncated
    return Mixture(tuple(methods), truncated)


@dataclass
class EnsembleRetriever:
    """Ranks codes by one model or by several methods together; see `agents.retrieval.retriever.Retriever`.

    Attributes:
        name: What commands, runs and reports call it.
        members: The models and lexical methods.
        cache: The vectors that are known.
        combine: How they are put together: "mean" or "z".
    """

    name: str
    members: Sequence[Encoder | LexicalRetriever]
    cache: VectorCache
    combine: str

    def search(
        self,
        queries: Sequence[str],
        codes: Sequence[str],
        top: int,
        report: ReportWork = ignore_progress,
    ) -> Ranking:
        """Return the best codes of each query."""
        read = read_by_members(self.members, self.cache, queries, codes, report)
        return read.search(top, self.combine, report).ranking
