"""Seconds a question takes under each condition: measured in the workspace, or assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Table, case, func, literal, not_, null, or_, select

from store.json_fields import json_name
from store.kinds.spec import TaskKind, task_kinds
from store.policy.rows import words_of
from store.policy.scope import GOLD, LABEL, REPEAT, REVEAL, REVIEW
from store.policy.words import BLIND, HIDDEN_MODELS, OWN_TEST, REVEALED, TESTS, condition_of
from store.record.protocol import condition_words
from store.studies.dashboard import MADE
from store.tables.columns import table_of
from store.tables.people import Assignment, Question
from store.tables.record import JudgmentRow

QUESTION_SECONDS, TESTS_SECONDS, OWN_TEST_SECONDS = 60.0, 90.0, 240.0
"""The assumed seconds of a question: of any, of one beside the agents' test and its run, and of one for which
the rater writes and runs a test."""

TIMED_FROM = 20
"""The number of items timed under a condition from which their median counts."""

Presented = tuple[str, bool]
"""A condition, and whether items come again in it that were judged before (the reveal)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace under a condition.

    Attributes:
        condition: The condition, as on the command line, without whether models' names are hidden.
        again: Whether it is that of the reveal, in which raters know the items.
        seconds: Seconds of activity that a question takes.
        timed: How many items were judged here under the condition with a time.
        is_measured: Whether the seconds are the median of these; otherwise they are assumed.
    """

    condition: str
    again: bool
    seconds: float = field(metadata=json_name("question_seconds"))
    timed: int
    is_measured: bool

    @property
    def named(self) -> str:
        """The condition in words: "blind", "own tests", "revealed+tests at the end"."""
        words = "own tests" if self.condition == OWN_TEST else self.condition
        return f"{words} at the end" if self.again else words

    def sentence(self, what: str) -> str:
        """Return how long it takes, and how that is known.

        Args:
            what: What is timed, with its article: "an item".
        """
        minutes = round(self.seconds / 60, 1)
        time = f"{self.seconds:.0f} s" if self.seconds < 100 else f"{minutes:g} min"
        if self.is_measured:
            return f"{time} {what}, the median of {self.timed:,} here"
        known = f"{self.timed} of the {TIMED_FROM} times needed" if self.timed else "no times"
        return f"{time} {what}, {known} known yet"


def paces(connection: Connection, kind: str, presented: Iterable[Presented]) -> dict[Presented, Pace]:
    """Return the pace of raters in each presentation of items.

    Args:
        connection: An open connection.
        kind: The task kind of the items.
        presented: The presentations, with conditions in the form in which protocols have them.
    """
    spec = task_kinds()[kind]
    measured = _measured(connection, spec)
    found = {}
    for words, again in presented:
        timed_as = _timed_as(words, spec)
        seconds, timed = measured.get((timed_as, again), (0.0, 0))
        is_measured = timed >= TIMED_FROM
        expected = seconds if is_measured else _assumed(timed_as)
        found[words, again] = Pace(condition_words(timed_as), again, expected, timed, is_measured)
    return found


def _timed_as(words: str, spec: TaskKind) -> str:
    """Return the words of a condition that make a difference to the time."""
    return " ".join(word for word in words.split() if word not in _without(spec))


def _without(spec: TaskKind) -> set[str]:
    # Only a kind for which experts write tests has tests of the agents.
    return {HIDDEN_MODELS} if spec.own_tests else {HIDDEN_MODELS, TESTS}


def _assumed(words: str) -> float:
    condition = condition_of(words)
    if condition.mode == OWN_TEST:
        return OWN_TEST_SECONDS
    return TESTS_SECONDS if condition.shows_tests else QUESTION_SECONDS


def _condition(judgment: Table, spec: TaskKind) -> ColumnElement[str]:
    """Return the words of the condition in which an item was judged; NULL where its time tells nothing."""
    is_assigned = judgment.c.assignment_id.is_not(None)
    assigned: ColumnElement[str] = words_of(sides=False)
    for word in sorted(_without(spec)):
        assigned = func.replace(assigned, f" {word}", "")
    has_claim, has_run = judgment.c.origin != "independent", judgment.c.shown_execution.is_not(None)
    return case(
        (is_assigned & judgment.c.phase.in_((LABEL, GOLD, REPEAT, REVEAL)), assigned),
        # Outside a study what was on the screen is the condition; a test without a label is the rater's own.
        (or_(is_assigned, judgment.c.phase != REVIEW, not_(has_claim) & has_run), null()),
        (has_claim & has_run & literal(spec.own_tests), f"{REVEALED} {TESTS}"),
        (has_claim, REVEALED),
        else_=BLIND,
    )


def _measured(connection: Connection, spec: TaskKind) -> dict[Presented, tuple[float, int]]:
    """Return the median seconds of a question, and of how many items, by presentation.

    Of each item that somebody judged the mean over its questions counts, since the first one takes longest.
    """
    judgment, question, assignment = table_of(JudgmentRow), table_of(Question), table_of(Assignment)
    condition = _condition(judgment, spec)
    presentation = [judgment.c[name] for name in ("item_id", "rater_id", "assignment_id")]
    of_question = (
        select(
            *presentation,
            func.max(condition).label("condition"),
            func.bool_or(judgment.c.phase == REVEAL).label("again"),
            # The greatest: a reason records the label once more, with the time that it took.
            func.max(judgment.c.active_ms).label("milliseconds"),
        )
        .join(question, question.c.id == judgment.c.question_id)
        .outerjoin(assignment, assignment.c.id == judgment.c.assignment_id)
        .where(
            question.c.name.in_([one.name for one in spec.questions]),
            judgment.c.active_ms.is_not(None),
            judgment.c.value.is_not(None),
            judgment.c.origin.in_(MADE),
            condition.is_not(None),
        )
        .group_by(*presentation, judgment.c.question_id, judgment.c.response_ref_id)
        .subquery()
    )
    of_item = (
        select(
            func.max(of_question.c.condition).label("condition"),
            func.bool_or(of_question.c.again).label("again"),
            func.avg(of_question.c.milliseconds).label("milliseconds"),
        )
        .group_by(of_question.c.item_id, of_question.c.rater_id, of_question.c.assignment_id)
        .subquery()
    )
    median = func.percentile_cont(0.5).within_group(of_item.c.milliseconds)
    rows = connection.execute(
        select(of_item.c.condition, of_item.c.again, median, func.count()).group_by(
            of_item.c.condition, of_item.c.again
        )
    ).all()
    found: dict[Presented, tuple[float, int]] = {}
    for words, again, milliseconds, timed in rows:
        found[words, again] = milliseconds / 1000, timed
    return found
