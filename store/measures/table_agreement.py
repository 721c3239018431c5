"""The agreement of the raters of a table: every coefficient, with an interval, and every two raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError
from store.measures.agreement import Agreement, alpha_of_counts, cohen_kappa, weighted_kappa
from store.measures.coefficients import (
    Coefficient,
    Level,
    ValueCounts,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha_of_sums,
    percent_agreement,
    specific_agreement,
    standard_error,
)
from store.measures.intervals import Interval, bootstrap

if TYPE_CHECKING:
    from store.measures.rating_table import RatingTable

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
MOST_PAIRS = 1_000
"""Pairs of raters that are compared one by one: those of 45 raters."""


@dataclass(frozen=True, slots=True)
class RaterPair:
    """The agreement of two raters.

    Attributes:
        raters: Their names.
        units: Units with a value of both.
        percent: The share of these to which both gave the same value, times 100.
        cohen: Cohen's kappa.
        cohen_linear: Cohen's kappa with linear weights; None where values are words.
        cohen_quadratic: The same with quadratic weights.
    """

    raters: tuple[str, str]
    units: int
    percent: float | None
    cohen: float | None
    cohen_linear: float | None
    cohen_quadratic: float | None


@dataclass(frozen=True, slots=True)
class TableAgreement:
    """The agreement of a table of ratings; a coefficient that is not defined is None.

    Attributes:
        form: How the file is laid out.
        units: All units.
        dropped_units: Units with less than two values, which say nothing about agreement.
        raters: The number of raters; None where the file does not name them.
        judgments: All values.
        level: The level of measurement of the interval.
        alpha: Krippendorff's alpha by level; of words only nominal.
        interval: The interval of alpha at that level; None where none was asked for.
        percent: Percent agreement, 0 to 100.
        cohen: Cohen's kappa, where there are two raters.
        fleiss: Fleiss' kappa, generalised to unequal numbers of values.
        fleiss_se: Its standard error over units.
        ac1: Gwet's AC1.
        ac1_se: Its standard error over units.
        ac2_linear: Gwet's AC2 with linear weights; None where values are words.
        ac2_quadratic: The same with quadratic weights.
        values: Each value with its share and specific agreement.
        pairs: Every two raters.
        blocks: The mean of alpha over blocks of so many rows; None where none was asked for.
        clustered: Whether the interval's resamples are of clusters, and not of units.
        why: Why there is no alpha; empty where there is one.
    """

    form: str
    units: int
    dropped_units: int
    raters: int | None
    judgments: int
    level: Level
    alpha: Mapping[str, float | None]
    interval: Interval | None
    percent: float | None
    cohen: float | None
    fleiss: float | None
    fleiss_se: float | None
    ac1: float | None
    ac1_se: float | None
    ac2_linear: float | None
    ac2_quadratic: float | None
    values: Sequence[Mapping[str, Any]]
    pairs: Sequence[RaterPair]
    blocks: float | None
    clustered: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        fields = asdict(self)
        fields["ci_low"] = None if self.interval is None else self.interval.low
        fields["ci_high"] = None if self.interval is None else self.interval.high
        if self.interval is not None:
            fields["interval"]["warning"] = self.interval.warning
        return fields


def table_agreement(
    table: RatingTable,
    *,
    level: Level = "nominal",
    resamples: int = 1000,
    seed: int = 0,
    block: int | None = None,
) -> TableAgreement:
    """Compute the agreement of the raters of a table.

    Args:
        table: The ratings.
        level: The level of measurement whose alpha gets the interval.
        resamples: Resamples of the bootstrap; 0 for no interval.
        seed: The seed of the bootstrap.
        block: Rows of a block, for the mean of alpha over blocks; None for none.

    Raises:
        WorkbenchError: The values are words, and the level is not nominal.
    """
    import numpy

    if table.words and level != "nominal":
        word = next((each for each in table.words if any(map(str.isalpha, each))), table.words[0])
        raise WorkbenchError(
            "Values are words",
            f"Words such as {word!r} have no {level} distance.",
            "Write numbers, leave out columns that are no raters, or leave --level out.",
        )
    counts = ValueCounts.of(table.domain, table.counts)
    levels: tuple[Level, ...] = ("nominal",) if table.words else LEVELS
    alpha = {each: alpha_of_counts(counts, each, units=table.units) for each in levels}
    interval = None
    if resamples:
        clusters = None
        if table.clusters is not None:
            _, clusters = numpy.unique(table.clusters[counts.places], return_inverse=True)
        statistic = krippendorff_alpha_of_sums(level)
        interval = bootstrap(statistic, counts, clusters=clusters, resamples=resamples, seed=seed)
    pairs = _pairs(table)

    def numeric(coefficient: Coefficient) -> float | None:
        return None if table.words else coefficient.of(counts)

    fleiss, ac1 = fleiss_kappa(), gwet_ac()
    return TableAgreement(
        form=table.form,
        units=table.units,
        dropped_units=table.units - counts.paired,
        raters=len(table.raters) or None,
        judgments=counts.judgments,
        level=level,
        alpha={each: alpha[each].value if each in alpha else None for each in LEVELS},
        interval=interval,
        percent=percent_agreement().of(counts),
        cohen=pairs[0].cohen if len(table.raters) == 2 else None,
        fleiss=fleiss.of(counts),
        fleiss_se=standard_error(fleiss, counts),
        ac1=ac1.of(counts),
        ac1_se=standard_error(ac1, counts),
        ac2_linear=numeric(gwet_ac("linear")),
        ac2_quadratic=numeric(gwet_ac("quadratic")),
        values=[
            {
                "value": table.words[int(value)] if table.words else value,
                "share": share,
                "specific_agreement": found,
            }
            for value, found, share in specific_agreement(counts)
        ],
        pairs=pairs,
        blocks=None if block is None else mean_of_blocks(table, level, block),
        clustered=table.clusters is not None,
        why=alpha[level].why_none,
    )


def mean_of_blocks(table: RatingTable, level: Level, block: int) -> float | None:
    """Return the mean of Krippendorff's alpha over blocks of rows, as the program published with CoSQA+ does.

    It is another number than alpha over all rows. Blocks without an alpha are left out.

    Args:
        table: The ratings.
        level: The level of measurement.
        block: Rows of a block, at least 1; the last one may have fewer.
    """
    found: list[Agreement] = []
    for start in range(0, table.units, block):
        counts = table.counts[start : start + block]
        found.append(alpha_of_counts(ValueCounts.of(table.domain, counts), level, units=len(counts)))
    values = [each.value for each in found if each.value is not None]
    return sum(values) / len(values) if values else None


def _pairs(table: RatingTable) -> list[RaterPair]:
    import numpy

    number = len(table.raters)
    if table.ratings is None or number * (number - 1) // 2 > MOST_PAIRS:
        return []
    found = []
    for one, other in combinations(range(number), 2):
        first, second = table.ratings[one], table.ratings[other]
        both = ~numpy.isnan(first) & ~numpy.isnan(second)
        units = int(both.sum())
        found.append(
            RaterPair(
                (table.raters[one], table.raters[other]),
                units,
                100 * float((first[both] == second[both]).mean()) if units else None,
                cohen_kappa(first, second).value,
                None if table.words else weighted_kappa(first, second, "linear").value,
                None if table.words else weighted_kappa(first, second, "quadratic").value,
            )
        )
    return found
