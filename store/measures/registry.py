"""The registered measures of agreement: entry points of the group `workbench.measures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from store.measures.agreement import Agreement, Level, cohen_kappa, krippendorff_alpha
from store.plugins import registered

if TYPE_CHECKING:
    from store.measures.agreement import Ratings

GROUP = "workbench.measures"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that `report agreement` computes.

    Attributes:
        name: Its field in `--json`.
        title: Its name for people.
        pairwise: Whether it compares every two raters; otherwise it is one number over all raters.
        compute: Given each rater's values, n units long and in the same order of units (NaN for no value),
            and the level of measurement of the scale, returns the coefficient.
    """

    name: str
    title: str
    pairwise: bool
    compute: Callable[[Sequence[Ratings], Level], Agreement]


COHEN_KAPPA = Measure("cohen_kappa", "kappa", True, lambda ratings, _: cohen_kappa(*ratings))
KRIPPENDORFF_ALPHA = Measure("krippendorff_alpha", "Krippendorff's alpha", False, krippendorff_alpha)


@cache
def measures() -> tuple[Measure, ...]:
    """Return every registered measure.

    Raises:
        WorkbenchError: One cannot be loaded, or is no `Measure`.
    """
    return tuple(registered(GROUP, Measure))
