"""BM25 as CrossCodeEval's context was retrieved with it.

Words that more than half of the texts have would get a weight below 0; Okapi's floor gives them a small one
instead. The library that searches codes by words has no such floor, so its scores are not those published.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import log
from typing import Any

import numpy

K1, B, FLOOR = 1.5, 0.75, 0.25
"""The parameters; the floor is a share of the mean weight of all words."""

_WORD = re.compile(r"\w+")


def words_in(text: str) -> list[str]:
    """Return the words of a text: tokens of the Penn Treebank, split where there is punctuation within."""
    return [word for token in _tokenizer().tokenize(text) for word in _WORD.findall(token)]


class Okapi:
    """The texts in which is searched.

    Args:
        counts: How often each word is in each text, at least one text.
    """

    def __init__(self, counts: Sequence[Counter[str]]) -> None:
        self._counts = counts
        lengths = numpy.array([count.total() for count in counts], dtype=float)
        self._length = K1 * (1 - B + B * lengths / lengths.mean())
        having: Counter[str] = Counter()
        for count in counts:
            having.update(count.keys())
        self._weights = {
            word: log(len(counts) - number + 0.5) - log(number + 0.5) for word, number in having.items()
        }
        self._floor = FLOOR * sum(self._weights.values()) / len(self._weights)

    def scores(self, query: Sequence[str]) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """Return the score of each text for a query; a word counts as often as it is in the query."""
        scores = numpy.zeros(len(self._counts))
        for word in query:
            if (weight := self._weights.get(word)) is None:
                continue
            often = numpy.array([count[word] for count in self._counts], dtype=float)
            scores += (self._floor if weight < 0 else weight) * often * (K1 + 1) / (often + self._length)
        return scores


@cache
def _tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()
