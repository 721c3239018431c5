"""Which text of an item stands after experts rewrote it, from the records alone.

Both the review, which reads through SQLAlchemy, and what must not wait for its import rest on this: a start,
an export. A revision is a mark with the whole new text. Of several raters' the one that was written or
brought back last stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import duckdb


@dataclass(slots=True)
class _Stands:
    """What stands of a rater after a record: a version, or None; `since` tells which is the latest."""

    action: UUID
    since: UUID
    version: UUID | None


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


def changes_of(records: Sequence[Any]) -> list[tuple[UUID, UUID | None]]:
    """Return after which records another version of a text stood.

    Args:
        records: The marks by which one text of one item was rewritten, in the order of their ids, with the
            columns of the table `mark`.

    Returns:
        The id of each such record with that of the version that stood from then on, None for the imported.
    """
    lines: dict[tuple[Any, ...], list[_Stands]] = {}
    versions: set[UUID] = set()
    changes: list[tuple[UUID, UUID | None]] = []
    now: UUID | None = None
    for record in records:
        line = lines.setdefault((record.rater_id, record.assignment_id, record.phase), [])
        if is_version(record, versions):
            versions.add(record.id)
        line.append(_after(record, line, versions))
        standing = [each[-1] for each in lines.values() if each[-1].version in versions]
        latest = max(standing, key=lambda one: one.since, default=None)
        if (latest.version if latest else None) != now:
            now = latest.version if latest else None
            changes.append((record.id, now))
    return changes


def is_version(record: Any, known: Collection[UUID]) -> bool:
    """Return whether a record brings a text of its own.

    What is brought back is a version already, unless only a part of the record came here.

    Args:
        record: A mark.
        known: The ids of the versions before it.
    """
    return bool(record.active) and record.restores not in known


def _after(record: Any, line: list[_Stands], versions: Collection[UUID]) -> _Stands:
    """Return what stands of a rater after a record.

    Args:
        record: The record.
        line: What stood after each of the rater's records before it.
        versions: The ids of what was written so far.
    """
    if record.origin == "undo":
        # What stood before the action stands again as it did then, so that what another rater wrote since
        # stays before it.
        first = next((place for place, one in enumerate(line) if one.action == record.target_action), 0)
        if first:
            return _Stands(record.action, line[first - 1].since, line[first - 1].version)
    if not record.active:
        return _Stands(record.action, record.id, None)
    back = record.restores in versions
    return _Stands(record.action, record.id, record.restores if back else record.id)


def standing_texts(
    cursor: duckdb.DuckDBPyConnection, item_ids: Collection[int] | None = None
) -> dict[int, dict[str, str]]:
    """Return the columns of items that stand otherwise than they were imported, with their texts.

    Args:
        cursor: A cursor of the workspace.
        item_ids: Of which items; None for all. Those of which nothing was rewritten are left out.
    """
    if item_ids is not None and not item_ids:
        return {}
    among = "" if item_ids is None else f"AND item_id IN ({', '.join(str(int(one)) for one in item_ids)})"
    rows = cursor.execute(
        "SELECT item_id, substr(kind, 10), id, action, rater_id, assignment_id, phase, active, text, origin, "
        f"target_action, restores FROM mark WHERE starts_with(kind, 'revision.') {among} ORDER BY id"
    ).fetchall()
    of_parts: dict[tuple[int, str], list[_Record]] = {}
    for record in map(_Record._make, rows):
        of_parts.setdefault((record.item_id, record.part), []).append(record)
    found: dict[int, dict[str, str]] = {}
    for (item_id, part), records in of_parts.items():
        changes = changes_of(records)
        if changes and (version := changes[-1][1]) is not None:
            found.setdefault(item_id, {})[part] = next(one.text for one in records if one.id == version)
    return found
