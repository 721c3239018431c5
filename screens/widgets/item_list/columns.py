"""The columns of the item list, fitted to a width."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rich.cells import cell_len

from agents.pipelines.registry import kinds_with_agents
from screens.widgets.text.sanitize import one_line
from store.kinds.comparison import COMPARISON, shown_word
from store.kinds.spec import ranked_kinds, task_kinds
from store.queries.rows import FAILED_PATH, QueueRow

Part = Literal["mark", "yours", "agents", "text", "muted"]
"""Whose a cell is; the list has a style for each."""

Write = Literal["none", "saving", "failed"]
"""Whether something of the item is still on its way to the disk."""

NARROW, MEDIUM, WIDE = 76, 90, 118
"""Cells from which a list has room for the agents' path, for the similarity, for longer names."""

WAITS = "◇"
"""Stands where the agents' label would: they cannot run the item's test before there is a sandbox."""

NOT_READ = "┄"
"""Stands in a line whose item is not read yet."""

_INDENTATION = re.compile(r"\n\s+")
_STATUS = {"judged": "●", "open": "○", "skipped": "»", "cannot_decide": "?"}


@cache
def value_word(kind: str, value: float | None) -> str:
    """Return the decisive label of an item as "1 match" or "keep", empty without one."""
    if value is None:
        return ""
    known = task_kinds().get(kind)
    return known.label_word(value) if known else f"{value:g}"


def _mark(row: QueueRow) -> str:
    return ("▲" if row.disagrees else " ") + ("⚑" if row.flagged else " ")


def _yours(row: QueueRow) -> str:
    if row.status == "cannot_decide":
        return "undecided"
    if row.status == "skipped":
        return "skipped"
    if row.status == "judged" and row.label is not None:
        # The words that the rater chose among: of a comparison left and right.
        if row.kind == COMPARISON.name and row.shown_as:
            return shown_word(row.label, row.reason, row.shown_as)
        return value_word(row.kind, row.label)
    # Without a single label, or not fully answered: how many of the questions are answered.
    return f"{row.answered} of {row.required}" if row.answered else ""


def _agents(row: QueueRow) -> str:
    """Return the agents' label; of an item that waits, the word that `_path` goes on with."""
    return f"{WAITS} needs" if row.needs_sandbox else value_word(row.kind, row.agent_label)


def _agents_marked(row: QueueRow) -> str:
    return f"◆ {_agents(row)}" if row.agent_label is not None else _agents(row)


def _agents_alone(row: QueueRow) -> str:
    if row.agent_path == FAILED_PATH:
        return f"! {FAILED_PATH}"
    return f"{WAITS} no sandbox" if row.needs_sandbox else _agents_marked(row)


def _path(row: QueueRow) -> str:
    return "sandbox" if row.needs_sandbox else row.agent_path or ""


def _title(row: QueueRow) -> str:
    # Of several lines the indentation would leave no room for their words.
    return _INDENTATION.sub("\n", row.title) or row.external_id


def _similarity(row: QueueRow) -> str:
    return "" if row.similarity is None else f"{row.similarity:.2f}".replace("0.", ".", 1)


def _detail_word(kinds: frozenset[str]) -> str:
    """Return what the detail of items is called; one word where they are of several kinds."""
    words = {known.queue.detail_word for name, known in task_kinds().items() if name in kinds}
    return words.pop() if len(words) == 1 else "detail"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, its width in cells, whose it is, and what it shows of an item."""

    title: str
    width: int
    part: Part
    text: Callable[[QueueRow], str]


Cell = tuple[str, Part]


class Columns:
    """The columns of a list, fitted to a width.

    Args:
        width: Cells of a line.
        blind: Leave out what is the agents'.
        kinds: Of which kinds the items may be; empty where that is not known. What none of them has takes no
            room.
    """

    def __init__(self, width: int, *, blind: bool, kinds: frozenset[str] = frozenset()) -> None:
        self.width, self.kinds = width, kinds
        yours = Column("you", 10, "yours", _yours)
        agents: list[Column] = []
        if not blind and (not kinds or kinds & kinds_with_agents()):
            if width < NARROW:
                agents = [Column("◆ agents", 12, "agents", _agents_alone)]
            elif width < MEDIUM:
                agents = [Column("◆ agents", 10, "agents", _agents), Column("path", 9, "agents", _path)]
            else:
                agents = [
                    Column("◆ agents", 12, "agents", _agents_marked),
                    Column("path", 9, "agents", _path),
                ]
        ranked = not kinds or kinds & ranked_kinds()
        after = [Column("sim", 4, "muted", _similarity)] if ranked and width >= MEDIUM else []
        # A line begins with cursor, status, disagreement and flag; a gap precedes every column.
        taken = 4 + sum(column.width + 1 for column in (yours, *agents, *after))
        free = max(0, width - taken - 2)
        name = min(18 if width < MEDIUM else 26 if width < WIDE else 34, free // 3)
        self.columns = (
            yours,
            *agents,
            Column("item", free - name, "text", _title),
            Column(_detail_word(kinds), name, "muted", lambda row: row.detail),
            *after,
        )

    def heading(self) -> str:
        """Return the line above the items."""
        return self._filled("    " + "".join(f" {_fit(one.title, one.width)}" for one in self.columns))

    def cells(self, row: QueueRow, *, cursor: bool, write: Write = "none") -> list[Cell]:
        """Return the cells of an item's line, together as wide as the list.

        Args:
            row: The item.
            cursor: Whether it is the one under the cursor.
            write: Whether something of it is not on disk yet.
        """
        status = {"saving": "…", "failed": "!"}.get(write, _STATUS[row.status])
        cells: list[Cell] = [("▸" if cursor else " ", "mark"), (status, "yours"), (_mark(row), "mark")]
        for column in self.columns:
            cells.append((f" {_fit(column.text(row), column.width)}", column.part))
        missing = self.width - sum(cell_len(text) for text, _ in cells)
        if missing > 0:
            cells.append((" " * missing, "text"))
        return cells

    def blank(self, *, cursor: bool) -> list[Cell]:
        """Return the cells of a line whose item is not read yet."""
        return [
            ("▸" if cursor else " ", "mark"),
            (self._filled(f"{NOT_READ}    {NOT_READ * 8}")[:-1], "muted"),
        ]

    def _filled(self, text: str) -> str:
        return _fit(text, self.width)


def _fit(text: str, width: int) -> str:
    """Return a text in exactly so many cells, made harmless."""
    shown = one_line(text, width)
    return shown + " " * (width - cell_len(shown))
