"""One item of a kind with a table of its own as a review shows it, with what models made of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, column, func, select, table

from store.errors import UnknownName
from store.kinds.instances import Instance
from store.kinds.protocol import TaskKind
from store.queries.current import REVIEW
from store.queries.item import OwnState, RecordSeen, load_history, load_own
from store.queries.revisions import RevisionSeen, load_revisions
from store.tables.columns import among, table_of
from store.tables.imported import Item, Source
from store.tables.people import HIDDEN_MODELS, Assignment, Question
from store.tables.responses import ContextChunk, Response, Score


@dataclass(frozen=True, slots=True)
class ChunkSeen:
    """A piece of another file, with where it ranks under its setting."""

    setting: str
    rank: int
    path: str
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class ScoreSeen:
    """What a judge said of a response; `value` is None where its word was no number, which `raw` holds."""

    id: UUID
    judge: str
    measure: str
    value: float | None
    raw: str
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseSeen:
    """What a model made of an item.

    Attributes:
        id: Its key.
        letter: What a screen calls it: A, B, and so on.
        name: Model, setting and trial as a person reads them; empty where they stay hidden.
        text: What the model wrote.
        scores: What judges said of it; none in a blind review.
        question_ids: The keys of the questions about it, by the name of the question that is asked of every
            response; a question that nobody was asked yet has none.
        names: The names of these questions in the record; empty where the model stays hidden.
    """

    id: int
    letter: str
    name: str
    text: str
    scores: tuple[ScoreSeen, ...] = ()
    question_ids: Mapping[str, int] | None = None
    names: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class EntrySeen:
    """An item as it is reviewed.

    Attributes:
        item_id: Its key.
        external_id: Its name in the imported file.
        source: The name of that file.
        fields: The columns of its kind, revised ones as they stand now.
        extra: Further fields of the file.
        chunks: Pieces of other files, by setting and rank.
        responses: What models made of it.
        revisions: The columns that were ever rewritten.
        hides_models: Whether the names of models stay hidden.
        own: What stands of the rater's own.
        history: Who recorded what.
        question_ids: The keys of the kind's questions by name.
    """

    item_id: int
    external_id: str
    source: str
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]
    chunks: tuple[ChunkSeen, ...]
    responses: tuple[ResponseSeen, ...]
    revisions: Mapping[str, RevisionSeen]
    hides_models: bool
    own: OwnState
    history: tuple[RecordSeen, ...]
    question_ids: Mapping[str, int]


def load_entry(
    connection: Connection,
    kind: TaskKind,
    item_id: int,
    rater_id: int,
    *,
    blind: bool = False,
    phase: str = REVIEW,
) -> EntrySeen:
    """Read everything that a review of one item shows.

    Args:
        connection: A reading connection.
        kind: The item's kind, one with a table of its own.
        item_id: The item.
        rater_id: Whose labels and marks are "own".
        blind: Leave out, in what is asked of the database, judges' scores, the names of models and other
            raters' records.
        phase: The phase in which the rater judges.

    Raises:
        UnknownName: There is no such item.
    """
    item, source, question = table_of(Item), table_of(Source), table_of(Question)
    own_columns = table(kind.table, *(column(name) for name in ("item_id", *kind.content)))
    row = (
        connection.execute(
            select(item.c.external_id, item.c.extra, source.c.name.label("source"), *own_columns.c)
            .join(own_columns, own_columns.c.item_id == item.c.id)
            .outerjoin(source, source.c.id == item.c.source_id)
            .where(item.c.id == item_id, own_columns.c.item_id == item_id)
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
    fields = {name: row[name] for name in kind.content}
    revisions = load_revisions(connection, item_id, fields, rater_id)
    named = select(question.c.name, question.c.id).where(
        question.c.name.in_([spec.name for spec in kind.questions])
    )
    hidden = blind or hides_models(connection, item_id, rater_id)
    return EntrySeen(
        item_id=item_id,
        external_id=row["external_id"],
        source=row["source"] or "",
        fields=fields | {name: revision.text for name, revision in revisions.items()},
        extra=json.loads(row["extra"]),
        chunks=load_chunks(connection, item_id),
        responses=load_responses(connection, kind, item_id, rater_id, blind=blind, hidden=hidden),
        revisions=revisions,
        hides_models=hidden,
        own=load_own(connection, item_id, rater_id, phase),
        history=load_history(connection, item_id, rater_id if blind else None, hidden=hidden),
        question_ids=dict(connection.execute(named).all()),
    )


def hides_models(connection: Connection, item_id: int, rater_id: int) -> bool:
    """Return whether an assignment of the item to the rater says that the names of models stay hidden."""
    assignment = table_of(Assignment)
    conditions = connection.execute(
        select(assignment.c.condition).where(
            assignment.c.item_id == item_id, assignment.c.rater_id == rater_id
        )
    ).scalars()
    return any(HIDDEN_MODELS in condition.split() for condition in conditions)


def load_chunks(connection: Connection, item_id: int) -> tuple[ChunkSeen, ...]:
    """Read the pieces of other files that go with an item."""
    chunk = table_of(ContextChunk)
    found = (
        select(chunk.c.setting, chunk.c.rank, chunk.c.path, chunk.c.text, chunk.c.score)
        .where(chunk.c.item_id == item_id)
        .order_by(chunk.c.setting, chunk.c.rank)
    )
    return tuple(ChunkSeen(**row) for row in connection.execute(found).mappings())


def load_responses(
    connection: Connection, kind: TaskKind, item_id: int, rater_id: int, *, blind: bool, hidden: bool
) -> tuple[ResponseSeen, ...]:
    """Read what models made of an item, in the order of their names; hidden ones in one drawn for the rater.

    Args:
        connection: A reading connection.
        kind: The item's kind.
        item_id: The item.
        rater_id: Who looks at it.
        blind: Whether judges' scores are left out.
        hidden: Whether the names of models are left out of what is asked of the database.
    """
    response = table_of(Response)
    columns = [response.c.id, response.c.text]
    if hidden:
        rows = connection.execute(select(*columns).where(response.c.item_id == item_id)).all()
        # The same on every visit, and another one for another rater and item.
        rows = sorted(rows, key=lambda row: _drawn(rater_id, item_id, row.id))
    else:
        columns += [response.c.model, response.c.setting, response.c.trial]
        order = (response.c.model, response.c.setting, response.c.trial)
        rows = list(
            connection.execute(select(*columns).where(response.c.item_id == item_id).order_by(*order))
        )
    scores = {} if blind else _scores(connection, [row.id for row in rows])
    specs = [spec.name for spec in kind.questions if spec.of_responses]
    keys = _question_keys(connection, item_id, specs)
    seen = []
    for place, row in enumerate(rows):
        one = ResponseSeen(
            id=row.id,
            letter=letter(place),
            name="",
            text=row.text,
            scores=scores.get(row.id, ()),
            question_ids=keys.get(row.id, {}),
        )
        if not hidden:
            name = row.model + (f" · {row.setting}" if row.setting else "")
            name += f" · trial {row.trial}" if row.trial else ""
            names = {spec: Instance(spec, row.model, row.setting, row.trial).name for spec in specs}
            one = replace(one, name=name, names=names)
        seen.append(one)
    return tuple(seen)


def letter(place: int) -> str:
    """Return what the response at a place, from 0, is called: A to Z, then AA, AB, and so on."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _drawn(rater_id: int, item_id: int, response_id: int) -> str:
    return hashlib.sha256(f"{rater_id}/{item_id}/{response_id}".encode()).hexdigest()


def _scores(connection: Connection, response_ids: list[int]) -> dict[int, tuple[ScoreSeen, ...]]:
    score = table_of(Score)
    names = ("id", "judge", "measure", "value", "raw", "reason")
    found = (
        select(score.c.response_id, *(score.c[name] for name in names))
        .where(among(score.c.response_id, response_ids))
        .order_by(score.c.judge, score.c.measure, score.c.sequence)
    )
    scores: dict[int, list[ScoreSeen]] = {}
    for row in connection.execute(found).mappings():
        scores.setdefault(row["response_id"], []).append(ScoreSeen(**{name: row[name] for name in names}))
    return {number: tuple(each) for number, each in scores.items()}


def _question_keys(connection: Connection, item_id: int, specs: list[str]) -> dict[int, dict[str, int]]:
    """Return the keys of the questions about each response, found without its model's name in the answer."""
    if not specs:
        return {}
    from store.queries.due import response_names

    question, names = table_of(Question), response_names([item_id])
    base = func.split_part(question.c.name, "@", 1)
    asked = (
        select(question.c.id, question.c.name, base.label("base")).where(base.in_(specs)).subquery("asked")
    )
    found = select(names.c.id, asked.c.base, asked.c.id.label("question_id")).join(
        asked, asked.c.name == func.concat(asked.c.base, names.c.place)
    )
    keys: dict[int, dict[str, int]] = {}
    for row in connection.execute(found):
        keys.setdefault(row.id, {})[row.base] = row.question_id
    return keys
