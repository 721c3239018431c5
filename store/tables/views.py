"""Saved views: filters of the queue under a name."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, string, uid


class SavedView(SQLModel, table=True):
    """A filter and an order of the queue; `query` is JSON (see store.queries.saved_views)."""

    __tablename__ = "saved_view"

    id: UUID = uid(primary_key=True)
    name: str = string()
    rater_id: int = big()
    query: str = string()
    created_at: datetime = moment()
