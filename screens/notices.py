"""Notices to the user: in the screen's own message line, else in a toast."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.content import Content

from screens.widgets.text.sanitize import one_line
from store.errors import JudgmentRefused, WorkbenchError


def error_sentences(error: WorkbenchError) -> str:
    """Return what happened and what mends it."""
    return " ".join(filter(None, (error.message, error.hint)))


def error_line(error: WorkbenchError, cells: int = 400) -> str:
    """Return an error as a line of at most so many cells."""
    return f"! {one_line(error_sentences(error), cells)}"


def error_lines(error: WorkbenchError) -> list[Content]:
    """Return an error in place of what could not be read: its title, what happened, what mends it."""
    return [Content(one_line(part, 400)) for part in (error.title, error.message, error.hint) if part]


class Notices:
    """Shows notices on the current screen."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    def show(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Show a notice in the message line of the current screen, in a toast where it has none.

        Args:
            title: The title, a word or two.
            text: The sentence; may hold data, and is never interpreted.
        """
        show = getattr(self._app.screen, "show_notice", None)
        if show is not None:
            show(f"{title}: {text}" if text else f"{title}.", alarm=alarm)
        else:
            self._app.notify(
                one_line(text or f"{title}.", 600),
                title=title if text else "",
                severity="error" if alarm else "information",
                markup=False,
                timeout=12 if alarm else 5,
            )

    def toast(self, text: str) -> None:
        """Show a toast, beside the message of the screen itself."""
        self._app.notify(text, markup=False)

    def report_error(self, error: WorkbenchError) -> None:
        """Show an error that the user can mend."""
        self.show(error.title, error_sentences(error), alarm=True)

    def show_no_rater(self) -> None:
        """Show why nothing can be judged."""
        self.report_error(
            JudgmentRefused(
                "No rater",
                "Judgments need a rater's name.",
                "Start with --rater NAME, or set rater in the config.",
            )
        )
