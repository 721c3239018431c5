"""The progress of `workbench annotate` on stderr: a bar in a terminal, otherwise a line a minute."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from agents.jobs.events import ItemEnded, JobLog, JobProgressed
from agents.sandbox.errors import NeedsSandbox
from store.formatting import dollars, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.jobs.events import JobEvent
    from workbench.output import Bar

TOLD_IN_FULL = 3
"""Failures of one kind that are printed one by one: of a long run there may be many thousands."""

LINE_SECONDS = 60.0
"""Seconds between two lines where there is no terminal to draw a bar in."""


class ProgressReporter:
    """Prints the progress of a job on stderr; called with every event.

    Args:
        bar: The bar to move; where it is not drawn, lines are written.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._line_at = time.monotonic() + LINE_SECONDS
        self._failures: Counter[str] = Counter()
        self._last_failure = ""

    def __call__(self, event: JobEvent) -> None:
        """Print an event, if it is of interest."""
        match event:
            case JobProgressed():
                self._progressed(event)
            case ItemEnded(failure=failure) if failure is not None and not isinstance(failure, NeedsSandbox):
                self._last_failure = f"{event.external_id}: {failure}"
                self._failed(failure.title, self._last_failure)
            case JobLog(level="warning") if event.text != self._last_failure:  # an error is raised besides
                self._note(f"warning: {event.text}")

    def _progressed(self, event: JobProgressed) -> None:
        from screens.jobs.job_line import progress_words

        self._bar.show(event.ended, event.total, self._bar.shortened(_so_far(event)))
        if not self._bar.wanted and time.monotonic() >= self._line_at:
            self._line_at = time.monotonic() + LINE_SECONDS
            self._note(f"{datetime.now():%Y-%m-%d %H:%M} {' · '.join(progress_words('running', event))}")

    def _failed(self, kind: str, text: str) -> None:
        self._failures[kind] += 1
        if self._failures[kind] <= TOLD_IN_FULL:
            self._note(f"warning: {text}")
        elif self._failures[kind] == TOLD_IN_FULL + 1:
            self._note(f"More failures of the kind “{kind}” are counted, and not printed one by one.")

    @staticmethod
    def _note(line: str) -> None:
        from workbench.output import note

        note(line)


def _so_far(event: JobProgressed) -> Iterator[str]:
    """Return what the bar says of a job, and of what its run has spent, the most important first."""
    yield f"{event.ended:,}/{event.total:,}"
    if event.failed:
        yield f"{event.failed:,} failed"
    if event.waiting:
        yield f"{event.waiting:,} waiting"
    yield f"{event.per_minute:,.0f}/min"
    spent = event.spent
    if spent.money is not None:
        yield dollars(spent.money) + (" and more" if spent.unpriced else "")
    yield pluralize(spent.tokens, "token")
    yield pluralize(spent.requests, "request")
