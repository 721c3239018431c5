"""What the parts of a screen that judges share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual.screen import Screen
from textual.widgets import Input

from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.judging.keys import ScaleKeys
from screens.judging.painted import PaintGuard
from screens.judging.saying import Saying


@dataclass(frozen=True, slots=True)
class ScreenParts:
    """What the parts of a screen share: each of them keeps all other state to itself.

    Attributes:
        screen: The screen.
        context: What every screen works with.
        guard: Knows which item is on the screen.
        keys: The keys of the question that is asked.
        saying: Says what happened.
    """

    screen: Screen[Any]
    context: ScreenContext
    guard: PaintGuard
    keys: ScaleKeys
    saying: Saying

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

    def say(self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Say a sentence; an alarm stands out."""
        self.saying.say(text, alarm=alarm, choices=choices)
