"""The state of a rater's session, stored so that it can go on in another terminal.

SQLAlchemy is imported when something is stored: screens import this before anything is shown.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from store.record.ids import now

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.policy.scope import Scope
    from store.workspace.duckdb import Workspace


def session_key(name: str, scope: Scope) -> str:
    """Return the key of a state that each sitting of a study has of its own."""
    sitting = scope.sitting
    return name if sitting is None else f"{name} of study {sitting.study}, sitting {sitting.number}"


def save_session(workspace: Workspace, rater_id: int, key: str, value: dict[str, Any]) -> Future[None]:
    """Store a JSON-able value under a key of a rater, in place of an earlier one."""
    text = json.dumps(value)

    def write(connection: Connection) -> None:
        from sqlalchemy import delete, insert

        from store.tables.columns import table_of
        from store.tables.people import SessionState

        table = table_of(SessionState)
        connection.execute(delete(table).where(table.c.rater_id == rater_id, table.c.key == key))
        connection.execute(insert(table).values(rater_id=rater_id, key=key, value=text, updated_at=now()))

    return workspace.lane.submit(write)


def load_session(workspace: Workspace, rater_id: int, key: str) -> dict[str, Any]:
    """Return the value under a key of a rater, empty when there is nothing readable."""
    from sqlalchemy import select

    from store.tables.columns import table_of
    from store.tables.people import SessionState

    table = table_of(SessionState)
    with workspace.reading() as connection:
        found = select(table.c.value).where(table.c.rater_id == rater_id, table.c.key == key)
        text = connection.execute(found).scalar()
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
