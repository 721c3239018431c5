"""The registered measures of agreement: entry points of the group `workbench.measures`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from store.measures.agreement import Agreement, cohen_kappa, krippendorff_alpha, patterns_of
from store.measures.coefficients import Coefficient, Level, fleiss_kappa, gwet_ac, percent_agreement
from store.plugins import registered

if TYPE_CHECKING:
    from store.measures.agreement import Ratings

GROUP = "workbench.measures"

REPORT_FIELDS = frozenset(
    {
        *("report", "question", "phases", "study", "items", "responses", "compared", "cluster", "beside"),
        *("by_condition", "differing", "equal_texts"),
        *(
            "units",
            "dropped_units",
            "raters",
            "judgments",
            "level",
            "ci_low",
            "ci_high",
            "ac2_linear",
            "fleiss_generalised",
        ),
        *("ac2_quadratic", "standard_errors", "intervals", "values", "blocks", "clustered", "why"),
        *("by_rater", "by_pair", "by_item", "cohen_linear", "cohen_quadratic", "blind", "revealed"),
        *("pearson", "spearman", "kendall"),
    }
)
"""The fields of the report itself, which no measure may be called."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that `report agreement` computes.

    Attributes:
        name: Its field in `--json`: lower-case letters, digits and underscores, and no field of the report.
        title: Its name for people, short enough for a table's column.
        pairwise: Whether it compares every two raters; otherwise it is one number over all raters.
        compute: Given each rater's values, n units long and in the same order of units (NaN for no value),
            and the level of measurement of the scale, returns the coefficient.
    """

    name: str
    title: str
    pairwise: bool
    compute: Callable[[Sequence[Ratings], Level], Agreement]

    def __post_init__(self) -> None:
        """Refuse a name that cannot be a field of the report.

        Raises:
            ValueError: It is none, or is one already.
        """
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name) or self.name in REPORT_FIELDS:
            raise ValueError(f"a measure cannot be called {self.name!r}: the report needs a field of its own")

    @property
    def reason_field(self) -> str:
        """The field of `--json` that says why two raters have no coefficient."""
        return "why_no_" + re.sub(r"\W+", "_", self.title)


def _of_patterns(coefficient: Coefficient) -> Callable[[Sequence[Ratings], Level], Agreement]:
    """Return the function of a measure that a coefficient of patterns computes."""

    def compute(ratings: Sequence[Ratings], _: Level) -> Agreement:
        patterns = patterns_of(ratings)
        value, units, values = coefficient.of(patterns), patterns.paired, patterns.paired_judgments
        dropped = patterns.units - units
        if value is None:
            why = "all values are equal" if units else "no unit has two values"
            return Agreement(None, units, dropped, values, why)
        return Agreement(value, units, dropped, values)

    return compute


ALPHA = Measure("alpha", "Krippendorff's alpha", False, krippendorff_alpha)
PERCENT = Measure("percent", "percent agreement", False, _of_patterns(percent_agreement()))
FLEISS = Measure("fleiss", "Fleiss' kappa", False, _of_patterns(fleiss_kappa()))
AC1 = Measure("ac1", "Gwet's AC1", False, _of_patterns(gwet_ac()))
COHEN = Measure("cohen", "Cohen's kappa", True, lambda ratings, _: cohen_kappa(*ratings))
_OWN = frozenset({ALPHA, PERCENT, FLEISS, AC1, COHEN})


@cache
def measures() -> tuple[Measure, ...]:
    """Return every registered measure.

    Raises:
        WorkbenchError: One cannot be loaded, is no `Measure`, or has the name of another.
    """
    found = tuple(registered(GROUP, Measure))
    names = [measure.name for measure in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise WorkbenchError(
            "Two measures of one name",
            f"Several packages register a measure called {', '.join(twice)}.",
            "Uninstall one of them; see: workbench doctor",
        )
    return found


def extra_measures() -> tuple[Measure, ...]:
    """Return the registered measures of other packages, which reports give beside our own."""
    return tuple(measure for measure in measures() if measure not in _OWN)
