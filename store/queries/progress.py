"""The progress of a rater and of the agents, and its change by an action."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import Connection, Select, case, func, literal, select

from store.json_fields import NOT_IN_JSON, fields_of, json_fields
from store.kinds.counting import in_order
from store.policy.rows import in_scope, in_sitting, may, words_of
from store.policy.scope import EVERYTHING, Scope, Shows
from store.queries.current import all_values, current_verdicts, own_labels, own_marks, status_of
from store.queries.questions import answered_count, item_questions, kind_of, required_count
from store.queries.run_figures import known_cost, unpriced
from store.queries.sources import Rejected, rejected_records
from store.record.actions import Action
from store.record.ids import now
from store.record.rater_ref import RaterRef
from store.tables.columns import among, table_of
from store.tables.imported import Item, Source
from store.tables.people import Assignment, Question, Rater
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow, QuestionTarget
from store.tables.responses import ResponseRef, Score
from store.tables.runs import StepRow

PACE_SECONDS = 600.0
"""From the first to the last judgment, the time before which a pace would say little."""


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """One rater's work: the items of which a question has a value of theirs."""

    name: str
    kind: str
    labelled: int


@dataclass(frozen=True, slots=True)
class KindProgress:
    """The progress of a rater and the agents on the items of one kind.

    Attributes:
        items: How many items there are.
        judged: Those of which every question has a value of the rater.
        cannot_decide: Those that the rater cannot decide.
        skipped: Those that the rater put off.
        agent_labelled: Those with a verdict of the agents that is shown; None in a blind review.
        agent_hidden: Those of which the rater is not shown whether agents labelled them, as an adjudicator is
            not of items that were assigned blind; None in a blind review.
    """

    JSON_ALSO: ClassVar = ("left",)

    kind: str = field(metadata=NOT_IN_JSON)
    items: int
    judged: int
    cannot_decide: int
    skipped: int
    agent_labelled: int | None
    agent_hidden: int | None

    @property
    def left(self) -> int:
        """Items that the rater has neither judged nor marked as undecidable."""
        return self.items - self.judged - self.cannot_decide


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a workspace, with one rater's part in it.

    Attributes:
        kinds: How far the work is for each kind of which there are items, in the order of the kinds.
        sources: The imported files; none in a sealed session and in a blind review, since they can be called
            after a set.
        rejected: What was rejected of them, so that figures are without it.
        flagged: Items that the rater flagged.
        today: Judged items that were given their latest value since midnight, local time.
        scored: Responses of which a judge's score is a number; None in a blind review.
        compared: Items with a label of the rater and one of the agents; None in a blind review.
        agreed: Those of them where both are the same; None in a blind review.
        raters: The raters with current labels.
        tokens: Tokens that the agents used, in and out.
        money: Their cost in dollars; see `store.queries.run_figures.known_cost`.
        unpriced: Steps that asked a model and of which it is not known.
    """

    rater: str
    kinds: tuple[KindProgress, ...]
    sources: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    flagged: int
    today: int
    scored: int | None
    compared: int | None
    agreed: int | None
    raters: tuple[RaterProgress, ...]
    tokens: int
    money: float | None
    unpriced: int = 0

    @property
    def items(self) -> dict[str, int]:
        """How many items of each kind."""
        return {one.kind: one.items for one in self.kinds}

    @property
    def total(self) -> int:
        """All items, of every kind."""
        return sum(one.items for one in self.kinds)

    @property
    def judged(self) -> int:
        """Items of which every question has a value of the rater."""
        return sum(one.judged for one in self.kinds)

    @property
    def cannot_decide(self) -> int:
        """Items that the rater cannot decide."""
        return sum(one.cannot_decide for one in self.kinds)

    @property
    def skipped(self) -> int:
        """Items that the rater put off."""
        return sum(one.skipped for one in self.kinds)

    @property
    def left(self) -> int:
        """Items that the rater has neither judged nor marked as undecidable."""
        return sum(one.left for one in self.kinds)

    @property
    def agent_labelled(self) -> int | None:
        """Items with a verdict of the agents; None in a blind review."""
        # Without items there is nothing to hide.
        return None if self.scored is None else sum(one.agent_labelled or 0 for one in self.kinds)

    @property
    def agent_hidden(self) -> int | None:
        """Items of which the rater is not shown whether agents labelled them; None in a blind review."""
        return None if self.scored is None else sum(one.agent_hidden or 0 for one in self.kinds)

    def only(self, kinds: Collection[str]) -> Progress:
        """Return the progress of some kinds; numbers that are not counted by kind stay."""
        return replace(self, kinds=tuple(one for one in self.kinds if one.kind in kinds))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with derived ones."""
        fields = asdict(self)
        fields |= {
            "items": self.total,
            "items_by_kind": self.items,
            "kinds": {one.kind: json_fields(one) for one in self.kinds},
            **fields_of(self, *_SUMS),
            "cost": fields.pop("money"),
            "cost_unknown_steps": fields.pop("unpriced"),
        }
        return fields


_SUMS = ("judged", "cannot_decide", "skipped", "left", "agent_labelled", "agent_hidden")


def progress(connection: Connection, scope: Scope) -> Progress:
    """Count the progress of a rater and the agents.

    Whatever rests on the agents' labels, on judges' scores and on other raters leaves out the items that
    hide it, and is None where all do, and in the sitting of a study, which counts its own items alone.
    """
    rater = scope.rater or RaterRef(0, "human", "")
    item, source, step, people = (table_of(model) for model in (Item, Source, StepRow, Rater))
    labels = own_labels(scope)
    found = {row.kind: row for row in connection.execute(_own_counts(scope))}
    begun = sum(row.begun for row in found.values())
    scored = compared = agreed = None
    ruled: dict[str, int] = {}
    hidden: dict[str, int] = {}
    raters: tuple[RaterProgress, ...] = (RaterProgress(rater.name, rater.kind, begun),)
    if scope.may(Shows.LISTS):
        verdicts, score = current_verdicts(scope), table_of(Score)
        ref, everybody = table_of(ResponseRef), all_values()
        by_kind = (
            select(item.c.kind, func.count())
            .join(verdicts, verdicts.c.item_id == item.c.id)
            .where(may(scope, Shows.AGENTS, item.c.id))
            .group_by(item.c.kind)
        )
        ruled = dict(connection.execute(by_kind).all())
        hiding = (
            select(item.c.kind, func.count())
            .where(~may(scope, Shows.AGENTS, item.c.id))
            .group_by(item.c.kind)
        )
        hidden = dict(connection.execute(hiding).all())
        scored = connection.execute(
            select(func.count(score.c.response_ref_id.distinct()))
            .join(ref, ref.c.id == score.c.response_ref_id)
            .where(score.c.value.is_not(None), may(scope, Shows.AGENTS, ref.c.item_id))
        ).scalar_one()
        compared, agreed = connection.execute(
            select(func.count(), func.count(case((labels.c.value == verdicts.c.value, 1))))
            .select_from(labels)
            .join(verdicts, verdicts.c.item_id == labels.c.item_id)
            .where(may(scope, Shows.AGENTS, labels.c.item_id))
        ).one()
        raters = tuple(
            RaterProgress(*row)
            for row in connection.execute(
                select(people.c.name, people.c.kind, func.count(everybody.c.item_id.distinct()))
                .join(everybody, everybody.c.rater_id == people.c.id)
                .where((people.c.id == rater.id) | may(scope, Shows.AGENTS, everybody.c.item_id))
                .group_by(people.c.name, people.c.kind)
                .order_by(people.c.name)
            )
        )
    spent = connection.execute(
        select(
            func.sum(step.c.tokens_in + step.c.tokens_out),
            func.sum(step.c.money),
            func.count(case((step.c.requests > 0, 1))),
            func.count(case((unpriced(step), 1))),
        ).where(literal(scope.may(Shows.SURROUNDINGS)))
    ).one()
    sources: tuple[str, ...] = ()
    if scope.may(Shows.LISTS):
        sources = tuple(connection.execute(select(source.c.name).order_by(source.c.id)).scalars())
    return Progress(
        rater=rater.name,
        kinds=tuple(
            KindProgress(
                kind=kind,
                items=found[kind].items,
                judged=found[kind].judged,
                cannot_decide=found[kind].cannot_decide,
                skipped=found[kind].skipped,
                agent_labelled=None if scored is None else ruled.get(kind, 0),
                agent_hidden=None if scored is None else hidden.get(kind, 0),
            )
            for kind in in_order(found)
        ),
        sources=sources,
        rejected=rejected_records(connection, named=scope.may(Shows.LISTS)),
        flagged=sum(row.flagged for row in found.values()),
        today=sum(row.today for row in found.values()),
        scored=scored,
        compared=compared,
        agreed=agreed,
        raters=raters,
        tokens=int(spent[0] or 0),
        money=known_cost(*spent[1:]),
        unpriced=int(spent[3]),
    )


def _own_counts(scope: Scope) -> Select[Any]:
    """Select a rater's counts of each kind, as `Progress` has them."""
    item, marks, answers = table_of(Item), own_marks(scope), answered_count(scope)
    required, responses = required_count(item, scope=scope, answers=answers)
    status = status_of(func.coalesce(answers.c.answered, 0), required, marks)
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    statement = (
        select(
            item.c.kind,
            func.count().label("items"),
            func.count(case((status == "judged", 1))).label("judged"),
            func.count(case((status == "cannot_decide", 1))).label("cannot_decide"),
            func.count(case((status == "skipped", 1))).label("skipped"),
            func.count(case((marks.c.flagged, 1))).label("flagged"),
            func.count(case(((status == "judged") & (answers.c.latest >= midnight), 1))).label("today"),
            func.count(answers.c.answered).label("begun"),
        )
        .select_from(item)
        .outerjoin(answers, answers.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
        .where(in_scope(scope, item.c.id))
        .group_by(item.c.kind)
    )
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    return statement


def today_and_left(connection: Connection, scope: Scope) -> tuple[int, int]:
    """Return `Progress.today` and `Progress.left` of a rater, without what else `progress` counts."""
    rows = connection.execute(_own_counts(scope)).all()
    return sum(row.today for row in rows), sum(row.items - row.judged - row.cannot_decide for row in rows)


def pace(connection: Connection, rater_id: int) -> float | None:
    """Return how many judgments an hour a rater gave in the last one; None before `PACE_SECONDS` of work.

    Only judgments made on a screen count: they carry the time that they took, those of scripts do not. The
    rate is taken from the first to the last of them, so that a pause before the first does not count.
    """
    judgment = table_of(JudgmentRow)
    first, last, number = connection.execute(
        select(func.min(judgment.c.created_at), func.max(judgment.c.created_at), func.count()).where(
            judgment.c.rater_id == rater_id,
            judgment.c.value.is_not(None),
            judgment.c.elapsed_ms.is_not(None),
            judgment.c.origin.in_(("independent", "accept", "override")),
            judgment.c.created_at >= now() - timedelta(hours=1),
        )
    ).one()
    return hourly(number, (last - first).total_seconds() if number else 0.0)


def hourly(number: int, seconds: float) -> float | None:
    """Return how many an hour some judgments are, from the first to the last; None for too short a time."""
    return (number - 1) / seconds * 3600 if seconds >= PACE_SECONDS else None


@dataclass(frozen=True, slots=True)
class ProgressDelta:
    """By how much an action changed a rater's counts.

    Attributes:
        today: Items that are judged, and were given their latest value today.
        left: Items that are neither judged nor marked as undecidable.
        judged: Whether the action gave an item the last value that it required; a redo does not.
    """

    today: int
    left: int
    judged: bool


def open_among(connection: Connection, scope: Scope, item_ids: Collection[int]) -> set[int]:
    """Return those of some items of a scope that its rater has neither judged nor marked as undecidable."""
    if not item_ids:
        return set()
    item = table_of(Item)
    answers, marks = answered_count(scope, item_ids), own_marks(scope, item_ids)
    required, responses = required_count(item, item_ids, scope, answers)
    found = (
        select(item.c.id)
        .select_from(item)
        .outerjoin(answers, answers.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
        .where(
            among(item.c.id, item_ids),
            in_scope(scope, item.c.id),
            func.coalesce(answers.c.answered, 0) < required,
            func.coalesce(marks.c.cannot_decide, False).is_(False),
        )
    )
    if responses is not None:
        found = found.outerjoin(responses, responses.c.item_id == item.c.id)
    return set(connection.execute(found).scalars())


def skipped_in_order(connection: Connection, scope: Scope) -> list[int]:
    """Return the items that a rater skipped and has not judged since, the first skipped first."""
    marks = own_marks(scope)
    put_off = select(marks.c.item_id).where(marks.c.skipped).order_by(marks.c.skipped_by)
    skipped = list(connection.execute(put_off).scalars())
    still_open = open_among(connection, scope, skipped)
    return [number for number in skipped if number in still_open]


def progress_delta(connection: Connection, action: Action, scope: Scope = EVERYTHING) -> ProgressDelta:
    """Return by how much a stored action changed the counts of its rater."""
    if scope.sitting is None and action.records[0].phase != scope.phase:
        # What was changed after it was revealed counts as it was answered at first.
        return ProgressDelta(today=0, left=0, judged=False)
    first, last = (choose(record.id for record in action.records) for choose in (min, max))
    records = _records(connection, action.records[0])
    kind = kind_of(connection, action.item_id)
    questions = [] if kind is None else item_questions(connection, kind, action.item_id, scope)
    question = table_of(Question)
    named = select(question.c.name, question.c.id).where(
        question.c.name.in_([spec.name for spec, *_ in questions])
    )
    keys = dict(connection.execute(named).all())
    targets = {QuestionTarget(keys[spec.name], ref) for spec, ref, _ in questions if spec.name in keys}
    lasts = {
        QuestionTarget(keys[spec.name], ref): spec.last_value
        for spec, ref, _ in questions
        if spec.last_value is not None and spec.name in keys
    }
    before = _state([record for record in records if record.id < first], targets, lasts, len(questions))
    after = _state([record for record in records if record.id <= last], targets, lasts, len(questions))
    return ProgressDelta(
        today=after.today - before.today,
        left=before.settled - after.settled,
        judged=after.judged and not before.judged and action.records[0].origin != "redo",
    )


@dataclass(frozen=True, slots=True)
class _ItemState:
    """The state of an item for a rater at one time."""

    judged: bool
    today: bool
    settled: bool


def _state(
    records: list[Judgment | Mark],
    questions: set[QuestionTarget],
    lasts: Mapping[QuestionTarget, float],
    number: int,
) -> _ItemState:
    """Return the state of an item for a rater.

    Args:
        records: The rater's records, in order.
        questions: The questions that the item is asked, of those that the workspace knows.
        lasts: The values after which it is asked nothing more (see `QuestionSpec.last_value`).
        number: How many questions it is asked.
    """
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    values = {
        record.target: record
        for record in records
        if isinstance(record, Judgment) and record.target in questions
    }
    if any(key in values and values[key].value == last for key, last in lasts.items()):
        number = 1
    answered_at = [record.created_at for record in values.values() if record.value is not None]
    undecided = [record.active for record in records if isinstance(record, Mark)][-1:] == [True]
    judged = bool(number) and len(answered_at) >= number
    return _ItemState(judged, judged and max(answered_at) >= midnight, judged or undecided)


def _records(connection: Connection, like: Judgment | Mark) -> list[Judgment | Mark]:
    """Return the judgments and the "cannot decide" of an item, of the rater and phase of one of them."""
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    found: list[Judgment | Mark] = []
    for table, model, conditions in (
        (judgment, Judgment, ()),
        (mark, Mark, (mark.c.kind == "cannot_decide",)),
    ):
        rows = connection.execute(
            select(table).where(
                table.c.item_id == like.item_id,
                table.c.rater_id == like.rater_id,
                table.c.phase == like.phase,
                table.c.assignment_id.is_not_distinct_from(like.assignment_id),
                *conditions,
            )
        )
        found += [model(**row) for row in rows.mappings()]
    return sorted(found, key=lambda record: record.id)


def sitting_statuses(connection: Connection, scope: Scope) -> Sequence[Any]:
    """Return how many items of a sitting there are by phase, condition and status."""
    item, assignment = table_of(Item), table_of(Assignment)
    marks, answers = own_marks(scope), answered_count(scope)
    required, responses = required_count(item, scope=scope, answers=answers)
    status = status_of(func.coalesce(answers.c.answered, 0), required, marks)
    condition = words_of(sides=False)
    statement = (
        select(
            assignment.c.phase,
            condition.label("condition"),
            status.label("status"),
            func.count().label("items"),
        )
        .select_from(assignment)
        .join(item, item.c.id == assignment.c.item_id)
        .outerjoin(answers, answers.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
        .where(in_sitting(scope))
        .group_by(assignment.c.phase, condition, status)
        .order_by(assignment.c.phase, condition, status)
    )
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    return connection.execute(statement).all()
