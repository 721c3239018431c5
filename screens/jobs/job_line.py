"""Numbers of a job as text, and the line at the foot of every screen that shows the running one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import JobEvent, JobLog, JobProgressed, JobState
from screens.commands import commands_of
from screens.help import key_name, keys_of
from screens.widgets.text.sanitize import one_line
from store.formatting import dollars, pluralize, progress_bar

if TYPE_CHECKING:
    from screens.context import ScreenContext

STATE_GLYPHS: dict[str, str] = {
    "starting": "…",
    "running": "▶",
    "paused": "‖",
    "stopping": "…",
    "done": "✓",
    "stopped": "■",
    "failed": "!",
}


TICK_SECONDS = 0.25
"""Seconds between two updates of a bar."""


def bar(done: int, total: int, width: int) -> str:
    """Return a bar of so many cells; a part begun is seen, and only a whole one is full."""
    return progress_bar(done / total if total > 0 else 0.0, max(0, width))


def drawn_bar(done: int, total: int, width: int) -> Content:
    """Return a bar in colours."""
    drawn = bar(done, total, width)
    rest = drawn.count("░")
    return Content.assemble((drawn[: width - rest], "$text-accent"), (drawn[width - rest :], "$text-muted"))


def format_duration(seconds: float) -> str:
    """Return a duration in words: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def format_amount(what: str, number: float) -> str:
    """Return so much of what a `Budget` bounds, in words: "$5.00", "20 requests"."""
    return dollars(number) if what == "money" else pluralize(int(number), what.removesuffix("s"))


def progress_words(state: JobState | None, progress: JobProgressed | None, *, pace: bool = True) -> list[str]:
    """Return a job's numbers in words, the most important first, its rate and its run's cost last."""
    if progress is None:
        return []
    nothing = state == "done" and not progress.total
    words = ["nothing was left to do" if nothing else f"{progress.ended:,} of {progress.total:,}"]
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    if progress.waiting:
        words.append(f"{progress.waiting:,} {'needs' if progress.waiting == 1 else 'need'} a sandbox")
    if state == "running" and progress.seconds_left is not None and progress.ended < progress.total:
        soon = progress.seconds_left < 1 and progress.ended > 0
        words.append("finishing" if soon else f"{format_duration(progress.seconds_left)} left")
    if pace and progress.per_minute:
        words.append(f"{progress.per_minute:,.0f}/min")
    spent = progress.spent
    if pace and spent.money:
        words.append(dollars(spent.money))
    if pace and spent.tokens:
        words.append(pluralize(spent.tokens, "token"))
    return words


def job_line(state: JobState, progress: JobProgressed | None, key: str, width: int) -> str:
    """Return a job on one line: state, bar, numbers, and the key that shows more.

    Args:
        state: The state of the job.
        progress: How far it is.
        key: The key of the jobs screen.
        width: Cells of the line.
    """
    head = f"{STATE_GLYPHS[state]} agents {state}"
    tail = f" · {key} shows more"
    words = progress_words(state, progress)
    bar_width = 10 if width < 100 else 20 if width < 120 else 30
    middle = ""
    if progress is not None:
        drawn = bar(progress.ended, progress.total, bar_width) if progress.total else "·"
        middle = f" {drawn} {words[0]}"
        for part in words[1:]:
            if len(head) + len(middle) + len(part) + 3 + len(tail) > width:
                break
            middle += f" · {part}"
    return one_line(head + middle + tail, width)


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
        self.context.jobs.events.subscribe(self, self._job_event)
        self.show_job()

    def on_resize(self) -> None:
        """Lay the line out."""
        self._lay_out()

    def _job_event(self, event: JobEvent) -> None:
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
        text = job_line(job.state, job.progress, key, (self.app.size.width or 80) - 2)
        if text != self._text:
            self._text = text
            self.update(Content(text), layout=False)
