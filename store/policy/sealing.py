"""Which sessions are sealed: those of an open study's raters, and all in a packet.

They see what assignments show. The statements are plain SQL: a start has no time to import SQLAlchemy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.policy.packet_fact import SELECT_FACT, PacketFact

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace

_OPEN_STUDIES = """
    SELECT s.name FROM study_rater m JOIN study s ON s.id = m.study_id JOIN rater r ON r.id = m.rater_id
    WHERE {} = ? AND m.withdrawn_at IS NULL AND s.frozen_at IS NOT NULL AND s.closed_at IS NULL
    ORDER BY s.frozen_at, s.id"""


def open_studies(connection: Connection, rater_id: int) -> list[str]:
    """Return the names of the studies in which a person is a rater now, in the order they were frozen."""
    found = connection.exec_driver_sql(_OPEN_STUDIES.format("r.id"), (rater_id,))
    return list(found.scalars())


def is_sealed(connection: Connection, rater: RaterRef | None) -> bool:
    """Return whether a session sees only what assignments show: of an open study's rater, or in a packet."""
    if packet_of(connection) is not None:
        return True
    return rater is not None and bool(open_studies(connection, rater.id))


def is_in_study(workspace: Workspace, rater: str) -> bool:
    """Return whether the person of a name is a rater of an open study."""
    cursor = workspace.native()
    try:
        return cursor.execute(_OPEN_STUDIES.format("r.name"), [rater]).fetchone() is not None
    finally:
        cursor.close()


def packet_of(connection: Connection) -> PacketFact | None:
    """Return what a packet says of itself; None where the workspace is no packet."""
    text = connection.exec_driver_sql(SELECT_FACT).scalar()
    return None if text is None else PacketFact.from_json(str(text))


def packet_in(workspace: Workspace) -> PacketFact | None:
    """Return what a packet says of itself; None where the workspace is no packet."""
    cursor = workspace.native()
    try:
        row = cursor.execute(SELECT_FACT).fetchone()
    finally:
        cursor.close()
    return None if row is None else PacketFact.from_json(row[0])
