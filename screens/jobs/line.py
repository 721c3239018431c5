"""The line at every screen's foot that shows the agents at work; without a job it takes no room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import JobEvent, JobLog
from screens.commands import commands_of
from screens.help import key_name, keys_of
from screens.jobs.wording import line

if TYPE_CHECKING:
    from screens.context import ScreenContext


class JobLine(Static):
    """A running job with its bar. How it ended stays there until the screen is shown again.

    Args:
        context: Knows the jobs and the settings.
    """

    DEFAULT_CSS = """
    JobLine { width: 1fr; height: 1; padding: 0 1; color: $text-primary; display: none; }
    JobLine.-job { display: block; }
    """

    def __init__(self, context: ScreenContext) -> None:
        super().__init__(id="job-line")
        self.context = context
        self._text = ""

    def on_mount(self) -> None:
        """Follow the jobs."""
        self.context.jobs.events.subscribe(self, self._job_told)
        self.show_job()

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _job_told(self, event: JobEvent) -> None:
        if not isinstance(event, JobLog):
            self.set_class(True, "-job")
            self._lay_out()

    def show_job(self) -> None:
        """Show the line while a job runs, and no longer."""
        self.set_class(self.context.jobs.running is not None, "-job")
        self._lay_out()

    def _lay_out(self) -> None:
        job = self.context.jobs.latest
        if job is None:
            return
        command = next(command for command in commands_of("app") if command.action == "show_jobs")
        key = key_name(keys_of(command, self.context.settings))
        text = line(job.state, job.progress, key, (self.app.size.width or 80) - 2)
        if text != self._text:
            self._text = text
            self.update(Content(text), layout=False)
