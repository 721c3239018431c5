"""The columns of a table to import, each field a line: which column fills it, and how it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from screens.widgets.text.sanitize import one_line
from store.errors import ImportFailed
from store.ingest.choices import ImportChoices, parse_label_words
from store.kinds.pair import MATCH

if TYPE_CHECKING:
    from store.ingest.own_table import Proposal

SAID = {"chosen": "chosen", "named": "", "proposed": "proposed", "several": "choose one", "none": ""}
"""The word beside a column, by how it was found."""

WRITTEN = {"label_words": "label words", "label_as": "labels of", "prefix": "prefix", "licence": "licence"}
"""The lines that are written rather than chosen, with their names."""

_NAME, _COLUMN, _HOW = 12, 18, 11
"""Cells of a field's name, of its column, and of how it came to that."""


class ImportColumns(OptionList):
    """The fields of a table; Enter on one lists the columns that may fill it."""

    class Changed(Message):
        """A field got another column."""

    class Turned(Message):
        """The fields are listed, or the columns for one of them."""

    class Asked(Message):
        """A line was chosen that is written.

        Attributes:
            name: Its name in `WRITTEN`.
        """

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, compact=True)
        self._proposal: Proposal | None = None
        self._columns: dict[str, str] = {}
        self._how: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        # The field whose columns are listed; empty while the fields are.
        self._field = ""
        self.display = False

    def show(self, proposal: Proposal | None) -> None:
        """Show the columns of another table; None hides them."""
        self._proposal = proposal
        self._field, self._texts = "", {}
        self.display = proposal is not None
        if proposal is not None:
            self._how = {one.field: one.how for one in proposal.choices}
            self._columns = {
                one.field: one.columns[0] if len(one.columns) == 1 else "" for one in proposal.choices
            }
            self._list()
            self.highlighted = next(
                (place for place, field in enumerate(self._columns) if field in proposal.unclear), 0
            )

    @property
    def _columns_there(self) -> tuple[str, ...]:
        return self._proposal.columns if self._proposal is not None else ()

    @property
    def missing(self) -> list[str]:
        """The fields that have no column, and need one."""
        needed = ("query", "code") if self._proposal is not None else ()
        return [field for field in needed if not self._columns.get(field)]

    @property
    def is_choosing(self) -> bool:
        """Whether the columns for a field are listed."""
        return bool(self._field)

    @property
    def choices(self) -> ImportChoices:
        """The columns of the fields, and the lines that were written."""
        if self._proposal is None:
            return ImportChoices()
        # No column for the labels or the ids is a choice as well: one with a usual name would be taken.
        mapping = {
            field: column for field, column in self._columns.items() if column or self._how[field] == "chosen"
        }
        return ImportChoices(mapping=mapping, **self._texts)

    @property
    def label_column(self) -> str:
        """The column of the labels; empty for none."""
        return self._columns.get("label", "")

    def text_of(self, name: str) -> str:
        """Return what was written in a line."""
        return self._texts.get(name, "")

    def write(self, name: str, text: str) -> None:
        """Keep what was written in a line."""
        self._texts[name] = text.strip()
        place = self.highlighted
        self._list()
        self.highlighted = place
        self.post_message(self.Changed())

    def leave_columns(self) -> None:
        """Go back from the columns for a field to the fields."""
        place = list(self._columns).index(self._field)
        self._field = ""
        self._list()
        self.highlighted = place
        self.post_message(self.Turned())

    def on_resize(self) -> None:
        """Cut the lines to the width."""
        if self._proposal is not None:
            place = self.highlighted
            self._list()
            self.highlighted = place

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """List the columns for a field, or take one."""
        event.stop()
        name = event.option.id or ""
        if self._field:
            self._columns[self._field], self._how[self._field] = name.removeprefix("column:"), "chosen"
            # A column fills one field.
            for field, column in self._columns.items():
                if field != self._field and column and column == self._columns[self._field]:
                    self._columns[field], self._how[field] = "", "none"
            self.leave_columns()
            self.post_message(self.Changed())
        elif name in WRITTEN:
            self.post_message(self.Asked(name))
        elif name:
            self._field = name
            self._list()
            self.highlighted = ["", *self._columns_there].index(self._columns[name])
            self.post_message(self.Turned())

    def _list(self) -> None:
        assert self._proposal is not None
        self.clear_options()
        if self._field:
            nothing = "of the content" if self._field == "id" else "none"
            self.add_option(Option(self._line(f"{self._field}:", nothing), id="column:"))
            for column in self._columns_there:
                values = self._proposal.values[column]
                self.add_option(Option(self._line("", column, values or ("empty",)), id=f"column:{column}"))
            return
        for field, column in self._columns.items():
            values = self._proposal.values[column] if column else ()
            nothing = "of the content" if field == "id" else "none"
            line = self._line(field, column or nothing, values, SAID[self._how[field]])
            self.add_option(Option(line, id=field))
        for name, shown in WRITTEN.items():
            # Without labels there is nothing to say of them.
            if self.label_column or not name.startswith("label"):
                self.add_option(Option(self._line(shown, self._texts.get(name) or "-"), id=name))
        taken = set(self._columns.values())
        if kept := [column for column in self._proposal.columns if column not in taken]:
            line = self._line("kept", "", (", ".join(kept),))
            self.add_option(Option(line, disabled=True))

    def _line(self, name: str, column: str, values: tuple[str, ...] = (), said: str = "") -> Content:
        left = max(8, (self.size.width or self.app.size.width - 8) - _NAME - _COLUMN - _HOW - 3)
        return Content.assemble(
            f"{name:<{_NAME}}",
            (f"{one_line(column, _COLUMN):<{_COLUMN}} ", "bold" if values else "$foreground-muted"),
            (f"{said:<{_HOW}}", "$text-warning"),
            (one_line(" · ".join(values[:3]), left), "$foreground-muted"),
        )


def as_it_will_look(rows: tuple[Mapping[str, str], ...], choices: ImportChoices, width: int) -> list[str]:
    """Return the first pairs of a table as lines: the query, the code's first line, and the label.

    Args:
        rows: The first rows, by column.
        width: Cells of a line.
    """
    from store.formats.table import LABEL_WORDS

    fields = ("query", "code", "label") if choices.mapping.get("label") else ("query", "code")
    words = {**LABEL_WORDS, **_explained(choices.label_words)}
    cells = {"query": (width - 14) // 2, "code": (width - 14) // 2, "label": 10}
    lines = []
    for row in rows:
        texts = {field: row.get(choices.mapping.get(field, ""), "").strip() for field in fields}
        texts = {field: text.partition("\n")[0] for field, text in texts.items()}
        value = words.get(texts.get("label", "").lower())
        if value is not None:
            texts["label"] = next(f"{one.key} {one.word}" for one in MATCH.scale.values if one.value == value)
        line = "  ".join(f"{one_line(text, cells[field]):<{cells[field]}}" for field, text in texts.items())
        lines.append(line.rstrip())
    return lines


def _explained(words: str) -> dict[str, float | None]:
    """Return what is written about words, as far as it can be read."""
    try:
        return parse_label_words([words]) if words else {}
    except ImportFailed:
        return {}
