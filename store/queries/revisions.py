"""The texts of an item that experts rewrote: every version, and which one stood when.

A revision is a mark with the whole new text (`store.tables.record.REVISION`). Of several raters' the one that
was written or brought back last stands. Since ids tell in which order records were made, what a rater saw
when judging follows from the id of the judgment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, func, select

from store.tables.columns import among, table_of
from store.tables.people import Rater
from store.tables.record import REVISION, MarkRow


@dataclass(frozen=True, slots=True)
class Version:
    """A text as somebody rewrote it.

    Attributes:
        id: The record of it.
        text: The whole text.
        rater: Who wrote it.
        is_own: Whether that is the rater who looks at it.
        created_at: When.
        taken_back: Whether an undo took it back that no redo followed.
    """

    id: UUID
    text: str
    rater: str
    is_own: bool
    created_at: datetime
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class RevisionSeen:
    """A text of an item that somebody rewrote.

    Attributes:
        imported: The text as it was imported.
        versions: What was written in its place, oldest first, also what was taken back.
        standing: Which of them stands now; None where that is the imported text.
        changes: The records after which another text stood, in order, each with that text.
    """

    imported: str
    versions: tuple[Version, ...]
    standing: Version | None
    changes: tuple[tuple[UUID, str], ...]

    @property
    def text(self) -> str:
        """The text as it stands now."""
        return self.imported if self.standing is None else self.standing.text


@dataclass(slots=True)
class _Stands:
    """What stands of one rater after a record: a version, or None; `since` tells which is the latest."""

    action: UUID
    since: UUID
    version: UUID | None


def load_revisions(
    connection: Connection, item_id: int, fields: Mapping[str, Any], rater_id: int = 0
) -> dict[str, RevisionSeen]:
    """Read the columns of an item that anybody ever rewrote.

    Args:
        connection: A reading connection.
        item_id: The item.
        fields: The columns as they were imported.
        rater_id: Who looks at them.
    """
    of_parts = _records(connection, [item_id]).get(item_id, {})
    return {
        part: _seen(rows, str(fields[part]), rater_id) for part, rows in of_parts.items() if part in fields
    }


def standing_texts(connection: Connection, item_ids: Collection[int]) -> dict[int, dict[str, str]]:
    """Return the columns of some items that stand otherwise than they were imported, with their texts.

    Args:
        connection: A reading connection.
        item_ids: The items; those of which nothing was rewritten are left out.
    """
    found: dict[int, dict[str, str]] = {}
    for item_id, of_parts in _records(connection, item_ids).items():
        for part, rows in of_parts.items():
            standing = _seen(rows, "", 0).standing
            if standing is not None:
                found.setdefault(item_id, {})[part] = standing.text
    return found


def ever_containing(text: str) -> Select[Any]:
    """Return a select of the ids of the items of which a text that an expert wrote contains another.

    As the imported text is found after it was rewritten, so is each of its versions.

    Args:
        text: What is looked for, in any case; nothing in it is a wildcard.
    """
    mark = table_of(MarkRow)
    holds = func.strpos(func.lower(mark.c.text), func.lower(text)) > 0
    return select(mark.c.item_id).where(mark.c.kind.startswith(REVISION, autoescape=True), holds)


def _records(connection: Connection, item_ids: Collection[int]) -> dict[int, dict[str, list[Row[Any]]]]:
    """Return the records by which texts of some items were rewritten, by item and column, in order."""
    mark, rater = table_of(MarkRow), table_of(Rater)
    found = (
        select(mark, rater.c.name.label("rater"))
        .join(rater, rater.c.id == mark.c.rater_id)
        .where(among(mark.c.item_id, item_ids), mark.c.kind.startswith(REVISION, autoescape=True))
        .order_by(mark.c.id)
    )
    records: dict[int, dict[str, list[Row[Any]]]] = {}
    for row in connection.execute(found):
        of_parts = records.setdefault(row.item_id, {})
        of_parts.setdefault(row.kind.removeprefix(REVISION), []).append(row)
    return records


def _seen(rows: list[Row[Any]], imported: str, rater_id: int) -> RevisionSeen:
    lines: dict[tuple[Any, ...], list[_Stands]] = {}
    versions: dict[UUID, Version] = {}
    changes: list[tuple[UUID, str]] = []
    now: UUID | None = None
    for row in rows:
        line = lines.setdefault((row.rater_id, row.assignment_id, row.phase), [])
        # What is brought back is a version already, unless only a part of the record came here.
        if row.active and row.restores not in versions:
            versions[row.id] = Version(row.id, row.text, row.rater, row.rater_id == rater_id, row.created_at)
        line.append(_after(row, line, versions))
        standing = [each[-1] for each in lines.values() if each[-1].version in versions]
        latest = max(standing, key=lambda one: one.since, default=None)
        if (latest.version if latest else None) != now:
            now = latest.version if latest else None
            changes.append((row.id, versions[now].text if now else imported))
    undone = {row.target_action: row.origin == "undo" for row in rows if row.target_action is not None}
    actions = {row.id: row.action for row in rows}
    shown = {
        key: Version(
            *(version.id, version.text, version.rater, version.is_own, version.created_at),
            taken_back=undone.get(actions[key], False),
        )
        for key, version in versions.items()
    }
    return RevisionSeen(imported, tuple(shown.values()), shown[now] if now else None, tuple(changes))


def _after(row: Row[Any], line: list[_Stands], versions: Mapping[UUID, Version]) -> _Stands:
    """Return what stands of a rater after a record.

    Args:
        row: The record.
        line: What stood after each of the rater's records before it.
        versions: What was written so far.
    """
    if row.origin == "undo":
        # What stood before the action stands again as it did then, so that what another rater wrote since
        # stays before it.
        first = next((place for place, one in enumerate(line) if one.action == row.target_action), 0)
        if first:
            return _Stands(row.action, line[first - 1].since, line[first - 1].version)
    if not row.active:
        return _Stands(row.action, row.id, None)
    return _Stands(row.action, row.id, row.restores if row.restores in versions else row.id)
