"""Forms: fields to fill in, what they hold, and the foot that says what they come to and saves them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static

from screens.base_screen import BaseScreen
from screens.threads import Soon, in_thread
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError

COUNT_SECONDS = 0.4
"""Seconds after the last key before the plan is computed."""

Plan = TypeVar("Plan")
Saved = TypeVar("Saved")


def line(title: str, name: str, placeholder: str = "", *, value: str = "", only: str = "") -> Horizontal:
    """Return a line to fill in.

    Args:
        title: Its title.
        name: Its id.
        placeholder: What it shows while it is empty.
        value: What is in it at first.
        only: The choices that it belongs to, apart by blanks; empty for all.
    """
    row = _row(title, Input(value, id=name, placeholder=placeholder, compact=True))
    row.add_class(*(f"only-{one}" for one in only.split()))
    return row


def choice(title: str, name: str, options: Sequence[tuple[str, str]], value: str) -> Horizontal:
    """Return a choice of one of several values, each with its words."""
    return _row(title, Select(options, value=value, id=name, allow_blank=False, compact=True))


def _row(title: str, widget: Widget) -> Horizontal:
    return Horizontal(Static(title, classes="title"), widget, classes="field")


class TickBox(Checkbox):
    """A checkbox with a tick only where it is checked, so that its colour is not needed to tell."""

    def watch_value(self) -> None:
        """Show or hide the tick."""
        self.BUTTON_INNER = "✓" if self.value else " "
        super().watch_value()

    def on_mount(self) -> None:
        """Show the tick of a box that is checked at first."""
        self.BUTTON_INNER = "✓" if self.value else " "
        self.refresh()


class Fields:
    """The fields of a form, by their ids.

    Args:
        screen: The form.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    def text(self, name: str) -> str:
        """Return what was typed, without blanks at its ends."""
        return self._screen.query_one(f"#{name}", Input).value.strip()

    def chosen(self, name: str) -> Any:
        """Return the value of a choice."""
        return self._screen.query_one(f"#{name}", Select).value

    def ticked(self, name: str) -> bool:
        """Return whether a box is checked."""
        return self._screen.query_one(f"#{name}", Checkbox).value

    def number(self, name: str, title: str) -> int | None:
        """Return a whole number that was typed, None for none.

        Raises:
            WorkbenchError: It is no number.
        """
        text = self.text(name)
        if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise WorkbenchError("No number", f"{title}: {text!r} is no whole number.")
        return int(text) if text else None

    def file(self, name: str) -> Path | None:
        """Return the file that was named, None for none."""
        text = self.text(name)
        return typed_path(text) if text else None


def typed_path(text: str) -> Path:
    """Return the path that was typed; a `~` of nobody stays, where `Path.expanduser` raises."""
    return Path(os.path.expanduser(text))


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
        self._counting = Soon(screen, COUNT_SECONDS, group="preview")
        self._generation = 0
        self._saving = False

    def count_soon(self) -> None:
        """Compute the plan once nothing is typed any more."""
        self._counting.call(self._count, again=True)

    def _count(self) -> None:
        # Who has just opened a form has done nothing wrong yet.
        plan = self._next(missing=not self._generation)
        if plan is not None:
            done, failed = (
                partial(each, self._generation) for each in (self._show_counted, self._show_wrong)
            )
            in_thread(self._screen, partial(self._preview, plan), done, failed, group="preview")

    def _next(self, *, missing: bool = False) -> Plan | None:
        """Return the plan, in place of the one before; None where something is wrong, which is shown.

        Args:
            missing: Whether what is wrong is shown as what is still to be filled in.
        """
        self._generation += 1
        try:
            return self._plan()
        except WorkbenchError as error:
            if missing:
                self._show(error.message)
            else:
                self._show_wrong(self._generation, error)
            return None

    def save(self, words: str = "") -> None:
        """Save the plan, or say what is wrong with it.

        Args:
            words: What is shown meanwhile; empty for what is there.
        """
        if self._saving:
            return
        self._counting.stop()
        plan = self._next()
        if plan is None:
            return
        self._saving = True
        if words:
            self._show(words)
        work = partial(self._save, plan)
        in_thread(self._screen, work, self._end_saving, self._end_failed, group="save", exclusive=False)

    @property
    def saving(self) -> bool:
        """Whether the plan is being saved."""
        return self._saving

    def _end_saving(self, saved: Saved) -> None:
        self._end()
        self._saved(saved)

    def _end_failed(self, error: WorkbenchError) -> None:
        self._end()
        self._show_wrong(self._generation, error)

    def _end(self) -> None:
        """Let what is said of a saved plan stand, also where fields were changed while it was saved."""
        self._saving = False
        self._counting.stop()
        self._generation += 1

    def _show_counted(self, generation: int, lines: Sequence[str]) -> None:
        if generation == self._generation and not self._saving:
            self._screen.set_class(False, "-wrong")
            self._show("\n".join(lines))

    def _show_wrong(self, generation: int, error: WorkbenchError) -> None:
        if generation == self._generation and not self._saving:
            self._screen.set_class(True, "-wrong")
            self._show(f"! {one_line(' '.join(filter(None, (error.message, error.hint))), 400)}")

    def _show(self, text: str) -> None:
        self._screen.query_one("#preview", Static).update(Content(text))
