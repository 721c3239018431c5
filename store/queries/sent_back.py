"""What adjudicators sent back to the raters of a study, with the notes that came with it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from store.policy.rows import in_sitting
from store.policy.scope import DISCUSS, Scope
from store.tables.columns import table_of
from store.tables.people import Assignment, SentBack


def sent_back(connection: Connection, study_id: int) -> dict[int, str]:
    """Return the notes on the items of a study that were sent back, by item; empty where there is none."""
    table = table_of(SentBack)
    rows = connection.execute(select(table.c.item_id, table.c.note).where(table.c.study_id == study_id))
    return {row.item_id: row.note for row in rows}


def notes_for(connection: Connection, scope: Scope) -> Mapping[int, str]:
    """Return the notes on the items that are asked again in a rater's sitting; empty outside of studies."""
    table, assignment = table_of(SentBack), table_of(Assignment)
    rows = connection.execute(
        select(assignment.c.item_id, table.c.note)
        .outerjoin(
            table, (table.c.study_id == assignment.c.study_id) & (table.c.item_id == assignment.c.item_id)
        )
        .where(in_sitting(scope), assignment.c.phase == DISCUSS)
    )
    return {row.item_id: row.note or "" for row in rows}
