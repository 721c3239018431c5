"""Retrievers that compare words: BM25, and the cosine of term counts (bag of words).

Both see a text as the same terms (`term_reader`) and make a sparse matrix of weights, codes by terms, which
queries are multiplied with in blocks. A code that shares no term with a query is not in its ranking.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agents.jobs.work_progress import Pace, ReportWork, ignore_progress
from agents.retrieval.retriever import Ranking, blocks_of

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]
    Matrix = Any
    """A scipy.sparse.csr_array."""

_WORD = re.compile(r"\w+")
_PARTS = re.compile(
    r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_CELLS = 16_000_000
"""Scores that are in memory at once."""
_QUERIES_AT_ONCE = 1024
"""Queries between two reports of the progress at most."""
_WORDS_KEPT = 100_000
"""Words whose terms are kept: most words of a text are in others, too."""


def term_reader() -> Callable[[str], list[str]]:
    """Return a function that gives the terms of a text, for one thread.

    They are the Porter stems of the parts of its words, and whole identifiers: `readCSVFile` gives read, csv,
    file and readcsvfile, `open_files` gives open, file and open_files.
    """
    from Stemmer import Stemmer

    stem = Stemmer("porter", 0).stemWords

    @lru_cache(maxsize=_WORDS_KEPT)
    def terms_in(word: str) -> list[str]:
        parts = [part.lower() for part in _PARTS.split(word) if part]
        return [*stem(parts), *([word.lower()] if len(parts) > 1 else [])]

    def terms_of(text: str) -> list[str]:
        return [term for word in _WORD.findall(text) for term in terms_in(word)]

    return terms_of


@dataclass(frozen=True)
class TermWeights:
    """Queries and codes as sparse weights of terms; the score of a pair is their product.

    Attributes:
        queries: The queries' weights, queries by terms.
        codes: The codes' weights, terms by codes.
        squares: Where the weights are counts and scores their cosines, the squared lengths of the queries and
            of the codes; None where scores are the products themselves.
    """

    queries: Matrix
    codes: Matrix
    squares: tuple[Array, Array] | None = None

    def as_products(self) -> TermWeights:
        """Return weights whose products are the scores."""
        import numpy
        from scipy.sparse import diags_array

        if self.squares is None:
            return self
        asked, given = (1 / numpy.sqrt(numpy.maximum(squares, 1)) for squares in self.squares)
        return TermWeights(
            (diags_array(asked) @ self.queries).tocsr(), (self.codes @ diags_array(given)).tocsr()
        )


class LexicalRetriever:
    """Ranks codes by the product of sparse weights of terms.

    Attributes:
        name: What commands, runs and reports call it.
    """

    def __init__(
        self,
        name: str,
        weigh_codes: Callable[[list[array[int]], int], Matrix],
        *,
        cosine: bool = False,
    ) -> None:
        """Create a retriever.

        Args:
            name: Its name.
            weigh_codes: Gives the weights, codes by terms, from the terms of each code and the number of
                terms that there are.
            cosine: Whether the score is the cosine of counts, and not the product of counts and weights.
        """
        self.name = name
        self._weigh_codes = weigh_codes
        self._cosine = cosine

    def search(
        self,
        queries: Sequence[str],
        codes: Sequence[str],
        top: int,
        report: ReportWork = ignore_progress,
    ) -> Ranking:
        """Return the best codes of each query, of those that share a term with it."""
        return self.index(codes, report).search(queries, top, report)

    def weigh(
        self, queries: Sequence[str], codes: Sequence[str], report: ReportWork = ignore_progress
    ) -> TermWeights:
        """Return the weights of queries and codes."""
        return self.index(codes, report).weigh(queries)

    def index(self, codes: Sequence[str], report: ReportWork = ignore_progress) -> LexicalIndex:
        """Return the codes, read and weighed once for all queries."""
        return LexicalIndex(self.name, codes, self._weigh_codes, cosine=self._cosine, report=report)


class LexicalIndex:
    """The weights of codes by their terms, for one thread at a time; see `LexicalRetriever`."""

    def __init__(
        self,
        name: str,
        codes: Sequence[str],
        weigh_codes: Callable[[list[array[int]], int], Matrix],
        *,
        cosine: bool,
        report: ReportWork = ignore_progress,
    ) -> None:
        from scipy.sparse import csr_array

        self._name, self._cosine = name, cosine
        self._terms_of = term_reader()
        self._vocabulary: dict[str, int] = {}
        rows: list[array[int]] = []
        pace = Pace(f"reading codes by {name}", len(codes), report)
        for block in blocks_of(codes):
            rows += [self._numbered(text) for text in block]
            pace.add(len(block))
        # Terms of queries alone have higher numbers.
        self._known = len(self._vocabulary)
        self._codes = weigh_codes(rows, self._known).T.tocsr() if self._known else csr_array((1, len(codes)))

    def _numbered(self, text: str) -> array[int]:
        """Return the numbers of the terms of a text."""
        known = self._vocabulary
        return array("i", [known.setdefault(term, len(known)) for term in self._terms_of(text)])

    def weigh(self, queries: Sequence[str]) -> TermWeights:
        """Return the weights of queries and of the codes."""
        from scipy.sparse import csr_array

        if not self._known or not len(queries):
            return TermWeights(csr_array((len(queries), self._codes.shape[0])), self._codes)
        rows = [self._numbered(text) for text in queries]
        counts = _counts(rows, len(self._vocabulary))
        squares = None
        if self._cosine:
            # A term that no code has still counts for the length of the query.
            squares = counts.multiply(counts).sum(axis=1), self._codes.multiply(self._codes).sum(axis=0)
        return TermWeights(counts[:, : self._known], self._codes, squares)

    def search(self, queries: Sequence[str], top: int, report: ReportWork = ignore_progress) -> Ranking:
        """Return the best codes of each query, of those that share a term with it."""
        import numpy

        weights = self.weigh(queries)
        found = Ranking(
            numpy.full((len(queries), top), -1, dtype=numpy.int64), numpy.zeros((len(queries), top))
        )
        at_once = min(_QUERIES_AT_ONCE, max(1, _CELLS // max(1, self._codes.shape[1])))
        pace = Pace(f"comparing by {self._name}", len(queries), report)
        for start in range(0, len(queries), at_once):
            scores = (weights.queries[start : start + at_once] @ weights.codes).tocsr()
            for query in range(scores.shape[0]):
                part = slice(scores.indptr[query], scores.indptr[query + 1])
                there, values = scores.indices[part], scores.data[part]
                if weights.squares is not None:
                    # Of whole numbers, so that equal cosines are equal here, too.
                    asked, given = weights.squares
                    values = values**2 / (asked[start + query] * given[there])
                best, values = _best(there, values, top)
                found.codes[start + query, : len(best)] = best
                found.scores[start + query, : len(best)] = values if weights.squares is None else values**0.5
            pace.add(scores.shape[0])
        return found


def bm25() -> LexicalRetriever:
    """Return the retriever by BM25 as Lucene has it, with k1 = 1.5 and b = 0.75."""
    return LexicalRetriever("bm25", _bm25_weights)


def bag_of_words() -> LexicalRetriever:
    """Return the retriever by the cosine of term counts."""
    return LexicalRetriever("bow", _counts, cosine=True)


def _bm25_weights(rows: list[array[int]], terms: int) -> Matrix:
    from bm25s import BM25
    from scipy.sparse import csc_array

    index = BM25(method="lucene", k1=1.5, b=0.75, dtype="float64", csc_backend="scipy")
    scores = index.build_index_from_ids(range(terms), rows, show_progress=False)
    return csc_array((scores["data"], scores["indices"], scores["indptr"]), shape=(len(rows), terms))


def _counts(rows: list[array[int]], terms: int) -> Matrix:
    """Return how often each text has each term, texts by terms."""
    import numpy
    from scipy.sparse import csr_array

    ends = numpy.cumsum([0, *(len(row) for row in rows)])
    indices = numpy.concatenate([numpy.asarray(row, dtype=numpy.int32) for row in rows])
    counts = csr_array((numpy.ones(len(indices)), indices, ends), shape=(len(rows), terms))
    counts.sum_duplicates()
    return counts


def _best(codes: Array, scores: Array, top: int) -> tuple[Array, Array]:
    """Return the best codes and their scores: the higher score first, of equal ones the lower position."""
    import numpy

    if len(codes) > top:
        least = numpy.partition(scores, len(scores) - top)[len(scores) - top]
        kept = scores >= least
        codes, scores = codes[kept], scores[kept]
    order = numpy.lexsort((codes, -scores))[:top]
    return codes[order], scores[order]
