"""What models answered to an item."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import big, string


class Response(SQLModel, table=True):
    """What a model made of an item: a completion, an answer; (item, model, setting, trial) is its key."""

    id: int = big(primary_key=True)
    item_id: int = big()
    model: str = string()
    setting: str = string(default="")
    trial: int = big(default=0)
    text: str = string()
    extra: str = string(default="{}")
    source_id: int = big(default=0)
