"""The modal in which an earlier search is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from screens.commands import bindings
from screens.help import hint
from screens.jobs.job_line import STATE_GLYPHS
from screens.widgets.text.sanitize import one_line
from store.tables.runs import described

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.tables.runs import WorkRow


class HistoryScreen(ModalScreen["UUID | None"]):
    """Chooses a search of this workspace, the latest first; None where it is left."""

    CSS_PATH = "../jobs/budget.tcss"
    BINDINGS = bindings("history")

    def __init__(self, settings: ScreenSettings, searches: Sequence[WorkRow]) -> None:
        super().__init__()
        self._settings = settings
        self._searches = searches

    def compose(self) -> ComposeResult:
        """Lay out the searches and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = "Searches of this workspace"
            yield OptionList(*map(_option, self._searches), id="works", compact=True)
            yield Static(
                Content(f"Enter show · {hint(self._settings, ('history.leave', 'close'))}"), classes="keys"
            )

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(UUID(event.option.id))


def _option(row: WorkRow) -> Option:
    repository = ""
    with suppress(ValueError, AttributeError):  # kept by another version
        repository = str(described(row).get("repository", ""))
    return Option(
        Content.assemble(
            f"{STATE_GLYPHS.get(row.state, ' ')} ",
            (f"{row.started_at:%d %b %H:%M} ", "$foreground-muted"),
            one_line(row.name, 60),
            (f"  {one_line(repository.rstrip('/').rpartition('/')[2], 20)}", "$foreground-muted"),
        ),
        id=str(row.id),
    )
