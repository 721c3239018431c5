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

from store.rewritten import changes_of, is_version
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
class RevisionView:
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


def load_revisions(
    connection: Connection, item_id: int, fields: Mapping[str, Any], rater_id: int = 0
) -> dict[str, RevisionView]:
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


def _seen(rows: list[Row[Any]], imported: str, rater_id: int) -> RevisionView:
    versions: dict[UUID, Row[Any]] = {}
    for row in rows:
        if is_version(row, versions):
            versions[row.id] = row
    undone = {row.target_action: row.origin == "undo" for row in rows if row.target_action is not None}
    shown = {
        key: Version(
            *(key, row.text, row.rater, row.rater_id == rater_id, row.created_at),
            taken_back=undone.get(row.action, False),
        )
        for key, row in versions.items()
    }
    changes = changes_of(rows)
    stood = tuple((record, imported if key is None else versions[key].text) for record, key in changes)
    now = changes[-1][1] if changes else None
    return RevisionView(imported, tuple(shown.values()), None if now is None else shown[now], stood)
