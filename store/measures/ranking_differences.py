"""Whether methods of retrieval differ: a sign-flip test over queries, and the interval of the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from store.measures.intervals import Bootstrap
from store.measures.ranking import RankingScores
from store.measures.significance import holm, sign_flip


@dataclass(frozen=True, slots=True)
class RankingDifference:
    """The difference of two methods in a measure.

    Attributes:
        first: The name of one method.
        second: The name of the other.
        queries: The queries that both have a value of.
        difference: The mean over these queries of the first method's value less the second's.
        low: The lower end of its interval, a bootstrap over queries; None without resamples.
        high: The upper end.
        p_value: Of a two-sided sign-flip test over queries (a paired randomisation test).
        adjusted: The p-value by Holm's method for all differences that were tested together.
    """

    measure: str
    first: str
    second: str
    queries: int
    difference: float
    low: float | None
    high: float | None
    p_value: float
    adjusted: float


def ranking_differences(
    scores: Mapping[str, RankingScores], measures: Sequence[str], bootstrap: Bootstrap
) -> list[RankingDifference]:
    """Compare every two methods in some measures, as one family of tests.

    Args:
        scores: The measures of each method, by its name.
        measures: Those that are compared.
        bootstrap: How intervals are drawn, and the seed of the sign flips.
    """
    import numpy

    found = []
    for measure in measures:
        for first, second in combinations(scores, 2):
            places = {query: place for place, query in enumerate(scores[second].queries)}
            both = [
                (place, places[query]) for place, query in enumerate(scores[first].queries) if query in places
            ]
            if not both:
                continue
            one, other = numpy.array(both).T
            change = scores[first].values[measure][one] - scores[second].values[measure][other]
            interval = bootstrap.of_mean(change)
            p_value = sign_flip(change, seed=bootstrap.seed).p_value
            found.append(
                RankingDifference(
                    measure,
                    first,
                    second,
                    len(both),
                    float(change.mean()),
                    interval.low,
                    interval.high,
                    p_value,
                    p_value,
                )
            )
    return as_one_family(found)


def as_one_family(found: Sequence[RankingDifference]) -> list[RankingDifference]:
    """Return differences as tested together: p-values are adjusted for all of them."""
    adjusted = holm([each.p_value for each in found])
    return [replace(each, adjusted=value) for each, value in zip(found, adjusted, strict=True)]
