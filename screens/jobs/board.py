"""What is known of the latest job: the runner's own word, and what its events told before one asks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agents.events import JobEnded, JobEvent, JobLog, JobPaused, JobResumed, JobStarted
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.jobs import Job
    from screens.app import WorkbenchApp

LOG_LINES = 1_000
"""Lines of the log that are kept."""


class JobBoard:
    """Keeps what events tell and the runner does not.

    Attributes:
        paused_for: Why the latest job paused by itself; None when it was asked to, or goes on.
        log: The latest lines of the log, as (level, text); the text is data.
        logged: How many lines were ever logged, dropped ones included.
    """

    def __init__(self) -> None:
        self.paused_for: WorkbenchError | None = None
        self.log: deque[tuple[str, str]] = deque(maxlen=LOG_LINES)
        self.logged = 0

    def take(self, event: JobEvent) -> None:
        """Take an event into account."""
        if isinstance(event, JobLog):
            self._write(event.level, event.text)
        elif isinstance(event, JobPaused):
            self.paused_for = event.reason
            if event.reason is not None:
                self._write("warning", f"paused: {event.reason}")
        elif isinstance(event, JobStarted | JobResumed):
            self.paused_for = None
        elif isinstance(event, JobEnded):
            self.paused_for = None
            if event.error is not None:
                self._write("error", f"{event.state}: {event.error}")

    def _write(self, level: str, text: str) -> None:
        self.log.append((level, text))
        self.logged += 1


_BOARDS: WeakKeyDictionary[WorkbenchApp, JobBoard] = WeakKeyDictionary()


def board_of(app: WorkbenchApp) -> JobBoard:
    """Return the board of an app, which takes down every event from the first call on."""
    board = _BOARDS.get(app)
    if board is None:
        board = _BOARDS[app] = JobBoard()
        app.job_events.subscribe(app, board.take, immediate=True)
    return board


def latest_job(app: WorkbenchApp) -> Job | None:
    """Return the job that was started last, ended or not; None before any."""
    return app.jobs[-1] if app.jobs else None
