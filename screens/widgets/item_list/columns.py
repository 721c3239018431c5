"""The columns of the item list, fitted to a width."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from typing import Literal

from rich.cells import cell_len

from screens.widgets.cursor_lines import CURSOR
from screens.widgets.item_list.lines import Lines
from screens.widgets.text.sanitize import one_line
from store.kinds.comparison import COMPLETIONS, shown_word
from store.kinds.spec import task_kinds, two_sided_kinds
from store.queries.rows import FAILED_PATH, QueueRow

CellStyle = Literal["mark", "yours", "agents", "text", "muted"]
"""Whose a cell is; the list has a style for each."""

Write = Literal["none", "saving", "failed"]
"""Whether something of the item is still on its way to the disk."""

WAITS = "∅"
"""Stands where the agents' label would: they cannot run the item's test before there is a sandbox."""

AGENTS_YES, AGENTS_NO = "◆", "◇"
"""The agents' label as a mark; unlike ◆ and ◇ they take one cell in every font, side by side too."""

NOT_READ = "┄"
"""Stands in a line whose item is not read yet."""

MOST_DOTS = 10
"""Up to so many questions of an item are shown as dots."""

_SHORT_TITLE, _TITLE, _LONG_TITLE, _FEW_MARKS = 20, 32, 48, 20
"""Cells that a title keeps before a name and a kind's letter get room, before other columns do, and before
kinds are words and there are more than so many marks."""
_SIGNS = 4
"""Cells of cursor, status, disagreement and flag, with which a line begins."""
_YOU, _AGENTS, _NAME, _LETTER = 10, 12, 14, 2
"""Cells of your label, of the agents', of a name at least, and of a kind's letter with a blank behind it."""
_GAP = "  "
"""What precedes a column; a sign of another width in some fonts must not touch the next one."""
_KIND = "kind"
_MARKS = "marks"
"""The heading of the marks."""

_INDENTATION = re.compile(r"\n\s+")
_STATUS = {"judged": "●", "open": "○", "skipped": "»", "cannot_decide": "?"}
_WRITE: dict[Write, str] = {"saving": "…", "failed": "!"}


@cache
def value_word(kind: str, value: float | None) -> str:
    """Return the decisive label of an item as "1 match" or "keep", empty without one."""
    if value is None:
        return ""
    known = task_kinds().get(kind)
    return known.label_word(value) if known else f"{value:g}"


@cache
def _is_no(kind: str, value: float) -> bool:
    """Return whether a label is the lower one of two, such as "0 no match"."""
    known = task_kinds().get(kind)
    scale = known.label_question.scale if known and known.label_question else None
    values = [one.value for one in scale.values] if scale else []
    return len(values) == 2 and value == min(values)


def mark_of(row: QueueRow, write: Write = "none") -> Cell:
    """Return an item as one mark: your label, without one the agents', or that they disagree."""
    if write in _WRITE:
        return _WRITE[write], "yours"
    if row.disagrees:
        return "▲", "mark"
    if row.status == "judged":
        return "×" if row.label is not None and _is_no(row.kind, row.label) else "●", "yours"
    if row.status == "open" and row.agent_label is not None:
        return AGENTS_NO if _is_no(row.kind, row.agent_label) else AGENTS_YES, "agents"
    return _STATUS[row.status], "yours"


def _yours(row: QueueRow) -> str:
    if row.status == "cannot_decide":
        return "undecided"
    if row.status == "skipped":
        return "skipped"
    if row.status == "judged" and row.label is not None:
        # The words that the rater chose among: of a comparison left and right.
        if row.kind in two_sided_kinds() and row.shown_as:
            return shown_word(row.label, row.reason, row.shown_as)
        return value_word(row.kind, row.label)
    if row.required == 1:
        return ""
    # Without a single label, or not fully answered: how many of the questions are answered.
    if row.required > MOST_DOTS:
        return f"{row.answered} of {row.required}" if row.answered else ""
    answered = min(row.answered, row.required)
    return "●" * answered + "○" * (row.required - answered)


def _agents(row: QueueRow) -> str:
    if row.agent_path == FAILED_PATH:
        return f"! {FAILED_PATH}"
    if row.needs_sandbox:
        return f"{WAITS} no sandbox"
    return f"◆ {value_word(row.kind, row.agent_label)}" if row.agent_label is not None else ""


def _path(row: QueueRow) -> str:
    return "" if row.needs_sandbox or row.agent_path == FAILED_PATH else row.agent_path or ""


def _title(row: QueueRow) -> str:
    if row.kind in two_sided_kinds() and row.detail == COMPLETIONS:
        # The candidates go on where the prompt ends; files begin alike.
        return row.title.rstrip().rpartition("\n")[2].strip()
    # Of several lines the indentation would leave no room for their words.
    return _INDENTATION.sub("\n", row.title).strip() or row.external_id


def _similarity(row: QueueRow) -> str:
    return "" if row.similarity is None else f"{row.similarity:.2f}".replace("0.", ".", 1)


def _kind_word(kind: str) -> str:
    known = task_kinds().get(kind)
    return known.singular if known is not None else kind


@cache
def kind_letters() -> Mapping[str, str]:
    """Return a letter for each kind: the first of its word that no kind before it has."""
    letters: dict[str, str] = {}
    for name, kind in task_kinds().items():
        free = (each for each in kind.singular if each.isalpha() and each not in letters.values())
        letters[name] = next(free, kind.singular[:1])
    return letters


def _letter(kind: str) -> str:
    return kind_letters().get(kind, kind[:1])


def _detail_word(kinds: frozenset[str]) -> str:
    """Return what the detail of items is called; one word where they are of several kinds."""
    words = {known.queue.detail_word for name, known in task_kinds().items() if name in kinds}
    return words.pop() if len(words) == 1 else "detail"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, its width in cells, whose it is, and what it shows of an item."""

    title: str
    width: int
    part: CellStyle
    text: Callable[[QueueRow], str]


Cell = tuple[str, CellStyle]


@dataclass(frozen=True, slots=True)
class Contents:
    """What the lines of a list hold: only columns of that are shown.

    Attributes:
        kinds: Of which kinds the items may be; empty where that is not known.
        agents: Whether agents have worked on any of them.
        path: Whether it is known of any of them how the agents came to their label.
        largest: Most items on a line.
        singles: Whether there is a line of one item.
    """

    kinds: frozenset[str] = frozenset()
    agents: bool = False
    path: bool = False
    detail: bool = False
    similarity: bool = False
    largest: int = 1
    singles: bool = True

    def of(self, lines: Lines) -> Contents:
        """Return the contents with the sizes of other lines."""
        return replace(self, largest=lines.largest, singles=lines.singles)

    def seen(self, rows: Sequence[QueueRow]) -> Contents:
        """Return the contents with what some of the items turned out to have."""
        return replace(
            self,
            agents=self.agents or any(_agents(row) for row in rows),
            path=self.path or any(map(_path, rows)),
            detail=self.detail or any(row.detail for row in rows),
            similarity=self.similarity or any(row.similarity is not None for row in rows),
        )


class Columns:
    """The columns of a list, fitted to a width.

    Args:
        width: Cells of a line.
        blind: Leave out what is the agents'.
        hidden: Columns that are left out, of `store.queries.rows.COLUMNS`.
    """

    def __init__(
        self, width: int, *, blind: bool, contents: Contents = Contents(), hidden: tuple[str, ...] = ()
    ) -> None:
        self.width, self.contents, self.hidden = width, contents, hidden
        unlabelled = blind or "agents" in hidden
        room = width - _SIGNS - 1 - _YOU - len(_GAP)

        def fits(wanted: bool, cells: int, title: int = _TITLE) -> int:
            """Return the width of a column, 0 where it is not wanted or the title needs the room."""
            nonlocal room
            if not wanted or room - len(_GAP) - cells < title:
                return 0
            room -= len(_GAP) + cells
            return cells

        single, grouped = contents.singles, contents.largest > 1
        labelled = single and contents.agents and not unlabelled
        # In the order of their worth; in that of the line below.
        several = len(contents.kinds) > 1
        # One column for both: marks of a group, and of a single item the agents' label.
        least = _AGENTS if labelled else len(_MARKS) if grouped else 0
        most = min(max(_FEW_MARKS, room - _LONG_TITLE), room - _TITLE - len(_GAP))
        self._marks = max(least, min(contents.largest, most)) if grouped else least
        room -= len(_GAP) + self._marks if self._marks else 0
        # Items of one query differ by it alone.
        name = min(34, max(_NAME, room // 4))
        detail = fits(single and contents.detail and "detail" not in hidden, name, _SHORT_TITLE)
        kind = fits(several and "kind" not in hidden, _LETTER, _SHORT_TITLE)
        path = fits(single and contents.path and not blind and "path" not in hidden, 9)
        compared = single and contents.similarity and not several and "similarity" not in hidden
        similarity = fits(compared, 4)
        words = max(_LETTER, *map(len, map(_kind_word, contents.kinds))) if several else _LETTER
        spelt = kind > 0 and room - (words - kind) >= _TITLE
        if spelt:
            room, kind = room - (words - kind), words
        title = "◆ agents" if not grouped else f"◆ or {_MARKS}" if labelled else _MARKS
        columns = (
            Column("you", _YOU, "yours", _yours),
            Column(title, self._marks, "agents", lambda row: "" if unlabelled else _agents(row)),
            Column("path", path, "agents", _path),
            Column("item", max(0, room), "text", _title),
            Column(_detail_word(contents.kinds), detail, "muted", lambda row: row.detail),
            # The line above the list underlines each kind's letter.
            Column(_KIND, kind, "muted", lambda row: _kind_word(row.kind))
            if spelt
            else Column("", kind, "muted", lambda row: _letter(row.kind)),
            Column("sim", similarity, "muted", _similarity),
        )
        self._columns = [column for column in columns if column.width]

    def heading(self) -> str:
        """Return the line above the items."""
        titles = "".join(f"{_GAP}{_fit(column.title, column.width)}" for column in self._columns)
        heading = _fit(f"   {titles}", self.width)
        # That of a letter stands over the end of the column before it, too.
        return f"{heading[: -len(_KIND)]}{_KIND}" if not self._columns[-1].title else heading

    def cells(
        self, rows: Sequence[QueueRow | None], *, cursor: bool, writes: Sequence[Write] = ()
    ) -> list[Cell]:
        """Return the cells of a line, together as wide as the list.

        Args:
            rows: Its items, None for one that is not read yet.
            cursor: Whether it is the one under the cursor.
            writes: For each item whether something of it is not on disk yet.
        """
        read = [row for row in rows if row is not None]
        if not read:
            return self._blank(cursor=cursor)
        cells: list[Cell] = [
            (CURSOR if cursor else " ", "mark"),
            (_status(read, writes), "yours"),
            ("▲" if any(row.disagrees for row in read) else " ", "mark"),
            ("⚑" if any(row.flagged for row in read) else " ", "mark"),
        ]
        cells += self._of_item(read[0]) if len(rows) == 1 else self._of_group(rows, writes)
        missing = self.width - sum(cell_len(text) for text, _ in cells)
        if missing > 0:
            cells.append((" " * missing, "text"))
        return cells

    def _of_item(self, row: QueueRow) -> list[Cell]:
        cells: list[Cell] = []
        for column in self._columns:
            cells += [self._gap(column), (_fit(column.text(row), column.width), column.part)]
        return cells

    def _of_group(self, rows: Sequence[QueueRow | None], writes: Sequence[Write]) -> list[Cell]:
        """Return what several items have in common, how many are judged, and their marks."""
        read = [row for row in rows if row is not None]
        cells: list[Cell] = []
        kind = next((column for column in self._columns if column.title in (_KIND, "")), None)
        for column in self._columns:
            cells.append(self._gap(column))
            if column.title == "item":
                break
            if column.title.endswith(_MARKS):
                cells += self._marked(rows, writes)
                continue
            judged = f"{sum(row.status == 'judged' for row in read)} of {len(rows)}"
            cells.append((_fit(judged if column.title == "you" else "", column.width), column.part))
        # What follows, but for the kind, is of single items, and the title takes its room.
        room = self.width - _SIGNS - sum(cell_len(each) for each, _ in cells)
        room -= 0 if kind is None else len(_GAP) + kind.width
        cells.append((_fit(_title(read[0]), room), "text"))
        if kind is not None:
            cells += [(_GAP, "text"), (_fit(kind.text(read[0]), kind.width), kind.part)]
        return cells

    def _gap(self, column: Column) -> Cell:
        return " " if column is self._columns[0] else _GAP, "text"

    def _marked(self, rows: Sequence[QueueRow | None], writes: Sequence[Write]) -> list[Cell]:
        """Return a mark for each item; where there is no room for all, the last cell says so."""
        shown = len(rows) if len(rows) <= self._marks else self._marks - 1
        unread: Cell = (NOT_READ, "muted")
        unsaved: Write = "none"
        marks = [
            unread if row is None else mark_of(row, write)
            for row, write in zip(rows[:shown], writes or repeat(unsaved), strict=False)
        ]
        rest = "›" if shown < len(rows) else ""
        return [*marks, (rest + " " * (self._marks - shown - len(rest)), "muted")]

    def _blank(self, *, cursor: bool) -> list[Cell]:
        """Return the cells of a line of which no item is read yet."""
        return [
            (CURSOR if cursor else " ", "mark"),
            (_fit(f"{NOT_READ}    {NOT_READ * 8}", self.width - 1), "muted"),
        ]


def _status(rows: Sequence[QueueRow], writes: Sequence[Write]) -> str:
    """Return the sign of a line: of a write on its way, otherwise of the item that is least far."""
    for write in ("failed", "saving"):
        if write in writes:
            return _WRITE[write]
    least = ("open", "skipped", "cannot_decide", "judged")
    return _STATUS[min((row.status for row in rows), key=least.index)]


def _fit(text: str, width: int) -> str:
    """Return a text in exactly so many cells, made harmless."""
    shown = one_line(text, width)
    return shown + " " * (width - cell_len(shown))
