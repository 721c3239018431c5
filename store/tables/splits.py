"""Splits: named parts of the ground truth."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, real, string, uid


class Split(SQLModel, table=True):
    """A split of the items with a true label.

    `plan` and `report` are JSON (see store.splits.splits): how it was made, and its sizes, balance, agreement
    and leakage of then. `last_judgment` is the highest id of a judgment of then; `digest` is that of the true
    labels.
    """

    id: UUID = uid(primary_key=True)
    name: str = string()
    question: str = string()
    kind: str = string()
    plan: str = string()
    created_at: datetime = moment()
    last_judgment: UUID | None = uid(default=None, nullable=True)
    digest: str = string()
    report: str = string()


class SplitLabel(SQLModel, table=True):
    """A true label of an item of a split, or of a response to it; `part` is the item's."""

    __tablename__ = "split_label"

    split_id: UUID = uid(primary_key=True)
    item_id: int = big(primary_key=True)
    response_ref_id: int | None = big(default=None, nullable=True)
    part: str = string()
    value: float = real()
