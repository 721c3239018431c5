"""For how long each question was on the screen, over all openings of its item; kept across sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screens.items.views import ItemView
from screens.judging.judgment_builder import IDLE_SECONDS, Stopwatch

_NAME = "spent"
_KEPT = 500
"""Questions whose times are kept across sessions, the latest ones."""


class TimeSpent:
    """Measures how long the question that is asked has been asked, and goes on where it was left.

    Args:
        idle_seconds: The longest pause between two keys that does not count as time away.

    Attributes:
        watch: Measures the question that is asked.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.watch = Stopwatch(idle_seconds)
        self._idle_seconds = idle_seconds
        # Milliseconds by question, elapsed and active.
        self._spent: dict[str, tuple[int, int]] = {}
        self._asked: str | None = None

    def begin(self, view: ItemView) -> None:
        """Go on with the question that an item is asked."""
        self.stop()
        target = view.current.target
        self._asked = f"{view.item_id} {target.question_id} {target.response_ref_id or 0}"
        self.watch = Stopwatch(self._idle_seconds, self._spent.get(self._asked, (0, 0)))

    def stop(self) -> None:
        """Keep what the question has taken until now."""
        if self._asked is not None:
            # The latest comes last, so that the oldest go when there are too many.
            self._spent.pop(self._asked, None)
            self._spent[self._asked] = self.watch.read()
            self._asked = None

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the times of earlier sessions."""
        kept = session.get(_NAME)
        for name, times in (kept if isinstance(kept, dict) else {}).items():
            elapsed, active = times
            self._spent.setdefault(name, (int(elapsed), int(active)))

    @property
    def kept(self) -> dict[str, Any]:
        """The times as a session stores them."""
        now = {} if self._asked is None else {self._asked: self.watch.until_last_key}
        return {_NAME: dict([*(self._spent | now).items()][-_KEPT:])}
