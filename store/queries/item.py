"""One item as a review shows it: its texts, the responses of models, and its records."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.errors import UnknownName
from store.kinds.listing import relation
from store.kinds.listing import texts as texts_of
from store.kinds.spec import TaskKind, task_kinds
from store.policy.rows import assignment_of, in_scope, is_own, may_read, shown_on
from store.policy.scope import EVERYTHING, REVIEW, Scope, Shows
from store.queries.current import texts_until
from store.queries.responses import ChunkView, ResponseView, load_chunks, load_responses
from store.queries.shown_ids import shown_id
from store.queries.shown_texts import shown_candidates
from store.record.evidence import Citation, readable_citations
from store.record.revisions import RevisionView, current_texts, load_revisions
from store.tables.columns import table_of
from store.tables.imported import Item, Similarity, Source
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow, MarkRow, QuestionTarget

if TYPE_CHECKING:
    from sqlalchemy import Connection


_DIGITS = 18  # a number of more digits is no key, and too large for its column


@dataclass(frozen=True, slots=True)
class RecordView:
    """One line of an item's history: a judgment or a mark, of any rater.

    `what` is the name of the question or the kind of the mark; `holds` says whether it counts now: nothing
    took its place, and it is not itself what took something back.
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
    holds: bool = False


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

    def changed_by(self, later: OwnState) -> OwnState:
        """Return the state after answers that were given in a later phase."""
        if later.cannot_decide is not None:
            return replace(self, labels={}, cannot_decide=later.cannot_decide)
        if later.labels:
            return replace(self, labels={**self.labels, **later.labels}, cannot_decide=None)
        return self


ShownTests = Literal["agents", "own", "none"]
"""Which test programs a rater meets on an item: those of the agents, one that they write, or none."""


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """An item as it is reviewed.

    Attributes:
        external_id: What it is called (see `store.queries.shown_ids`).
        source: The name of the file that the item was imported from.
        fields: The columns of its kind, with revised texts in place of imported ones.
        extra: Further fields of the file.
        group_size: How many items its group has here: for a pair, the candidates of its query.
        similarities: Similarities by model, of a ranked kind.
        chunks: Pieces of other files, by setting and rank.
        revisions: The columns that were ever rewritten.
        hides_models: Whether the names of models stay hidden.
        own: The rater's own current labels and marks.
        history: Everybody's records, or only the rater's where others' are hidden.
        question_ids: The keys of the kind's questions by name.
        assignment_id: The assignment under which the rater judges it; None outside a study.
        phase: The phase of the rater's judgments of it.
        tests: Which test programs are shown.
        blind: Whether the agents' and other raters' work is hidden.
        changes: How the study shows the texts of a comparison otherwise than they were imported.
    """

    item_id: int
    external_id: str
    kind: str
    source: str
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]
    group_size: int
    similarities: Mapping[str, float]
    chunks: tuple[ChunkView, ...]
    responses: tuple[ResponseView, ...]
    revisions: Mapping[str, RevisionView]
    hides_models: bool
    own: OwnState
    history: tuple[RecordView, ...]
    question_ids: Mapping[str, int]
    assignment_id: UUID | None = None
    phase: str = REVIEW
    tests: ShownTests = "agents"
    blind: bool = False
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Under which assignment a rater judges an item, and which part of it stays hidden.

    Attributes:
        assignment_id: The assignment; None outside a study.
        shown: What is shown (see `store.policy.rows.shown_on`).
        tests: Which test programs are shown.
    """

    assignment_id: UUID | None
    phase: str
    shown: frozenset[Shows]
    tests: ShownTests

    @property
    def blind(self) -> bool:
        """Whether the agents' and other raters' work is hidden."""
        return Shows.AGENTS not in self.shown

    @property
    def hides_models(self) -> bool:
        """Whether the names of models are hidden."""
        return Shows.MODELS not in self.shown


def item_access(connection: Connection, scope: Scope, item_id: int) -> ItemAccess:
    """Return under which assignment a rater judges an item, and which part of it stays hidden."""
    shown = shown_on(connection, scope, item_id)
    assigned = assignment_of(connection, scope, item_id)
    tests: ShownTests = "agents" if Shows.TESTS in shown else "none"
    if assigned is None:
        return ItemAccess(None, scope.phase, shown, tests)
    return ItemAccess(assigned.id, assigned.phase, shown, "own" if assigned.own_test else tests)


def has_item(connection: Connection, scope: Scope, number: int) -> bool:
    """Return whether there is an item of that key in a scope."""
    item = table_of(Item)
    found = select(item.c.id).where(item.c.id == number, in_scope(scope, item.c.id))
    return connection.execute(found).first() is not None


def find_item(connection: Connection, name: str, scope: Scope = EVERYTHING) -> int:
    """Return the key of the item that is called `name` in its file or here, or that has it as its number.

    In a study only the items of the sitting are found.

    Raises:
        UnknownName: There is none, or several files have such an item.
    """
    item = table_of(Item)
    there = select(item.c.id).where(in_scope(scope, item.c.id))
    found = connection.execute(there.where(item.c.external_id == name).limit(2)).scalars().all()
    if not found:
        found = connection.execute(there.where(shown_id() == name).limit(2)).scalars().all()
    if len(found) == 1:
        return int(found[0])
    if not found and name.isdecimal() and len(name) <= _DIGITS:
        number = connection.execute(there.where(item.c.id == int(name))).scalar()
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


def load_item(connection: Connection, scope: Scope, kind: TaskKind, item_id: int) -> ItemDetails:
    """Read everything that a review of one item shows, but the agents' case.

    Judges' scores, the names of models and other raters' records are not read where they are hidden. In a
    study only the items of the sitting are there.

    Raises:
        UnknownName: There is no such item.
    """
    item, source, found = table_of(Item), table_of(Source), relation(kind)
    columns = {name: found.columns[name].label(f"_{name}") for name in kind.record.columns}
    joined = found.source.join(item, item.c.id == found.item_id).outerjoin(
        source, source.c.id == item.c.source_id
    )
    row = (
        connection.execute(
            select(
                shown_id().label("external_id"),
                item.c.extra,
                item.c.group_id,
                source.c.name.label("source"),
                *columns.values(),
            )
            .select_from(joined)
            .where(item.c.id == item_id, found.item_id == item_id, in_scope(scope, item.c.id))
        )
        .mappings()
        .first()
    )
    if row is None:
        raise UnknownName(
            "Unknown item",
            f"There is no item {item_id} among the {kind.plural}.",
            "List them: workbench items WORKSPACE",
        )
    fields = {name: row[f"_{name}"] for name in columns}
    revisions: dict[str, RevisionView] = {}
    if kind.editing.columns:
        until = texts_until(connection, scope)
        revisions = load_revisions(connection, item_id, fields, scope.rater_id, until=until)
    candidates: Mapping[str, str] = {}
    changes: tuple[str, ...] = ()
    if kind.two_sided:
        candidates, changes = shown_candidates(connection, scope, {item_id: fields}).get(item_id, ({}, ()))
    access = item_access(connection, scope, item_id)
    chunks: tuple[ChunkView, ...] = ()
    responses: tuple[ResponseView, ...] = ()
    if kind.record.responses:
        chunks = load_chunks(connection, item_id)
        responses = load_responses(connection, item_id, scope, blind=access.blind, hidden=access.hides_models)
    size, similarities = (
        _ranking(connection, kind, item_id, row["group_id"]) if kind.record.ranked else (1, {})
    )
    return ItemDetails(
        item_id=item_id,
        external_id=row["external_id"],
        kind=kind.name,
        source=row["source"] or "",
        fields=fields | {name: revision.text for name, revision in revisions.items()} | dict(candidates),
        extra=json.loads(row["extra"]),
        group_size=size,
        similarities=similarities,
        chunks=chunks,
        responses=responses,
        revisions=revisions,
        hides_models=access.hides_models,
        own=load_own(connection, scope, item_id),
        history=load_history(connection, item_id, scope, access.shown),
        question_ids=question_ids(connection, [spec.name for spec in kind.questions]),
        assignment_id=access.assignment_id,
        phase=access.phase,
        tests=access.tests,
        blind=access.blind,
        changes=changes,
    )


def _ranking(
    connection: Connection, kind: TaskKind, item_id: int, group_id: int
) -> tuple[int, dict[str, float]]:
    """Return how many items an item's group has, and its similarities by model."""
    item, similarity = table_of(Item), table_of(Similarity)
    siblings = select(func.count()).where(item.c.group_id == group_id, item.c.kind == kind.name)
    models = select(similarity.c.model, similarity.c.value).where(similarity.c.item_id == item_id)
    found = connection.execute(models.order_by(similarity.c.model)).all()
    return connection.execute(siblings).scalar_one(), dict(found)


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
    connection: Connection,
    item_id: int,
    scope: Scope = EVERYTHING,
    shown: Collection[Shows] | None = None,
) -> tuple[RecordView, ...]:
    """Read the judgments and marks of an item that a rater may see, by the time that they state.

    A label that was given its reason afterwards is one record, with the label's time and the last reason.

    Others' records are left out where they are hidden. In a study the rater's own are those of the sitting,
    so that an item that comes again is met as at first; where everything is revealed they are all there.

    Args:
        connection: A reading connection.
        item_id: The item.
        scope: Who looks at it.
        shown: What `shown_on` returned of the item; None to ask it here.
    """
    shown = shown_on(connection, scope, item_id) if shown is None else shown
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
        .where(judgment.c.item_id == item_id, may_read(scope, judgment, shown))
    )
    marks = (
        select(mark, rater.c.name.label("rater"), rater.c.kind.label("rater_kind"))
        .join(rater, rater.c.id == mark.c.rater_id)
        .where(mark.c.item_id == item_id, may_read(scope, mark, shown))
    )
    shared = ("id", "rater", "rater_kind", "origin", "created_at")
    labels = connection.execute(judgments).mappings().all()
    marked = connection.execute(marks).mappings().all()
    replaced = {row["supersedes"] for row in (*labels, *marked)}
    completed = {(row["supersedes"], row["action"], row["value"]) for row in labels}
    began: dict[UUID, datetime] = {}
    for row in sorted(labels, key=lambda row: row["id"].int):
        began.setdefault(row["action"], row["created_at"])
    seen = [
        RecordView(
            **{name: row[name] for name in (*shared, "what", "value", "reason", "elapsed_ms", "blind")},
            target=QuestionTarget(row["question_id"], row["response_ref_id"]),
            text=row["comment"],
            citations=readable_citations(row["evidence"]),
            holds=row["value"] is not None and row["id"] not in replaced,
        )
        for row in ({**row, "created_at": began[row["action"]]} for row in labels)
        if (row["id"], row["action"], row["value"]) not in completed
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
            holds=row["active"] and row["id"] not in replaced,
        )
        for row in marked
    ]
    return tuple(sorted(seen, key=lambda record: (record.created_at, record.id.int)))


def item_texts(
    connection: Connection, item_ids: Sequence[int], scope: Scope = EVERYTHING
) -> dict[int, dict[str, Any]]:
    """Return the texts of some items by item, each under its name: of a pair query, code, language...

    Rewritten texts replace the imported ones; `revised` names them.

    Items that are not there are left out. In a study the texts are those of its freezing.
    """
    until = texts_until(connection, scope)
    found: dict[int, dict[str, Any]] = {}
    for kind in task_kinds().values():
        of_kind = {}
        for row in connection.execute(texts_of(kind, item_ids)).mappings():
            texts = dict(row)
            of_kind[texts.pop("item_id")] = texts
        if kind.two_sided:
            for item_id, (candidates, _) in shown_candidates(connection, scope, of_kind).items():
                of_kind[item_id].update(candidates)
        if kind.editing.columns and of_kind:
            current = current_texts(connection, list(of_kind), until=until)
            for item_id, texts in of_kind.items():
                revised = current.get(item_id, {})
                texts.update(revised, revised=sorted(revised))
        found |= of_kind
    return found
