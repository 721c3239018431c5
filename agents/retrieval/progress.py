"""The progress of long work on texts: the number done, the rate, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """The progress of a step of long work.

    Attributes:
        stage: The step, as a phrase to show.
        done: How much of it is done.
        total: Out of how much.
        per_second: How much is done in a second; None where that is not known yet.
    """

    stage: str
    done: int
    total: int
    per_second: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """The seconds that the rest takes at this rate; None where that is not known."""
        return (self.total - self.done) / self.per_second if self.per_second else None


ReportWork = Callable[[WorkProgress], None]
"""Receives the progress in the thread that does the work; an exception from it ends the work."""


def ignore_progress(_: WorkProgress) -> None:
    """Ignore the progress."""


class Pace:
    """Reports the progress of one step with its rate since the step began."""

    def __init__(self, stage: str, total: int, report: ReportWork, *, done: int = 0) -> None:
        """Begin a step.

        Args:
            stage: The step, as a phrase to show.
            total: How much there is to do.
            report: Receives the progress.
            done: How much was done before, which says nothing of the rate.
        """
        self._stage, self._total, self._report = stage, total, report
        self._done, self._before = done, done
        self._began = time.monotonic()
        report(WorkProgress(stage, done, total))

    def add(self, number: int) -> None:
        """Report that more is done."""
        self._done += number
        seconds = time.monotonic() - self._began
        rate = (self._done - self._before) / seconds if seconds > 0 else None
        self._report(WorkProgress(self._stage, self._done, self._total, rate or None))
