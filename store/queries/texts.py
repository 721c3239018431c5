"""The texts of items of every kind, for programs that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from store.kinds.protocol import task_kinds
from store.queries.revisions import standing_texts

if TYPE_CHECKING:
    from sqlalchemy import Connection


def item_texts(connection: Connection, item_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the texts of some items by item, each under its name: of a pair query, code, language...

    Of one that experts rewrote it is the text that stands now; `revised` names these.

    Args:
        connection: A reading connection.
        item_ids: The items; those that are not there are left out.
    """
    found: dict[int, dict[str, Any]] = {}
    for kind in task_kinds().values():
        of_kind = {}
        for row in connection.execute(kind.texts(item_ids)).mappings():
            texts = dict(row)
            of_kind[texts.pop("item_id")] = texts
        if kind.editable and of_kind:
            standing = standing_texts(connection, list(of_kind))
            for item_id, texts in of_kind.items():
                revised = standing.get(item_id, {})
                texts.update(revised, revised=sorted(revised))
        found |= of_kind
    return found
