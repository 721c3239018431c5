"""The editor of the paragraph about a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from screens.review.text_editor import TextEditor

if TYPE_CHECKING:
    from screens.context import ScreenContext


class ParagraphEditor(TextEditor):
    """Edits the paragraph about a query; returns it when it is searched with, None when it is put aside.

    Args:
        query: The query.
        paragraph: The paragraph as it is.
        text: What is edited: that, or a draft.
        keep: Called with the text after every change.
    """

    CSS_PATH = "../review/text_editor.tcss"
    LANGUAGE = "markdown"
    WRAPS = True
    FILE = "paragraph.md"
    UNTAKEN = "the paragraph is as it was"

    def __init__(
        self, context: ScreenContext, query: str, paragraph: str, text: str, keep: Callable[[str], None]
    ) -> None:
        super().__init__(context, text, keep)
        self._query, self._paragraph = query, paragraph

    @property
    def heading(self) -> str:
        """The title of the editor."""
        return "The paragraph about the query"

    @property
    def about(self) -> tuple[str, str]:
        """The query, and what becomes of the paragraph."""
        return self._query, "Code is written for this paragraph, and compared with the repository."

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The keys that search with it, and bring back what it was."""
        return (("editor.run", "search with it"), ("editor.reset", "as it was"))

    @property
    def beginning(self) -> tuple[str, str]:
        """The paragraph as it was."""
        return self._paragraph, "The paragraph as it was."

    def action_run(self) -> None:
        """Search with it."""
        text = self.area.text.strip()
        if text:
            self.dismiss(text)
        else:
            self.show_notice("The paragraph is empty.", alarm=True)
