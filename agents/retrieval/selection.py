"""The parts of the search that are compiled: keeping the best scores of each query, and scoring pairs."""

from __future__ import annotations

from typing import Any, Protocol

import numba
import numpy
import torch

Array = numpy.ndarray[Any, Any]

_GROUP = 64
"""Scores whose largest is compared first: mostly none of them is among the best."""
_NOTHING = -(2**31)
"""Less than every score."""


class Selection(Protocol):
    """The best scores of each query so far."""

    def add(self, queries: slice, scores: torch.Tensor, start: int) -> None:
        """Take the best scores of a block of codes.

        Args:
            queries: The queries; different threads may add for different ones.
            scores: Their scores of the codes, of shape (queries, codes), float32 or bfloat16.
            start: The place of the first code.
        """
        ...

    def ordered(self) -> tuple[Array, Array]:
        """Return the best scores, float64, and the places of their codes, best first."""
        ...


def selection(queries: int, kept: int, device: str, type_: torch.dtype) -> Selection:
    """Return an empty selection.

    Args:
        queries: How many queries there are.
        kept: How many codes of each query are kept; there are at least as many.
        device: Where the scores are: "cpu" or "cuda".
        type_: The type of the scores.
    """
    if device == "cpu":
        return CompiledSelection(queries, kept, type_)
    return TorchSelection(queries, kept, device, type_)


class CompiledSelection:
    """A selection on the processor. Choosing by torch takes as long as multiplying narrow vectors does."""

    def __init__(self, queries: int, kept: int, type_: torch.dtype) -> None:
        self._type = type_
        self._bits = torch.int16 if type_ == torch.bfloat16 else torch.int32
        self._best = numpy.full((queries, kept), _NOTHING, dtype=numpy.int32)
        self._places = numpy.full((queries, kept), -1, dtype=numpy.int64)
        self._last = numpy.zeros(queries, dtype=numpy.int64)

    def add(self, queries: slice, scores: torch.Tensor, start: int) -> None:
        """Take the best scores of a block of codes: see `Selection`."""
        bits = scores.view(self._bits).numpy()
        _insert(bits, start, self._best[queries], self._places[queries], self._last[queries])

    def ordered(self) -> tuple[Array, Array]:
        """Return the best scores and their places: see `Selection`."""
        order = numpy.argsort(-self._best.astype(numpy.int64), axis=1)
        best = numpy.take_along_axis(self._best, order, 1)
        bits = torch.from_numpy(_ordered_bits(best, torch.iinfo(self._bits).max)).to(self._bits)
        return bits.view(self._type).double().numpy(), numpy.take_along_axis(self._places, order, 1)


def _ordered_bits(bits: Array, mask: int) -> Array:
    """Return the bits of numbers as integers in the same order; applied twice it returns them.

    Those of positive numbers are in their order, those of negative ones in the opposite one.
    """
    ordered: Array = numpy.where(bits < 0, bits ^ mask, bits)
    return ordered


@numba.njit(nogil=True)
def _insert(bits: Array, start: int, best: Array, places: Array, last: Array) -> None:
    """Replace the least of each row's best scores by every higher one.

    Args:
        bits: The scores' bits as integers, of shape (queries, codes).
        start: The place of the first code.
        best: The best scores so far as ordered integers, of shape (queries, kept), in no order.
        places: Their codes.
        last: Where the least of each row's best scores is.
    """
    mask = (1 << (8 * bits.itemsize - 1)) - 1
    kept = best.shape[1]
    for query in range(len(bits)):
        row, own, codes, least = bits[query], best[query], places[query], last[query]
        lowest = own[least]
        for first in range(0, len(row), _GROUP):
            end = min(first + _GROUP, len(row))
            if lowest >= 0:
                highest = row[first]
                for place in range(first, end):
                    highest = max(highest, row[place])
                if highest <= lowest:
                    continue
            for place in range(first, end):
                score = row[place]
                if score < 0:
                    score ^= mask
                if score > lowest:
                    own[least], codes[least] = score, start + place
                    lowest = own[0]
                    for other in range(kept):
                        lowest = min(lowest, own[other])
                    least = 0
                    while own[least] != lowest:
                        least += 1
        last[query] = least


class TorchSelection:
    """A selection on a GPU."""

    def __init__(self, queries: int, kept: int, device: str, type_: torch.dtype) -> None:
        self._best = torch.full((queries, kept), -torch.inf, device=device, dtype=type_)
        self._places = torch.full((queries, kept), -1, dtype=torch.int64, device=device)

    def add(self, queries: slice, scores: torch.Tensor, start: int) -> None:
        """Take the best scores of a block of codes: see `Selection`."""
        best, places = self._best[queries], self._places[queries]
        kept = best.shape[1]
        new, where = torch.topk(scores, min(kept, scores.shape[1]), dim=1, sorted=False)
        both, at = torch.cat([best, new], dim=1), torch.cat([places, where + start], dim=1)
        values, chosen = torch.topk(both, kept, dim=1, sorted=False)
        best.copy_(values)
        places.copy_(torch.take_along_dim(at, chosen, 1))

    def ordered(self) -> tuple[Array, Array]:
        """Return the best scores and their places: see `Selection`."""
        order = torch.argsort(self._best, dim=1, descending=True)
        best, places = (torch.take_along_dim(one, order, 1) for one in (self._best, self._places))
        return best.double().cpu().numpy(), places.cpu().numpy()


@numba.njit(nogil=True, fastmath={"reassoc", "contract"})
def inner_products(
    vectors: tuple[Array, Array], pairs: tuple[Array, Array], edges: Array, products: Array
) -> None:
    """Compute inner products in float64, those of equal vectors in the same order.

    Args:
        vectors: The queries' and the codes' vectors by all models side by side, float32.
        pairs: The query and the code of each pair.
        edges: Where each model's numbers begin, and the end.
        products: The result, float64, of shape (pairs, models).
    """
    queries, codes = vectors
    rows, places = pairs
    for pair in range(len(rows)):
        query, code = queries[rows[pair]], codes[places[pair]]
        for model in range(len(edges) - 1):
            total = 0.0
            for at in range(edges[model], edges[model + 1]):
                total += numpy.float64(query[at]) * numpy.float64(code[at])
            products[pair, model] = total
