"""Builds the records of a rater's keys; measures time and progress of a session."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from screens.items.views import ItemView
from store.policy.scope import REVEAL, Scope
from store.queries.item import OwnLabel, OwnState
from store.queries.progress import ProgressDelta, hourly, pace, today_and_left
from store.record.actions import Action, new_record
from store.record.evidence import Citation, as_json, readable_citations
from store.record.ids import IdClock, now
from store.record.raters import installed_guidelines
from store.studies.studies import study_guideline
from store.tables.record import Judgment, Mark
from store.workspace.duckdb import Workspace

IDLE_SECONDS = 30.0
"""A pause between two keys that is longer than this counts as time away, outside a study."""


class Stopwatch:
    """Measures how long an item is on the screen, and how much of that the rater was active.

    Args:
        idle_seconds: The longest pause between two keys that does not count as time away.
        before: Milliseconds that it was on the screen before, and those in which the rater was active.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS, before: tuple[int, int] = (0, 0)) -> None:
        self._idle = idle_seconds
        self._before = before
        self._began = self._last = time.monotonic()
        self._away = 0.0

    def touch(self, away: float | None = None) -> None:
        """Take note that the rater did something.

        Args:
            away: For how many seconds the rater was away since the last time; None for all of a long pause.
        """
        moment = time.monotonic()
        pause = moment - self._last
        self._away += away if away is not None else pause if pause > self._idle else 0.0
        self._last = moment

    def leave_out(self) -> None:
        """Take note that the rater was away since the last time."""
        self.touch(away=time.monotonic() - self._last)

    def read(self) -> tuple[int, int]:
        """Return milliseconds on the screen, and those of them in which the rater was active."""
        self.touch()
        return self.until_last_key

    @property
    def until_last_key(self) -> tuple[int, int]:
        """The same until the rater did something last."""
        elapsed, (before, active) = self._last - self._began, self._before
        return before + round(elapsed * 1000), active + round((elapsed - self._away) * 1000)


@dataclass(frozen=True, slots=True)
class JudgmentBuilder:
    """Builds the records of one rater in one scope.

    Attributes:
        guideline_ids: The guidelines shown, by kind of item.
    """

    ids: IdClock
    scope: Scope
    guideline_ids: dict[str, int]

    @classmethod
    def read(cls, workspace: Workspace, scope: Scope) -> JudgmentBuilder:
        """Read the guidelines that are shown (of the study, or of the kinds), and return a builder."""
        with workspace.reading() as connection:
            if scope.sitting is not None:
                shown = study_guideline(connection, scope.sitting.study)
                return cls(workspace.ids, scope, {} if shown.id is None else {shown.kind: shown.id})
            return cls(workspace.ids, scope, installed_guidelines(connection))

    def label(
        self,
        item: ItemView,
        value: float,
        watch: Stopwatch,
        reason: str = "",
        cited: Iterable[Citation] = (),
        *,
        execution: UUID | None = None,
    ) -> Action:
        """Return the action of answering the question that is asked, with the lines that are cited for it.

        `execution` is the one that was on the screen.

        A label that equals the claim on the screen accepts it, another one overrides it; without a claim on
        the screen the label is independent.
        """
        claim = item.claim
        origin = "independent" if claim is None else "accept" if value == claim.value else "override"
        elapsed, active = watch.read()
        return self._action(
            Judgment,
            item,
            REVEAL if item.current.target in item.answered_blind else item.phase,
            **item.current.target._asdict(),
            value=value,
            origin=origin,
            shown_verdict=claim.verdict_id if claim else None,
            shown_execution=execution,
            guideline_id=self.guideline_ids.get(item.kind),
            blind=item.blind,
            reason=reason,
            evidence=as_json(cited),
            elapsed_ms=elapsed,
            active_ms=active,
            shown_as=item.shown_as,
        )

    def scores(
        self, item: ItemView, values: Mapping[int, float], watch: Stopwatch, cited: Iterable[Citation] = ()
    ) -> Action:
        """Return the action of answering several questions at once; each has its part of the time.

        Args:
            values: The answers by the place of their question.
            watch: Measures how long they took together.
            cited: The lines that are cited for each of them.
        """
        labels = [
            self.label(item.at_question(place), value, watch, cited=cited) for place, value in values.items()
        ]
        records = [cast(Judgment, one.records[0]) for one in labels]
        elapsed, active = (time // len(records) for time in watch.read())
        shared = {"action": records[0].action, "elapsed_ms": elapsed, "active_ms": active}
        return Action(records[0].action, tuple(record.model_copy(update=shared) for record in records))

    def with_reason(self, action: Action, reason: str) -> Action:
        """Return the addition to a label's action that gives it a reason; undone together with it."""
        label = next(record for record in action.records if isinstance(record, Judgment))
        fresh = {"id": self.ids.next(), "reason": reason, "created_at": now()}
        return Action(action.id, (label.model_copy(update=fresh),))

    def mark(self, item: ItemView, kind: str, *, active: bool = True, text: str = "") -> Action:
        """Return the action of marking an item under its assignment, or of taking the mark away."""
        # It takes back answers, but not those that were given blind.
        phase = REVEAL if kind == "cannot_decide" and item.answered_blind else item.phase
        return self._action(Mark, item, phase, kind=kind, active=active, text=text)

    def _action(self, model: type[Judgment | Mark], item: ItemView, phase: str, **fields: Any) -> Action:
        """Return a new action on an item under its assignment."""
        record = new_record(
            model,
            self.ids,
            item_id=item.item_id,
            rater_id=self.scope.rater_id,
            phase=phase,
            assignment_id=item.assignment_id,
            **fields,
        )
        return Action.of(record)


def apply_action(own: OwnState, action: Action) -> OwnState:
    """Return the rater's labels and marks of an item after an action on it."""
    for record in action.records:
        if isinstance(record, Mark):
            text = record.text if record.active else None
            if record.kind == "cannot_decide":
                labels = {} if record.active else own.labels
                own = replace(own, cannot_decide=text, labels=labels, skipped=False)
            elif record.kind == "comment":
                own = replace(own, comment=text or "")
            elif record.kind == "skip":
                own = replace(own, skipped=record.active)
            elif record.kind == "flag":
                own = replace(own, flagged=record.active)
        elif record.value is not None:
            citations = readable_citations(record.evidence)
            label = OwnLabel(record.value, record.reason, citations, record.restores or record.id)
            labels = {**own.labels, record.target: label}
            own = replace(own, labels=labels, cannot_decide=None, skipped=False)
    return own


class SessionProgress:
    """How far the rater is: judged today, pace, what is left; counted on from what was read at the start."""

    def __init__(self, today: int, left: int, rate: float | None) -> None:
        self.today = today
        self.left = left
        self._rate = rate
        # When each item was first judged in this session.
        self._times: dict[int, float] = {}

    @classmethod
    def read(cls, workspace: Workspace, scope: Scope) -> SessionProgress:
        """Count a rater's work so far; slow in a large workspace, so for a thread worker."""
        with workspace.reading() as connection:
            return cls(*today_and_left(connection, scope), pace(connection, scope.rater_id))

    def follow(self, item_id: int, change: ProgressDelta) -> None:
        """Count an action that was stored."""
        self.today = max(0, self.today + change.today)
        self.left = max(0, self.left + change.left)
        if change.judged:
            self._times.setdefault(item_id, time.monotonic())

    @property
    def pace(self) -> float | None:
        """Judgments an hour, of this session once it is long enough, otherwise of the hour before it."""
        times = list(self._times.values())
        return hourly(len(times), times[-1] - times[0] if times else 0.0) or self._rate

    def sentence(self, *, whole: bool = True, paced: bool = True) -> str:
        """Return the session line: `◷ 21 today · 48/h · 188 left`.

        Args:
            whole: Whether the list on the screen is that of all items; what is left is counted over all.
            paced: Whether it has the pace.
        """
        rate = self.pace if paced else None
        left = f"{self.left:,} left" if whole else f"{self.left:,} left in all"
        parts = [f"◷ {self.today:,} today", f"{rate:,.0f}/h" if rate else "", left]
        return " · ".join(part for part in parts if part) + " "
