"""Texts of items that experts rewrote: every version, and which one is current.

A revision is a mark with the whole new text (`REVISION`). Of several raters' the one that
was written or brought back last is current. Since ids tell in which order records were made, the text that a
rater saw when judging follows from the id of the judgment.

SQLAlchemy is imported by the functions that need it: a start reads current texts without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from duckdb import DuckDBPyConnection

from store.kinds.spec import TaskKind, task_kinds

if TYPE_CHECKING:
    from sqlalchemy import Connection, ScalarSelect, Select


REVISION = "revision."
"""Begins the kind of a mark by which a text of an item is rewritten: `revision.question`."""


class _Record(NamedTuple):
    item_id: int
    part: str
    id: UUID
    action: UUID
    rater_id: int
    assignment_id: UUID | None
    phase: str
    active: bool
    text: str
    origin: str
    target_action: UUID | None
    restores: UUID | None
    created_at: datetime
    rater: str
    rater_kind: str


@dataclass(slots=True)
class _State:
    """The state of a rater's text after a record: a version, or None; `since` tells which is the latest."""

    action: UUID
    since: UUID
    version: UUID | None


@dataclass(frozen=True, slots=True)
class Version:
    """A text as somebody rewrote it.

    Attributes:
        id: The record of it.
        rater: Who wrote it.
        is_own: Whether that is the rater who looks at it.
        taken_back: Whether an undo took it back that no redo followed.
    """

    id: UUID
    text: str
    rater: str
    is_own: bool
    created_at: datetime
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class RevisionView:
    """A text of an item that somebody rewrote.

    Attributes:
        imported: The text as it was imported.
        versions: The texts written in its place, oldest first, those that were taken back among them.
        current: Which of them is current; None where that is the imported text.
        changes: The records after which another text was current, in order, each with that text.
    """

    imported: str
    versions: tuple[Version, ...]
    current: Version | None
    changes: tuple[tuple[UUID, str], ...]

    @property
    def text(self) -> str:
        """The current text."""
        return self.imported if self.current is None else self.current.text


def load_revisions(
    connection: Connection,
    item_id: int,
    fields: Mapping[str, Any],
    rater_id: int = 0,
    *,
    until: datetime | None = None,
) -> dict[str, RevisionView]:
    """Read the columns of an item that anybody ever rewrote.

    Args:
        connection: A reading connection.
        item_id: The item.
        fields: The columns as they were imported.
        rater_id: Who looks at them.
        until: Only what was written before; None for all.
    """
    return {
        part: _view(records, str(fields[part]), rater_id)
        for (_, part), records in _records(connection, [item_id], until).items()
        if part in fields
    }


def current_texts(
    source: Connection | DuckDBPyConnection,
    item_ids: Collection[int] | None = None,
    *,
    until: datetime | None = None,
) -> dict[int, dict[str, str]]:
    """Return the columns of items whose current text is not the imported one, with their texts.

    Args:
        source: A reading connection, or a cursor of the workspace.
        item_ids: Of which items; None for all. Those of which nothing was rewritten are left out.
        until: Only what was written before; None for all.
    """
    found: dict[int, dict[str, str]] = {}
    for item_id, record in _current(source, item_ids, until):
        found.setdefault(item_id, {})[record.part] = record.text
    return found


def mended_by_people(
    source: Connection | DuckDBPyConnection, item_ids: Collection[int] | None = None
) -> set[int]:
    """Return the items, of some or of all, of which a current text is one that a person wrote."""
    return {item_id for item_id, record in _current(source, item_ids, None) if record.rater_kind != "agent"}


def _current(
    source: Connection | DuckDBPyConnection, item_ids: Collection[int] | None, until: datetime | None
) -> Iterator[tuple[int, _Record]]:
    """Yield each item's record of a text that is current in place of the imported one."""
    for (item_id, _), records in _records(source, item_ids, until).items():
        changes = changes_of(records)
        if changes and (version := changes[-1][1]) is not None:
            yield item_id, next(one for one in records if one.id == version)


def ever_containing(text: str, until: ScalarSelect[Any] | None = None) -> Select[Any]:
    """Return a select of the ids of the items of which a text that an expert wrote contains another.

    As the imported text is found after it was rewritten, so is each of its versions.

    Args:
        text: The text to find, in any case; nothing in it is a wildcard.
        until: A select of when; only in what was written before, None for all.
    """
    from sqlalchemy import func, select

    from store.tables.columns import table_of
    from store.tables.record import MarkRow

    mark = table_of(MarkRow)
    holds = func.strpos(func.lower(mark.c.text), func.lower(text)) > 0
    found = select(mark.c.item_id).where(mark.c.kind.startswith(REVISION, autoescape=True), holds)
    return found if until is None else found.where(mark.c.created_at < until)


def changes_of(records: Sequence[Any]) -> list[tuple[UUID, UUID | None]]:
    """Return after which records another version of a text was current.

    Args:
        records: The marks by which one text of one item was rewritten, in the order of their ids, with the
            columns of the table `mark`.

    Returns:
        The id of each such record with that of the version that was current from then on, None for the
        imported text.
    """
    lines: dict[tuple[Any, ...], list[_State]] = {}
    versions: set[UUID] = set()
    changes: list[tuple[UUID, UUID | None]] = []
    current: UUID | None = None
    for record in records:
        line = lines.setdefault((record.rater_id, record.assignment_id, record.phase), [])
        if _is_version(record, versions):
            versions.add(record.id)
        line.append(_state_after(record, line, versions))
        states = [each[-1] for each in lines.values() if each[-1].version in versions]
        latest = max(states, key=lambda one: one.since, default=None)
        if (latest.version if latest else None) != current:
            current = latest.version if latest else None
            changes.append((record.id, current))
    return changes


def _is_version(record: Any, known: Collection[UUID]) -> bool:
    """Return whether a record brings a text of its own.

    A text that is brought back is a version already, unless only a part of the record was imported.

    `known` are the ids of the versions before it.
    """
    return bool(record.active) and record.restores not in known


def _state_after(record: Any, line: list[_State], versions: Collection[UUID]) -> _State:
    """Return the state of a rater's text after a record.

    The line holds the states after each of the rater's records before it.
    """
    if record.origin == "undo":
        # The state before the action is restored as it was then, so that what another rater wrote since
        # stays before it.
        first = next((place for place, one in enumerate(line) if one.action == record.target_action), 0)
        if first:
            return _State(record.action, line[first - 1].since, line[first - 1].version)
    if not record.active:
        return _State(record.action, record.id, None)
    return _State(record.action, record.id, record.restores if record.restores in versions else record.id)


def _records(
    source: Connection | DuckDBPyConnection, item_ids: Collection[int] | None, until: datetime | None
) -> dict[tuple[int, str], list[_Record]]:
    """Return the records by which texts of items were rewritten, by item and column, in order."""
    if item_ids is not None and not item_ids:
        return {}
    among = "" if item_ids is None else f"AND item_id IN ({', '.join(str(int(one)) for one in item_ids)})"
    statement = (
        f"SELECT item_id, substr(m.kind, {len(REVISION) + 1}), m.id, action, rater_id, assignment_id, phase, "
        "active, text, origin, target_action, restores, m.created_at, r.name, r.kind "
        "FROM mark m JOIN rater r ON r.id = m.rater_id "
        f"WHERE starts_with(m.kind, '{REVISION}') {among} ORDER BY m.id"
    )
    rows = (
        source.exec_driver_sql(statement) if hasattr(source, "exec_driver_sql") else source.execute(statement)
    )
    records: dict[tuple[int, str], list[_Record]] = {}
    for row in rows.fetchall():
        record = _Record(*row)
        if until is not None and record.created_at >= until:
            continue
        records.setdefault((record.item_id, record.part), []).append(record)
    return records


def _view(records: Sequence[_Record], imported: str, rater_id: int) -> RevisionView:
    versions: dict[UUID, _Record] = {}
    for record in records:
        if _is_version(record, versions):
            versions[record.id] = record
    undone = {one.target_action: one.origin == "undo" for one in records if one.target_action is not None}
    shown = {
        key: Version(
            *(key, one.text, one.rater, one.rater_id == rater_id, one.created_at),
            taken_back=undone.get(one.action, False),
        )
        for key, one in versions.items()
    }
    changes = changes_of(records)
    texts = tuple((record, imported if key is None else versions[key].text) for record, key in changes)
    current = changes[-1][1] if changes else None
    return RevisionView(imported, tuple(shown.values()), None if current is None else shown[current], texts)


def refused_text(kind: TaskKind, part: str, text: str) -> str:
    """Return why a text of an item cannot be rewritten so, as a sentence; empty where it can."""
    editable = kind.editing.columns
    if part not in editable:
        return f"The {part} of {kind.plural} cannot be revised; {' and '.join(editable) or 'nothing'} can."
    if part in kind.editing.never_empty and not text.strip():
        return f"The {editable[part]} cannot be empty."
    return ""


def refused_mark(kind: str, mark: str, text: str) -> str:
    """Return why a mark that is a revision does not belong to items of a kind; empty where it does.

    Args:
        kind: The name of the items' kind.
        mark: The kind of the mark, which begins with `REVISION`.
        text: Its text.
    """
    known = task_kinds().get(kind)
    return refused_text(known, mark.removeprefix(REVISION), text) if known else f"Unknown task kind {kind!r}."


def without_added_end(text: str, before: str) -> str:
    """Return a text without the line feed with which editors end the last line.

    Where the text before ends with a line feed itself, it is meant.
    """
    return text if before.endswith("\n") else text.removesuffix("\n")
