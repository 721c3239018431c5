"""What the job runner has told so far, kept for the screens that ask later."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agents.events import (
    ItemAnnotated,
    JobEnded,
    JobEvent,
    JobLog,
    JobPaused,
    JobProgressed,
    JobResumed,
    JobStarted,
    JobState,
)
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from screens.app import WorkbenchApp

LOG_LINES = 1_000
"""Lines of the log that are kept."""


class JobBoard:
    """The latest job, as its events tell it.

    Attributes:
        state: How it stands; None before any job.
        started: What it began with.
        progress: How far it is.
        error: Why it paused by itself, or failed.
        failures: Items without a verdict, by what went wrong.
        log: Its latest lines, as (level, text); the text is data.
        logged: How many lines were ever logged, dropped ones included.
    """

    def __init__(self) -> None:
        self.state: JobState | None = None
        self.started: JobStarted | None = None
        self.progress: JobProgressed | None = None
        self.error: WorkbenchError | None = None
        self.failures: Counter[str] = Counter()
        self.log: deque[tuple[str, str]] = deque(maxlen=LOG_LINES)
        self.logged = 0
        self._job = 0

    def take(self, event: JobEvent) -> None:
        """Take an event into account."""
        if event.job != self._job:
            self._job = event.job
            self.state, self.started, self.progress, self.error = "starting", None, None, None
            self.failures.clear()
        if isinstance(event, JobStarted):
            self.state, self.started = "running", event
        elif isinstance(event, JobProgressed):
            self.progress = event
        elif isinstance(event, ItemAnnotated):
            if event.failure is not None:
                self.failures[event.failure.title] += 1
        elif isinstance(event, JobLog):
            self._write(event.level, event.text)
        elif isinstance(event, JobPaused):
            self.state, self.error = "paused", event.reason
            if event.reason is not None:
                self._write("warning", f"paused: {event.reason}")
        elif isinstance(event, JobResumed):
            self.state, self.error = "running", None
        elif isinstance(event, JobEnded):
            self.state, self.error = event.state, event.error
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


def job_state(app: WorkbenchApp) -> JobState | None:
    """Return how the latest job stands, None before any."""
    running = app.runner.running
    return running.state if running is not None else board_of(app).state
