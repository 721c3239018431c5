"""Reads the content of a screen in a thread, and again when something is recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from textual.content import Content

from screens.notices import error_lines
from screens.threads import Soon, in_thread
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.record.rater_ref import RaterRef

T = TypeVar("T")


class Reading(Generic[T]):
    """Reads for a screen, while that is what is shown.

    Args:
        read: Reads for the rater of the session, in a thread.
        done: Called once it was read, or could not be.

    Attributes:
        found: What was read last; None before that.
        failure: Why it could not be read, or may not be.
    """

    def __init__(
        self,
        screen: WorkbenchScreen,
        read: Callable[[Connection, RaterRef | None], T],
        done: Callable[[], object],
    ) -> None:
        self.found: T | None = None
        self.failure: WorkbenchError | None = None
        self._screen = screen
        self._read = read
        self._done = done

    def follow(self, *, rest: float = 0.0) -> None:
        """Read again whenever something is recorded.

        Args:
            rest: The seconds within which what is recorded is read once; 0 to read at once.
        """
        read: Callable[[], object] = self.again
        if rest:
            read = partial(Soon(self._screen, rest, group="reading").call, self.again)
        self._screen.context.recorder.saved.subscribe(self._screen, lambda _: read())

    def again(self) -> None:
        """Read in a thread."""
        if self._screen.is_current:
            in_thread(self._screen, self._read_now, self._take, self._fail, group="reading")

    def _read_now(self) -> T:
        context = self._screen.context
        with context.workspace.reading() as connection:
            return self._read(connection, context.rater)

    def _take(self, found: T) -> None:
        self.found, self.failure = found, None
        self._done()

    def _fail(self, error: WorkbenchError) -> None:
        self.failure = error
        self._done()

    def why_nothing(self) -> list[Content]:
        """Return why nothing is shown, as lines; none where something was read."""
        if self.failure is not None:
            return error_lines(self.failure)
        return [Content("Reading …")] if self.found is None else []
