"""The file of a repository behind a piece of context, at the lines of the piece."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from screens.base_screen import BaseScreen
from screens.commands import Scope, bindings
from screens.context import ScreenContext
from screens.items.views import Piece
from screens.jobs.job_line import JobLine
from screens.navigator import Navigator
from screens.repository_file.lookup import RepositoryFile, read_file
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.view import TextPane
from screens.widgets.top_line import TopLine
from store.errors import WorkbenchError

_NOT_FOUND = "piece not found in it"


class RepositoryFileScreen(BaseScreen):
    """Shows a file of a repository.

    Args:
        context: The context of the screens.
        navigator: Opens other screens.
        repositories: The folder in which the repositories are.
        piece: The piece whose file is shown.
    """

    SCOPE: ClassVar[Scope] = "file"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("file"))
    AUTO_FOCUS = "#file"
    CSS = "RepositoryFileScreen #file { height: 1fr; border: round $accent; }"

    def __init__(
        self, context: ScreenContext, navigator: Navigator, repositories: Path, piece: Piece
    ) -> None:
        super().__init__(context, navigator)
        self._repositories = repositories
        self._piece = piece

    def compose(self) -> ComposeResult:
        """Lay out the file between the first line and the keys."""
        yield TopLine("file of the repository")
        yield TextPane(id="file")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the file in a thread, and show it."""
        super().on_mount()
        settings = self.context.settings
        self._pane.begin_code(wrap=settings.wrap, numbers=settings.line_numbers)
        self._pane.load("", title=self._title(), empty="Reading …")
        in_thread(
            self, lambda: read_file(self._repositories, self._piece), self._show, self._not_read, group="file"
        )

    @property
    def _pane(self) -> TextPane:
        return self.query_one("#file", TextPane)

    def _title(self, *words: str) -> str:
        return " · ".join(word for word in (self._piece.path, *words, self._piece.repository) if word)

    def _show(self, file: RepositoryFile) -> None:
        found = [_NOT_FOUND] if file.lines is None else []
        self._pane.load(
            file.text,
            language=self._piece.language,
            title=self._title(file.state, *found),
            empty="An empty file.",
        )
        if file.lines is not None:
            self._pane.put_cursor(file.lines[0], file.lines[-1])

    def _not_read(self, error: WorkbenchError) -> None:
        self._pane.load("", title=self._title(), empty=f"! {error}")

    def action_back(self) -> None:
        """Go back to the item."""
        self.dismiss()

    def action_wrap(self) -> None:
        """Wrap long lines, or let them run on."""
        self._pane.toggle_wrap()
