"""Items with their chunks, responses and scores, as the neutral records from which formats write files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb

from store.export.labels import EXPORTED
from store.formats.protocol import Entity, StoredItem
from store.kinds.spec import TaskKind, task_kinds

_ITEMS = 1_000
"""Items in memory at a time, with their chunks, responses and scores."""

_ALWAYS = frozenset({"prompt", "reference", "right_context", "question"})
"""Texts that every item has, if only as an empty one; another one that is empty is missing."""

_RESPONSE = ("model", "setting", "trial", "text")
_SCORE = ("judge", "measure", "value", "raw", "reason")


def stored_items(
    cursor: duckdb.DuckDBPyConnection, kind: TaskKind, *, chunks: bool = False, responses: bool = False
) -> Iterator[StoredItem]:
    """Yield every item of a kind, in the order in which they were imported.

    The cursor is inside a read transaction.
    """
    columns = ", ".join(f"t.{name}" for name in kind.record.columns)
    last = -1
    while rows := cursor.execute(
        f"SELECT i.id, i.external_id, i.extra, {columns} FROM item i "
        f"JOIN ({kind.record.select}) t ON t.item_id = i.id "
        f"WHERE i.kind = ? AND i.id > ? AND i.id IN {EXPORTED} ORDER BY i.id LIMIT {_ITEMS}",
        [kind.name, last],
    ).fetchall():
        entries = {row[0]: StoredItem(row[0], _item(kind, row)) for row in rows}
        first, last = rows[0][0], rows[-1][0]
        if chunks:
            _add_chunks(cursor, kind, entries, (first, last))
        if responses:
            _add_responses(cursor, kind, entries, (first, last))
        yield from entries.values()


def stored_texts(cursor: duckdb.DuckDBPyConnection, kinds: Mapping[int, str]) -> dict[int, dict[str, Any]]:
    """Return the columns of some items, with their similarities by model where they have any.

    The cursor is inside a read transaction.
    """
    found: dict[int, dict[str, Any]] = {}
    for name in sorted({*kinds.values()} & task_kinds().keys()):
        record, numbers = task_kinds()[name].record, [item for item, kind in kinds.items() if kind == name]
        columns = tuple(record.columns)
        rows = cursor.execute(
            f"SELECT t.item_id, {', '.join(f't.{column}' for column in columns)} FROM ({record.select}) t "
            "WHERE t.item_id IN (SELECT unnest(?::BIGINT[]))",
            [numbers],
        )
        for item_id, *values in rows.fetchall():
            found[item_id] = {
                column: json.loads(value) if type_ in ("list", "object") else value
                for (column, type_), value in zip(record.columns.items(), values, strict=True)
            }
        if record.ranked:
            rows = cursor.execute(
                "SELECT item_id, model, value FROM similarity WHERE item_id IN (SELECT unnest(?::BIGINT[])) "
                "ORDER BY item_id, model",
                [numbers],
            )
            for item_id, model, value in rows.fetchall():
                found[item_id].setdefault("similarity", {})[model] = value
    return found


def _item(kind: TaskKind, row: tuple[Any, ...]) -> Entity:
    _, external_id, extra, *values = row
    fields = {"external_id": external_id}
    for (name, type_), value in zip(kind.record.columns.items(), values, strict=True):
        lacking = value == "" and name not in _ALWAYS
        fields[name] = json.loads(value) if type_ in ("list", "object") else None if lacking else value
    return Entity(kind.name, fields, json.loads(extra))


def _add_chunks(
    cursor: duckdb.DuckDBPyConnection,
    kind: TaskKind,
    entries: Mapping[int, StoredItem],
    ends: tuple[int, int],
) -> None:
    names = ("setting", "rank", "path", "text", "score")
    found = cursor.execute(
        f"SELECT item_id, extra, {', '.join(names)} FROM context_chunk WHERE item_id BETWEEN ? AND ? "
        "ORDER BY item_id, setting, rank",
        list(ends),
    )
    for item_id, extra, *values in found.fetchall():
        if (entry := entries.get(item_id)) is not None:
            placed = {"kind": kind.name, "item": entry.item.fields["external_id"]}
            fields = {**placed, **dict(zip(names, values, strict=True))}
            fields["path"] = fields["path"] or None
            entry.chunks.append(Entity("chunk", fields, json.loads(extra)))


def _add_responses(
    cursor: duckdb.DuckDBPyConnection,
    kind: TaskKind,
    entries: Mapping[int, StoredItem],
    ends: tuple[int, int],
) -> None:
    rows = cursor.execute(
        f"SELECT r.id, {', '.join(f's.{name}' for name in _SCORE)}, s.extra "
        "FROM score s JOIN response_ref r ON r.id = s.response_ref_id WHERE r.item_id BETWEEN ? AND ? "
        "ORDER BY r.id, s.judge, s.measure, s.sequence",
        list(ends),
    ).fetchall()
    scores = {number: [row[1:] for row in group] for number, group in groupby(rows, itemgetter(0))}
    found = cursor.execute(
        f"SELECT id, item_id, extra, {', '.join(_RESPONSE)} FROM response JOIN response_ref USING (id) "
        "WHERE item_id BETWEEN ? AND ? "
        "ORDER BY item_id, model, setting, trial",
        list(ends),
    )
    for number, item_id, extra, *values in found.fetchall():
        if (entry := entries.get(item_id)) is not None:
            placed = {"kind": kind.name, "item": entry.item.fields["external_id"], "reference": None}
            response = Entity(
                "response", {**placed, **dict(zip(_RESPONSE, values, strict=True))}, json.loads(extra)
            )
            entry.responses.append((response, [_score(response, row) for row in scores.get(number, ())]))


def _score(response: Entity, row: tuple[Any, ...]) -> Entity:
    *values, extra = row
    key = {name: response.fields[name] for name in ("kind", "item", "model", "setting", "trial")}
    return Entity("score", {**key, **dict(zip(_SCORE, values, strict=True))}, json.loads(extra))


def pending(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> Iterator[tuple[Entity, list[Entity]]]:
    """Yield the pending responses of a kind with their scores, in the order of import.

    The cursor is inside a read transaction.
    """
    rows = cursor.execute(
        f"SELECT external_id, joined_by, extra, scores, {', '.join(_RESPONSE)} FROM pending_response "
        "WHERE kind = ? ORDER BY source_id, line, rowid",
        [kind.name],
    )
    while batch := rows.fetchmany(_ITEMS):
        for external_id, joined_by, extra, scores, *values in batch:
            placed = {"kind": kind.name, "item": external_id, "reference": joined_by}
            fields = {**placed, **dict(zip(_RESPONSE, values, strict=True))}
            response = Entity("response", fields, json.loads(extra))
            rows_of = [tuple(score[name] for name in (*_SCORE, "extra")) for score in json.loads(scores)]
            yield response, [_score(response, row) for row in rows_of]
