"""The progress of long work on texts: the number done, the rate, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ENOUGH = 8
"""Parts before the time left is estimated, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """The progress of a step of long work.

    Attributes:
        stage: The step, as a phrase to show.
        done: How much of it is done.
        total: Out of how much.
        per_second: How much is done in a second; None where that is not known yet.
        kept: How much of it was done by earlier work.
        enough: How much has to be done before the time left is estimated, or half of it.
    """

    stage: str
    done: int
    total: int
    per_second: float | None = None
    kept: int = 0
    enough: int = ENOUGH

    @property
    def seconds_left(self) -> float | None:
        """The seconds that the rest takes at this rate; None where that is not known, or too early to say."""
        enough = min(self.enough, (self.total - self.kept) / 2)
        if not self.per_second or self.done - self.kept < enough:
            return None
        return (self.total - self.done) / self.per_second


ReportWork = Callable[[WorkProgress], None]
"""Receives the progress in the thread that does the work; an exception from it ends the work."""


def ignore_progress(_: WorkProgress) -> None:
    """Ignore the progress."""


class Pace:
    """Reports the progress of one step with its rate.

    The rate is counted from the end of the first part, since a model is loaded before that. What receives the
    progress may wait, as a pause does: that time is no part of the rate.
    """

    def __init__(
        self, stage: str, total: int, report: ReportWork, *, done: int = 0, enough: int = ENOUGH
    ) -> None:
        """Begin a step.

        Args:
            stage: The step, as a phrase to show.
            total: How much there is to do.
            report: Receives the progress.
            done: How much was done before, which says nothing of the rate.
            enough: How much has to be done before the time left is estimated.
        """
        self._stage, self._total, self._report = stage, total, report
        self._done, self._kept, self._enough = done, done, enough
        # When the first part was done, and how much that was.
        self._began: float | None = None
        self._first = done
        self.reach(done)

    def add(self, number: int) -> None:
        """Report that more is done."""
        self.reach(self._done + number)

    def reach(self, done: int) -> None:
        """Report how much is done in all."""
        self._done = done
        asked, rate = time.monotonic(), 0.0
        if self._began is None and done > self._kept:
            self._began, self._first = asked, done
        if self._began is not None and asked > self._began:
            rate = (done - self._first) / (asked - self._began)
        self._report(WorkProgress(self._stage, done, self._total, rate or None, self._kept, self._enough))
        if self._began is not None:
            self._began += time.monotonic() - asked
