"""The agents' jobs behind the screens: the runner, what its events told, and starting one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.signal import Signal

from agents.jobs.events import JobEnded, JobEvent
from screens.jobs.board import JobBoard
from screens.messages import JobReported
from screens.notices import Notices
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.jobs.runner import Job, JobRunner
    from agents.settings import JobSettings


class Jobs:
    """Starts jobs, and follows them.

    Args:
        app: To whose messages their events are added.
        make_runner: Makes the job runner, given where its events go.
        notices: Says what went wrong.

    Attributes:
        events: Published with every event of the job runner.
        board: What the events told.
    """

    def __init__(
        self,
        app: App[Any],
        make_runner: Callable[[Callable[[JobEvent], None]], JobRunner],
        notices: Notices,
    ) -> None:
        self.events: Signal[JobEvent] = Signal(app, "job-events")
        self.board = JobBoard()
        self._app = app
        self._make_runner = make_runner
        self._notices = notices

    @cached_property
    def runner(self) -> JobRunner:
        """Runs the agents behind the screens; made when the first run is started."""
        return self._make_runner(self._report)

    def _report(self, event: JobEvent) -> None:
        if self._app.is_running:
            self._app.post_message(JobReported(event))

    def take(self, event: JobEvent) -> None:
        """Take an event into account, and publish it."""
        if isinstance(event, JobEnded) and event.error is not None:
            self._notices.report_error(event.error)
        self.board.take(event)
        self.events.publish(event)

    @property
    def started(self) -> Sequence[Job]:
        """The jobs that were started, the latest last."""
        return self.runner.jobs if "runner" in self.__dict__ else ()

    @property
    def running(self) -> Job | None:
        """The job that is at work or paused, None when there is none."""
        return self.runner.running if "runner" in self.__dict__ else None

    @property
    def latest(self) -> Job | None:
        """The job that was started last, ended or not; None before any."""
        return self.started[-1] if self.started else None

    def start(self, annotation: JobSettings) -> bool:
        """Start agents behind the screens; return whether they were."""
        from agents.jobs.runner import JobRequest

        try:
            self.runner.start(JobRequest(annotation))
        except WorkbenchError as error:
            self._notices.report_error(error)
            return False
        return True
