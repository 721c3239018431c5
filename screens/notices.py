"""Saying something to the user where it covers nothing: in the screen's own line, else in a toast."""

from __future__ import annotations

from typing import Any

from textual.app import App

from screens.widgets.text.sanitize import one_line
from store.errors import JudgmentRefused, WorkbenchError


class Notices:
    """Says what happened on the screen that is shown.

    Args:
        app: The app whose screen says it.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    def tell(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say something in the line of the screen that is shown, in a toast where it has none.

        Args:
            title: What it is, in a word or two.
            text: The sentence; may hold data, and is never interpreted.
            alarm: Whether something went wrong.
        """
        told = getattr(self._app.screen, "tell", None)
        if told is not None:
            told(f"{title}: {text}" if text else f"{title}.", alarm=alarm)
        else:
            self._app.notify(
                one_line(text or f"{title}.", 600),
                title=title if text else "",
                severity="error" if alarm else "information",
                markup=False,
                timeout=12 if alarm else 5,
            )

    def toast(self, text: str) -> None:
        """Say something in a toast, beside what the screen says itself."""
        self._app.notify(text, markup=False)

    def report_error(self, error: WorkbenchError) -> None:
        """Show an error that the user can mend."""
        self.tell(error.title, " ".join(filter(None, (error.message, error.hint))), alarm=True)

    def say_no_rater(self) -> None:
        """Say why nothing can be judged."""
        self.report_error(
            JudgmentRefused(
                "No rater",
                "Judgments need a rater's name.",
                "Start with --rater NAME, or set rater in the config.",
            )
        )
