"""The alternative annotator test: may an agent replace an annotator?

N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge: How to Statistically
Justify Replacing Human Annotators with LLMs", ACL 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from store.measures.coefficients import Patterns
from store.measures.significance import benjamini_yekutieli

if TYPE_CHECKING:
    import numpy

    from store.measures.agreement import Ratings

    Array = numpy.ndarray[Any, Any]

Alignment = Literal["accuracy", "rmse"]
"""Alignment of a value with those of others: the share that is equal, or minus the root mean square error."""

FALSE_DISCOVERY_RATE = 0.05
"""The rate at which wins may be wrong, over all annotators."""
LEAST_ANNOTATORS = 3
"""Annotators below which there is no group to stand for."""
LEAST_UNITS = 30
"""Units below which an annotator is not tested, as in the authors' program.

The paper allows Wilcoxon's test for these. It does not test a mean: of agents just not good enough (10 to 29
units, epsilon 0.2, differences simulated with a mean of 0.2) it lets 7 to 45 % pass at a level of 5 %.
"""


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The agent against one annotator, with the other annotators as the measure.

    Attributes:
        annotator: The place of the annotator, from 0.
        units: Units with a value of the annotator, of the agent, and of another annotator.
        agent_advantage: The share of units where the agent is at least as near to the others.
        annotator_advantage: The share of units where the annotator is at least as near to the others.
        p_value: The one-sided p-value; None where the annotator has too few units to be tested.
        adjusted: The p-value by Benjamini and Yekutieli, for all annotators that are tested.
        won: Whether the agent is the better one, at the false discovery rate.
    """

    annotator: int
    units: int
    agent_advantage: float | None
    annotator_advantage: float | None
    p_value: float | None = None
    adjusted: float | None = None
    won: bool = False


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """The result of the test.

    Attributes:
        comparisons: The agent against each annotator.
        winning_rate: The share of the tested annotators that the agent wins against (omega); None where there
            is no test.
        advantage: The mean of the agent's advantage over the tested annotators (rho), for comparing agents.
        passed: Whether the winning rate is 0.5 or more; None where there is no test.
        epsilon: What an annotator's advantage was lowered by.
        false_discovery_rate: The rate of wrong wins that the correction allows.
        why_none: Why there is no test; empty where there is one.
        warning: Why not to rely on it; empty for no reason.
    """

    comparisons: tuple[AnnotatorComparison, ...]
    winning_rate: float | None
    advantage: float | None
    passed: bool | None
    epsilon: float
    false_discovery_rate: float
    why_none: str = ""
    warning: str = ""


def alternative_test(
    agent: Ratings,
    annotators: Sequence[Ratings] | Array,
    alignment: Alignment = "accuracy",
    *,
    epsilon: float = 0.2,
) -> AlternativeTest:
    """Test whether an agent may replace an annotator.

    Each annotator is left out in turn: on each unit the agent or the annotator has the advantage, whoever is
    nearer to the remaining annotators; both have it in a tie. Over the units, the agent wins if its share of
    advantages is significantly above the annotator's less epsilon, which is what the agent's lower cost is
    worth: 0.2 against experts, 0.15 against trained annotators, 0.1 against crowd workers, as the authors
    advise, and less where annotators agree little. The test is a one-sided paired t-test. It is
    about units like these, with the annotators fixed; units are taken to be independent.

    Args:
        agent: The agent's values, n units long; None or NaN for no value.
        annotators: The annotators' values, of shape (annotators, n).
        alignment: Accuracy for nominal values, rmse for scores.
        epsilon: The cost-benefit penalty of annotators, from 0 to 1.

    Returns:
        The result; without a winning rate where fewer than three annotators have 30 units or more.

    Raises:
        ValueError: Shapes do not fit, or epsilon is not between 0 and 1.
    """
    import numpy

    own = numpy.asarray(agent, dtype=float)
    given = [numpy.asarray(each, dtype=float) for each in annotators]
    if any(each.shape != own.shape for each in given):
        raise ValueError(f"annotators are of shape (annotators, {len(own)})")
    if not 0 <= epsilon <= 1:
        raise ValueError("epsilon is between 0 and 1")
    # Units with the same values are alike: each of their patterns is looked at once.
    patterns = Patterns.of_ratings([own, *given])
    assert patterns.codes is not None
    values = numpy.append(patterns.domain, numpy.nan)[patterns.codes]
    comparisons = [
        _compare(values[0], values[1:], patterns.times, place, alignment=alignment, epsilon=epsilon)
        for place in range(len(given))
    ]
    tested = [each for each in comparisons if each.p_value is not None]
    if len(tested) < LEAST_ANNOTATORS:
        why = f"fewer than {LEAST_ANNOTATORS} annotators have {LEAST_UNITS} units with the agent and another"
        return AlternativeTest(tuple(comparisons), None, None, None, epsilon, FALSE_DISCOVERY_RATE, why)
    adjusted = numpy.array(benjamini_yekutieli([each.p_value for each in tested if each.p_value is not None]))
    for each, value in zip(tested, adjusted, strict=True):
        comparisons[each.annotator] = replace(
            each, adjusted=float(value), won=bool(value <= FALSE_DISCOVERY_RATE)
        )
    rate = float((adjusted <= FALSE_DISCOVERY_RATE).mean())
    advantage = float(numpy.mean([each.agent_advantage for each in tested]))
    return AlternativeTest(tuple(comparisons), rate, advantage, rate >= 0.5, epsilon, FALSE_DISCOVERY_RATE)


def _compare(
    agent: Array, annotators: Array, times: Array, place: int, *, alignment: Alignment, epsilon: float
) -> AnnotatorComparison:
    """Compare the agent with one annotator over patterns of values, each of which occurs so many times."""
    import numpy

    annotator, others = annotators[place], numpy.delete(annotators, place, axis=0)
    units = ~numpy.isnan(agent) & ~numpy.isnan(annotator) & (~numpy.isnan(others)).any(axis=0)
    others, times = others[:, units], times[units]
    number = int(times.sum())
    if not number:
        return AnnotatorComparison(place, 0, None, None)

    def distance(values: Array) -> Array:
        # Both are compared with the same others, so that sums order them as means do.
        apart = (others != values[units]) * 1.0 if alignment == "accuracy" else (others - values[units]) ** 2
        return numpy.asarray(numpy.where(numpy.isnan(others), 0, apart).sum(axis=0))

    of_agent, of_annotator = distance(agent), distance(annotator)
    comparison = AnnotatorComparison(
        place,
        number,
        float(times @ (of_agent <= of_annotator) / number),
        float(times @ (of_annotator <= of_agent) / number),
    )
    if number < LEAST_UNITS:
        return comparison
    # 1 where the annotator is nearer, -1 where the agent is, 0 in a tie.
    nearer = numpy.sign(of_agent - of_annotator)
    return replace(comparison, p_value=_p_value(nearer, times, epsilon))


def _p_value(differences: Array, times: Array, epsilon: float) -> float:
    """Return the one-sided p-value of a mean below epsilon, by the t-test.

    Args:
        differences: The different differences.
        times: How often each occurs.
        epsilon: The bound.
    """
    import numpy

    # scipy.stats alone takes half a second to import.
    from scipy.special import stdtr

    if not numpy.ptp(differences):
        # Of units that are all alike the statistic is infinite.
        return 0.0 if differences[0] < epsilon else 1.0
    number = times.sum()
    mean = times @ differences / number
    error = numpy.sqrt(times @ (differences - mean) ** 2 / (number - 1) / number)
    return float(stdtr(number - 1, (mean - epsilon) / error))
