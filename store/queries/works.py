"""Works of a workspace that are no runs of the agents."""

from __future__ import annotations

from sqlalchemy import Connection, select

from store.tables.columns import table_of
from store.tables.runs import WorkRow

MOST = 200
"""Works that are listed, the latest ones."""


def listed_works(connection: Connection) -> tuple[WorkRow, ...]:
    """Return the works, the one begun last first."""
    table = table_of(WorkRow)
    found = select(table).order_by(table.c.started_at.desc(), table.c.id.desc()).limit(MOST)
    return tuple(WorkRow(**row) for row in connection.execute(found).mappings())
