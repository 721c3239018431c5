"""The texts of items of every kind, for programs that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from store.kinds.listing import texts as texts_of
from store.kinds.spec import task_kinds
from store.record.revisions import current_texts

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
        for row in connection.execute(texts_of(kind, item_ids)).mappings():
            texts = dict(row)
            of_kind[texts.pop("item_id")] = texts
        if kind.editing.columns and of_kind:
            standing = current_texts(connection, list(of_kind))
            for item_id, texts in of_kind.items():
                revised = standing.get(item_id, {})
                texts.update(revised, revised=sorted(revised))
        found |= of_kind
    return found
