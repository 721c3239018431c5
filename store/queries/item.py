"""One item as a review shows it: its texts, the agents' case, and what was recorded of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Connection, RowMapping, cast, func, select

from store.errors import UnknownName
from store.evidence import Citation, readable_citations
from store.kinds.pair import MATCH
from store.queries.executions import ExecutionView, executions_seen
from store.queries.expert_runs import ExpertRunView, expert_runs
from store.queries.scoped import assignment_of, hides_agents, hides_models, is_own
from store.scope import Scope
from store.tables.columns import among, table_of
from store.tables.imported import Code, Item, Pair, Query, Similarity, Source
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow, MarkRow, QuestionTarget
from store.tables.runs import ExecutionRow, Run, StepRow, VerdictRow

_DIGITS = 18  # a number of more digits is no key, and too large for its column


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The agents' label of an item, with what it rests on."""

    id: UUID
    value: float
    path: str
    reason: str
    model: str
    run_name: str
    execution_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StepView:
    """One agent's turn. `reply` is the parsed JSON reply, empty when there was none.

    With `from_cache` the workspace had the reply already, and the turn cost nothing.
    """

    role: str
    attempt: int
    outcome: str
    reply: Mapping[str, Any]
    error: str
    model: str
    tokens_in: int
    tokens_out: int
    money: float | None
    seconds: float
    from_cache: bool


@dataclass(frozen=True, slots=True)
class AgentCase:
    """What the agents say of an item and why, and what experts found by running its test.

    Attributes:
        verdict: The agents' label.
        steps: Their turns, in order.
        execution: The execution that the verdict saw.
        expert_runs: What experts ran, in order.
    """

    verdict: VerdictView | None
    steps: tuple[StepView, ...]
    execution: ExecutionView | None
    expert_runs: tuple[ExpertRunView, ...] = ()

    def reply_of(self, role: str) -> Mapping[str, Any]:
        """Return the last good reply of a role, empty when there is none."""
        good = [step.reply for step in self.steps if step.role == role and step.outcome == "ok"]
        return good[-1] if good else {}


@dataclass(frozen=True, slots=True)
class RecordView:
    """One line of an item's history: a judgment or a mark, of any rater.

    `what` is the name of the question or the kind of the mark.
    """

    id: UUID
    rater: str
    rater_kind: str
    what: str
    value: float | None
    origin: str
    reason: str
    text: str
    elapsed_ms: int | None
    blind: bool
    created_at: datetime
    target: QuestionTarget | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """The rater's own value for one question, with the reason and the evidence that came with it.

    `given` is the record in which it was given; one that an undo brought back keeps it.
    """

    value: float
    reason: str = ""
    citations: tuple[Citation, ...] = ()
    given: UUID | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OwnState:
    """The rater's own current labels, by the question and response that they answer, and marks."""

    labels: Mapping[QuestionTarget, OwnLabel]
    cannot_decide: str | None
    skipped: bool
    flagged: bool
    comment: str


@dataclass(frozen=True, slots=True)
class PairView:
    """A query-code pair as it is reviewed. `case` is None where the review is blind.

    `question_ids` holds the keys of the kind's questions by name, `assignment_id` the assignment under which
    the rater judges the pair.
    """

    item_id: int
    external_id: str
    kind: str
    query: str
    code: str
    language: str
    name: str
    repository: str
    path: str
    licence: str
    source: str
    rank: int | None
    candidates: int
    similarities: Mapping[str, float]
    extra: Mapping[str, Any]
    case: AgentCase | None
    own: OwnState
    history: tuple[RecordView, ...]
    question_ids: Mapping[str, int]
    assignment_id: UUID | None = None
    blind: bool = False


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Under which assignment a rater judges an item, and what of it stays hidden.

    Attributes:
        assignment_id: The assignment; None outside a study.
        blind: Whether the agents' and other raters' work is hidden.
        hides_models: Whether the names of models are.
    """

    assignment_id: UUID | None
    blind: bool
    hides_models: bool


def item_access(connection: Connection, scope: Scope, item_id: int) -> ItemAccess:
    """Return under which assignment a rater judges an item, and what of it stays hidden."""
    number = cast(item_id, BigInteger)
    blind, models = connection.execute(select(hides_agents(scope, number), hides_models(scope, number))).one()
    return ItemAccess(assignment_of(connection, scope, item_id), bool(blind), bool(models))


def has_item(connection: Connection, number: int) -> bool:
    """Return whether there is an item of that key."""
    item = table_of(Item)
    return connection.execute(select(item.c.id).where(item.c.id == number)).first() is not None


def find_item(connection: Connection, name: str) -> int:
    """Return the key of the item that is called `name` in its file, or that has it as its number here.

    Raises:
        UnknownName: There is none, or several files have such an item.
    """
    item = table_of(Item)
    found = connection.execute(select(item.c.id).where(item.c.external_id == name).limit(2)).scalars().all()
    if len(found) == 1:
        return int(found[0])
    if not found and name.isdecimal() and len(name) <= _DIGITS:
        number = connection.execute(select(item.c.id).where(item.c.id == int(name))).scalar()
        if number is not None:
            return int(number)
    what = "several items are" if found else "no item is"
    raise UnknownName(
        "Unknown item", f"{what.capitalize()} called {name!r}.", "List them: workbench items WORKSPACE"
    )


def question_ids(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """Return the keys of some questions by their names; those that nobody stored are left out."""
    question = table_of(Question)
    found = select(question.c.name, question.c.id).where(question.c.name.in_(names))
    return dict(connection.execute(found).all())


def question_names(connection: Connection) -> dict[int, str]:
    """Return the names of all questions by their keys."""
    question = table_of(Question)
    return dict(connection.execute(select(question.c.id, question.c.name)).all())


def load_pair(connection: Connection, scope: Scope, item_id: int) -> PairView:
    """Read everything that a review of one pair shows.

    The agents' case and other raters' records are not read where they are hidden.

    Args:
        connection: A reading connection.
        scope: Whose labels and marks are "own", and what stays hidden.
        item_id: The pair's item.

    Raises:
        UnknownName: There is no such pair.
    """
    item, pair, query, code, source = (table_of(model) for model in (Item, Pair, Query, Code, Source))
    statement = (
        select(
            item.c.external_id,
            item.c.kind,
            item.c.extra,
            query.c.text.label("query"),
            query.c.id.label("query_id"),
            code.c.text.label("code"),
            *(code.c[name] for name in ("language", "name", "repository", "path", "licence")),
            pair.c.rank,
            source.c.name.label("source"),
        )
        .select_from(item)
        .join(pair, pair.c.item_id == item.c.id)
        .join(query, query.c.id == pair.c.query_id)
        .join(code, code.c.id == pair.c.code_id)
        .outerjoin(source, source.c.id == item.c.source_id)
        .where(item.c.id == item_id, pair.c.item_id == item_id)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise UnknownName(
            "Unknown item", f"There is no pair {item_id}.", "List them: workbench items WORKSPACE"
        )
    fields = dict(row)
    siblings = select(func.count()).select_from(pair).where(pair.c.query_id == fields.pop("query_id"))
    similarity = table_of(Similarity)
    models = select(similarity.c.model, similarity.c.value).where(similarity.c.item_id == item_id)
    access = item_access(connection, scope, item_id)
    return PairView(
        item_id=item_id,
        candidates=connection.execute(siblings).scalar_one(),
        similarities=dict(connection.execute(models.order_by(similarity.c.model)).all()),
        case=None if access.blind else load_case(connection, item_id, scope.rater_id),
        own=load_own(connection, scope, item_id),
        history=load_history(connection, item_id, scope.rater_id if access.blind else None),
        question_ids=question_ids(connection, (MATCH.name,)),
        assignment_id=access.assignment_id,
        blind=access.blind,
        **{**fields, "extra": json.loads(fields["extra"]), "source": fields["source"] or ""},
    )


def load_case(connection: Connection, item_id: int, rater_id: int) -> AgentCase:
    """Read the latest verdict of an item with its run's steps; without a verdict, the latest run's steps.

    Args:
        connection: A reading connection.
        item_id: The item.
        rater_id: Who looks at it.
    """
    verdict, run, step = table_of(VerdictRow), table_of(Run), table_of(StepRow)
    found = (
        connection.execute(
            select(verdict, run.c.model, run.c.name.label("run_name"))
            .outerjoin(run, run.c.id == verdict.c.run_id)
            .where(verdict.c.item_id == item_id, verdict.c.response_ref_id.is_(None))
            .order_by(verdict.c.id.desc())
            .limit(1)
        )
        .mappings()
        .first()
    )
    if found is None:
        latest = select(step.c.run_id).where(step.c.item_id == item_id).order_by(step.c.id.desc()).limit(1)
        run_id = connection.execute(latest).scalar()
    else:
        run_id = found["run_id"]
    steps = (
        connection.execute(
            select(step).where(step.c.item_id == item_id, step.c.run_id == run_id).order_by(step.c.id)
        )
        .mappings()
        .all()
    )
    seen = None
    if found is not None:
        fields = {name: found[name] for name in VerdictView.__dataclass_fields__}
        seen = VerdictView(**{**fields, "model": fields["model"] or "", "run_name": fields["run_name"] or ""})
    made = table_of(ExecutionRow)
    executions = executions_seen(
        connection, made.c.item_id == item_id, among(made.c.step_id, [row["id"] for row in steps])
    )
    shown = [each for each in executions if found is not None and each.id == found["execution_id"]]
    return AgentCase(
        verdict=seen,
        steps=tuple(_step(row) for row in steps),
        execution=shown[0] if shown else executions[-1] if executions else None,
        expert_runs=expert_runs(connection, [item_id], rater_id).get(item_id, ()),
    )


def _step(row: RowMapping) -> StepView:
    try:
        reply = json.loads(row["reply"]) if row["reply"] else {}
    except ValueError:
        reply = {}
    names = [name for name in StepView.__dataclass_fields__ if name != "reply"]
    return StepView(reply=reply if isinstance(reply, dict) else {}, **{name: row[name] for name in names})


def load_own(connection: Connection, scope: Scope, item_id: int) -> OwnState:
    """Read a rater's own current labels and marks of an item."""
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    labels: dict[QuestionTarget, OwnLabel] = {}
    for row in connection.execute(
        select(
            judgment.c.id,
            judgment.c.restores,
            *(judgment.c[name] for name in ("question_id", "response_ref_id", "value", "reason", "evidence")),
        )
        .where(judgment.c.item_id == item_id, is_own(scope, judgment))
        .order_by(judgment.c.id)
    ):
        target = QuestionTarget(row.question_id, row.response_ref_id)
        labels.pop(target, None)
        if row.value is not None:
            citations = readable_citations(row.evidence)
            given = row.restores or row.id
            labels[target] = OwnLabel(row.value, row.reason, citations, given)
    marks = {
        row.kind: row
        for row in connection.execute(
            select(mark.c.kind, mark.c.active, mark.c.text)
            .where(mark.c.item_id == item_id, is_own(scope, mark))
            .order_by(mark.c.id)
        )
    }
    active = {kind: row.text for kind, row in marks.items() if row.active}
    return OwnState(
        labels=labels,
        cannot_decide=active.get("cannot_decide"),
        skipped="skip" in active,
        flagged="flag" in active,
        comment=active.get("comment", ""),
    )


def load_history(
    connection: Connection, item_id: int, only_rater: int | None = None
) -> tuple[RecordView, ...]:
    """Read every judgment and mark of an item, oldest first.

    Args:
        connection: A reading connection.
        item_id: The item.
        only_rater: Whose records; None for everybody's.
    """
    judgment, mark, question, rater = (table_of(model) for model in (JudgmentRow, MarkRow, Question, Rater))
    judgments = (
        select(
            judgment,
            question.c.name.label("what"),
            rater.c.name.label("rater"),
            rater.c.kind.label("rater_kind"),
        )
        .join(question, question.c.id == judgment.c.question_id)
        .join(rater, rater.c.id == judgment.c.rater_id)
        .where(judgment.c.item_id == item_id)
    )
    marks = (
        select(mark, rater.c.name.label("rater"), rater.c.kind.label("rater_kind"))
        .join(rater, rater.c.id == mark.c.rater_id)
        .where(mark.c.item_id == item_id)
    )
    if only_rater is not None:
        judgments = judgments.where(judgment.c.rater_id == only_rater)
        marks = marks.where(mark.c.rater_id == only_rater)
    shared = ("id", "rater", "rater_kind", "origin", "created_at")
    seen = [
        RecordView(
            **{name: row[name] for name in (*shared, "what", "value", "reason", "elapsed_ms", "blind")},
            target=QuestionTarget(row["question_id"], row["response_ref_id"]),
            text=row["comment"],
            citations=readable_citations(row["evidence"]),
        )
        for row in connection.execute(judgments).mappings()
    ]
    seen += [
        RecordView(
            **{name: row[name] for name in shared},
            what=row["kind"] if row["active"] else f"no {row['kind']}",
            value=None,
            reason="",
            text=row["text"],
            elapsed_ms=None,
            blind=False,
        )
        for row in connection.execute(marks).mappings()
    ]
    return tuple(sorted(seen, key=lambda record: record.id.int))
