"""Which columns of the queue are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import bindings
from screens.help import hint
from screens.widgets.cursor_lines import cursor_lines
from store.queries.rows import COLUMNS

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


class ColumnsScreen(ModalScreen["tuple[str, ...] | None"]):
    """Hides columns and shows them; the hidden ones, or None when nothing was changed.

    Args:
        blind: Leave out what rests on the agents' labels.
    """

    CSS_PATH = "modals.tcss"
    BINDINGS = bindings("columns")

    def __init__(self, settings: ScreenSettings, hidden: tuple[str, ...], *, blind: bool) -> None:
        super().__init__()
        self._settings = settings
        self._hidden = set(hidden)
        self._names = [name for name in COLUMNS if not (blind and name in ("agents", "path"))]
        self._index = 0

    def compose(self) -> ComposeResult:
        """Lay out a line for each column."""
        with Vertical(classes="modal -small") as box:
            box.border_title = "Columns"
            yield Static(id="columns")
            yield Static("A column without content is left out.", classes="keys")
            keys = (("columns.turn", "show or hide"), ("columns.apply", "apply"), ("columns.leave", "cancel"))
            yield Static(Content(hint(self._settings, *keys)), classes="keys")

    def on_mount(self) -> None:
        """Show the columns."""
        self._lay_out()

    def action_move(self, lines: int) -> None:
        """Go to another column."""
        self._index = (self._index + lines) % len(self._names)
        self._lay_out()

    def action_turn(self) -> None:
        """Hide the column under the cursor, or show it."""
        self._hidden ^= {self._names[self._index]}
        self._lay_out()

    def action_apply(self) -> None:
        """Take the choice."""
        self.dismiss(tuple(name for name in COLUMNS if name in self._hidden))

    def _lay_out(self) -> None:
        texts = [f"[{' ' if name in self._hidden else 'x'}] {COLUMNS[name]}" for name in self._names]
        self.query_one("#columns", Static).update(Content("\n").join(cursor_lines(texts, self._index)))
