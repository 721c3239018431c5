"""Numbers of a job as text, and the line at the foot of every screen that shows those at work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import ENDED, JobEvent, JobLog, JobProgressed
from screens.help import first_key
from screens.widgets.text.sanitize import one_line
from store.formatting import dollars, format_duration, pluralize, progress_bar

if TYPE_CHECKING:
    from agents.jobs.runner import Job
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


BETWEEN = " │ "
"""Separates jobs on one line."""

LEAST_CELLS = 34
"""Cells in which a job has a bar."""

MOST_SHOWN = 3
"""Jobs on that line."""

TICK_SECONDS = 0.25
"""Seconds between two updates of a bar."""


def bar(done: int, total: int, width: int) -> str:
    """Return a bar of so many cells; a part begun is seen, and only a whole one is full."""
    return progress_bar(done / total if total > 0 else 0.0, max(0, width))


def drawn_bar(done: int, total: int, width: int) -> Content:
    """Return a bar in colours."""
    drawn = bar(done, total, width)
    rest = drawn.count("░")
    return Content.assemble(
        (drawn[: width - rest], "$text-accent"), (drawn[width - rest :], "$foreground-muted")
    )


def format_amount(what: str, number: float) -> str:
    """Return so much of what a `Budget` bounds, in words: "$5.00", "20 requests"."""
    return dollars(number) if what == "money" else pluralize(int(number), what.removesuffix("s"))


def progress_words(state: str | None, progress: JobProgressed | None, *, pace: bool = True) -> list[str]:
    """Return a job's numbers in words, the most important first, its rate and its run's cost last."""
    if progress is None:
        return []
    nothing = state == "done" and not progress.total
    words = ["nothing was left to do" if nothing else f"{progress.ended:,} of {progress.total:,}"]
    if progress.stage and not progress.total:
        words = []
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    if progress.waiting:
        words.append(f"{progress.waiting:,} {'needs' if progress.waiting == 1 else 'need'} a sandbox")
    if state == "running" and progress.seconds_left is not None and progress.ended < progress.total:
        soon = progress.seconds_left < 1 and progress.ended > 0
        words.append("finishing" if soon else f"{format_duration(progress.seconds_left)} left")
    if progress.stage:
        words.append(one_line(progress.stage, 60))
    if pace and progress.per_minute and (not progress.stage or state == "running"):
        words.append(_rate(progress))
    spent = progress.spent
    if pace and spent.money:
        words.append(dollars(spent.money))
    if pace and spent.tokens:
        words.append(pluralize(spent.tokens, "token"))
    return words


def _rate(progress: JobProgressed) -> str:
    """Return the items of a minute; of a step, what is done in a second."""
    if not progress.stage:
        return f"{progress.per_minute:,.0f}/min"
    rate = progress.per_minute / 60
    return f"{rate:,.{0 if rate >= 10 else 1}f}/s"


def job_line(job: Job, key: str, width: int) -> str:
    """Return a job on one line: state, bar, numbers, and the key that shows more.

    Args:
        key: The key of the jobs screen; empty where it is not named.
        width: Cells of the line.
    """
    state, progress = job.state, job.progress
    head, tail = f"{STATE_GLYPHS[state]} {job.title} {state}", _shows_more(key)
    words = [job.said] if job.said else progress_words(state, progress)
    bar_width = 10 if width < 100 else 20 if width < 120 else 30
    middle = ""
    if progress is not None and not (progress.stage and not progress.total):
        whole = bool(job.said)
        drawn = bar(progress.ended, progress.total, bar_width) if progress.total else "·"
        middle = f" {bar(1, 1, bar_width) if whole else drawn}"
    for number, part in enumerate(words):
        if len(head) + len(middle) + len(part) + 3 + len(tail) > width:
            break
        middle += f"{' · ' if number else ' '}{part}"
    return one_line(head + middle + tail, width)


def _shows_more(key: str) -> str:
    return f" · {key} shows more" if key else ""


class JobLine(Static):
    """The jobs at work with their bars. How one ended stays until the screen is shown again."""

    DEFAULT_CSS = """
    JobLine { width: 1fr; height: 1; padding: 0 1; color: $text-primary; display: none; }
    JobLine.-job { display: block; }
    """

    def __init__(self, context: ScreenContext) -> None:
        super().__init__(id="job-line")
        self.context = context
        self._text = ""
        self._shown: set[int] = set()

    def on_mount(self) -> None:
        """Follow the jobs."""
        self.context.jobs.events.subscribe(self, self._job_event)
        self.show_job()

    def on_resize(self) -> None:
        """Lay the line out."""
        self._lay_out()

    def _job_event(self, event: JobEvent) -> None:
        if not isinstance(event, JobLog):
            self._shown.add(event.job)
            self._show()

    def show_job(self) -> None:
        """Show the line while a job is at work, and no longer."""
        self._shown = {job.number for job in self.context.jobs.at_work}
        self._show()

    def _show(self) -> None:
        self.set_class(bool(self._shown), "-job")
        self._lay_out()

    def _lay_out(self) -> None:
        started = self.context.jobs.started
        jobs = [job for job in started if job.number in self._shown]
        # Of many, those that have ended make room.
        jobs = (
            [job for job in jobs if job.state not in ENDED] or jobs[-1:] if len(jobs) > MOST_SHOWN else jobs
        )
        if not jobs:
            return
        text = jobs_line(jobs, first_key(self.context.settings, "app.jobs"), (self.app.size.width or 80) - 2)
        if text != self._text:
            self._text = text
            self.update(Content(text), layout=False)


def jobs_line(jobs: Sequence[Job], key: str, width: int) -> str:
    """Return jobs on one line in any case: what is above it must not move.

    Args:
        key: The key of the jobs screen.
        width: Cells of the line.
    """
    if len(jobs) == 1:
        return job_line(jobs[0], key, width)
    shown = jobs[-MOST_SHOWN:]
    more = f"{BETWEEN}{len(jobs) - len(shown)} more" if len(jobs) > len(shown) else ""
    room = width - cell_len(more)
    text = ""
    for number, job in enumerate(shown):
        left = room - cell_len(text)
        cells = (left - len(BETWEEN) * (len(shown) - number - 1)) // (len(shown) - number)
        cells -= len(BETWEEN) if number else 0
        # Of a bar that is cut off nobody can tell where it ends.
        said = job_line(job, "", cells) if cells >= LEAST_CELLS else short_line(job, cells)
        text += (BETWEEN if number else "") + said
    return text + more


def short_line(job: Job, cells: int) -> str:
    """Return a job in a few cells: what it is, and how much of it is done."""
    progress = job.progress
    share = f" {100 * progress.ended // progress.total} %" if progress is not None and progress.total else ""
    return one_line(f"{STATE_GLYPHS[job.state]} {job.title}{'' if job.said else share}", cells)
