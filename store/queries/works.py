"""Works of a workspace that are no runs of the agents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, select, true

from store.tables.columns import table_of
from store.tables.runs import WorkRow

MOST = 200
"""Works that are listed, the latest ones."""


def listed_works(connection: Connection, kind: str = "") -> tuple[WorkRow, ...]:
    """Return the works, the one begun last first, without what each goes on from.

    Args:
        kind: Their kind; empty for all.
    """
    table = table_of(WorkRow)
    columns = [column for column in table.columns if column.name != "kept"]
    found = (
        select(*columns)
        .where(table.c.kind == kind if kind else true())
        .order_by(table.c.started_at.desc(), table.c.id.desc())
        .limit(MOST)
    )
    return tuple(WorkRow(**row) for row in connection.execute(found).mappings())


def unfinished_work(connection: Connection, kind: str, description: str) -> WorkRow | None:
    """Return the work of a kind and description that was begun last, unless it is done; None for none."""
    table = table_of(WorkRow)
    found = (
        select(table)
        .where(table.c.kind == kind, table.c.description == description)
        .order_by(table.c.started_at.desc(), table.c.id.desc())
        .limit(1)
    )
    row = connection.execute(found).mappings().first()
    return None if row is None or row["state"] == "done" else WorkRow(**row)


def work_row(connection: Connection, key: UUID) -> WorkRow | None:
    """Return a work with all that it kept; None where there is none."""
    table = table_of(WorkRow)
    row = connection.execute(select(table).where(table.c.id == key)).mappings().first()
    return None if row is None else WorkRow(**row)
