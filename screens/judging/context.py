"""The parts shared by the components of a judging screen: guard, keys, and the message line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from screens.commands import CommandScope
from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.jobs.job_line import JobLine
from screens.judging.keys import ScaleKeys
from screens.judging.order import OrderPlace
from screens.judging.paint_guard import PaintGuard
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line, visible

if TYPE_CHECKING:
    from store.record.actions import Action

ROWS = 5
"""Rows that the line may take at most."""
SAVING = "…"
"""The sign of what is not on disk yet."""


class Foot(Vertical):
    """The lines at the foot of a screen that judges: a line that is written in, message, job, keys.

    Together they always have the same height, so that nothing above them moves: a long message takes its
    rows from the keys, and a question that of the job.
    """

    DEFAULT_CSS = """
    Foot { width: 1fr; height: 14%; min-height: 3; max-height: 4; }
    Foot JobLine.-covered { display: none; }
    """


class MessageLine(Static):
    """The latest message: what happened, and how to take it back.

    A long sentence takes further rows, and leaves one to what else is in its container.
    """

    _text = ""
    _rows = 1

    def show(self, text: str, *, alarm: bool = False) -> None:
        """Show a message; control characters of data in it are made visible. An alarm is highlighted."""
        self.set_class(alarm, "-alarm")
        if text != self._text:
            self._text = text
            self._lay_out()

    @property
    def text(self) -> str:
        """The message that is shown."""
        return self._text

    def on_resize(self) -> None:
        """Lay the line out."""
        self._lay_out()

    @property
    def _container_height(self) -> int:
        return self.parent.size.height if isinstance(self.parent, Widget) else 0

    def _lay_out(self) -> None:
        width, most = max(20, self.size.width), max(1, min(ROWS, self._container_height - 1))
        lines = Content(visible(self._text.replace("\n", " ")).text).wrap(width)
        if len(lines) > most:
            rest = "".join(line.plain for line in lines[most - 1 :])
            lines[most - 1 :] = [Content(one_line(rest, width))]
        self.update(Content("\n").join(lines), layout=False)
        # The height is set here, and only when it is another one: laying out a screen takes its time.
        rows = max(1, len(lines))
        if rows != self._rows:
            self._rows = rows
            self.styles.height = rows


class JudgingContext:
    """Shared by the components of a screen that judges; each keeps all other state to itself.

    The screen has a `MessageLine` and a `KeyLine`; it may have a `JobLine`.

    Args:
        scope: The screen whose keys these are.

    Attributes:
        keys: The keys of the question on the screen.
    """

    def __init__(
        self, screen: Screen[Any], context: ScreenContext, guard: PaintGuard, scope: CommandScope = "review"
    ) -> None:
        self.screen = screen
        self.context = context
        self.guard = guard
        self.keys = ScaleKeys(context.settings, lambda: guard.item, scope)
        self._lost: tuple[OrderPlace | None, str] | None = None
        # The item, and the value that was to be given again: without what is missing.
        self._unconfirmed: tuple[int, float, str] | None = None
        # What was recorded last, and the message that tells of it.
        self._recorded: tuple[UUID, str] | None = None
        self._follows_saving = False

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        return self.guard.item

    @property
    def is_writing(self) -> bool:
        """Whether keys are text now, since a line is open."""
        return isinstance(self.screen.focused, Input)

    def key(self, verb: str) -> str:
        """Return the first key of a command of the screen, as a person reads it."""
        return self.keys.named(verb)

    # -- keys that had no effect ----------------------------------------------------------------------

    def lose_key(self, meant: str) -> None:
        """Take note that a key had no effect which was to go with the next label of the item gone to last.

        Args:
            meant: What is missing in that label, as a word: citation, comment.
        """
        self._lost = self.guard.wanted, meant

    def forget_lost_key(self) -> None:
        """Take note that what a key was meant for was done after all."""
        self._lost = self._unconfirmed = None

    def missing_in_label(self, item: ItemView, value: float) -> str:
        """Return which key had no effect that was to go with the label given now; empty for none.

        The same label, given again, is given without it; for another one it is named again.
        """
        lost, self._lost = self._lost, None
        asked, self._unconfirmed = self._unconfirmed, None
        missing = ""
        if lost is not None and lost[0] is self.guard.wanted:
            missing = f"the {lost[1]} before it was not taken"
        elif self.context.last_key.after_refused:
            missing = "keys just before it were not taken"
        elif asked is not None and asked[0] == item.item_id and asked[1] != value:
            missing = asked[2]
        if missing:
            self._unconfirmed = item.item_id, value, missing
        return missing

    # -- messages -------------------------------------------------------------------------------------

    @property
    def message(self) -> str:
        """The message that is shown."""
        return self.screen.query_one(MessageLine).text

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """The codes that are shown in place of the keys, with their meanings."""
        return self.screen.query_one(KeyLine).choices

    def show_message(
        self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Show a message, highlighted as an alarm, and codes with meanings in place of the keys."""
        # They are where the keys are, so that the panes move as little as possible.
        self.screen.query_one(KeyLine).offer(choices)
        self.screen.query(JobLine).set_class(bool(choices), "-covered")
        self.screen.query_one(MessageLine).show(text, alarm=alarm)

    def show_no_item(self) -> None:
        """Say that a key came before its item."""
        self.show_message("There is no item on the screen yet. Press again.")

    def show_recorded(self, action: Action, text: str, *, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Show a message that begins with the sign of what was recorded: `…` until that is on disk.

        Args:
            choices: Codes with meanings in place of the keys.
        """
        number = action.records[0].id
        self._recorded = number, text
        waits = number in self.context.recorder.unsaved
        self.show_message(f"{SAVING}{text[1:]}" if waits else text, choices=choices)
        if not self._follows_saving:
            self._follows_saving = True
            self.context.recorder.saved.subscribe(self.screen, self._show_saved, immediate=True)

    def _show_saved(self, _action: Action) -> None:
        """Give the message on what was recorded last its sign, once that is on disk."""
        if self._recorded is None or self._recorded[0] in self.context.recorder.unsaved:
            return
        (_, text), self._recorded = self._recorded, None
        line = self.screen.query_one(MessageLine)
        if line.text.startswith(f"{SAVING}{text[1:]}"):
            line.show(f"{text[0]}{line.text[1:]}", alarm=line.has_class("-alarm"))

    def append_message(self, text: str) -> None:
        """Append to the message, unless that is a question."""
        if not self.choices:
            self.show_message(f"{self.message} · {text}" if self.message else text)

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        """Show a notice of the app; a question that is open still waits for its answer."""
        text = f"! {text}" if alarm else text
        if not self.choices:
            self.show_message(text, alarm=alarm)
        elif not self.message.endswith(text):
            whole = f"{self.message} · {text}" if self.message else text
            self.screen.query_one(MessageLine).show(whole, alarm=alarm)
