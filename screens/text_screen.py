"""A text under a title: a code of the corpus, or the file of a repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from screens.commands import bindings
from screens.jobs.job_line import JobLine
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.view import TextPane
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import LoadedText, Navigator
    from store.errors import WorkbenchError


class TextScreen(WorkbenchScreen):
    """Shows a text.

    Args:
        what: What the text is, for the first line.
        title: The title while it is loaded, and where it cannot be.
        load: Loads the text; called in a thread.
    """

    SCOPE = "file"
    BINDINGS = bindings("file")
    AUTO_FOCUS = "#text"
    CSS = "TextScreen #text { height: 1fr; border: round $accent; }"

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        what: str,
        title: str,
        load: Callable[[], LoadedText],
    ) -> None:
        super().__init__(context, navigator)
        self._what = what
        self._title = title
        self._load = load

    def compose(self) -> ComposeResult:
        """Lay out the text between the first line and the keys."""
        yield TopLine(self._what)
        yield TextPane(id="text")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Load the text in a thread, and show it."""
        settings = self.context.settings
        self._pane.begin_code(wrap=settings.wrap, numbers=settings.line_numbers)
        self._pane.load("", title=self._title, empty="Reading …")
        in_thread(self, self._load, self._show, self._not_read, group="text")

    @property
    def _pane(self) -> TextPane:
        return self.query_one("#text", TextPane)

    def _show(self, loaded: LoadedText) -> None:
        # A cursor is on lines of the source.
        is_page = loaded.language == "markdown" and loaded.lines is None
        self._pane.load(
            loaded.text,
            language=loaded.language,
            kind="markdown" if is_page else "code",
            title=loaded.title,
            empty="An empty text.",
        )
        if loaded.lines is not None:
            self._pane.put_cursor(loaded.lines[0], loaded.lines[-1])

    def _not_read(self, error: WorkbenchError) -> None:
        self._pane.load("", title=self._title, empty=f"! {error}")

    def action_wrap(self) -> None:
        """Wrap long lines, or let them run on."""
        self._pane.toggle_wrap()
