"""What a coordinator sees of a study: each rater's progress, and the agreement at the looks that were taken.

All of it rests on the work of several raters, so it is refused to raters of open studies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import Connection, func, insert, select

from store.analysis.decisions import known_answer, study_decisions
from store.analysis.labels import question_labels
from store.errors import WorkbenchError
from store.json_fields import fields_of, json_fields
from store.kinds.spec import task_kinds
from store.measures.intervals import INTERVALS, Bootstrap
from store.measures.rater_quality import Decision, too_fast
from store.measures.table_agreement import table_agreement
from store.policy.refusal import refuse
from store.policy.scope import DISCUSS, GOLD, LABEL, TRAIN, Scope, Shows, Sitting
from store.queries.current import all_values
from store.queries.progress import sitting_statuses
from store.queries.sources import Rejected, rejected_records
from store.queries.studies import StudyDetails, StudyMember, find_study, list_studies, study_items
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.people import Assignment, Question, StudyLook
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

PACE_FROM = 3
"""Items decided from which an end is expected."""

AGAIN = "again"
"""The part of a rater's list that an adjudicator sent back."""

MADE = ("independent", "accept", "override")
"""Origins of the labels that a rater gave by a key."""


@dataclass(frozen=True, slots=True)
class Done:
    """How far somebody is in a part of a study.

    Attributes:
        done: Assignments that are decided: every question has a label, or the item cannot be decided.
        total: All of them.
    """

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class GoldScore:
    """How many labels equal the known answers.

    Attributes:
        right: Labels that do.
        given: Labels of questions with a known answer.
    """

    right: int
    given: int


@dataclass(frozen=True, slots=True)
class MemberProgress:
    """The progress of one rater in a study.

    Attributes:
        member: The rater, with their consent.
        parts: How far the rater is in each condition; `training` is a part of its own, and so is what an
            adjudicator sent back (`AGAIN`).
        gold: The labels of gold items.
        training: The labels of training items.
        decisions: How many presentations are judged whose time is known, training aside.
        too_fast: How many of these were judged in fewer active seconds than the protocol's `fast_seconds`.
        hours: For how many hours the rater worked, pauses left out.
        first_at: When the first of these was given; None for none yet.
        last_at: When the last one was.
        ends_at: When the rater is done if the days to come are as those since the first label; None where
            nothing is left, or too little is done to tell.
    """

    member: StudyMember
    parts: Mapping[str, Done]
    gold: GoldScore
    training: GoldScore
    too_fast: int
    decisions: int
    hours: float
    first_at: datetime | None
    last_at: datetime | None
    ends_at: datetime | None = None

    @property
    def whole(self) -> Done:
        """How far the rater is in all."""
        return Done(
            sum(one.done for one in self.parts.values()), sum(one.total for one in self.parts.values())
        )

    @property
    def left(self) -> int:
        """Assignments that are not decided; none of a rater who withdrew."""
        return 0 if self.member.withdrawn_at else self.whole.total - self.whole.done

    @property
    def per_hour(self) -> float | None:
        """Decided items for each hour of work; None where no time is known."""
        return self.whole.done / self.hours if self.hours > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with derived ones."""
        return {
            "rater": self.member.rater.name,
            **fields_of(self.member, "pseudonym", "consented_at", "withdrawn_at"),
            **fields_of(self.whole, "done", "total"),
            "left": self.left,
            "conditions": {name: asdict(one) for name, one in self.parts.items()},
            **fields_of(self, "gold", "training", "decisions", "too_fast", "per_hour"),
            **fields_of(self, "hours", "first_at", "last_at", "ends_at"),
        }


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the agreement on a question, as it was seen.

    Attributes:
        question: The question.
        judgments: How many labels of first presentations there were.
        items: How many items had labels of at least two raters.
        alpha: Krippendorff's alpha; None where it is not defined.
        ci_low: The lower end of its interval; None where there is none.
        ci_high: The upper end.
        planned: Whether it was named before the freeze, or was taken when everything was judged.
    """

    JSON_ALSO: ClassVar = ("half_width",)

    question: str
    looked_at: datetime
    judgments: int
    items: int
    alpha: float | None
    ci_low: float | None
    ci_high: float | None
    planned: bool

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None without one."""
        if self.ci_low is None or self.ci_high is None:
            return None
        return (self.ci_high - self.ci_low) / 2


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What a coordinator sees of a study.

    Attributes:
        raters: The progress of each rater, in the order of the study.
        questions: The questions that are compared.
        judgments: How many labels of first presentations each of them has.
        looks: The looks that were taken, oldest first.
        rejected: What imports rejected, of each file without its name.
    """

    study: StudyDetails
    raters: tuple[MemberProgress, ...]
    questions: tuple[str, ...]
    judgments: Mapping[str, int]
    looks: tuple[Look, ...]
    rejected: tuple[Rejected, ...]

    @property
    def left(self) -> int:
        """Assignments that are not decided, those of raters who withdrew left out."""
        return sum(one.left for one in self.raters)

    @property
    def ends_at(self) -> datetime | None:
        """When the last rater is done; None where that cannot be told of each who has something left."""
        ends = [one.ends_at for one in self.raters if one.left]
        return max((end for end in ends if end is not None), default=None) if None not in ends else None

    @property
    def due(self) -> int | None:
        """The planned number of judgments at which a look is due now; None for none.

        A study that stops when all items are judged has one planned look, once they are.
        """
        if self.study.frozen_at is None:
            return None
        least = min(self.judgments.values(), default=0)
        looked = max((look.judgments for look in self.looks if look.planned), default=0)
        if self.study.protocol.half_width is None:
            return least if least > looked and self._is_judged else None
        reached = (number for number in self.study.protocol.looks if looked < number <= least)
        return max(reached, default=None)

    @property
    def _is_judged(self) -> bool:
        """Whether all is decided but what an adjudicator sent back, which counts in no agreement."""
        again = [
            one.parts[AGAIN] for one in self.raters if AGAIN in one.parts and not one.member.withdrawn_at
        ]
        return self.left == sum(part.total - part.done for part in again)

    @property
    def latest(self) -> tuple[Look, ...]:
        """The latest look at each question that was planned."""
        planned = {look.question: look for look in self.looks if look.planned}
        return tuple(planned.values())

    @property
    def is_met(self) -> bool:
        """Whether the study may stop: all is judged, or the latest planned look saw narrow intervals."""
        width = self.study.protocol.half_width
        if width is None:
            return self.study.frozen_at is not None and self._is_judged
        latest = self.latest
        return {look.question for look in latest} == set(self.questions) and all(
            look.half_width is not None and look.half_width <= width for look in latest
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with derived ones."""
        study = self.study
        return {
            "study": study.name,
            "state": study.state,
            "items": dict(study.items),
            "left": self.left,
            "ends_at": self.ends_at,
            "raters": [one.to_dict() for one in self.raters],
            "judgments": dict(self.judgments),
            "stops": study.protocol.stops,
            "planned_looks": list(study.protocol.looks),
            "look_due": self.due,
            "stopping_rule_met": self.is_met,
            "looks": [json_fields(one) for one in self.looks],
            "rejected": [asdict(one) for one in self.rejected],
        }


def dashboard(connection: Connection, name: str, reader: RaterRef | None) -> Dashboard:
    """Return what a coordinator sees of a study.

    Args:
        connection: A reading connection.
        name: The study's name.
        reader: Who asks; None for nobody.

    Raises:
        UnknownName: There is no such study.
        HiddenData: The reader is a rater of an open study.
    """
    refuse(connection, Scope(reader), Shows.WHOLE, "The progress of a study shows")
    study = find_study(connection, name)
    parts, timing = _parts(connection, study), _timing(connection, study)
    decisions = study_decisions(connection, study.id)
    scores, fast = _scores(connection, study, decisions), study.protocol.fast_seconds
    raters = []
    for member in study.members:
        number = member.rater.id
        own, times = parts[number], timing.get(number, _NO_TIMES)
        rushed = too_fast(decisions.get(number, ()), fast)
        progress = MemberProgress(member, own, scores[number, GOLD], scores[number, TRAIN], *rushed, *times)
        raters.append(_with_end(progress))
    questions = compared_questions(study.protocol)
    return Dashboard(
        study,
        tuple(raters),
        questions,
        _judgments(connection, study, questions),
        _looks(connection, study.id),
        rejected_records(connection, named=False),
    )


def list_dashboards(connection: Connection, reader: RaterRef | None) -> list[Dashboard]:
    """Return what a coordinator sees of each study, in the order in which they were made.

    Raises:
        HiddenData: The reader is a rater of an open study.
    """
    refuse(connection, Scope(reader), Shows.WHOLE, "The list of studies shows")
    return [dashboard(connection, one.name, reader) for one in list_studies(connection)]


def compared_questions(protocol: StudyProtocol) -> tuple[str, ...]:
    """Return the names of the questions that a study compares."""
    kind = task_kinds()[protocol.kind]
    named = [kind.question(name) or kind.question(f"{kind.name}.{name}") for name in protocol.questions]
    return tuple(spec.name for spec in named if spec is not None) or tuple(
        spec.name for spec in kind.questions
    )


_NO_TIMES = (0.0, None, None)


def _with_end(progress: MemberProgress) -> MemberProgress:
    first, done = progress.first_at, progress.whole.done
    if first is None or done < PACE_FROM or not progress.left:
        return progress
    moment = now()
    seconds = (moment - first).total_seconds() / done * progress.left
    return replace(progress, ends_at=moment + timedelta(seconds=seconds))


def _parts(connection: Connection, study: StudyDetails) -> dict[int, dict[str, Done]]:
    """Return how far each rater is in each condition."""
    assignment = table_of(Assignment)
    sittings = connection.execute(
        select(assignment.c.rater_id, assignment.c.sitting)
        .where(assignment.c.study_id == study.id, assignment.c.sitting > 0)
        .distinct()
        .order_by(assignment.c.sitting)
    ).all()
    refs = {member.rater.id: member.rater for member in study.members}
    counts: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for rater_id, sitting in sittings:
        for row in sitting_statuses(connection, Scope(refs[rater_id], Sitting(study.id, sitting))):
            part = {TRAIN: "training", DISCUSS: AGAIN}.get(row.phase, row.condition)
            counts[rater_id][part][0] += row.items if row.status in ("judged", "cannot_decide") else 0
            counts[rater_id][part][1] += row.items
    # In the order of the protocol, so that those of all raters stand one under the other.
    protocol = study.protocol
    order = ["training", *protocol.conditions, *([protocol.reveal] if protocol.reveal else []), AGAIN]
    return {
        member.rater.id: {
            name: Done(*counts[member.rater.id][name])
            for name in dict.fromkeys(order)
            if name in counts[member.rater.id]
        }
        for member in study.members
    }


def _timing(connection: Connection, study: StudyDetails) -> dict[int, tuple[Any, ...]]:
    """Return of each rater the hours of work, and when the first and the last label was given."""
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    of_study = select(assignment.c.id).where(assignment.c.study_id == study.id, assignment.c.sitting > 0)
    # A label that is given again has the time of the one before in its own.
    asked = ("rater_id", "assignment_id", "question_id", "response_ref_id")
    spent = (
        select(
            judgment.c.rater_id,
            func.max(judgment.c.active_ms).label("active_ms"),
            func.min(judgment.c.created_at).label("first_at"),
            func.max(judgment.c.created_at).label("last_at"),
        )
        .where(
            judgment.c.assignment_id.in_(of_study),
            judgment.c.origin.in_(MADE),
            judgment.c.value.is_not(None),
        )
        .group_by(*(judgment.c[name] for name in asked))
        .subquery("spent")
    )
    rows = connection.execute(
        select(
            spent.c.rater_id,
            func.coalesce(func.sum(spent.c.active_ms), 0),
            func.min(spent.c.first_at),
            func.max(spent.c.last_at),
        ).group_by(spent.c.rater_id)
    )
    return {row[0]: (float(row[1]) / 3_600_000, row[2], row[3]) for row in rows}


def _scores(
    connection: Connection, study: StudyDetails, decisions: Mapping[int, Sequence[Decision]]
) -> dict[tuple[int, str], GoldScore]:
    """Return how many labels equal the known answers, by rater and phase."""
    gold = {one.item_id: one.gold for one in study_items(connection, study.id)}
    scores: dict[tuple[int, str], GoldScore] = defaultdict(lambda: GoldScore(0, 0))
    for rater_id, own in decisions.items():
        for phase in (GOLD, TRAIN):
            right = [
                value == known
                for one in own
                if one.phase == phase
                for name, value in one.values.items()
                if (known := known_answer(gold.get(one.item_id), name)) is not None
            ]
            scores[rater_id, phase] = GoldScore(sum(right), len(right))
    return scores


def _judgments(connection: Connection, study: StudyDetails, questions: Collection[str]) -> dict[str, int]:
    """Return how many current labels of first presentations each question has."""
    values, question, assignment = all_values((LABEL,)), table_of(Question), table_of(Assignment)
    active = [member.rater.id for member in study.members if member.withdrawn_at is None]
    rows = connection.execute(
        select(question.c.name, func.count())
        .select_from(values)
        .join(question, question.c.id == values.c.question_id)
        .join(assignment, assignment.c.id == values.c.assignment_id)
        .where(assignment.c.study_id == study.id, values.c.rater_id.in_(active))
        .group_by(question.c.name)
    ).all()
    found: dict[str, int] = dict(rows)
    return {name: found.get(name, 0) for name in questions}


def _looks(connection: Connection, study_id: int) -> tuple[Look, ...]:
    table = table_of(StudyLook)
    rows = connection.execute(select(table).where(table.c.study_id == study_id).order_by(table.c.id))
    return tuple(Look(**{name: getattr(row, name) for name in Look.__slots__}) for row in rows)


def look(
    workspace: Workspace, name: str, reader: RaterRef | None, bootstrap: Bootstrap = INTERVALS
) -> Dashboard:
    """Look at the agreement of a study, log what was seen, and return the dashboard with it.

    The look is a planned one where one is due (`Dashboard.due`).

    Args:
        workspace: The open workspace.
        name: The study's name.
        reader: Who looks; None for nobody.
        bootstrap: How intervals are drawn.

    Raises:
        UnknownName: There is no such study.
        HiddenData: The reader is a rater of an open study.
        WorkbenchError: The study is a draft.
    """
    with workspace.reading() as connection:
        found = dashboard(connection, name, reader)
        if found.study.frozen_at is None:
            raise WorkbenchError(
                "No look",
                f"{found.study.name} is a draft: there is nothing to look at before it is frozen.",
                "Freeze it when it is right: study freeze",
            )
        seen = [_agreement(connection, found, question, bootstrap) for question in found.questions]
    rows = [{"id": workspace.ids.next(), "study_id": found.study.id, **asdict(one)} for one in seen]
    workspace.lane.submit(
        lambda connection: connection.execute(insert(table_of(StudyLook)), rows), urgent=True
    ).result()
    with workspace.reading() as connection:
        return dashboard(connection, name, reader)


def _agreement(connection: Connection, found: Dashboard, question: str, bootstrap: Bootstrap) -> Look:
    """Return the agreement of the raters who did not withdraw, as it is now."""
    import numpy

    study = found.study
    active = {member.rater.name for member in study.members if member.withdrawn_at is None}
    labels = question_labels(connection, question, phases=(LABEL,), study=study.name, people_only=True)
    places = [place for place, one in enumerate(labels.raters) if one.name in active]
    figures = table_agreement(
        labels.table().only(places), level=labels.level, bootstrap=bootstrap, pairs=False
    )
    given = numpy.zeros(len(labels.units), dtype=int)
    for place in places:
        given += ~numpy.isnan(labels.raters[place].values)
    return Look(
        question=question,
        looked_at=now(),
        judgments=figures.judgments,
        items=len(numpy.unique(labels.item_ids[given > 1])),
        alpha=figures.alpha[labels.level],
        ci_low=figures.ci_low,
        ci_high=figures.ci_high,
        planned=found.due is not None,
    )
