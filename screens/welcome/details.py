"""The dialog that asks for the file of a new workspace, and for the name of who judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.commands import bindings
from screens.form import Problem, line, typed_path
from screens.help import hint
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.paths import is_folder, is_there

if TYPE_CHECKING:
    from screens.welcome.choice import FirstRun

ENDING = ".duckdb"


@dataclass(frozen=True, slots=True)
class Details:
    """What was filled in.

    Attributes:
        path: The file of the new workspace; None where none was asked for.
    """

    rater: str
    path: Path | None = None


class DetailsScreen(ModalScreen["Details | None"]):
    """Asks for a workspace's file and a rater's name, as far as they are needed.

    Args:
        path: The file that is offered; None to ask for the name alone.
    """

    CSS_PATH = "welcome.tcss"
    BINDINGS = bindings("details")

    def __init__(self, first_run: FirstRun, title: str, path: Path | None) -> None:
        super().__init__()
        self._first_run = first_run
        self._title = title
        self._path = path

    def compose(self) -> ComposeResult:
        """Lay out the fields, what is wrong with them, and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = Content(self._title)
            if self._path is not None:
                yield line("New workspace", "path", self._path.name, value=str(self._path))
            yield line("Your name", "rater", "dana", value=self._first_run.rater)
            yield Static("It is stored with every judgment.", classes="hint")
            yield Problem(id="problem")
            yield Static(self._keys(), classes="keys")

    def _keys(self) -> Content:
        settings, file = self._first_run.settings, one_line(str(self._first_run.config), 56)
        keys = hint(settings, ("details.confirm", "continue"), ("details.leave", "cancel"))
        kept = hint(settings, ("details.keep", f"continue, and save the name in {file}"))
        return Content(f"{keys}\n{kept}")

    def on_mount(self) -> None:
        """Begin with what is asked for."""
        self.query_one("#rater", Input).focus()

    @on(Input.Changed)
    def _changed(self) -> None:
        self.query_one(Problem).show()

    def _refuse(self, problem: WorkbenchError | str, field: str) -> None:
        """Say what is wrong with a field, and go to it."""
        self.query_one(Problem).show(problem)
        self.query_one(f"#{field}", Input).focus()

    def _filled_in(self) -> Details | None:
        """Return what was filled in; None where it will not do, which is said."""
        path = None
        try:
            rater = self._first_run.check_name(self.query_one("#rater", Input).value)
        except WorkbenchError as error:
            self._refuse(error, "rater")
            return None
        if self._path is not None:
            typed = self.query_one("#path", Input).value.strip() or str(self._path)
            path = typed_path(typed if typed.endswith(ENDING) else f"{typed}{ENDING}")
            if is_there(path):
                self._refuse(f"{one_line(str(path), 60)} exists. Choose another name, or open it.", "path")
                return None
            if not is_folder(path.parent):
                self._refuse(f"There is no folder {one_line(str(path.parent), 60)}.", "path")
                return None
        return Details(rater, path)

    def action_confirm(self) -> None:
        """Go on with what was filled in."""
        if (details := self._filled_in()) is not None:
            self.dismiss(details)

    def action_keep(self) -> None:
        """Write the name into the configuration, and go on."""
        details = self._filled_in()
        if details is None:
            return
        try:
            self._first_run.keep_name(details.rater)
        except WorkbenchError as error:
            self.query_one(Problem).show(error)
            return
        self.dismiss(details)
