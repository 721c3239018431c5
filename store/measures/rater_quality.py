"""Figures of one rater's work in a study: time, speed, known answers, drift over the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from store.record.scope import GOLD, LABEL, REPEAT, TRAIN

PARTS = 3
"""Parts of a list over which drift is shown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A rater's decision on one presentation of an item.

    Attributes:
        phase: The phase of the assignment.
        position: Its place in the rater's list.
        item_id: The item.
        value: The label; None where another question than the one that is compared was answered.
        active: Seconds in which the rater was active; None where that is not known.
        elapsed: Seconds between the item coming onto the screen and the label.
    """

    phase: str
    position: int
    item_id: int
    value: float | None
    active: float | None
    elapsed: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """Labels of items whose right answer is known.

    Attributes:
        right: Labels that are right.
        labelled: Items with a label.
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
        percent: The mean over items of the share of others with the same label, times 100; None where no
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
        repeated: Items with a label and one more of a hidden repeat.
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


def rater_quality(
    decisions: Sequence[Decision],
    others: Mapping[int, Sequence[float]],
    right: Mapping[int, float],
    fast_seconds: float,
) -> RaterQuality:
    """Compute the figures of a rater.

    Args:
        decisions: The rater's decisions, one for each presentation.
        others: The labels of other raters, by item.
        right: The right labels of gold and training items.
        fast_seconds: Active seconds under which a decision is too fast.
    """
    of = {phase: [one for one in decisions if one.phase == phase] for phase in (TRAIN, LABEL, GOLD, REPEAT)}
    timed = [one for one in decisions if one.phase != TRAIN and one.active is not None]
    active = [one.active for one in timed if one.active is not None]
    idle = [one.elapsed - one.active for one in timed if one.elapsed is not None and one.active is not None]
    first = {one.item_id: one.value for one in of[LABEL]}
    again = [one for one in of[REPEAT] if first.get(one.item_id) is not None and one.value is not None]
    equal = sum(one.value == first[one.item_id] for one in again)
    listed = sorted(of[LABEL], key=lambda one: one.position)
    return RaterQuality(
        items=len(listed),
        median_seconds=median(active) if active else None,
        mean_seconds=fmean(active) if active else None,
        idle_seconds=sum(idle),
        too_fast=sum(each < fast_seconds for each in active),
        gold=_score(of[GOLD], right),
        training=_score(of[TRAIN], right),
        repeated=len(again),
        repeat_percent=100 * equal / len(again) if again else None,
        drift=tuple(_part(part, others) for part in _parts(listed)),
    )


def _score(decisions: Sequence[Decision], right: Mapping[int, float]) -> Score:
    known = [one for one in decisions if one.value is not None and one.item_id in right]
    hits = sum(one.value == right[one.item_id] for one in known)
    return Score(hits, len(known), hits / len(known) if known else None)


def _parts(listed: Sequence[Decision]) -> list[Sequence[Decision]]:
    """Return a list in parts of about equal length."""
    ends = [round(len(listed) * part / PARTS) for part in range(PARTS + 1)]
    return [listed[start:end] for start, end in pairwise(ends)]


def _part(decisions: Sequence[Decision], others: Mapping[int, Sequence[float]]) -> ListPart:
    active = [one.active for one in decisions if one.active is not None]
    shares = [
        sum(other == one.value for other in others[one.item_id]) / len(others[one.item_id])
        for one in decisions
        if one.value is not None and others.get(one.item_id)
    ]
    return ListPart(
        len(decisions), median(active) if active else None, 100 * fmean(shares) if shares else None
    )
