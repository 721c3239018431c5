"""The texts of items of every kind, for programs that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from store.kinds.protocol import task_kinds

if TYPE_CHECKING:
    from sqlalchemy import Connection


def item_texts(connection: Connection, item_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the texts of some items by item, each under its name: of a pair query, code, language...

    Args:
        connection: A reading connection.
        item_ids: The items; those that are not there are left out.
    """
    found: dict[int, dict[str, Any]] = {}
    for kind in task_kinds().values():
        for row in connection.execute(kind.texts(item_ids)).mappings():
            texts = dict(row)
            found[texts.pop("item_id")] = texts
    return found
