"""The modal in which a queue's filter is chosen, with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agents.pipelines.registry import kinds_with_agents
from screens.commands import bindings
from screens.help import hint
from screens.queue.choice_row import TITLE_CELLS, ChoiceMade, ChoiceRow
from screens.queue.fields import TEXT_WANTED, fields
from screens.widgets.text.sanitize import one_line
from store.counted import counted
from store.errors import WorkbenchError
from store.queries.rows import QueueFilter

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


class FilterScreen(ModalScreen[QueueFilter | None]):
    """Chooses a filter; None when it is left as it was.

    Args:
        settings: Which keys are other ones, and whether the queue is blind.
        wanted: The filter as it is.
        here: The kinds that there are; none where that is not known.
        count: Returns how many items a filter lets through; called in a thread.
    """

    CSS_PATH: ClassVar[str] = "modals.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("filter"))

    def __init__(
        self,
        settings: ScreenSettings,
        wanted: QueueFilter,
        count: Callable[[QueueFilter], int],
        here: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._settings = settings
        self._here = here
        self._wanted = wanted
        self._count = count

    def compose(self) -> ComposeResult:
        """Lay out a line for each part of a filter."""
        settings = self._settings
        with Vertical(classes="modal") as box:
            box.border_title = "Which items"
            for field in fields(blind=settings.blind, kind=self._wanted.kind, here=self._here):
                yield ChoiceRow(field, getattr(self._wanted, field.name))
            with Horizontal(id="text-line"):
                yield Static(f"  {'Text':<{TITLE_CELLS + 1}}", id="text-title")
                yield Input(self._wanted.text, id="text", placeholder=TEXT_WANTED)
            yield Static(id="sentence")
            yield Static(
                Content(
                    hint(
                        settings,
                        ("filter.apply", "lists these"),
                        ("filter.up filter.down", "line"),
                        ("value.back value.next", "value"),
                        ("filter.reset", "resets"),
                        ("filter.leave", "leaves"),
                    )
                ),
                classes="keys",
            )

    def on_mount(self) -> None:
        """Say what the filter lets through."""
        self._say_sentence("")
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
            offered = fields(blind=self._settings.blind, kind=kind, here=self._here)
            named = {field.name: field for field in offered}
            for row in self.query(ChoiceRow):
                row.offer(named[row.field.name])
        self._look()

    @on(Input.Changed)
    def _text_changed(self) -> None:
        self._look()

    def _look(self) -> None:
        self._count_them(self.chosen)

    @work(thread=True, exclusive=True, group="count")
    def _count_them(self, wanted: QueueFilter) -> None:
        try:
            said = counted(self._count(wanted), "item")
        except WorkbenchError as error:
            said = f"could not be counted: {error}"
        self.call_later(self._counted, wanted, said)

    def _counted(self, wanted: QueueFilter, said: str) -> None:
        if self.is_mounted and wanted == self.chosen:
            self._say_sentence(said)

    def _say_sentence(self, said: str) -> None:
        phrase = one_line(self.chosen.sentence(self._here, kinds_with_agents()), 68 - len(said))
        self.query_one("#sentence", Static).update(Content(f"{phrase} · {said}" if said else phrase))

    def action_apply(self) -> None:
        """List what is chosen."""
        self.dismiss(self.chosen)

    def action_leave(self) -> None:
        """Leave the filter as it was."""
        self.dismiss(None)

    def action_reset(self) -> None:
        """Let everything through."""
        for row in self.query(ChoiceRow):
            row.reset()
        self.query_one("#text", Input).value = ""
        self._look()
