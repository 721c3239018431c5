"""The store part of a task kind, and the registry in which kinds are found."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from store.plugins import registered
from store.scales import Scale

if TYPE_CHECKING:
    from sqlalchemy import Select

GROUP = "workbench.task_kinds"


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """A question that every item of a kind is asked."""

    name: str
    text: str
    scale: Scale


@dataclass(frozen=True, slots=True)
class TaskKind:
    """The store part of a task kind.

    Attributes:
        name: The kind, as items carry it.
        plural: What its items are called on screens.
        questions: What is asked; the first one is the label that queues show.
        guideline_version: The version of the guideline text.
        guideline: What raters are told before they judge.
        summary: Given item ids (None: all), returns a select of (item_id, title, detail, rank,
            similarity), one row an item, from which queues are listed and sorted.
        texts: Given item ids, returns a select of (item_id, ...) with the texts of each item, under the names
            that programs know them by.
        containing: Given a text, returns a select of the ids of the items that contain it, in any case.
    """

    name: str
    plural: str
    questions: tuple[QuestionSpec, ...]
    guideline_version: str
    guideline: str
    summary: Callable[[Collection[int] | None], Select[Any]]
    texts: Callable[[Collection[int]], Select[Any]]
    containing: Callable[[str], Select[Any]]


@cache
def task_kinds() -> dict[str, TaskKind]:
    """Return every registered kind by name, ours and those of other packages."""
    return {kind.name: kind for kind in registered(GROUP, TaskKind, ".store")}
