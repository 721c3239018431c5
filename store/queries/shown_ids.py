"""How items are called on screens and by commands.

Ids of imported files can name models, and follow the order of import. Where an item has names that stay
hidden it is called by digits of the hash of its content, which its texts alone decide.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, case, func, select

from store.kinds.spec import task_kinds
from store.tables.columns import table_of
from store.tables.imported import Item

_LETTER, _DIGITS = "c-", 10


def shown_id() -> ColumnElement[str]:
    """Return what an item of the table of items is called: its id in the file, or one that tells nothing."""
    item = table_of(Item)
    kinds = [kind.name for kind in task_kinds().values() if kind.record.hidden]
    opaque = func.concat(_LETTER, func.left(item.c.content_hash, _DIGITS))
    return case((item.c.kind.in_(kinds), opaque), else_=item.c.external_id)


def shown_name(connection: Connection, item_id: int) -> str:
    """Return what an item is called."""
    found: str = connection.execute(select(shown_id()).where(table_of(Item).c.id == item_id)).scalar_one()
    return found
