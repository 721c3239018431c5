"""The works behind the screens: the runner, what its events report, and starting one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.message import Message
from textual.signal import Signal

from agents.jobs.errors import BudgetReached
from agents.jobs.events import (
    ENDED,
    ItemEnded,
    JobEnded,
    JobEvent,
    JobFormWeakened,
    JobLog,
    JobPaused,
    JobProgressed,
    JobResumed,
    JobStarted,
    JobWaits,
)
from screens.notices import Notices
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.jobs.events import JobEvent
    from agents.jobs.runner import Job, JobRunner
    from agents.jobs.work import Work, WorkSettings
    from agents.settings import JobSettings
    from store.tables.runs import WorkRow

LOG_LINES = 300
"""Different lines of the log that are kept."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log, shown once with its count.

    Attributes:
        level: info, warning or error.
        text: The message, without the item's name where it is of an item; it is data.
        count: How often it came.
        latest: The item that it came of last; empty where it is of none.
        when: When it came last, as one reads a clock; empty where it came in this session.
    """

    level: str
    text: str
    count: int = 1
    latest: str = ""
    when: str = ""


class JobStatus:
    """The state of a job that only its events report.

    Attributes:
        paused_for: Why the job paused by itself; None when it was asked to, or goes on.
        waits_until: When the service is asked again that turned everything down; None before that.
        weaker_forms: How models are asked whose services refused a stronger form, each in a few words.
        logged: How many lines were ever logged, equal ones and dropped ones included.
    """

    def __init__(self) -> None:
        self.paused_for: WorkbenchError | None = None
        self.waits_until: datetime | None = None
        self.weaker_forms: list[str] = []
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
                self._failed = (event.shown_id, str(event.failure))
        elif isinstance(event, JobLog):
            # The line on an item that failed follows the word of its failure.
            name, failure = self._failed
            of_item = bool(name) and event.text == f"{name}: {failure}"
            self._write(event.level, failure if of_item else event.text, name if of_item else "")
        elif isinstance(event, JobPaused):
            self.paused_for = event.reason
            if event.reason is not None:
                # The hint is for the command line; the screen itself offers more budget.
                at_budget = isinstance(event.reason, BudgetReached)
                self._write("warning", f"paused: {event.reason.message if at_budget else event.reason}")
        elif isinstance(event, JobWaits):
            self.waits_until = event.until
        elif isinstance(event, JobFormWeakened):
            self.weaker_forms.append(event.text)
        elif isinstance(event, JobStarted | JobResumed):
            self.paused_for = None
            if isinstance(event, JobStarted):
                self.weaker_forms = []
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


class Jobs:
    """Starts works, and follows them.

    Args:
        app: To whose messages their events are added.
        make_runner: Makes the job runner, given where its events go.

    Attributes:
        events: Published with every event of the job runner.
        agents_chosen: The configurations of agents that were started last, by kind of items.
        model_chosen: The model that was last chosen for a run, and started; empty for none.
    """

    def __init__(
        self,
        app: App[Any],
        make_runner: Callable[[Callable[[JobEvent], None]], JobRunner],
        make_settings: Callable[[], WorkSettings],
        notices: Notices,
    ) -> None:
        self.events: Signal[JobEvent] = Signal(app, "job-events")
        self._app = app
        self._make_runner = make_runner
        self._make_settings = make_settings
        self._notices = notices
        self._statuses: dict[int, JobStatus] = {}
        self.agents_chosen: dict[str, str] = {}
        self.model_chosen = ""

    @cached_property
    def runner(self) -> JobRunner:
        """Runs works behind the screens; made when the first one is started."""
        return self._make_runner(self._report)

    @cached_property
    def settings(self) -> WorkSettings:
        """The settings of works; the first time the whole configuration is loaded for them."""
        return self._make_settings()

    def _report(self, event: JobEvent) -> None:
        if self._app.is_running:
            self._app.post_message(JobReported(event))

    def take(self, event: JobEvent) -> None:
        """Take an event into account, and publish it."""
        if isinstance(event, JobEnded) and event.error is not None:
            self._notices.report_error(event.error)
        elif isinstance(event, JobEnded) and event.said:
            title = self.started[event.job - 1].title
            self._notices.show(title[:1].upper() + title[1:], f"{event.said}.")
        self.status_of(event.job).take(event)
        self.events.publish(event)

    def status_of(self, number: int) -> JobStatus:
        """Return what the events of a job have reported."""
        return self._statuses.setdefault(number, JobStatus())

    @property
    def started(self) -> Sequence[Job]:
        """The jobs that were started, the latest last."""
        return self.runner.jobs if "runner" in self.__dict__ else ()

    @property
    def at_work(self) -> list[Job]:
        """The jobs that are at work or paused, the latest last."""
        return [job for job in self.started if job.state not in ENDED]

    @property
    def runs_at_work(self) -> list[Job]:
        """Those of them that are runs of the agents."""
        return [job for job in self.at_work if job.record is None]

    def of_kind(self, kind: str) -> list[Job]:
        """Return the works of a kind that are at work or paused."""
        return [job for job in self.at_work if job.job.kind == kind]

    def start(self, work: JobSettings | Work) -> Job | None:
        """Start a work, or a run of these settings, behind the screens; say why not where it cannot be."""
        from agents.jobs.job import JobRequest
        from agents.settings import JobSettings

        return self._begun(
            lambda: self.runner.start(JobRequest(work) if isinstance(work, JobSettings) else work)
        )

    def begin(self, kind: str) -> Job | None:
        """Start a work of a kind, as it is; say why not where that is not possible."""
        from agents.jobs.work import open_work

        return self._begun(lambda: self.runner.start(open_work(kind, {}, self.settings)))

    def go_on(self, row: WorkRow) -> Job | None:
        """Go on with a work of this workspace; say why not where that is not possible."""
        return self._begun(lambda: self.runner.go_on(row, self.settings))

    def _begun(self, begin: Callable[[], Job]) -> Job | None:
        try:
            return begin()
        except WorkbenchError as error:
            self._notices.report_error(error)
            return None


@dataclass
class JobReported(Message):
    """An event of the job runner."""

    event: JobEvent

    def can_replace(self, message: Message) -> bool:
        """Let a newer progress report of the same job take the place of one not yet handled."""
        if not isinstance(message, JobReported) or not isinstance(self.event, JobProgressed):
            return False
        return isinstance(message.event, JobProgressed) and message.event.job == self.event.job
