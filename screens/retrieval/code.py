"""The text of a code of the corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from screens.base_screen import BaseScreen
from screens.commands import Scope, bindings
from screens.jobs.job_line import JobLine
from screens.reading import refuse_hidden
from screens.retrieval.by_query import HIDDEN
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import TextPane
from screens.widgets.top_line import TopLine
from store.retrieval.comparison import code_text

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.errors import WorkbenchError


class CodeScreen(BaseScreen):
    """Shows a code.

    Args:
        context: The context of the screens.
        navigator: Opens other screens.
        code: The MD5 of its text.
        title: What it is called.
    """

    SCOPE: ClassVar[Scope] = "file"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("file"))
    AUTO_FOCUS = "#code"
    CSS = "CodeScreen #code { height: 1fr; border: round $accent; }"

    def __init__(self, context: ScreenContext, navigator: Navigator, code: str, title: str) -> None:
        super().__init__(context, navigator)
        self._code = code
        self._title = one_line(title, 60)

    def compose(self) -> ComposeResult:
        """Lay out the text between the first line and the keys."""
        yield TopLine("code of the corpus")
        yield TextPane(id="code")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the text in a thread, and show it."""
        super().on_mount()
        settings = self.context.settings
        self._pane.begin_code(wrap=settings.wrap, numbers=settings.line_numbers)
        self._pane.load("", title=self._title, empty="Reading …")
        in_thread(self, self._read, self._show, self._not_read, group="code")

    @property
    def _pane(self) -> TextPane:
        return self.query_one("#code", TextPane)

    def _read(self) -> tuple[str, str]:
        with self.context.workspace.reading() as connection:
            refuse_hidden(self.context, connection, HIDDEN)
            return code_text(connection, self._code)

    def _show(self, found: tuple[str, str]) -> None:
        text, language = found
        self._pane.load(text, language=language, title=self._title, empty="An empty code.")

    def _not_read(self, error: WorkbenchError) -> None:
        self._pane.load("", title=self._title, empty=f"! {error}")

    def action_back(self) -> None:
        """Go back to the rankings."""
        self.dismiss()

    def action_wrap(self) -> None:
        """Wrap long lines, or let them run on."""
        self._pane.toggle_wrap()
