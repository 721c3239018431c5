"""Forms: fields to fill in, what they hold, what is wrong with them, and the foot that plans and saves."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static

from screens.notices import error_line
from screens.threads import Soon, in_thread
from screens.widgets.line_input import UndoInput
from store.errors import WorkbenchError

COUNT_SECONDS = 0.4
"""Seconds after the last key before the plan is computed."""

ONLY = "only"
"""The class of the lines that belong to some choices alone."""

Plan = TypeVar("Plan")
Saved = TypeVar("Saved")
Value = TypeVar("Value")


def line(title: str, name: str, placeholder: str = "", *, value: str = "", only: str = "") -> Horizontal:
    """Return a line to fill in.

    Args:
        name: Its id.
        only: The choices that it belongs to, apart by blanks; empty for all.
    """
    # The title of a field is named in the errors about it.
    row = _row(title, UndoInput(value, id=name, name=title, placeholder=placeholder, compact=True))
    if only:
        row.add_class(ONLY, *(f"{ONLY}-{one}" for one in only.split()))
    return row


def choice(title: str, name: str, options: Sequence[tuple[str, Value]], value: Value) -> Horizontal:
    """Return a choice of one of several values, each with its words; the row has the id `of-NAME`."""
    return _row(title, Select(options, value=value, id=name, allow_blank=False, compact=True), name)


def ticks(title: str, *boxes: TickBox, name: str | None = None) -> Horizontal:
    """Return boxes to tick, two in a row; with a name the row has the id `of-NAME`."""
    return _row(title, Container(*boxes, classes="choices"), name)


def _row(title: str, widget: Widget, name: str | None = None) -> Horizontal:
    row = f"of-{name}" if name else None
    return Horizontal(Static(title, classes="title"), widget, id=row, classes="field")


class Problem(Static):
    """Says in a dialog what is wrong with what is filled in."""

    def show(self, problem: WorkbenchError | str = "") -> None:
        """Show what is wrong; nothing where that is empty."""
        text = error_line(problem, 300) if isinstance(problem, WorkbenchError) else problem and f"! {problem}"
        self.update(Content(text))


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
    """The fields of a form, by their ids."""

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

    def number(self, name: str) -> int | None:
        """Return a whole number that was typed, None for none.

        Raises:
            WorkbenchError: It is no number.
        """
        text = self.text(name)
        if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise self._no_number(name, text, "no whole number")
        return int(text) if text else None

    def decimal(self, name: str) -> float | None:
        """Return a number that was typed, None for none.

        Raises:
            WorkbenchError: It is no number.
        """
        text = self.text(name).replace(",", ".")
        try:
            return float(text) if text else None
        except ValueError:
            raise self._no_number(name, text, "no number") from None

    def _no_number(self, name: str, text: str, what: str) -> WorkbenchError:
        title = self._screen.query_one(f"#{name}").name
        return WorkbenchError("No number", f"{title}: {text!r} is {what}.")

    def file(self, name: str) -> Path | None:
        """Return the file that was named, None for none."""
        text = self.text(name)
        return typed_path(text) if text else None

    def show_only(self, choice: str) -> None:
        """Show the lines that belong to a choice, and hide those of the others."""
        for row in self._screen.query(f".{ONLY}"):
            row.display = row.has_class(f"{ONLY}-{choice}")


def typed_path(text: str) -> Path:
    """Return the path that was typed; a `~` of nobody stays, where `Path.expanduser` raises."""
    return Path(os.path.expanduser(text))


class FormFoot(Static, Generic[Plan, Saved]):
    """The foot of a form: shows what is planned while it is filled in, and saves it.

    Args:
        plan: Returns the plan as it is filled in; raises a `WorkbenchError` where it cannot.
        preview: Returns lines about the plan. Called in a thread.
        save: Saves the plan. Called in a thread.
    """

    def __init__(
        self,
        plan: Callable[[], Plan],
        preview: Callable[[Plan], Sequence[str]],
        save: Callable[[Plan], Saved],
        saved: Callable[[Saved], object],
    ) -> None:
        super().__init__(id="preview")
        self._plan = plan
        self._preview = preview
        self._save = save
        self._saved = saved
        self._counting = Soon(self, COUNT_SECONDS, group="preview")
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
            in_thread(self, partial(self._preview, plan), done, failed, group="preview")

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
                self.say(error.message)
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
            self.say(words)
        work = partial(self._save, plan)
        in_thread(self, work, self._end_saving, self._end_failed, group="save", exclusive=False)

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
            self.screen.set_class(False, "-wrong")
            self.say("\n".join(lines))

    def _show_wrong(self, generation: int, error: WorkbenchError) -> None:
        if generation == self._generation and not self._saving:
            self.say_wrong(error)

    def say(self, text: str) -> None:
        """Show a text."""
        self.update(Content(text))

    def say_wrong(self, error: WorkbenchError) -> None:
        """Show what is wrong."""
        self.screen.set_class(True, "-wrong")
        self.say(error_line(error))
