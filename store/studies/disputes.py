"""Disputes: questions that raters answered differently, and what a ruling on one goes against."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from store.errors import UnknownName
from store.json_fields import fields_of
from store.kinds.spec import QuestionSpec
from store.queries.executions import ExecutionView
from store.record.evidence import Citation, as_json
from store.record.scales import Scale
from store.tables.record import QuestionTarget


@dataclass(frozen=True, slots=True)
class DisputedLabel:
    """One rater's label in a dispute.

    Attributes:
        rater: The rater under a name that tells nothing: R1 of a study, a letter elsewhere.
        name: The rater's own name.
        seconds: How long it took; None where that is not known.
        comment: What the rater wrote about it.
        citations: The lines that it cites.
        blind: Whether it was judged in a blind review.
        revealed: Whether the agents' label was on the screen.
        later: The rater's value after the reveal; None without one.
        again: The rater's value after the item was sent back; None without one.
        again_comment: What the rater wrote about that.
    """

    rater: str
    name: str
    value: float
    seconds: float | None
    comment: str
    reason: str
    citations: tuple[Citation, ...]
    blind: bool
    revealed: bool
    later: float | None
    again: float | None = None
    again_comment: str = ""


@dataclass(frozen=True, slots=True)
class RatersTest:
    """A run of a test that a rater wrote and had on the screen with the label.

    Attributes:
        rater: The rater under a name that tells nothing.
        name: The rater's own name.
        again: Whether the adjudicator ran it again.
    """

    rater: str
    name: str
    execution: ExecutionView
    again: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """A current ruling.

    Attributes:
        comment: What was written about it.
        revealed: Whether the agents' label was on the screen.
    """

    adjudicator: str
    value: float
    comment: str
    revealed: bool


@dataclass(frozen=True, slots=True)
class AgentsLabel:
    """The label of an agents' run, or the mean of a judge's scores.

    Attributes:
        id: The verdict, or the judge's last score.
        name: The run or the judge.
    """

    id: UUID
    name: str
    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Dispute:
    """A question on an item or a response that raters answered differently.

    Attributes:
        title: The text by which lists show it.
        target: The keys of the question and the response.
        response: The letter of the response on the adjudicator's screens; empty for the item itself.
        agents: The agents' labels, where they are shown.
        hidden: Whether the agents' labels stay hidden from the adjudicator.
        tests: The raters' own tests.
        sent_back: The note with which it was sent back to the raters; None where it was not.
    """

    item_id: int
    external_id: str
    kind: str
    title: str
    spec: QuestionSpec
    target: QuestionTarget
    response: str
    labels: tuple[DisputedLabel, ...]
    rulings: tuple[Ruling, ...]
    agents: tuple[AgentsLabel, ...] = ()
    hidden: bool = True
    tests: tuple[RatersTest, ...] = ()
    sent_back: str | None = None

    @property
    def values(self) -> list[float]:
        """The values of the labels."""
        return [one.value for one in self.labels]

    @property
    def size(self) -> float:
        """How far apart the labels are, from 0 to 1 (see `disagreement`)."""
        return disagreement(self.spec.scale, self.values)

    @property
    def spread(self) -> float:
        """How far apart the lowest and the highest label are; 0 where values have no order."""
        return 0.0 if self.spec.scale.level == "nominal" else max(self.values) - min(self.values)

    def sign(self, value: float) -> str:
        """Return a value without its word: "0", "A", "+1"."""
        return self.spec.scale.word(value).partition(" ")[0]

    def to_dict(self, *, names: bool = False) -> dict[str, Any]:
        """Return it as JSON-able fields.

        Args:
            names: Whether raters have their own names.
        """
        return {
            "item": self.external_id,
            "number": self.item_id,
            "kind": self.kind,
            "question": self.spec.name,
            "response": self.response or None,
            "size": self.size,
            "sent_back": self.sent_back,
            "labels": [
                {
                    "rater": one.name if names else one.rater,
                    "word": self.spec.scale.word(one.value),
                    **fields_of(one, *_OF_LABELS),
                    "evidence": json.loads(as_json(one.citations)),
                }
                for one in self.labels
            ],
            "tests": [
                {
                    "rater": one.name if names else one.rater,
                    "execution": one.execution.id,
                    "passed": one.execution.counts.passed,
                    "tests": len(one.execution.outcomes),
                }
                for one in self.tests
                if not one.again
            ],
            "rulings": [asdict(one) for one in self.rulings],
            "agents": None
            if self.hidden
            else [fields_of(one, "name", "value", "reason") for one in self.agents],
        }


_OF_LABELS = ("value", "seconds", "comment", "reason", "blind", "revealed", "later", "again", "again_comment")


def disagreement(scale: Scale, values: Sequence[float]) -> float:
    """Return how far apart labels are, from 0 to 1.

    On an interval scale it is their spread as a share of the scale's. On others it is 1 for a tie of the most
    frequent values, and less the clearer their majority: one less the lead of the first over the second
    value, as a share of all labels.
    """
    if scale.level == "interval":
        named = [known.value for known in scale.values]
        return (max(values) - min(values)) / ((max(named) - min(named)) or 1.0)
    (_, first), *rest = Counter(values).most_common(2)
    return 1 - (first - (rest[0][1] if rest else 0)) / len(values)


def goes_against(scale: Scale, values: Sequence[float], value: float) -> bool:
    """Return whether a ruling goes against the raters, so that it needs a reason.

    On an interval scale it does where nobody gave the value, or where more than half of the raters gave a
    lower one, or more than half a higher one. On others it does where another value was given more often.
    """
    if scale.level == "interval":
        lower, higher = (sum(one < value for one in values), sum(one > value for one in values))
        return value not in values or 2 * max(lower, higher) > len(values)
    counts = Counter(values)
    return counts[value] < max(counts.values())


def find_dispute(
    disputes: Iterable[Dispute], item_id: int, question: str | None, response: str | None
) -> Dispute:
    """Return the dispute on an item that a question and a response's letter name.

    Args:
        disputes: The disputes.
        item_id: The item.
        question: The question, with or without its kind; None where there is only one.
        response: The letter of the response; None where there is only one.

    Raises:
        UnknownName: Raters do not disagree about it, or several disputes are meant.
    """
    of_item = [one for one in disputes if one.item_id == item_id]
    if not of_item:
        raise UnknownName(
            "No dispute",
            "Raters do not disagree about this item.",
            "List them: workbench adjudicate WORKSPACE",
        )
    meant = [
        one
        for one in of_item
        if question in (None, one.spec.name, one.spec.name.partition(".")[2])
        and (response is None or response.upper() == one.response)
    ]
    if len(meant) != 1:
        known = ", ".join(
            one.spec.name + (f" --response {one.response}" if one.response else "") for one in of_item
        )
        what = "No dispute on this item is called so." if not meant else "There are several on this item."
        raise UnknownName("Which dispute?", what, f"Name one with --question: {known}.")
    return meant[0]


def summary(dispute: Dispute) -> str:
    """Return the labels in a few words: "2 × 0 no match, 1 × 1 match"; scores alone: "3, 7, 8"."""
    scale = dispute.spec.scale
    if scale.level == "interval":
        return ", ".join(f"{value:g}" for value in sorted(dispute.values))
    counts = sorted(Counter(dispute.values).items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{number} × {scale.word(value)}" for value, number in counts)
