"""What is known of the latest job: the runner's own word, and what its events told before one asks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from agents.jobs.errors import BudgetReached
from agents.jobs.events import (
    ItemEnded,
    JobEnded,
    JobEvent,
    JobLog,
    JobPaused,
    JobResumed,
    JobStarted,
    JobWaits,
)
from store.errors import WorkbenchError

LOG_LINES = 300
"""Different lines of the log that are kept."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log, told once for all the times it came.

    Attributes:
        level: info, warning or error.
        text: What it says, without the item's name where it is of an item; the text is data.
        count: How often it came.
        latest: The item that it came of last; empty where it is of none.
        when: When it came last, as one reads a clock; empty where it came in this session.
    """

    level: str
    text: str
    count: int = 1
    latest: str = ""
    when: str = ""


class JobBoard:
    """Keeps what events tell and the runner does not.

    Attributes:
        paused_for: Why the latest job paused by itself; None when it was asked to, or goes on.
        waits_until: When the service is asked again that turned everything down; None before that.
        logged: How many lines were ever logged, equal ones and dropped ones included.
    """

    def __init__(self) -> None:
        self.paused_for: WorkbenchError | None = None
        self.waits_until: datetime | None = None
        self.logged = 0
        self._log: OrderedDict[tuple[str, str], LogLine] = OrderedDict()
        self._failed: tuple[str, str] = ("", "")

    @property
    def log(self) -> list[LogLine]:
        """The latest lines, each once, at the place where it came last."""
        return list(self._log.values())

    def take(self, event: JobEvent) -> None:
        """Take an event into account."""
        if isinstance(event, ItemEnded):
            if event.failure is not None:
                self._failed = (event.external_id, str(event.failure))
        elif isinstance(event, JobLog):
            # The line on an item that failed follows the word of its failure.
            name, failure = self._failed
            of_item = bool(name) and event.text == f"{name}: {failure}"
            self._write(event.level, failure if of_item else event.text, name if of_item else "")
        elif isinstance(event, JobPaused):
            self.paused_for = event.reason
            if event.reason is not None:
                # What a command is told to do about its budget, the screen does itself.
                at_budget = isinstance(event.reason, BudgetReached)
                self._write("warning", f"paused: {event.reason.message if at_budget else event.reason}")
        elif isinstance(event, JobWaits):
            self.waits_until = event.until
        elif isinstance(event, JobStarted | JobResumed):
            self.paused_for = None
        elif isinstance(event, JobEnded):
            self.paused_for = self.waits_until = None
            if event.error is not None:
                self._write("error", f"{event.state}: {event.error}")

    def _write(self, level: str, text: str, item: str = "") -> None:
        before = self._log.pop((level, text), None)
        self._log[level, text] = LogLine(level, text, before.count + 1 if before else 1, item)
        self.logged += 1
        if len(self._log) > LOG_LINES:
            self._log.popitem(last=False)
