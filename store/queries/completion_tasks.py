"""Completion tasks as models get them: what is before the cursor and after it, and pieces of other files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.tables.columns import among, table_of
from store.tables.imported import Completion, Item
from store.tables.responses import ContextChunk, Response, ResponseRef


@dataclass(frozen=True, slots=True)
class CompletionTask:
    """A task without its reference.

    Attributes:
        suffix: What follows the reference in the file.
        pieces: By setting, the pieces of other files as path and text, best first.
        made: By model and setting, the runs that made responses to any task; None among them for an import.
    """

    item_id: int
    external_id: str
    language: str
    prompt: str
    suffix: str
    pieces: Mapping[str, Sequence[tuple[str, str]]]
    made: Mapping[tuple[str, str], frozenset[UUID | None]] = field(default_factory=dict)

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
    made = _made(connection)
    found = {
        row.id: CompletionTask(
            *(row.id, row.external_id, row.language or "", row.prompt, row.right_context),
            pieces[row.id],
            made,
        )
        for row in rows
    }
    return [found[number] for number in item_ids if number in found]


def _made(connection: Connection) -> dict[tuple[str, str], frozenset[UUID | None]]:
    """Return the runs that made responses to tasks, by model and setting."""
    ref, response, task = table_of(ResponseRef), table_of(Response), table_of(Completion)
    asked = (
        select(ref.c.model, ref.c.setting, response.c.run_id)
        .join(response, response.c.id == ref.c.id)
        .join(task, task.c.item_id == ref.c.item_id)
        .distinct()
    )
    found = defaultdict[tuple[str, str], set[UUID | None]](set)
    for model, setting, run in connection.execute(asked):
        found[model, setting].add(run)
    return {key: frozenset(runs) for key, runs in found.items()}


def tasks_with(connection: Connection, setting: str | None, *, followed: bool) -> list[int]:
    """Return the keys of tasks in order: with context under a setting, if one is named, and with a suffix."""
    task, chunk = table_of(Completion), table_of(ContextChunk)
    asked = select(task.c.item_id).order_by(task.c.item_id)
    if setting is not None:
        asked = asked.where(task.c.item_id.in_(select(chunk.c.item_id).where(chunk.c.setting == setting)))
    if followed:
        asked = asked.where(func.trim(task.c.right_context, " \t\r\n\f\v") != "")
    return list(connection.execute(asked).scalars())


def context_settings(connection: Connection) -> list[str]:
    """Return the settings under which completion tasks have context, by name."""
    task, chunk = table_of(Completion), table_of(ContextChunk)
    asked = select(chunk.c.setting).join(task, task.c.item_id == chunk.c.item_id).distinct()
    return sorted(connection.execute(asked).scalars())
