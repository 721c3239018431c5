"""The dialog in which a queue's filter is chosen, with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agents.pipelines.registry import kinds_with_agents
from screens.commands import bindings
from screens.help import hint
from screens.queue.fields import TEXT_WANTED, Field, fields
from screens.threads import in_thread
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.line_input import UndoInput
from screens.widgets.text.sanitize import one_line
from store.formatting import pluralize
from store.queries.rows import QueueFilter

if TYPE_CHECKING:
    from screens.settings import ScreenSettings

TITLE_CELLS = 15


@dataclass
class ChoiceMade(Message):
    """Another value was chosen."""

    row: ChoiceRow


class ChoiceRow(Static, can_focus=True):
    """The values of a field side by side; the chosen one is in brackets as well as in colour.

    Where not all of them fit, those around the chosen one are shown, and arrows say that there are others.

    Args:
        value: The value that is chosen at first.
    """

    ALLOW_SELECT = False
    BINDINGS = bindings("value")

    def __init__(self, field: Field, value: Any) -> None:
        super().__init__(id=f"choice-{field.name}")
        self.field = field
        values = [choice.value for choice in field.choices]
        self._index = values.index(value) if value in values else 0

    @property
    def value(self) -> Any:
        """The value that is chosen."""
        return self.field.choices[self._index].value

    def offer(self, field: Field) -> None:
        """Offer other values; the one that is chosen stays while it is among them."""
        if field != self.field:
            value, self.field = self.value, field
            values = [choice.value for choice in field.choices]
            self._index = values.index(value) if value in values else 0
            self._lay_out()

    def reset(self) -> None:
        """Choose the value that lets everything through."""
        self._choose(0)

    def action_step(self, steps: int) -> None:
        """Choose the value beside the one that is chosen; the last one is followed by the first."""
        self._choose((self._index + steps) % len(self.field.choices))

    def on_mount(self) -> None:
        """Show the values."""
        self._lay_out()

    def on_resize(self) -> None:
        """Show as many values as there is room for."""
        self._lay_out()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Point at the line while it has the focus."""
        super().watch_has_focus(has_focus)
        self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Choose the value under the pointer."""
        first, last = self._shown()
        left = TITLE_CELLS + 2 + bool(first)
        for index, choice in enumerate(self.field.choices[first:last], start=first):
            right = left + len(choice.word) + 2
            if left <= event.x < right:
                self._choose(index)
            left = right

    def _choose(self, index: int) -> None:
        if index != self._index:
            self._index = index
            self._lay_out()
            self.post_message(ChoiceMade(self))

    def _shown(self) -> tuple[int, int]:
        """Return the first of the values that are shown, and the one after the last."""
        cells = [len(choice.word) + 2 for choice in self.field.choices]
        room = self.size.width - TITLE_CELLS - 2
        if self.size.width == 0 or sum(cells) <= room:
            return 0, len(cells)
        room -= 2  # for the arrows
        first = 0
        while first < self._index and sum(cells[first : self._index + 1]) > room:
            first += 1
        last = first + 1
        while last < len(cells) and sum(cells[first : last + 1]) <= room:
            last += 1
        return first, last

    def _lay_out(self) -> None:
        parts: list[Content | str | tuple[str, str]] = [
            (f"{CURSOR} " if self.has_focus else "  ", "bold"),
            (f"{self.field.title:<{TITLE_CELLS}}", "bold" if self.has_focus else ""),
        ]
        first, last = self._shown()
        parts += ["‹"] if first else []
        for index, choice in enumerate(self.field.choices[first:last], start=first):
            if index == self._index:
                parts.append((f"[{choice.word}]", "bold $text-accent"))
            else:
                parts.append((f" {choice.word} ", ""))
        parts += ["›"] if last < len(self.field.choices) else []
        self.update(Content.assemble(*parts))


class FilterScreen(ModalScreen[QueueFilter | None]):
    """Chooses a filter; None when it is left as it was.

    Args:
        wanted: The filter as it is.
        count: Returns how many items a filter lets through; called in a thread.
        here: The kinds that there are; none where that is not known.
        blind: Leave out what rests on the agents' labels.
    """

    CSS_PATH = "modals.tcss"
    BINDINGS = bindings("filter")

    def __init__(
        self,
        settings: ScreenSettings,
        wanted: QueueFilter,
        count: Callable[[QueueFilter], int],
        here: Collection[str] = (),
        *,
        blind: bool,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._blind = blind
        self._here = here
        self._wanted = wanted
        self._count = count

    def compose(self) -> ComposeResult:
        """Lay out a line for each part of a filter."""
        settings = self._settings
        with Vertical(classes="modal") as box:
            box.border_title = "Filter"
            for field in fields(blind=self._blind, kind=self._wanted.kind, here=self._here):
                yield ChoiceRow(field, getattr(self._wanted, field.name))
            with Horizontal(id="text-line"):
                yield Static(f"  {'Text':<{TITLE_CELLS + 1}}", id="text-title")
                yield UndoInput(self._wanted.text, id="text", placeholder=TEXT_WANTED)
            yield Static(id="sentence")
            yield Static(
                Content(
                    hint(
                        settings,
                        ("filter.apply", "apply"),
                        ("filter.up filter.down", "line"),
                        ("value.back value.next", "value"),
                        ("filter.reset", "reset"),
                        ("filter.leave", "cancel"),
                    )
                ),
                classes="keys",
            )

    def on_mount(self) -> None:
        """Say what the filter lets through."""
        self._show_sentence("")
        self._look()

    @property
    def chosen(self) -> QueueFilter:
        """The filter as it is chosen now."""
        values = {row.field.name: row.value for row in self.query(ChoiceRow)}
        return replace(self._wanted, **values, text=self.query_one("#text", Input).value.strip())

    @on(ChoiceMade)
    def _choice_made(self, message: ChoiceMade) -> None:
        if message.row.field.name == "kind":
            # The labels of another kind have other words.
            kind = message.row.value
            offered = fields(blind=self._blind, kind=kind, here=self._here)
            named = {field.name: field for field in offered}
            for row in self.query(ChoiceRow):
                row.offer(named[row.field.name])
        self._look()

    @on(Input.Changed)
    def _text_changed(self) -> None:
        self._look()

    def _look(self) -> None:
        wanted = self.chosen
        in_thread(
            self,
            partial(self._count, wanted),
            lambda number: self._counted(wanted, pluralize(number, "item")),
            lambda error: self._counted(wanted, f"could not be counted: {error}"),
            group="count",
        )

    def _counted(self, wanted: QueueFilter, number: str) -> None:
        if self.is_mounted and wanted == self.chosen:
            self._show_sentence(number)

    def _show_sentence(self, number: str) -> None:
        phrase = one_line(self.chosen.sentence(self._here, kinds_with_agents()), 68 - len(number))
        self.query_one("#sentence", Static).update(Content(f"{phrase} · {number}" if number else phrase))

    def action_apply(self) -> None:
        """List what is chosen."""
        self.dismiss(self.chosen)

    def action_reset(self) -> None:
        """Let everything through."""
        for row in self.query(ChoiceRow):
            row.reset()
        self.query_one("#text", Input).value = ""
        self._look()
