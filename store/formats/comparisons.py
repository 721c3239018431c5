"""Shared by the formats of comparisons: two candidates make an item, verdicts make its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from store.formats.protocol import Entity, FileContext
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, identity, short_text
from store.kinds.comparison import (
    AS_LISTED,
    JUDGE,
    PREFERENCE,
    SAME,
    SWAPPED,
    comparison_id,
    in_canonical_order,
)

_FORMATS = ("arena", "mt-bench-pairs", "alpaca-eval", "arena-hard")
"""The formats whose name was a part of an id, before the same comparison of two formats became one item."""
USER, ASSISTANT = "### User:\n", "### Assistant:\n"
"""The marks of later turns in the text of a conversation."""

AGAIN = "verdicts of a rater on a comparison that they judged before, left out"
INVALID = "verdicts that are no choice (an error, or a reply that could not be read), left out"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate of a comparison.

    Attributes:
        name: The name of its model, or of its set.
        ref: Where it comes from: the field of a record, or what names it in the workspace.
    """

    name: str
    text: str
    ref: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Two candidates of a record as an item.

    Attributes:
        kept: Whether the candidate that the record names first is the item's first.
    """

    item: Entity
    id: str
    kept: bool

    def value(self, of_record: float) -> float:
        """Return a value from the view of the item's first candidate."""
        return of_record if self.kept else 0.0 - of_record

    def order(self, record_first_left: bool) -> str:
        """Return the order in which the item was shown.

        Args:
            record_first_left: Whether the candidate that the record names first was on the left.
        """
        return AS_LISTED if self.kept == record_first_left else SWAPPED


def compared(
    known: FileContext,
    prompt: str,
    one: Candidate,
    other: Candidate,
    *,
    made_from: str,
    name: str | None = None,
    extra: Mapping[str, Any] | None = None,
    about: str = "answers",
    language: str = "",
    reference: str = "",
    formerly: tuple[str, str, str] | None = None,
) -> Compared:
    """Return two candidates as an item in canonical order.

    How it was made is no part of its id, so that people's and judges' files of one benchmark meet. Where the
    workspace has it under an id of an earlier version, it is that item, with its texts and its order.

    Args:
        known: The context of the file.
        prompt: The prompt.
        one: The candidate that the record names first.
        other: The other one.
        made_from: How the comparison was made.
        name: The id of the item where a file has one; otherwise a hash of what is compared.
        extra: The fields of the record that are none of ours.
        about: What the candidates are.
        language: Their programming language.
        reference: A reference answer.
        formerly: The prompt and both texts as an earlier version had them, if otherwise.

    Raises:
        Refused: A candidate meets itself.
    """
    refuse_itself(one.name, other.name)
    kept, number = _identity("", prompt, one, other)
    if name is not None:
        number = name
    elif number not in known.comparisons and known.comparisons:
        texts = [(prompt, one.text, other.text), *([] if formerly is None else [formerly])]
        for (asked, ours, theirs), way in product(texts, (made_from, *_FORMATS)):
            earlier = replace(one, text=ours), replace(other, text=theirs)
            its_order, its_id = _identity(way, asked, *earlier)
            if its_id in known.comparisons:
                prompt, (one, other), kept, number = asked, earlier, its_order, its_id
                break
    first, second = (one, other) if kept else (other, one)
    fields = {
        "external_id": number,
        "prompt": prompt,
        "language": language,
        "first": first.text,
        "second": second.text,
        "first_name": first.name,
        "second_name": second.name,
        "first_ref": first.ref,
        "second_ref": second.ref,
        "reference": reference,
        "about": about,
        "made_from": made_from,
        "file_order": AS_LISTED if kept else SWAPPED,
    }
    return Compared(Entity("comparison", fields, dict(extra or {})), number, kept)


def _identity(way: str, prompt: str, one: Candidate, other: Candidate) -> tuple[bool, str]:
    """Return whether two candidates are in canonical order, and the id of their comparison.

    Args:
        way: How it was made, where that is a part of the id.
        prompt: The prompt.
        one: A candidate.
        other: The other one.
    """
    kept = in_canonical_order("", prompt, (one.text, one.name), (other.text, other.name))
    first, second = (one, other) if kept else (other, one)
    # The same texts with the names exchanged are another comparison, with another winner.
    return kept, comparison_id(way, prompt, first.text, second.text, first.name, second.name)


def refuse_itself(one: str, other: str) -> None:
    """Refuse a candidate that meets itself.

    Raises:
        Refused: Both names are the same.
    """
    if one == other:
        raise Refused(f"{one!r} is compared with itself")


@dataclass(slots=True)
class Labels:
    """Makes labels of the verdicts of one import, each of a rater in a phase once.

    Attributes:
        known: The state that the converters of one import share.
        counts: Notes that are reported of the file.
    """

    known: FileContext
    counts: dict[str, int] = field(default_factory=dict)

    def of(
        self,
        item: str,
        rater: str,
        value: float,
        *,
        phase: str | None = None,
        shown_as: str = "",
        reason: str = "",
        comment: str = "",
    ) -> list[Entity]:
        """Return a label, or none where the rater has one of the item already.

        Args:
            item: The item's external id.
            rater: The rater.
            value: The value from the view of the item's first candidate.
            phase: One of `ORDERS`; None for the label that counts.
            shown_as: Which candidate was on the left; empty where that is not known.
            reason: The code of a reason.
            comment: What was said about it.
        """
        seen: set[tuple[str, str, str | None]] = self.known.shared.setdefault("verdicts", set())
        if (item, rater, phase) in seen:
            add_count(self.counts, AGAIN)
            return []
        seen.add((item, rater, phase))
        fields = {
            "kind": "comparison",
            "item": item,
            "question": PREFERENCE.name,
            "rater": rater,
            "value": value,
            "comment": comment,
            "reason": reason,
            "shown_as": shown_as,
            "phase": phase,
        }
        return [Entity("label", fields, {})]

    def of_orders(
        self, item: str, judge: str, orders: Mapping[str, tuple[float, str]], *, complete: bool = True
    ) -> list[Entity]:
        """Return a judge's verdict in each order, and the one of all orders.

        Args:
            item: The item's external id.
            judge: The judge.
            orders: The value, from the view of the item's first candidate, and the judge's text, by phase.
            complete: Whether every order has a verdict; without it there is none of all orders.
        """
        made: list[Entity] = []
        for phase, (value, text) in orders.items():
            shown = "" if phase == JUDGE else phase
            made += self.of(item, judge, value, phase=phase, shown_as=shown, comment=text)
        if complete and orders:
            made += self.of(item, judge, combined([value for value, _ in orders.values()]))
        return made


def combined(verdicts: list[float]) -> float:
    """Return the verdict of several orders: the weaker one of the same winner, otherwise a tie (as FastChat).

    Args:
        verdicts: The value in each order, from the view of one candidate.
    """
    if all(one > 0 for one in verdicts):
        return min(verdicts)
    if all(one < 0 for one in verdicts):
        return max(verdicts)
    return SAME


def take_judge(record: RecordReader) -> tuple[str | None, bool]:
    """Take who judged: a name, or a list of a model's name and of its prompt's.

    Returns:
        The name, None where there is none; and whether it is a model, which a list shows.

    Raises:
        Refused: It is something else.
    """
    name = "judge"
    if not record.has(name):
        return None, False
    value = record.there(name)
    model = isinstance(value, list)
    if model:
        if not value:
            raise Refused(f"{record.named(name)!r} is an empty list where a judge is expected")
        value = value[0]
    return short_text(identity(value, record.named(name)), record.named(name)), model


def unknown_prompt(question: str, turn: int | None = None) -> str:
    """Return what stands for a prompt that a file does not hold."""
    return f"question {question}" + (f", turn {turn}" if (turn or 1) > 1 else "")
