"""Agreement between raters: pure functions over values, each result with what it was computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from store.errors import WorkbenchError

Level = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its ground.

    Attributes:
        value: The coefficient; None where it is not defined.
        units: Units that it was computed from: those with at least two values.
        dropped: Units left out, since fewer than two raters gave a value.
        values: Values in the units it was computed from.
        why_none: Why there is no coefficient, empty when there is one.
    """

    value: float | None
    units: int
    dropped: int
    values: int
    why_none: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return asdict(self)


def majority(values: Iterable[float | None]) -> float | None:
    """Return the value that more raters gave than any other one.

    Args:
        values: One value a rater; None for no value.

    Returns:
        The most frequent value, or None for a tie or no values at all.
    """
    ranked = Counter(value for value in values if value is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def raw_agreement(units: Iterable[Sequence[float | None]]) -> Agreement:
    """Compute the observed agreement: the share of pairs of values of a unit that are equal.

    For unit i with n_i values, of which n_ik are the value k, P_i = sum_k n_ik (n_ik - 1) / (n_i (n_i - 1));
    the result is the mean of P_i over the units with n_i >= 2 (J. L. Fleiss, "Measuring nominal scale
    agreement among many raters", Psychological Bulletin 76(5), 1971, formula 2). With two raters this is
    the plain share of units on which both agree. Agreement by chance is not taken off.

    Args:
        units: The values of each unit, one a rater; None for no value. Any number of units.

    Returns:
        The observed agreement, from 0 to 1.
    """
    shares: list[float] = []
    dropped = total = 0
    for unit in units:
        counts = Counter(value for value in unit if value is not None)
        number = counts.total()
        if number < 2:
            dropped += 1
            continue
        agreeing = sum(count * (count - 1) for count in counts.values())
        shares.append(agreeing / (number * (number - 1)))
        total += number
    if not shares:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    return Agreement(sum(shares) / len(shares), len(shares), dropped, total)


def cohen_kappa(units: Iterable[tuple[float | None, float | None]]) -> Agreement:
    """Compute Cohen's kappa of two raters: (p_o - p_e) / (1 - p_e), observed over chance agreement.

    p_o is the share of units on which both agree, and p_e = sum_k p_1k p_2k, with the share p_rk of the
    value k among those of rater r (J. Cohen, "A coefficient of agreement for nominal scales", Educational
    and Psychological Measurement 20(1), 1960). Not weighted: any two different values disagree alike.

    Args:
        units: Both raters' values of each unit; None for no value.

    Returns:
        The coefficient, at most 1.
    """
    first: Counter[float] = Counter()
    second: Counter[float] = Counter()
    number = dropped = agreed = 0
    for one, other in units:
        if one is None or other is None:
            dropped += 1
            continue
        number += 1
        agreed += one == other
        first[one] += 1
        second[other] += 1
    if not number:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    # In whole numbers, n^2 times each, so that nothing is rounded before the division.
    by_chance = sum(count * second[value] for value, count in first.items())
    if by_chance == number * number:
        return Agreement(None, number, dropped, 2 * number, "all values are equal")
    kappa = (number * agreed - by_chance) / (number * number - by_chance)
    return Agreement(kappa, number, dropped, 2 * number)


def krippendorff_alpha(ratings: Mapping[str, Sequence[float | None]], level: Level = "nominal") -> Agreement:
    """Compute Krippendorff's alpha: 1 - D_o / D_e, observed over expected disagreement.

    D_o = 1/n sum_ck o_ck d(c, k) over the coincidences of values within units, and
    D_e = 1/(n (n - 1)) sum_ck n_c n_k d(c, k), with the distance d of the level of measurement
    (K. Krippendorff, "Content Analysis", chapter 11; CoSQA+, section V, reports it at the nominal level).
    The package `krippendorff` does the sums; units with fewer than two values are left out first, as the
    definition has it. 1 is full agreement, 0 that of chance, below 0 less than that.

    Args:
        ratings: Each rater's values, n units long and in the same order of units; None for no value.
        level: The level of measurement, which decides on the distance of two values.

    Returns:
        The coefficient, at most 1.

    Raises:
        ValueError: The raters have different numbers of units.
        WorkbenchError: The package `krippendorff` is not installed.
    """
    units = list(zip(*ratings.values(), strict=True))
    paired = [unit for unit in units if sum(value is not None for value in unit) >= 2]
    dropped = len(units) - len(paired)
    values = [value for unit in paired for value in unit if value is not None]
    if not paired:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    if len(set(values)) == 1:
        # Expected disagreement is 0, and 0/0 is neither agreement nor chance.
        return Agreement(None, len(paired), dropped, len(values), "all values are equal")
    try:
        import krippendorff
    except ImportError as error:
        raise WorkbenchError(
            "Package missing",
            "Krippendorff's alpha is computed by the package krippendorff, which is not installed.",
            "Install it: pip install krippendorff",
        ) from error
    matrix = [
        [float("nan") if value is None else value for value in row] for row in zip(*paired, strict=True)
    ]
    alpha = float(krippendorff.alpha(reliability_data=matrix, level_of_measurement=level))
    return Agreement(alpha, len(paired), dropped, len(values))
