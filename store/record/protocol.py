"""The protocol of a study: what is asked, of whom, under which conditions, and when it stops."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from typing import Any

from store.errors import WorkbenchError
from store.kinds.comparison import scale_values
from store.kinds.comparison_texts import CHANGES
from store.kinds.spec import task_kinds
from store.policy.words import BLIND, CONDITION_WORDS, OWN_TEST, REVEALED, condition_of

IDLE_MINUTES = 5.0
"""After how many minutes without a key a rater is taken to be away, by default."""
FAST_SECONDS = 2.0
"""The seconds below which a decision is taken to be too fast to have read the item, by default."""


@dataclass(frozen=True, slots=True)
class StudyProtocol:
    """The protocol of a study, stored as JSON.

    Attributes:
        kind: The task kind of its items.
        questions: The names of the questions that are compared; all of the kind.
        sample: How the items were chosen, as a phrase.
        overlap: How many raters judge each item; None for all of them.
        conditions: The conditions, each of words of `store.policy.words.CONDITION_WORDS`.
        block_size: Items of a block in which each condition occurs equally often; None for one of each.
        repeats: How many items each rater meets again.
        repeat_distance: How far after its first presentation an item may come again, as a share of the
            rater's items.
        reveal: The condition in which all items come again after the blind ones; None for no reveal.
        seed: The seed of orders, conditions and repeats.
        coordinators: The names of those who see the dashboard and others' labels while it runs.
        guideline: The version of the guideline that raters are shown; empty for the kind's own.
        consent: The text that raters agree to before the first item; empty for none.
        half_width: The half-width of the interval of alpha at which the study may stop; None for a fixed
            number of items.
        looks: The numbers of judgments at which the interval is looked at.
        idle_minutes: Minutes without a key after which a rater is away.
        fast_seconds: Seconds below which a decision is too fast to have read the item.
        scale: The scale of comparisons, one of `store.kinds.comparison.SCALES`; empty for that of the kind.
        texts: How the texts of comparisons are changed, of `store.kinds.comparison_texts.CHANGES`.
    """

    kind: str
    questions: tuple[str, ...] = ()
    sample: str = ""
    overlap: int | None = None
    conditions: tuple[str, ...] = (BLIND,)
    block_size: int | None = None
    repeats: int = 0
    repeat_distance: float = 0.25
    reveal: str | None = None
    seed: int = 0
    coordinators: tuple[str, ...] = ()
    guideline: str = ""
    consent: str = ""
    half_width: float | None = None
    looks: tuple[int, ...] = ()
    idle_minutes: float = IDLE_MINUTES
    fast_seconds: float = FAST_SECONDS
    scale: str = ""
    texts: tuple[str, ...] = ()

    @property
    def consent_version(self) -> str:
        """The first digits of the hash of the consent text; empty where there is none."""
        return hashlib.sha256(self.consent.encode()).hexdigest()[:12] if self.consent else ""

    @property
    def stops(self) -> str:
        """When it stops, as a phrase."""
        if self.half_width is None:
            return "when all items are judged"
        looks = ", ".join(f"{one:,}" for one in self.looks)
        return f"at a half-width of {self.half_width:g}, looked at after {looks} judgments"

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> StudyProtocol:
        """Read the JSON of `to_json`; fields of later versions are left out."""
        given: Mapping[str, Any] = json.loads(text)
        known = {one.name for one in fields(cls)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if name in known
        }
        return cls(**values)

    def checked(self) -> StudyProtocol:
        """Return it with conditions in their canonical form.

        Raises:
            WorkbenchError: A condition has an unknown word, contradicts itself, or is not for the kind, looks
                are missing, or there is no such scale or change of texts.
        """
        if self.half_width is not None and not 0 < self.half_width < 1:
            raise WorkbenchError(
                "Impossible half-width",
                f"{self.half_width:g} is no half-width of an interval of alpha.",
                "Give a number between 0 and 1, such as 0.1.",
            )
        if not (self.idle_minutes > 0 and self.fast_seconds >= 0) or inf in (
            self.idle_minutes,
            self.fast_seconds,
        ):
            raise WorkbenchError(
                "Impossible time",
                f"{self.idle_minutes:g} minutes away, or {self.fast_seconds:g} s for too fast, is no time.",
                "Give numbers, such as --idle-minutes 5 --fast-seconds 2.",
            )
        if (self.half_width is None) == bool(self.looks) or any(one < 1 for one in self.looks):
            raise WorkbenchError(
                "Stopping rule",
                "A study that stops at a half-width names its looks, and one of a fixed size has none.",
                "Give both: --half-width 0.1 --looks 300,600,900",
            )
        scale_values(self.scale)
        kind = task_kinds().get(self.kind)
        if (self.scale or self.texts) and (kind is None or not kind.two_sided):
            raise WorkbenchError(
                "Of comparisons only",
                f"A scale and changed texts belong to comparisons; this study is of the kind {self.kind}.",
                "Leave --scale, --mask-names, --strip-docstrings and --format-alike away.",
            )
        if (kind is None or not kind.own_tests) and any(
            condition_of(condition(one)).mode == OWN_TEST for one in (*self.conditions, self.reveal or BLIND)
        ):
            raise WorkbenchError(
                "No own tests",
                f"Tests of the rater's own are written for pairs; a study of the kind {self.kind} has none.",
                "Leave own-test out of --conditions and --reveal.",
            )
        if unknown := [one for one in self.texts if one not in CHANGES]:
            known = ", ".join(CHANGES)
            raise WorkbenchError(
                "Unknown change", f"No change of texts is called {unknown[0]!r}.", f"Changes: {known}."
            )
        reveal = None if self.reveal is None else condition(self.reveal)
        looks = tuple(sorted(set(self.looks)))
        return replace(
            self, conditions=tuple(condition(one) for one in self.conditions), reveal=reveal, looks=looks
        )


def condition(text: str) -> str:
    """Return the canonical form of a condition: its words in the order of `CONDITION_WORDS`.

    Raises:
        WorkbenchError: It has no words, an unknown one, or two that contradict each other.
    """
    words = text.replace("+", " ").split()
    unknown = [word for word in words if word not in CONDITION_WORDS]
    modes = [word for word in (BLIND, REVEALED, OWN_TEST) if word in words]
    if unknown or len(modes) != 1 or (OWN_TEST in words and "tests" in words):
        said = f"Unknown: {', '.join(unknown)}." if unknown else "It must say one of these three."
        raise WorkbenchError(
            "Unknown condition",
            f"{text!r} is no condition. {said}",
            "A condition is blind, revealed or own-test; tests may be added to the first two, and "
            "hidden-models: blind+tests",
        )
    return " ".join(word for word in CONDITION_WORDS if word in words)


def condition_words(canonical: str) -> str:
    """Return a condition as it is given on the command line: "blind+tests"."""
    return canonical.replace(" ", "+")
