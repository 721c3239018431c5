"""Figures of one rater's work in a study: time, speed, known answers, drift over the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from store.policy.scope import GOLD, LABEL, REPEAT, TRAIN

PARTS = 3
"""Parts of a list over which drift is shown."""


Answered = tuple[int, str]
"""The key of an answer: the item, and the readable name of the question with its response."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A rater's decision on one presentation of an item.

    Attributes:
        position: The item's place in the rater's list.
        values: The answers by the readable names of questions, with the response that each is about.
        active: Seconds in which the rater was active; None where that is not known.
        elapsed: Seconds between the item coming onto the screen and the label.
    """

    phase: str
    position: int
    item_id: int
    values: Mapping[str, float]
    active: float | None
    elapsed: float | None

    def answers(self, question: str) -> Iterator[tuple[Answered, float]]:
        """Yield the answers to a question: what each is about, and the value."""
        for name, value in self.values.items():
            if name == question or name.startswith(f"{question}@"):
                yield (self.item_id, name), value


@dataclass(frozen=True, slots=True)
class Score:
    """Labels of items whose right answer is known.

    Attributes:
        right: Labels that are right.
        labelled: Labels of these.
        accuracy: The share of the labels that are right; None without any.
    """

    right: int
    labelled: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class ListPart:
    """A part of a rater's list.

    Attributes:
        items: Items of the part with a label.
        median_seconds: The median of the active seconds; None where none are known.
        percent: The mean over labels of the share of others with the same label, times 100; None where no
            other rater has one.
    """

    items: int
    median_seconds: float | None
    percent: float | None


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """The work of one rater in a study.

    Attributes:
        items: Items of the study with a label.
        median_seconds: The median of the active seconds of a decision, training aside.
        mean_seconds: Their mean.
        idle_seconds: The seconds that were left out as time away.
        too_fast: Decisions that were too fast to have read the item.
        gold: The labels of gold items.
        training: The labels of training items.
        repeated: Labels with one more of a hidden repeat.
        repeat_percent: The share of these with equal labels, times 100.
        drift: The list in three parts, in order.
    """

    items: int
    median_seconds: float | None
    mean_seconds: float | None
    idle_seconds: float
    too_fast: int
    gold: Score
    training: Score
    repeated: int
    repeat_percent: float | None
    drift: tuple[ListPart, ...]


def too_fast(decisions: Sequence[Decision], fast_seconds: float) -> tuple[int, int]:
    """Return how many decisions were too fast to have read the item, and of how many; training aside.

    Args:
        decisions: A rater's decisions.
        fast_seconds: Active seconds under which a decision is too fast.
    """
    active = _active(decisions)
    return sum(one < fast_seconds for one in active), len(active)


def rater_quality(
    decisions: Sequence[Decision],
    question: str,
    others: Mapping[Answered, Sequence[float]],
    right: Mapping[Answered, float],
    fast_seconds: float,
) -> RaterQuality:
    """Compute the figures of a rater.

    Args:
        decisions: The rater's decisions, one for each presentation.
        question: The question whose answers are compared, those on responses one by one.
        others: The answers of other raters.
        right: The right answers on gold and training items.
        fast_seconds: Active seconds under which a decision is too fast.
    """
    of = {phase: [one for one in decisions if one.phase == phase] for phase in (TRAIN, LABEL, GOLD, REPEAT)}
    timed = [one for one in decisions if one.phase != TRAIN]
    active = _active(decisions)
    idle = [one.elapsed - one.active for one in timed if one.elapsed is not None and one.active is not None]
    first = {about: value for one in of[LABEL] for about, value in one.answers(question)}
    again = [
        value == first[about]
        for one in of[REPEAT]
        for about, value in one.answers(question)
        if about in first
    ]
    listed = sorted(of[LABEL], key=lambda one: one.position)
    return RaterQuality(
        items=len(listed),
        median_seconds=median(active) if active else None,
        mean_seconds=fmean(active) if active else None,
        idle_seconds=sum(idle),
        too_fast=too_fast(decisions, fast_seconds)[0],
        gold=_score(of[GOLD], question, right),
        training=_score(of[TRAIN], question, right),
        repeated=len(again),
        repeat_percent=100 * sum(again) / len(again) if again else None,
        drift=tuple(_part(part, question, others) for part in _parts(listed)),
    )


def _active(decisions: Sequence[Decision]) -> list[float]:
    """Return the active seconds of decisions that are no training, where they are known."""
    return [one.active for one in decisions if one.phase != TRAIN and one.active is not None]


def _score(decisions: Sequence[Decision], question: str, right: Mapping[Answered, float]) -> Score:
    hits = [
        value == right[about] for one in decisions for about, value in one.answers(question) if about in right
    ]
    return Score(sum(hits), len(hits), sum(hits) / len(hits) if hits else None)


def _parts(listed: Sequence[Decision]) -> list[Sequence[Decision]]:
    """Return a list in parts of about equal length."""
    ends = [round(len(listed) * part / PARTS) for part in range(PARTS + 1)]
    return [listed[start:end] for start, end in pairwise(ends)]


def _part(
    decisions: Sequence[Decision], question: str, others: Mapping[Answered, Sequence[float]]
) -> ListPart:
    active = [one.active for one in decisions if one.active is not None]
    shares = [
        sum(other == value for other in others[about]) / len(others[about])
        for one in decisions
        for about, value in one.answers(question)
        if others.get(about)
    ]
    return ListPart(
        len(decisions), median(active) if active else None, 100 * fmean(shares) if shares else None
    )
