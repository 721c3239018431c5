"""Chance-corrected agreement of any number of raters, with missing values, from patterns of values.

Every coefficient here is a function of sums over units. A bootstrap therefore needs only those sums: of each
pattern of values once, however many units have it.

Formulas: K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 2 to 5;
K. Krippendorff, "Content Analysis", chapter 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""A level of measurement, which decides on the distance of two values."""

Weights = Literal["identity", "linear", "quadratic"]
"""How far two different values still agree: not at all, or the less the further they are apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The different units of a table of ratings: those with the same values of the same raters are alike.

    Every measure here is a function of how often each pattern occurs, and so is a bootstrap: 400,000 units
    of three raters who say yes or no have at most 27 patterns.

    Attributes:
        domain: The different values in ascending order, of shape (q,).
        codes: The value of each rater as its place in the domain, -1 for none, of shape (raters, p); None
            where raters have no names.
        rows: How often each pattern has each value, of shape (p, q).
        pattern_of: The pattern of each unit, of shape (n,).
        times: How often each pattern occurs, of shape (p,).
    """

    domain: Array
    codes: Array | None
    rows: Array
    pattern_of: Array
    times: Array

    @classmethod
    def of_counts(cls, domain: Array, counts: Array) -> Patterns:
        """Make them of the counts of each unit's values, of shape (n, q), without raters."""
        first, pattern_of = _distinct(counts, int(counts.max(initial=0)))
        return cls(domain, None, counts[first], pattern_of, _times(pattern_of, len(first)))

    @classmethod
    def of_codes(cls, domain: Array, codes: Array) -> Patterns:
        """Make them of the place of each rater's value in the domain, -1 for none, of shape (raters, n)."""
        import numpy

        first, pattern_of = _distinct(codes.T, len(domain), lowest=-1)
        # Of the few patterns as wide numbers, which nothing overflows.
        codes = codes[:, first].astype(numpy.int64)
        rows = _rows(codes, len(domain))
        return cls(domain, codes, rows, pattern_of, _times(pattern_of, len(first)))

    @classmethod
    def of_ratings(cls, ratings: Sequence[Array] | Array) -> Patterns:
        """Make them of the values of each rater, of shape (raters, n); NaN for no value."""
        return cls.of_codes(*coded(ratings))

    def only(self, raters: Sequence[int], *, everyone: bool = False) -> tuple[Patterns, Array]:
        """Return the patterns of some raters with names, over the units that they rated.

        Args:
            raters: Their places.
            everyone: Whether all of them rated a unit; otherwise one of them did.

        Returns:
            The patterns, and which units they are of, of shape (n,). Their domain is the values that these
            raters gave.
        """
        import numpy

        assert self.codes is not None
        codes = self.codes[list(raters)]
        given = (codes >= 0).sum(axis=0)
        rated = given == len(codes) if everyone else given > 0
        there = rated[self.pattern_of]
        place_of = rated.cumsum() - 1
        used = numpy.unique(codes[codes >= 0])
        codes = numpy.where(codes < 0, -1, numpy.searchsorted(used, codes))
        alike = Patterns.of_codes(self.domain[used], codes[:, rated])
        pattern_of = alike.pattern_of[place_of[self.pattern_of[there]]]
        times = _times(pattern_of, len(alike.rows))
        return replace(alike, pattern_of=pattern_of, times=times), there

    @property
    def units(self) -> int:
        """The number of units, those without a value too."""
        return len(self.pattern_of)

    @property
    def judgments(self) -> int:
        """The number of values."""
        return int(self.rows.sum(axis=1) @ self.times)

    @property
    def paired_judgments(self) -> int:
        """The number of values of these units."""
        number = self.rows.sum(axis=1)
        return int((number * (number >= 2)) @ self.times)

    @property
    def paired(self) -> int:
        """The number of units with two values or more, from which agreement is computed."""
        return int((self.rows.sum(axis=1) >= 2) @ self.times)


def coded(ratings: Sequence[Array] | Array) -> tuple[Array, Array]:
    """Return the different values in ascending order, and each value's place among them, -1 for NaN.

    Args:
        ratings: Values of each rater, of shape (raters, n).
    """
    import numpy

    given = [numpy.unique(own[~numpy.isnan(own)]) for own in ratings]
    domain = numpy.unique(numpy.concatenate([numpy.empty(0), *given]))
    units = len(ratings[0]) if len(ratings) else 0
    codes = numpy.empty((len(ratings), units), dtype=numpy.min_scalar_type(-1 - len(domain)))
    for place, own in enumerate(ratings):
        codes[place] = numpy.searchsorted(domain, own)
        codes[place][numpy.isnan(own)] = -1
    return domain, codes


def _rows(codes: Array, values: int) -> Array:
    """Return how often each pattern has each value, of shape (p, q)."""
    import numpy

    rows = numpy.zeros((codes.shape[1], values), dtype=numpy.int64)
    for own in codes:
        given = numpy.flatnonzero(own >= 0)
        rows[given, own[given]] += 1
    return rows


def _times(pattern_of: Array, patterns: int) -> Array:
    import numpy

    return numpy.bincount(pattern_of, minlength=patterns)


def _distinct(rows: Array, most: int, lowest: int = 0) -> tuple[Array, Array]:
    """Return the first place of each different row, and the number of each row's among them.

    Args:
        rows: Whole numbers, of shape (n, m).
        most: The largest number.
        lowest: The smallest one.
    """
    import numpy

    base = most - lowest + 1
    if base ** rows.shape[1] < 2**62:
        # One number for each row: comparing numbers is thirty times as fast as comparing rows, and small
        # ones are sorted four to ten times as fast.
        key = numpy.zeros(len(rows), dtype=numpy.min_scalar_type(-1 - base ** rows.shape[1]))
        for column in rows.T:
            key *= base
            key += column
            key -= lowest
        _, first, row_of = numpy.unique(key, return_index=True, return_inverse=True)
    else:
        _, first, row_of = numpy.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, row_of.reshape(-1)


Statistic = Callable[["Array"], "Array"]
"""A measure as a function of how often each pattern occurs: (..., p) to (...), NaN where not defined."""


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
        whole: Given the domain and rows, returns the statistic itself, where sums over units are not enough;
            None where `parts` and `value` make it.
    """

    name: str
    title: str
    parts: Callable[[Array, Array], Array]
    value: Callable[[Array, Array], Array]
    by_chance: Callable[[Array, Array], Array] | None = None
    whole: Callable[[Array, Array], Statistic] | None = None

    def statistic(self, patterns: Patterns) -> Statistic:
        """Return it as a function of how often each pattern occurs."""
        if self.whole is not None:
            return self.whole(patterns.domain, patterns.rows)
        parts = self.parts(patterns.domain, patterns.rows)
        return lambda times: self.value(patterns.domain, times @ parts)

    def of(self, patterns: Patterns) -> float | None:
        """Return the coefficient; None where it is not defined."""
        import numpy

        if not patterns.units or not len(patterns.domain):
            return None
        found = float(self.statistic(patterns)(patterns.times))
        return found if numpy.isfinite(found) else None


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


def fleiss_kappa() -> Coefficient:
    """Return Fleiss' kappa; with unequal numbers of values for each unit, Gwet's generalisation of it.

    Chance agreement is sum_k pi_k^2, with pi_k the mean share of the value k in a unit (J. L.
    Fleiss, 1971; Gwet 2014, section 2.6).
    """

    def by_chance(domain: Array, shares: Array) -> Array:
        import numpy

        return numpy.asarray((shares * shares).sum(axis=-1))

    return Coefficient("fleiss", "Fleiss' kappa", _parts("identity"), _chance_corrected(by_chance), by_chance)


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


def has_both_signs(values: Array) -> bool:
    """Return whether some values are above 0 and some below."""
    return bool(len(values) and values.min() < 0 < values.max())


def krippendorff_alpha_of_sums(level: Level) -> Coefficient:
    """Return Krippendorff's alpha as a function of the coincidences of values, for resampling.

    Its value is that of the package `krippendorff`, which gives the reported one of all but large tables.
    """
    import numpy

    def parts(domain: Array, rows: Array) -> Array:
        number = rows.sum(axis=1)
        paired = number >= 2
        weight = paired / numpy.maximum(number - 1, 1)
        # A value has no distance to itself, so that its own pair adds nothing.
        observed = ((rows @ _distances(domain, level)) * rows).sum(axis=1) * weight
        return numpy.column_stack([observed, rows * paired[:, None]])

    def value(domain: Array, sums: Array) -> Array:
        observed, each = sums[..., 0], sums[..., 1:]
        if level == "ratio" and has_both_signs(domain):
            return numpy.full(observed.shape, numpy.nan)
        expected = ((each @ _distances(domain, level)) * each).sum(axis=-1)
        return 1 - _divide(observed * (each.sum(axis=-1) - 1), expected)

    whole = _ordinal_alpha if level == "ordinal" else None
    return Coefficient("alpha", f"Krippendorff's alpha, {level}", parts, value, whole=whole)


def _ordinal_alpha(_: Array, rows: Array) -> Statistic:
    """Return ordinal alpha of rows: interval alpha of the mean ranks that the values have in each resample.

    The distance of two values is that of their mean ranks, squared: the values from one to the other with
    half of these two. Sums of squares take the place of every two values, of which there may be a million.
    """
    import numpy

    number = rows.sum(axis=1)
    paired = number >= 2
    rows, number = rows[paired].astype(float), number[paired]

    def statistic(times: Array) -> Array:
        times = times[..., paired]
        each = times @ rows
        total = each.sum(axis=-1)
        # Less their mean, so that little is lost where squares are subtracted.
        ranks = numpy.cumsum(each, axis=-1) - each / 2 - total[..., None] / 2
        within = number * (ranks**2 @ rows.T) - (ranks @ rows.T) ** 2
        observed = (times * within / (number - 1)).sum(axis=-1)
        expected = total * (each * ranks**2).sum(axis=-1) - (each * ranks).sum(axis=-1) ** 2
        return 1 - _divide(observed * (total - 1), expected)

    return statistic


def standard_error(coefficient: Coefficient, patterns: Patterns) -> float | None:
    """Return the standard error of Fleiss' kappa, AC1 or AC2 over units, with the raters fixed.

    It is the variance of Gwet 2014, sections 5.3 and 5.4: that of the mean of each unit's own coefficient,
    with the part of chance agreement that the unit has in it.

    Args:
        coefficient: One that corrects for chance agreement, of `fleiss_kappa` or `gwet_ac`.
        patterns: The patterns of the units.

    Returns:
        The standard error; None where it is not defined.
    """
    import numpy

    value = coefficient.of(patterns)
    number = int((patterns.rows.any(axis=1)) @ patterns.times)
    if number < 2 or value is None or coefficient.by_chance is None:
        return None
    parts = coefficient.parts(patterns.domain, patterns.rows)
    times = patterns.times
    sums = times @ parts
    agreed, paired, shares = parts[:, 0], parts[:, 1], parts[:, 3:]
    mean = sums[3:] / sums[2]
    expected = float(coefficient.by_chance(patterns.domain, mean))
    # Chance agreement is quadratic in the shares, so that this difference is its derivative, exactly.
    change = (
        coefficient.by_chance(patterns.domain, mean + (shares - mean))
        - coefficient.by_chance(patterns.domain, mean - (shares - mean))
    ) / 2
    own = number / sums[1] * (agreed - expected * paired) / (1 - expected)
    own -= (1 - value) * change / (1 - expected)
    times = times * patterns.rows.any(axis=1)
    variance = float((times * (own - value) ** 2).sum()) / (number * (number - 1))
    return float(numpy.sqrt(variance))


def specific_agreement(patterns: Patterns) -> list[tuple[float, float | None, float]]:
    """Return each value with its specific agreement and its share of all values.

    The specific agreement of a value is the share of those who agree with somebody who gave it: positive and
    negative agreement of a question with two answers (J. L. Fleiss, "Statistical Methods for Rates and
    Proportions", 2nd edition, 1981, section 13.1). Where one answer is rare, that of the other one hides it.

    Returns:
        (value, agreement, share) of each value in ascending order; no agreement where nobody could agree.
    """
    times = patterns.times[:, None]
    number = patterns.rows.sum(axis=1, keepdims=True)
    agreed = (times * patterns.rows * (patterns.rows - 1)).sum(axis=0)
    possible = (times * patterns.rows * (number - 1)).sum(axis=0)
    given = (times * patterns.rows).sum(axis=0)
    return [
        (float(value), float(one / all_) if all_ else None, float(own / given.sum()))
        for value, one, all_, own in zip(patterns.domain, agreed, possible, given, strict=True)
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


def _distances(domain: Array, level: Level) -> Array:
    """Return the squared distances of every two values but ordinal ones, of shape (q, q).

    They are in units of the largest value, on which alpha does not depend.
    """
    import numpy

    if level == "nominal":
        return 1 - numpy.eye(len(domain))
    scaled = domain / (abs(domain).max(initial=0) or 1)
    one, other = scaled[:, None], scaled[None, :]
    if level == "interval":
        return numpy.asarray((one - other) ** 2.0)
    return numpy.asarray(_divide(one - other, one + other, otherwise=0.0) ** 2)


def _divide(number: Any, by: Any, *, otherwise: float = float("nan")) -> Array:
    """Divide arrays; where the divisor is 0, to within rounding, there is no value."""
    import numpy

    number, by = numpy.asarray(number, dtype=float), numpy.asarray(by, dtype=float)
    shape = numpy.broadcast_shapes(number.shape, by.shape)
    found = numpy.full(shape, otherwise)
    numpy.divide(number, by, out=found, where=numpy.broadcast_to(abs(by) > 1e-12, shape))
    return found
