"""Numbers of a job as text, and the line at the foot of every screen that shows the running one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import JobEvent, JobLog, JobProgressed, JobState
from screens.help import first_key
from screens.widgets.text.sanitize import one_line
from store.formatting import dollars, format_duration, pluralize, progress_bar

if TYPE_CHECKING:
    from agents.retrieval.candidate_search import CandidateSearch, SearchEvent
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
"""Separates an agents' job from a search on one line."""

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
        key: The key of the jobs screen; empty where it is not named.
        width: Cells of the line.
    """
    head = f"{STATE_GLYPHS[state]} agents {state}"
    tail = _shows_more(key)
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


def search_words(search: CandidateSearch) -> list[str]:
    """Return what came of a search, or how far its step is, the time left, the step and its rate."""
    step, added = search.progress, search.added
    if added is not None:
        return [f"{pluralize(added.added, 'pair')} added", f"{added.known:,} already there"]
    if step is None:
        return []
    is_paced = search.state == "running" and step.per_second is not None
    words = [f"{step.done:,} of {step.total:,}"] if step.total else []
    if is_paced and step.seconds_left:
        words.append(f"{format_duration(step.seconds_left)} left")
    words.append(one_line(step.stage, 60))
    if is_paced and step.per_second:
        words.append(f"{step.per_second:,.{0 if step.per_second >= 10 else 1}f}/s")
    return words


def share_done(search: CandidateSearch) -> tuple[int, int]:
    """Return how much of its step is done, out of how much; of a search that is done, all."""
    if search.state == "done":
        return 1, 1
    return (search.progress.done, search.progress.total) if search.progress is not None else (0, 0)


def search_line(search: CandidateSearch, key: str, width: int) -> str:
    """Return a search on one line: state, bar, numbers, and the key that shows more.

    Args:
        search: The search.
        key: The key of the jobs screen; empty where it is not named.
        width: Cells of the line.
    """
    head, tail = f"{STATE_GLYPHS[search.state]} search {search.state}", _shows_more(key)
    done, total = share_done(search)
    middle = f" {bar(done, total, 10 if width < 100 else 20)}" if total else ""
    for number, part in enumerate(search_words(search)):
        if len(head) + len(middle) + len(part) + 3 + len(tail) > width:
            break
        middle += f"{' · ' if number else ' '}{part}"
    return one_line(head + middle + tail, width)


def _shows_more(key: str) -> str:
    return f" · {key} shows more" if key else ""


class JobLine(Static):
    """A running job with its bar, and a running search. How one ended stays until the screen is shown again.

    Args:
        context: Knows the jobs, the searches and the settings.
    """

    DEFAULT_CSS = """
    JobLine { width: 1fr; height: 1; padding: 0 1; color: $text-primary; display: none; }
    JobLine.-job { display: block; }
    """

    def __init__(self, context: ScreenContext) -> None:
        super().__init__(id="job-line")
        self.context = context
        self._text = ""
        self._has_job = self._has_search = False

    def on_mount(self) -> None:
        """Follow the jobs and searches."""
        self.context.jobs.events.subscribe(self, self._job_event)
        self.context.searches.events.subscribe(self, self._search_event)
        self.show_job()

    def on_resize(self) -> None:
        """Lay the line out."""
        self._lay_out()

    def _job_event(self, event: JobEvent) -> None:
        if not isinstance(event, JobLog):
            self._has_job = True
            self._show()

    def _search_event(self, event: SearchEvent) -> None:
        if event.what != "log":
            self._has_search = True
            self._show()

    def show_job(self) -> None:
        """Show the line while a job or a search runs, and no longer."""
        self._has_job = self.context.jobs.running is not None
        self._has_search = self.context.searches.running is not None
        self._show()

    def _show(self) -> None:
        self.set_class(self._has_job or self._has_search, "-job")
        self._lay_out()

    def _lay_out(self) -> None:
        job = self.context.jobs.latest if self._has_job else None
        search = self.context.searches.latest if self._has_search else None
        key, width = first_key(self.context.settings, "app.jobs"), (self.app.size.width or 80) - 2
        if job is not None and search is not None:
            # One line in any case: what is above it must not move.
            half = (width - len(BETWEEN)) // 2
            left = job_line(job.state, job.progress, "", half)
            text = left + BETWEEN + search_line(search, key, width - cell_len(left) - len(BETWEEN))
        elif job is not None:
            text = job_line(job.state, job.progress, key, width)
        elif search is not None:
            text = search_line(search, key, width)
        else:
            return
        if text != self._text:
            self._text = text
            self.update(Content(text), layout=False)
