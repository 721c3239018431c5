"""Chance-corrected agreement of any number of raters, with missing values, from counts of values.

Every coefficient here is a function of sums over units. A bootstrap therefore needs only those sums: of each
different row of counts once, however many units have it.

Formulas: K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 2 to 5;
K. Krippendorff, "Content Analysis", chapter 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""A level of measurement, which decides on the distance of two values."""

Weights = Literal["identity", "linear", "quadratic"]
"""How far two different values still agree: not at all, or the less the further they are apart."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """How often each unit has each value; units without any value are left out.

    Attributes:
        domain: The different values in ascending order, of shape (q,).
        rows: The different rows of counts, of shape (p, q).
        row_of: The row of each unit, of shape (n,).
        places: The place of each unit among those that it was made of, of shape (n,).
    """

    domain: Array
    rows: Array
    row_of: Array
    places: Array

    @classmethod
    def of(cls, domain: Array, counts: Array) -> ValueCounts:
        """Make it of the counts of each unit, of shape (units, q)."""
        import numpy

        places = numpy.flatnonzero(counts.any(axis=1))
        used = counts.any(axis=0)
        there = counts[numpy.ix_(places, used)]
        most = int(there.max(initial=0)) + 1
        if most ** there.shape[1] < 2**62:
            # One number for each row: numbers are told apart thirty times as fast as rows.
            key = there @ most ** numpy.arange(there.shape[1], dtype=numpy.int64)
            _, first, row_of = numpy.unique(key, return_index=True, return_inverse=True)
            rows = there[first]
        else:
            rows, row_of = numpy.unique(there, axis=0, return_inverse=True)
        return cls(domain[used], rows, row_of.reshape(-1), places)

    @classmethod
    def of_ratings(cls, ratings: Array) -> ValueCounts:
        """Make it of the values of each rater, of shape (raters, units); NaN for no value."""
        import numpy

        domain = numpy.unique(ratings[~numpy.isnan(ratings)])
        counts = numpy.zeros((ratings.shape[1], len(domain)), dtype=numpy.int64)
        for place, value in enumerate(domain):
            counts[:, place] = (ratings == value).sum(axis=0)
        return cls.of(domain, counts)

    @property
    def units(self) -> int:
        """The number of units with at least one value."""
        return len(self.row_of)

    @property
    def judgments(self) -> int:
        """The number of values."""
        return int(self.rows.sum(axis=1)[self.row_of].sum())

    @property
    def paired(self) -> int:
        """The number of units with two values or more, from which agreement is computed."""
        return int((self.rows.sum(axis=1) >= 2)[self.row_of].sum())


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement as a function of sums over units.

    Attributes:
        name: Its field in `--json`.
        title: Its name for people.
        parts: Given the domain and rows of counts (p, q), returns what each row adds to the sums, (p, s).
        value: Given the domain and sums (..., s), returns the coefficient of each, NaN where it is not
            defined.
        by_chance: Given the domain and the values' shares (..., q), returns the chance agreement; None for a
            coefficient that has none of this form.
    """

    name: str
    title: str
    parts: Callable[[Array, Array], Array]
    value: Callable[[Array, Array], Array]
    by_chance: Callable[[Array, Array], Array] | None = None

    def of(self, counts: ValueCounts) -> float | None:
        """Return the coefficient; None where it is not defined."""
        import numpy

        if not counts.units:
            return None
        times = numpy.bincount(counts.row_of, minlength=len(counts.rows))
        found = float(self.value(counts.domain, times @ self.parts(counts.domain, counts.rows)))
        return None if numpy.isnan(found) else found


def weights_of(domain: Array, weights: Weights) -> Array:
    """Return the agreement of every two values, of shape (q, q): 1 for equal ones, 0 for the most different.

    Args:
        domain: The values, of shape (q,).
        weights: Identity, linear (1 - |a - b| / range) or quadratic (1 - (a - b)^2 / range^2).
    """
    import numpy

    if weights == "identity" or len(domain) < 2:
        return numpy.eye(len(domain))
    distance = abs(domain[:, None] - domain[None, :]) / (domain[-1] - domain[0])
    return numpy.asarray(1 - (distance if weights == "linear" else distance**2))


def percent_agreement() -> Coefficient:
    """Return the share of pairs of values of a unit that are equal, as a mean over units, times 100."""

    def value(_: Array, sums: Array) -> Array:
        return 100 * _divide(sums[..., 0], sums[..., 1])

    return Coefficient("percent", "percent agreement", _parts("identity"), value)


def fleiss_kappa(weights: Weights = "identity") -> Coefficient:
    """Return Fleiss' kappa; with unequal numbers of values for each unit, Gwet's generalisation of it.

    Chance agreement is sum_kl w_kl pi_k pi_l, with pi_k the mean share of the value k in a unit (J. L.
    Fleiss, 1971; Gwet 2014, section 2.6).
    """

    def by_chance(domain: Array, shares: Array) -> Array:
        import numpy

        return numpy.asarray(numpy.einsum("...k,kl,...l->...", shares, weights_of(domain, weights), shares))

    title = "Fleiss' kappa" + ("" if weights == "identity" else f", {weights} weights")
    return Coefficient("fleiss", title, _parts(weights), _chance_corrected(by_chance), by_chance)


def gwet_ac(weights: Weights = "identity") -> Coefficient:
    """Return Gwet's AC1, or AC2 with weights.

    Chance agreement is T / (q (q - 1)) * sum_k pi_k (1 - pi_k), with T the sum of the weights of every two
    of the q values, and pi_k the mean share of the value k in a unit (Gwet 2014, section 4.4).
    """

    def by_chance(domain: Array, shares: Array) -> Array:
        import numpy

        number = len(domain)
        if number < 2:
            return shares[..., 0] * 0
        total = weights_of(domain, weights).sum()
        return numpy.asarray(total / (number * (number - 1)) * (shares * (1 - shares)).sum(axis=-1))

    name, title = (
        ("ac1", "Gwet's AC1") if weights == "identity" else ("ac2", f"Gwet's AC2, {weights} weights")
    )
    return Coefficient(name, title, _parts(weights), _chance_corrected(by_chance), by_chance)


def krippendorff_alpha_of_sums(level: Level) -> Coefficient:
    """Return Krippendorff's alpha as a function of the coincidences of values, for resampling.

    Its value is that of the package `krippendorff`, which gives the reported one.
    """
    import numpy

    def parts(_: Array, rows: Array) -> Array:
        number = rows.sum(axis=1)
        paired = number >= 2
        together = rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * numpy.eye(rows.shape[1])
        together = together / numpy.maximum(number - 1, 1)[:, None, None]
        return numpy.asarray((together * paired[:, None, None]).reshape(len(rows), -1))

    def value(domain: Array, sums: Array) -> Array:
        q = len(domain)
        together = sums.reshape(*sums.shape[:-1], q, q)
        each = together.sum(axis=-1)
        total = each.sum(axis=-1)
        distance = _distances(domain, each, level)
        observed = (together * distance).sum(axis=(-2, -1))
        expected = (each[..., :, None] * each[..., None, :] * distance).sum(axis=(-2, -1))
        return 1 - _divide(observed * (total - 1), expected)

    return Coefficient("alpha", f"Krippendorff's alpha, {level}", parts, value)


def standard_error(coefficient: Coefficient, counts: ValueCounts) -> float | None:
    """Return the standard error of Fleiss' kappa, AC1 or AC2 over units, with the raters fixed.

    It is the variance of Gwet 2014, sections 5.3 and 5.4: that of the mean of each unit's own coefficient,
    with the part of chance agreement that the unit has in it.

    Args:
        coefficient: One that corrects for chance agreement, of `fleiss_kappa` or `gwet_ac`.
        counts: The counts.

    Returns:
        The standard error; None where it is not defined.
    """
    import numpy

    number = counts.units
    value = coefficient.of(counts)
    if number < 2 or value is None or coefficient.by_chance is None:
        return None
    parts = coefficient.parts(counts.domain, counts.rows)
    times = numpy.bincount(counts.row_of, minlength=len(counts.rows))
    sums = times @ parts
    agreed, paired, shares = parts[:, 0], parts[:, 1], parts[:, 3:]
    mean = sums[3:] / sums[2]
    expected = float(coefficient.by_chance(counts.domain, mean))
    # Chance agreement is quadratic in the shares, so that this difference is its derivative, exactly.
    change = (
        coefficient.by_chance(counts.domain, mean + (shares - mean))
        - coefficient.by_chance(counts.domain, mean - (shares - mean))
    ) / 2
    own = number / sums[1] * (agreed - expected * paired) / (1 - expected)
    own -= (1 - value) * change / (1 - expected)
    variance = float((times * (own - value) ** 2).sum()) / (number * (number - 1))
    return float(numpy.sqrt(variance))


def specific_agreement(counts: ValueCounts) -> list[tuple[float, float | None, float]]:
    """Return each value with its specific agreement and its share of all values.

    The specific agreement of a value is the share of those who agree with somebody who gave it: positive and
    negative agreement of a question with two answers (J. L. Fleiss, "Statistical Methods for Rates and
    Proportions", 2nd edition, 1981, section 13.1). Where one answer is rare, that of the other one hides it.

    Returns:
        (value, agreement, share) of each value in ascending order; no agreement where nobody could agree.
    """
    import numpy

    times = numpy.bincount(counts.row_of, minlength=len(counts.rows))[:, None]
    number = counts.rows.sum(axis=1, keepdims=True)
    agreed = (times * counts.rows * (counts.rows - 1)).sum(axis=0)
    possible = (times * counts.rows * (number - 1)).sum(axis=0)
    given = (times * counts.rows).sum(axis=0)
    return [
        (float(value), float(one / all_) if all_ else None, float(own / given.sum()))
        for value, one, all_, own in zip(counts.domain, agreed, possible, given, strict=True)
    ]


def _parts(weights: Weights) -> Callable[[Array, Array], Array]:
    """Return a function that gives of each row: agreement, whether it has pairs, 1, and its shares."""

    def parts(domain: Array, rows: Array) -> Array:
        import numpy

        number = rows.sum(axis=1)
        pairs = numpy.maximum(number * (number - 1), 1)
        agreed = (rows * (rows @ weights_of(domain, weights) - 1)).sum(axis=1) / pairs
        paired = number >= 2
        return numpy.column_stack(
            [agreed * paired, paired, number >= 1, rows / numpy.maximum(number, 1)[:, None]]
        )

    return parts


def _chance_corrected(by_chance: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Return (p_o - p_e) / (1 - p_e) as a function of the sums that `_parts` gives."""

    def value(domain: Array, sums: Array) -> Array:
        observed = _divide(sums[..., 0], sums[..., 1])
        expected = by_chance(domain, _divide(sums[..., 3:], sums[..., 2:3]))
        return _divide(observed - expected, 1 - expected)

    return value


def _distances(domain: Array, each: Array, level: Level) -> Array:
    """Return the squared distances of every two values, of shape (..., q, q)."""
    import numpy

    one, other = domain[:, None], domain[None, :]
    if level == "nominal":
        return numpy.asarray(one != other, dtype=float)
    if level == "interval":
        return numpy.asarray((one - other) ** 2.0)
    if level == "ratio":
        return numpy.asarray(_divide(one - other, one + other + 0.0, otherwise=0.0) ** 2)
    # Ordinal: the values from one to the other, with half of these two.
    upto = numpy.cumsum(each, axis=-1) - each / 2
    return numpy.asarray((upto[..., :, None] - upto[..., None, :]) ** 2)


def _divide(number: Any, by: Any, *, otherwise: float = float("nan")) -> Array:
    """Divide arrays; where the divisor is 0, to within rounding, there is no value."""
    import numpy

    number, by = numpy.asarray(number, dtype=float), numpy.asarray(by, dtype=float)
    shape = numpy.broadcast_shapes(number.shape, by.shape)
    found = numpy.full(shape, otherwise)
    numpy.divide(number, by, out=found, where=numpy.broadcast_to(abs(by) > 1e-12, shape))
    return found


def counts_by_unit(units: Sequence[int] | Array, values: Array, times: Array) -> tuple[Array, Array]:
    """Return the domain and the counts of each unit, of shape (n, q), of values in long form.

    Args:
        units: The unit of each value, from 0.
        values: The values, of shape (m,).
        times: How often each is given, of shape (m,).
    """
    import numpy

    domain, place = numpy.unique(values, return_inverse=True)
    counts = numpy.zeros((int(max(units, default=-1)) + 1, len(domain)), dtype=int)
    numpy.add.at(counts, (numpy.asarray(units, dtype=int), place), times)
    return domain, counts
