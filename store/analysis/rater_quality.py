"""The work of each rater of a study: time, speed, known answers, repeats, drift."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, select

from store.analysis.decisions import known_answer, study_decisions
from store.analysis.labels import named_question
from store.kinds.spec import task_kinds
from store.measures.rater_quality import Answered, RaterQuality, rater_quality
from store.policy.rows import writes_test
from store.policy.scope import GOLD, LABEL, Scope, Sitting
from store.queries.current import first_values
from store.queries.progress import sitting_statuses
from store.queries.studies import StudyDetails, find_study, study_items
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.runs import ExecutionRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class RaterRow:
    """A rater of a study.

    Attributes:
        pseudonym: The rater's name in what is published.
        assigned: Items of the study that the rater is to label.
        gold_items: Gold items that the rater meets.
        quality: The figures of the rater's work.
        cannot_decide: Items that the rater could not decide.
        skipped: Items that are put off.
        own_test: Labels under a condition in which raters write a test of their own.
        without_test: Those of them before which none was run.
    """

    rater: str
    pseudonym: str
    assigned: int
    gold_items: int
    quality: RaterQuality
    cannot_decide: int
    skipped: int
    own_test: int
    without_test: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        fields = asdict(self)
        return {**fields, **fields.pop("quality")}


@dataclass(frozen=True, slots=True)
class RatersReport:
    """The raters of a study.

    Attributes:
        question: The question whose labels are compared.
        idle_minutes: Minutes without a key that count as away.
        fast_seconds: Seconds under which a decision is too fast.
        raters: A row for each rater who did not withdraw.
        withdrawn: Raters who withdrew, of whom nothing counts.
    """

    study: str
    question: str
    idle_minutes: float
    fast_seconds: float
    raters: tuple[RaterRow, ...]
    withdrawn: int


def raters_report(connection: Connection, name: str, question: str | None = None) -> RatersReport:
    """Compute the figures of each rater of a study.

    Args:
        connection: A reading connection.
        name: The study's name.
        question: The question whose labels are compared, those on responses one by one; None for the first
            one of the study. Time is that of all answers to an item together.

    Raises:
        UnknownName: There is no such study or question.
    """
    study = find_study(connection, name)
    asked = question or next(iter(study.protocol.questions), "")
    asked = asked or task_kinds()[study.protocol.kind].main_question.name
    spec = named_question(asked).spec
    decisions = study_decisions(connection, study.id)
    gold = {one.item_id: one.gold for one in study_items(connection, study.id)}
    labels: dict[Answered, dict[int, float]] = defaultdict(dict)
    right: dict[Answered, float] = {}
    for rater, own in decisions.items():
        for one in own:
            for about, value in one.answers(spec.name):
                if one.phase == LABEL:
                    labels[about][rater] = value
                elif (known := known_answer(gold.get(one.item_id), about[1])) is not None:
                    right[about] = known
    assigned, untested = _assigned(connection, study), _without_test(connection, study, spec.name)
    rows = []
    for member in study.members:
        number = member.rater.id
        if member.withdrawn_at is not None:
            continue
        statuses = _statuses(connection, study, member.rater)
        others = {
            about: [value for rater, value in own.items() if rater != number] for about, own in labels.items()
        }
        rows.append(
            RaterRow(
                member.rater.name,
                member.pseudonym,
                assigned.get((number, LABEL), 0),
                assigned.get((number, GOLD), 0),
                rater_quality(
                    decisions.get(number, []), spec.name, others, right, study.protocol.fast_seconds
                ),
                statuses["cannot_decide"],
                statuses["skipped"],
                *untested.get(number, (0, 0)),
            )
        )
    protocol = study.protocol
    return RatersReport(
        study.name,
        spec.name,
        protocol.idle_minutes,
        protocol.fast_seconds,
        tuple(rows),
        len(study.members) - len(rows),
    )


def _assigned(connection: Connection, study: StudyDetails) -> dict[tuple[int, str], int]:
    assignment = table_of(Assignment)
    found = (
        select(assignment.c.rater_id, assignment.c.phase, func.count())
        .where(assignment.c.study_id == study.id)
        .group_by(assignment.c.rater_id, assignment.c.phase)
    )
    return {(rater, phase): number for rater, phase, number in connection.execute(found)}


def _without_test(connection: Connection, study: StudyDetails, question: str) -> dict[int, tuple[int, int]]:
    """Return by rater the labels under own-test, and those of them before which no own test was run."""
    assignment, execution = table_of(Assignment), table_of(ExecutionRow)
    labels = first_values(None, [question], phases=[LABEL, GOLD], study=study.id)
    ran = exists().where(
        execution.c.assignment_id == labels.c.assignment_id, execution.c.created_at < labels.c.created_at
    )
    found = (
        select(labels.c.rater_id, func.count(), func.count().filter(~ran))
        .join(assignment, assignment.c.id == labels.c.assignment_id)
        .where(writes_test())
        .group_by(labels.c.rater_id)
    )
    return {rater: (number, without) for rater, number, without in connection.execute(found)}


def _statuses(connection: Connection, study: StudyDetails, rater: RaterRef) -> Counter[str]:
    """Return how many items of a rater have each status; training, repeats and the reveal aside."""
    assignment = table_of(Assignment)
    sittings = (
        select(assignment.c.sitting)
        .distinct()
        .where(
            assignment.c.study_id == study.id,
            assignment.c.rater_id == rater.id,
            assignment.c.phase.in_((LABEL, GOLD)),
        )
    )
    found: Counter[str] = Counter()
    for sitting in connection.execute(sittings).scalars().all():
        for row in sitting_statuses(connection, Scope(rater, Sitting(study.id, sitting))):
            found[row.status] += row.items if row.phase in (LABEL, GOLD) else 0
    return found
