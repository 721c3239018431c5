"""The foot of a form: what the fields come to, or what is wrong with them; and the saving of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from screens.base_screen import BaseScreen
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError

COUNT_SECONDS = 0.4
"""Seconds after the last key before the plan is computed."""

Plan = TypeVar("Plan")
Saved = TypeVar("Saved")


class FormFoot(Generic[Plan, Saved]):
    """Shows in `#preview` of a form what is planned, while it is filled in, and saves it.

    Args:
        screen: The form.
        plan: Returns the plan as it is filled in; raises a `WorkbenchError` where it cannot.
        preview: Returns lines about the plan. Called in a thread.
        save: Saves the plan. Called in a thread.
        saved: Called with what was saved.
    """

    def __init__(
        self,
        screen: BaseScreen,
        plan: Callable[[], Plan],
        preview: Callable[[Plan], Sequence[str]],
        save: Callable[[Plan], Saved],
        saved: Callable[[Saved], object],
    ) -> None:
        self._screen = screen
        self._plan = plan
        self._preview = preview
        self._save = save
        self._saved = saved
        self._counting: Timer | None = None
        self._generation = 0
        self._saving = False

    def count_soon(self) -> None:
        """Compute the plan once nothing is typed any more."""
        if self._counting is not None:
            self._counting.stop()
        self._counting = self._screen.set_timer(COUNT_SECONDS, self._count)

    def _count(self) -> None:
        plan = self._next()
        if plan is not None:
            done, failed = (
                partial(each, self._generation) for each in (self._show_counted, self._show_wrong)
            )
            in_thread(self._screen, partial(self._preview, plan), done, failed, group="preview")

    def _next(self) -> Plan | None:
        """Return the plan, in place of the one before; None where something is wrong, which is shown."""
        self._generation += 1
        try:
            return self._plan()
        except WorkbenchError as error:
            self._show_wrong(self._generation, error)
            return None

    def save(self, words: str = "") -> None:
        """Save the plan, or say what is wrong with it.

        Args:
            words: What is shown meanwhile; empty for what is there.
        """
        if self._saving:
            return
        if self._counting is not None:
            self._counting.stop()
        plan = self._next()
        if plan is None:
            return
        self._saving = True
        if words:
            self._show(words)
        failed = partial(self._show_wrong, self._generation)
        work = partial(self._save, plan)
        in_thread(self._screen, work, self._saved, failed, group="save", exclusive=False)

    def _show_counted(self, generation: int, lines: Sequence[str]) -> None:
        if generation == self._generation and not self._saving:
            self._screen.set_class(False, "-wrong")
            self._show("\n".join(lines))

    def _show_wrong(self, generation: int, error: WorkbenchError) -> None:
        if generation == self._generation:
            self._saving = False
            self._screen.set_class(True, "-wrong")
            self._show(f"! {one_line(' '.join(filter(None, (error.message, error.hint))), 400)}")

    def _show(self, text: str) -> None:
        self._screen.query_one("#preview", Static).update(Content(text))
