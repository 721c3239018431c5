"""One item of a kind with a table of its own as a review shows it, with what models made of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, column, select, table

from store.errors import UnknownName
from store.kinds.protocol import TaskKind
from store.queries.due import answered_refs
from store.queries.item import OwnState, RecordView, item_access, load_history, load_own, question_ids
from store.queries.revisions import RevisionView, load_revisions
from store.scope import Scope
from store.tables.columns import among, table_of
from store.tables.imported import Item, Source
from store.tables.responses import ContextChunk, Response, Score


@dataclass(frozen=True, slots=True)
class ChunkView:
    """A piece of another file, with where it ranks under its setting."""

    setting: str
    rank: int
    path: str
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class ScoreView:
    """What a judge said of a response; `value` is None where its word was no number, which `raw` holds."""

    id: UUID
    judge: str
    measure: str
    value: float | None
    raw: str
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseView:
    """What a model made of an item.

    Attributes:
        id: The key of its reference.
        letter: What a screen calls it: A, B, and so on.
        name: Model, setting and trial as a person reads them; empty where they stay hidden.
        text: What the model wrote.
        scores: What judges said of it; none in a blind review.
    """

    id: int
    letter: str
    name: str
    text: str
    scores: tuple[ScoreView, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryView:
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
        assignment_id: The assignment under which the rater judges it; None outside a study.
        blind: Whether the agents' and other raters' work is hidden.
    """

    item_id: int
    external_id: str
    source: str
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]
    chunks: tuple[ChunkView, ...]
    responses: tuple[ResponseView, ...]
    revisions: Mapping[str, RevisionView]
    hides_models: bool
    own: OwnState
    history: tuple[RecordView, ...]
    question_ids: Mapping[str, int]
    assignment_id: UUID | None = None
    blind: bool = False


def load_entry(connection: Connection, scope: Scope, kind: TaskKind, item_id: int) -> EntryView:
    """Read everything that a review of one item shows.

    Judges' scores, the names of models and other raters' records are not read where they are hidden.

    Args:
        connection: A reading connection.
        scope: Whose labels and marks are "own", and what stays hidden.
        kind: The item's kind, one with a table of its own.
        item_id: The item.

    Raises:
        UnknownName: There is no such item.
    """
    item, source = table_of(Item), table_of(Source)
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
    revisions = load_revisions(connection, item_id, fields, scope.rater_id)
    access = item_access(connection, scope, item_id)
    return EntryView(
        item_id=item_id,
        external_id=row["external_id"],
        source=row["source"] or "",
        fields=fields | {name: revision.text for name, revision in revisions.items()},
        extra=json.loads(row["extra"]),
        chunks=load_chunks(connection, item_id),
        responses=load_responses(
            connection, item_id, scope.rater_id, blind=access.blind, hidden=access.hides_models
        ),
        revisions=revisions,
        hides_models=access.hides_models,
        own=load_own(connection, scope, item_id),
        history=load_history(connection, item_id, scope.rater_id if access.blind else None),
        question_ids=question_ids(connection, [spec.name for spec in kind.questions]),
        assignment_id=access.assignment_id,
        blind=access.blind,
    )


def load_chunks(connection: Connection, item_id: int) -> tuple[ChunkView, ...]:
    """Read the pieces of other files that go with an item."""
    chunk = table_of(ContextChunk)
    found = (
        select(chunk.c.setting, chunk.c.rank, chunk.c.path, chunk.c.text, chunk.c.score)
        .where(chunk.c.item_id == item_id)
        .order_by(chunk.c.setting, chunk.c.rank)
    )
    return tuple(ChunkView(**row) for row in connection.execute(found).mappings())


def load_responses(
    connection: Connection, item_id: int, rater_id: int, *, blind: bool, hidden: bool
) -> tuple[ResponseView, ...]:
    """Read the responses to an item, by name; those of hidden models in a random order for each rater.

    Args:
        connection: A reading connection.
        item_id: The item.
        rater_id: Who looks at it.
        blind: Whether judges' scores are left out.
        hidden: Whether the names of models are left out of what is asked of the database.
    """
    response, ref = table_of(Response), answered_refs([item_id]).subquery("refs")
    found = select(response.c.id, response.c.text).join(ref, ref.c.id == response.c.id)
    if hidden:
        # The same on every visit, and another one for another rater and item.
        rows = sorted(connection.execute(found).all(), key=lambda row: _drawn(rater_id, item_id, row.id))
    else:
        columns = (ref.c.model, ref.c.setting, ref.c.trial)
        rows = list(connection.execute(found.add_columns(*columns).order_by(*columns)).all())
    scores = {} if blind else _scores(connection, [row.id for row in rows])
    return tuple(
        ResponseView(
            id=row.id,
            letter=letter(place),
            name="" if hidden else _name(row.model, row.setting, row.trial),
            text=row.text,
            scores=scores.get(row.id, ()),
        )
        for place, row in enumerate(rows)
    )


def _name(model: str, setting: str, trial: int) -> str:
    return " · ".join([model, *([setting] if setting else []), *([f"trial {trial}"] if trial else [])])


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


def _scores(connection: Connection, response_ids: list[int]) -> dict[int, tuple[ScoreView, ...]]:
    score = table_of(Score)
    names = ("id", "judge", "measure", "value", "raw", "reason")
    found = (
        select(score.c.response_ref_id, *(score.c[name] for name in names))
        .where(among(score.c.response_ref_id, response_ids))
        .order_by(score.c.judge, score.c.measure, score.c.sequence)
    )
    scores: dict[int, list[ScoreView]] = {}
    for row in connection.execute(found).mappings():
        scores.setdefault(row["response_ref_id"], []).append(ScoreView(**{name: row[name] for name in names}))
    return {number: tuple(each) for number, each in scores.items()}
