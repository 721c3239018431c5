"""The modal in which a work of another package is chosen from a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from screens.commands import bindings
from screens.help import hint
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from agents.jobs.work import WorkPart
    from screens.settings import ScreenSettings


class WorksScreen(ModalScreen["str | None"]):
    """Chooses a kind of works; None where it is left.

    Args:
        parts: The kinds of works, by name.
    """

    CSS_PATH = "budget.tcss"
    BINDINGS = bindings("works")

    def __init__(self, settings: ScreenSettings, parts: Mapping[str, WorkPart]) -> None:
        super().__init__()
        self._settings = settings
        self._parts = parts

    def compose(self) -> ComposeResult:
        """Lay out the works and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = "Start a work"
            options = [
                Option(
                    Content.assemble((one_line(part.title, 30), "bold"), f"  {one_line(part.sentence, 200)}"),
                    id=kind,
                )
                for kind, part in self._parts.items()
            ]
            yield OptionList(*options, id="works", compact=True)
            yield Static(
                Content(f"Enter start · {hint(self._settings, ('works.leave', 'cancel'))}"), classes="keys"
            )

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option.id)
