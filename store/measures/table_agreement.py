"""The agreement of the raters of a table: every coefficient, with an interval, and every two raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError
from store.measures.agreement import (
    Agreement,
    alpha_of_patterns,
    cohen_of_patterns,
    cohen_statistic,
)
from store.measures.coefficients import (
    Level,
    Patterns,
    Statistic,
    Weights,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha_of_sums,
    percent_agreement,
    specific_agreement,
    standard_error,
)
from store.measures.intervals import Bootstrap, Interval, of_proportion

if TYPE_CHECKING:
    from store.measures.rating_table import RatingTable

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
MOST_PAIRS = 1_000
"""Pairs of raters that are compared one by one: those of 45 raters."""
MOST_VALUES = 40
"""Different values up to which Cohen's kappa of two raters gets an interval."""


@dataclass(frozen=True, slots=True)
class RaterPair:
    """The agreement of two raters.

    Attributes:
        raters: Their names.
        units: Units with a value of both.
        dropped_units: Units with a value of only one of them.
        percent: The share of these to which both gave the same value, times 100.
        cohen: Cohen's kappa.
        ci_low: The lower end of its interval; None where none was asked for.
        ci_high: The upper end.
        cohen_linear: Cohen's kappa with linear weights; None where values are words.
        cohen_quadratic: The same with quadratic weights.
        pearson: Pearson's r of their values; None at the nominal and the ordinal level, or where not defined.
        spearman: Spearman's rho; None at the nominal level, or where not defined.
        kendall: Kendall's tau-b; None as Spearman's.
        why: Why there is no kappa; empty where there is one.
    """

    raters: tuple[str, str]
    units: int
    dropped_units: int
    percent: float | None
    cohen: float | None
    ci_low: float | None
    ci_high: float | None
    cohen_linear: float | None
    cohen_quadratic: float | None
    pearson: float | None
    spearman: float | None
    kendall: float | None
    why: str = ""


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
        ci_low: The lower end of the interval of alpha at that level; None where none was asked for.
        ci_high: The upper end.
        percent: Percent agreement, 0 to 100.
        cohen: Cohen's kappa, where there are two raters.
        fleiss: Fleiss' kappa; Gwet's generalisation of it where units have unequal numbers of values.
        fleiss_generalised: Whether it is that one.
        ac1: Gwet's AC1.
        ac2_linear: Gwet's AC2 with linear weights; None where values are words.
        ac2_quadratic: The same with quadratic weights.
        standard_errors: The standard errors over units of Fleiss' kappa, AC1 and AC2, by their names.
        intervals: The intervals of alpha and of the other coefficients, by their names.
        values: Each value with its share and specific agreement.
        by_pair: Every two raters.
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
    ci_low: float | None
    ci_high: float | None
    percent: float | None
    cohen: float | None
    fleiss: float | None
    fleiss_generalised: bool
    ac1: float | None
    ac2_linear: float | None
    ac2_quadratic: float | None
    standard_errors: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    values: Sequence[Mapping[str, Any]]
    by_pair: Sequence[RaterPair]
    blocks: float | None
    clustered: bool
    why: str

    @property
    def interval(self) -> Interval | None:
        """The interval of alpha; None where none was asked for."""
        return self.intervals.get("alpha")


def table_agreement(
    table: RatingTable,
    *,
    level: Level = "nominal",
    bootstrap: Bootstrap | None = None,
    block: int | None = None,
    pairs: bool = True,
) -> TableAgreement:
    """Compute the agreement of the raters of a table.

    Args:
        table: The ratings.
        level: The level of measurement whose alpha gets the interval.
        bootstrap: How intervals are drawn; None for no intervals.
        block: Rows of a block, for the mean of alpha over blocks; None for none.
        pairs: Whether every two raters are compared too.

    Raises:
        WorkbenchError: The values are words, and the level is not nominal.
    """
    if table.words and level != "nominal":
        word = next((each for each in table.words if any(map(str.isalpha, each))), table.words[0])
        raise WorkbenchError(
            "Values are words",
            f"Words such as {word!r} have no {level} distance.",
            "Write numbers, leave out columns that are no raters, or leave --level out.",
        )
    patterns = table.patterns
    levels: tuple[Level, ...] = ("nominal",) if table.words else LEVELS
    alpha = {each: alpha_of_patterns(patterns, each) for each in levels}
    coefficients = {
        "percent": percent_agreement(),
        "fleiss": fleiss_kappa(),
        "ac1": gwet_ac(),
        **({} if table.words else {"ac2_linear": gwet_ac("linear"), "ac2_quadratic": gwet_ac("quadratic")}),
    }
    statistics = {"alpha": krippendorff_alpha_of_sums(level), **coefficients}
    measured = {name: each.statistic(patterns) for name, each in statistics.items()}
    if len(table.raters) == 2 and len(patterns.domain) <= MOST_VALUES:
        measured["cohen"] = cohen_statistic(patterns)
    intervals = _intervals(table, measured, bootstrap)
    ends = intervals.get("alpha")
    found = {name: each.of(patterns) for name, each in coefficients.items()}
    return TableAgreement(
        form=table.form,
        units=table.units,
        dropped_units=table.units - patterns.paired,
        raters=len(table.raters) or None,
        judgments=patterns.judgments,
        level=level,
        alpha={each: alpha[each].value if each in alpha else None for each in LEVELS},
        ci_low=None if ends is None else ends.low,
        ci_high=None if ends is None else ends.high,
        percent=found["percent"],
        cohen=cohen_of_patterns(patterns).value if len(table.raters) == 2 else None,
        fleiss=found["fleiss"],
        fleiss_generalised=len(set(patterns.rows.sum(axis=1).tolist())) > 1,
        ac1=found["ac1"],
        ac2_linear=found.get("ac2_linear"),
        ac2_quadratic=found.get("ac2_quadratic"),
        standard_errors={
            name: standard_error(each, patterns) for name, each in coefficients.items() if each.by_chance
        },
        intervals=intervals,
        values=[
            {
                "value": table.words[int(value)] if table.words else value,
                "share": share,
                "specific_agreement": agreed,
            }
            for value, agreed, share in specific_agreement(patterns)
        ],
        by_pair=rater_pairs(table, level, bootstrap) if pairs else (),
        blocks=None if block is None else mean_of_blocks(table, level, block),
        clustered=table.clusters is not None and not (bootstrap and bootstrap.by_unit),
        why=alpha[level].why_none,
    )


def _intervals(
    table: RatingTable, statistics: Mapping[str, Statistic], bootstrap: Bootstrap | None
) -> dict[str, Interval]:
    if bootstrap is None or not bootstrap.resamples or not len(table.patterns.domain):
        return {}
    found = dict(zip(statistics, bootstrap.intervals(table, [*statistics.values()]), strict=True))
    if (percent := found.get("percent")) is not None and percent.low is None:
        share = float(statistics["percent"](table.patterns.times)) / 100
        wilsons = of_proportion(percent, None if isnan(share) else share)
        if wilsons.low is not None and wilsons.high is not None:
            found["percent"] = replace(wilsons, low=100 * wilsons.low, high=100 * wilsons.high)
    return found


def mean_of_blocks(table: RatingTable, level: Level, block: int) -> float | None:
    """Return the mean of Krippendorff's alpha over blocks of rows, as the program published with CoSQA+ does.

    It is another number than alpha over all rows. Blocks without an alpha are left out.

    Args:
        table: The ratings.
        level: The level of measurement.
        block: Rows of a block, at least 1; the last one may have fewer.
    """
    import numpy

    found: list[Agreement] = []
    patterns = table.patterns
    for start in range(0, table.units, block):
        there, pattern_of = numpy.unique(patterns.pattern_of[start : start + block], return_inverse=True)
        times = numpy.bincount(pattern_of, minlength=len(there))
        rows = Patterns(patterns.domain, None, patterns.rows[there], pattern_of, times)
        found.append(alpha_of_patterns(rows, level))
    values = [each.value for each in found if each.value is not None]
    return sum(values) / len(values) if values else None


def rater_pairs(
    table: RatingTable, level: Level = "nominal", bootstrap: Bootstrap | None = None
) -> list[RaterPair]:
    """Compare every two raters of a table, of at most 45 raters; none of more.

    Args:
        table: The ratings.
        level: The level of measurement, which says whether values are correlated.
        bootstrap: How intervals of Cohen's kappa are drawn; None for no intervals.
    """
    number, patterns = len(table.raters), table.patterns
    if patterns.codes is None or number * (number - 1) // 2 > MOST_PAIRS:
        return []
    found = []
    for one, other in combinations(range(number), 2):
        pair = table.only([one, other], everyone=True)
        assert pair.patterns.codes is not None
        first, second = pair.patterns.codes
        times = pair.patterns.times
        cohen = cohen_of_patterns(pair.patterns)
        # A table of two raters' values has so many cells in each resample.
        few = len(pair.patterns.domain) <= MOST_VALUES
        resampled = {"cohen": cohen_statistic(pair.patterns)} if few else {}
        interval = _intervals(pair, resampled, bootstrap).get("cohen")
        weighted: dict[Weights, float | None] = {
            weights: None if table.words else cohen_of_patterns(pair.patterns, weights).value
            for weights in ("linear", "quadratic")
        }
        both = (patterns.codes[[one, other]] >= 0).sum(axis=0)
        found.append(
            RaterPair(
                (table.raters[one], table.raters[other]),
                pair.units,
                int(patterns.times[both == 1].sum()),
                100 * float(times[first == second].sum() / pair.units) if pair.units else None,
                cohen.value,
                interval.low if interval else None,
                interval.high if interval else None,
                weighted["linear"],
                weighted["quadratic"],
                *_correlations(pair.patterns, level),
                cohen.why_none,
            )
        )
    return found


def _correlations(patterns: Patterns, level: Level) -> tuple[float | None, float | None, float | None]:
    """Return Pearson's, Spearman's and Kendall's coefficients of two raters at a level that has them."""
    from store.measures.correlation import correlation

    assert patterns.codes is not None
    if level == "nominal" or not len(patterns.domain):
        return None, None, None
    one, other = patterns.domain[patterns.codes[:, patterns.pattern_of]]
    pearson = None if level == "ordinal" else correlation(one, other, "pearson").value
    return pearson, correlation(one, other, "spearman").value, correlation(one, other, "kendall").value
