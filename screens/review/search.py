"""Searching in a pane of the review, from a line at the foot."""

from __future__ import annotations

from textual.widgets import Input

from screens.dispatch import Handler, Handlers
from screens.judging.context import JudgingContext
from screens.review.panes import PaneController
from screens.widgets.text.search import NO_MATCH
from screens.widgets.text.view import TextPane

FIND = "find"
"""The id of the line."""


class PaneSearch:
    """A search in one pane; it goes on until it is ended, or another item comes.

    Attributes:
        is_open: Whether there is a search whose matches can be gone through.
    """

    def __init__(self, shared: JudgingContext, panes: PaneController) -> None:
        self.is_open = False
        self._shared = shared
        self._panes = panes
        self._searched: TextPane | None = None

    def handlers(self) -> Handlers:
        """Return what the commands do that search."""
        return {
            "review.find": Handler(self.find, of_item=True),
            "review.find_back": Handler(self.previous_match),
        }

    @property
    def _box(self) -> Input:
        return self._shared.screen.query_one(f"#{FIND}", Input)

    def find(self) -> None:
        """Open the search line for the focused pane."""
        self._searched = self._panes.pane
        box = self._box
        box.display = True
        box.focus()
        box.select_all()
        ends = (self._shared.key("line.close"), "end it")
        self._shared.show_message("", choices=[("Enter", "keep the search"), ends])

    def edited(self, text: str) -> None:
        """Search for what is typed."""
        if self._searched is not None and self._box.display:
            self._searched.search(text)

    def given(self, text: str) -> None:
        """Keep the search, and close the line."""
        self._box.display = False
        self.is_open = bool(text) and self._searched is not None
        if self._searched is not None:
            self._searched.focus()
        if self.is_open:
            self._show_status()
        else:
            self._shared.show_message("")

    def moved(self) -> None:
        """Say where the search is now."""
        if self.is_open:
            self._show_status()

    def _show_status(self) -> None:
        if self._searched is not None:
            after, before, end = (
                self._shared.key("next"),
                self._shared.key("find_back"),
                self._shared.keys.ending,
            )
            status = self._searched.search_status
            steps = "" if status == NO_MATCH else f" · {after} next match · {before} previous match"
            self._shared.show_message(f"find: {status}{steps} · {end} end")

    def next_match(self) -> None:
        """Go to the next match of the search."""
        if self._searched is not None:
            self._searched.next_match()
            self._show_status()

    def previous_match(self) -> None:
        """Go to the match before."""
        if self.is_open and self._searched is not None:
            self._searched.previous_match()
            self._show_status()
        else:
            self._shared.show_message(f"No search is open; {self._shared.key('find')} begins one.")

    def stop(self) -> None:
        """Let the search end with the text that it was in."""
        self.is_open = False

    def close_line(self) -> None:
        """Close the line, if it is open, since the focus has left it."""
        if self._box.display:
            self._box.display = False
            self._shared.show_message("")

    def end(self) -> bool:
        """End the search and close its line; return whether there was one."""
        if not self.is_open and not self._box.display:
            return False
        self.is_open = False
        self._box.display = False
        if self._searched is not None:
            self._searched.search("")
            self._searched.focus()
        self._shared.show_message("")
        return True
