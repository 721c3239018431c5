"""The context of items as it is kept: by a setting, which one retriever has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from agents.jobs.work import MOST_NAME
from store.errors import WorkbenchError
from store.kinds.completion_settings import IN_FILE
from store.tables.appending import append_rows
from store.tables.columns import among, table_of
from store.tables.responses import ContextChunk

if TYPE_CHECKING:
    from sqlalchemy import Connection

Rows = Mapping[int, Sequence[Mapping[str, Any]]]
"""Rows of `ContextChunk` by item."""


def check_setting(name: str) -> None:
    """Refuse what is no name of a setting.

    Raises:
        WorkbenchError: It is none.
    """
    # What follows a plus is the decoding of completions.
    if not 0 < len(name) <= MOST_NAME or name == IN_FILE or "+" in name or not name.isprintable():
        raise WorkbenchError(
            "No name",
            f"{name[:MOST_NAME]!r} is no name of context.",
            f"Give one of at most {MOST_NAME} characters, without +, not {IN_FILE}: --setting rg1_bm25",
        )


def items_with_context(
    connection: Connection, setting: str, items: Sequence[int], how: Mapping[str, Any]
) -> set[int]:
    """Return which items have context under a setting.

    Args:
        connection: A reading connection.
        setting: The setting.
        items: The items of the kind that is asked about.
        how: The retriever, which is kept with each piece.

    Raises:
        WorkbenchError: Other context has that setting.
    """
    chunk = table_of(ContextChunk)
    asked = select(chunk.c.item_id, chunk.c.extra).where(chunk.c.setting == setting)
    wanted = set(items)
    known = [one for one in connection.execute(asked) if one.item_id in wanted]
    if not all(how.items() <= json.loads(one.extra).items() for one in known):
        raise WorkbenchError(
            "Setting taken",
            f"There is context under {setting!r} that was imported, or found in another way.",
            "Name another setting: --setting NAME",
        )
    return {one.item_id for one in known}


def write_context(rows: Rows, setting: str, connection: Connection) -> int:
    """Write the context of items that have none under the setting by now; return how many these are."""
    new = rows.keys() - _with_context(connection, setting, rows)
    append_rows(connection, table_of(ContextChunk), [row for item_id in sorted(new) for row in rows[item_id]])
    return len(new)


def _with_context(connection: Connection, setting: str, items: Iterable[int]) -> set[int]:
    chunk = table_of(ContextChunk)
    asked = select(chunk.c.item_id).where(chunk.c.setting == setting, among(chunk.c.item_id, list(items)))
    return set(connection.execute(asked).scalars())
