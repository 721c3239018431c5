"""A line of a form on which one of a few values is chosen with the arrow keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.commands import bindings
from screens.queue.fields import Field

TITLE_CELLS = 15


@dataclass
class ChoiceMade(Message):
    """Another value was chosen.

    Attributes:
        row: Where.
    """

    row: ChoiceRow


class ChoiceRow(Static, can_focus=True):
    """The values of a field side by side; the chosen one stands in brackets as well as in colour.

    Where not all of them fit, those around the chosen one are shown, and arrows say that there are others.

    Args:
        field: What is chosen.
        value: The value that is chosen at first.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("value"))

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
            ("▸ " if self.has_focus else "  ", "bold"),
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
