"""Completion tasks as models get them: what is before the cursor and after it, and pieces of other files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from store.tables.columns import among, table_of
from store.tables.imported import Completion, Item
from store.tables.responses import ContextChunk


@dataclass(frozen=True, slots=True)
class CompletionTask:
    """A task without its reference.

    Attributes:
        suffix: What follows the reference in the file.
        pieces: By setting, the pieces of other files as path and text, best first.
    """

    item_id: int
    external_id: str
    language: str
    prompt: str
    suffix: str
    pieces: Mapping[str, Sequence[tuple[str, str]]]

    @property
    def code(self) -> str:
        """The file up to the cursor, as prompts call it."""
        return self.prompt


def completion_tasks(connection: Connection, item_ids: Sequence[int]) -> list[CompletionTask]:
    """Read tasks, in the order given; ids of missing items are left out."""
    item, task, chunk = table_of(Item), table_of(Completion), table_of(ContextChunk)
    pieces = defaultdict[int, dict[str, list[tuple[str, str]]]](dict)
    asked = (
        select(chunk.c.item_id, chunk.c.setting, chunk.c.path, chunk.c.text)
        .where(among(chunk.c.item_id, list(item_ids)))
        .order_by(chunk.c.item_id, chunk.c.setting, chunk.c.rank)
    )
    for item_id, setting, path, text in connection.execute(asked):
        pieces[item_id].setdefault(setting, []).append((path, text))
    columns = (item.c.id, item.c.external_id, task.c.language, task.c.prompt, task.c.right_context)
    rows = connection.execute(
        select(*columns).join(task, task.c.item_id == item.c.id).where(among(item.c.id, list(item_ids)))
    )
    found = {
        row.id: CompletionTask(
            row.id, row.external_id, row.language or "", row.prompt, row.right_context, pieces[row.id]
        )
        for row in rows
    }
    return [found[number] for number in item_ids if number in found]


def context_settings(connection: Connection) -> list[str]:
    """Return the settings under which completion tasks have context, by name."""
    task, chunk = table_of(Completion), table_of(ContextChunk)
    asked = select(chunk.c.setting).join(task, task.c.item_id == chunk.c.item_id).distinct()
    return sorted(connection.execute(asked).scalars())
