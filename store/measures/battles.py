"""Battles: comparisons of two candidates on a prompt, as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from scipy.sparse import csr_array

    Array = numpy.ndarray[Any, Any]

OUTCOMES = (1.0, 0.5, 0.0)
"""What the first candidate of a battle gets: a win, half of a tie, nothing."""
MOST_CANDIDATES = 1_000
"""Candidates beyond which ratings by likelihood and intervals, which take every pair, are not computed."""


@dataclass(frozen=True, slots=True)
class Battle:
    """A comparison of two candidates on a prompt.

    Attributes:
        first: The first candidate.
        second: The second one.
        score: What the first one gets: 1 for a win, 0.5 for a tie, 0 for a loss.
        prompt: The prompt; battles on one prompt are not independent.
    """

    first: str
    second: str
    score: float
    prompt: Hashable = ""


@dataclass(frozen=True, eq=False)
class Battles:
    """Battles in their order.

    Attributes:
        candidates: The c candidates, in alphabetical order.
        first: The number of the first candidate of each of n battles, of shape (n,).
        second: The number of the second one, of shape (n,).
        score: What the first one gets: 1, 0.5 or 0, of shape (n,).
        prompt: The number of each battle's prompt, from 0, of shape (n,).
    """

    candidates: tuple[str, ...]
    first: Array
    second: Array
    score: Array
    prompt: Array

    @classmethod
    def of(cls, battles: Iterable[Battle]) -> Battles:
        """Return battles as arrays.

        Raises:
            ValueError: A candidate meets itself, or a score is none of 1, 0.5 and 0.
        """
        import numpy

        given = list(battles)
        candidates = sorted({name for one in given for name in (one.first, one.second)})
        number = {name: place for place, name in enumerate(candidates)}
        prompts = {prompt: place for place, prompt in enumerate(dict.fromkeys(one.prompt for one in given))}
        for one in given:
            if one.first == one.second or one.score not in OUTCOMES:
                raise ValueError(f"no battle of two candidates: {one}")
        return cls(
            tuple(candidates),
            numpy.array([number[one.first] for one in given], dtype=numpy.int64),
            numpy.array([number[one.second] for one in given], dtype=numpy.int64),
            numpy.array([one.score for one in given], dtype=float),
            numpy.array([prompts[one.prompt] for one in given], dtype=numpy.int64),
        )

    def __len__(self) -> int:
        """Return how many battles there are."""
        return len(self.score)

    @property
    def pairs(self) -> int:
        """How many pairs of candidates there can be."""
        return len(self.candidates) * (len(self.candidates) - 1) // 2

    @cached_property
    def cells(self) -> Array:
        """The cell of each battle in its row of counts: three times its pair, plus 0, 1 or 2.

        The outcome is that of the pair's lower candidate: a win, a tie, a loss.
        """
        import numpy

        swapped = self.first > self.second
        low, high = numpy.where(swapped, (self.second, self.first), (self.first, self.second))
        score = numpy.where(swapped, 1 - self.score, self.score)
        outcome = numpy.rint(2 * (1 - score)).astype(numpy.int64)
        cells: Array = 3 * _pair(low, high, len(self.candidates)) + outcome
        return cells

    @cached_property
    def counts(self) -> Array:
        """How often each cell occurs, of shape (3 pairs,)."""
        import numpy

        return numpy.bincount(self.cells, minlength=3 * self.pairs).astype(float)

    @property
    def prompts(self) -> int:
        """The number of prompts with a battle."""
        return int(self.prompt.max()) + 1 if len(self) else 0

    def by_prompt(self) -> tuple[csr_array, Array]:
        """Return the different rows of counts of prompts, and how many prompts have each.

        Prompts with the same counts are alike to every measure, so that a bootstrap draws how often each row
        comes.

        Returns:
            A sparse array of shape (different rows, 3 pairs), and an array of shape (different rows,).
        """
        import numpy
        from scipy.sparse import coo_array, csr_array

        prompts = self.prompts
        shape = (prompts, 3 * self.pairs)
        rows: Any = csr_array(coo_array((numpy.ones(len(self)), (self.prompt, self.cells)), shape=shape))
        rows.sum_duplicates()
        # Rows are compared by two random sums of their counts, exact in 64 bits.
        random = numpy.random.default_rng(0)
        keys = random.integers(0, 2**63, size=(shape[1], 2), dtype=numpy.uint64)
        sums = numpy.zeros((prompts, 2), dtype=numpy.uint64)
        number = numpy.repeat(numpy.arange(prompts), numpy.diff(rows.indptr))
        for column in range(2):
            weighted = rows.data.astype(numpy.uint64) * keys[rows.indices, column]
            numpy.add.at(sums[:, column], number, weighted)
        _, place, times = numpy.unique(
            sums.view([("a", numpy.uint64), ("b", numpy.uint64)]).ravel(),
            return_index=True,
            return_counts=True,
        )
        return rows[place], times

    def wins(self, counts: Array | None = None) -> Array:
        """Return how often each candidate beats each other one, ties as half.

        Args:
            counts: Counts of cells, of shape (..., 3 pairs); those of these battles by default.

        Returns:
            An array of shape (..., c, c), in which the row beats the column.
        """
        import numpy

        counts = self.counts if counts is None else counts
        c = len(self.candidates)
        low, high = numpy.triu_indices(c, 1)
        per_pair = counts.reshape(*counts.shape[:-1], self.pairs, 3)
        found = numpy.zeros((*counts.shape[:-1], c, c))
        found[..., low, high] = per_pair[..., 0] + per_pair[..., 1] / 2
        found[..., high, low] = per_pair[..., 2] + per_pair[..., 1] / 2
        return found

    def by_candidate(self, rows: csr_array) -> tuple[Array, Array]:
        """Return the points and the battles of each candidate in each row of counts.

        Args:
            rows: Counts of cells, of shape (r, 3 pairs).

        Returns:
            Two arrays of shape (r, c).
        """
        import numpy
        from scipy.sparse import csr_array

        c = len(self.candidates)
        low, high = numpy.triu_indices(c, 1)
        # Each cell has an entry for the lower candidate of its pair, and one for the higher.
        both = numpy.repeat(numpy.column_stack([low, high]), 3, axis=0).ravel()
        starts = numpy.arange(0, len(both) + 1, 2)
        points = numpy.tile([1.0, 0.0, 0.5, 0.5, 0.0, 1.0], self.pairs)
        shape = (3 * self.pairs, c)
        found: list[Array] = [
            (rows @ csr_array((given, both, starts), shape=shape)).toarray()
            for given in (points, numpy.ones(len(both)))
        ]
        return found[0], found[1]

    def tallies(self) -> list[tuple[int, int, int]]:
        """Return the wins, losses and ties of each candidate."""
        import numpy

        c = len(self.candidates)
        columns = [
            numpy.bincount(self.first[self.score == ours], minlength=c)
            + numpy.bincount(self.second[self.score == 1 - ours], minlength=c)
            for ours in (1.0, 0.0, 0.5)
        ]
        return [(int(won), int(lost), int(tied)) for won, lost, tied in zip(*columns, strict=True)]


def _pair(low: Array, high: Array, candidates: int) -> Array:
    """Return the number of a pair in the order of `numpy.triu_indices`."""
    number: Array = low * (2 * candidates - low - 1) // 2 + high - low - 1
    return number


def majority(votes: Sequence[float]) -> float | None:
    """Return the outcome that more than half of some votes give; None without one."""
    for outcome in OUTCOMES:
        if 2 * sum(vote == outcome for vote in votes) > len(votes):
            return outcome
    return None
