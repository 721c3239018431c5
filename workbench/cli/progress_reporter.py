"""The progress of long commands on stderr: a bar in a terminal, otherwise a line a minute."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from agents.jobs.events import ItemEnded, JobEnded, JobLog, JobProgressed
from agents.jobs.work_progress import WorkProgress
from agents.sandbox.errors import NeedsSandbox
from store.formatting import dollars, format_duration, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.jobs.events import JobEvent
    from agents.jobs.work_progress import ReportWork
    from workbench.output import Bar

TOLD_IN_FULL = 3
"""Different failures of one kind that are printed: of a long run there may be many thousands."""

LINE_SECONDS = 60.0
"""Seconds between two lines where there is no terminal to draw a bar in."""


@dataclass
class _Failure:
    """A failure to print: its title, its words without the item's name, its line; whether it came again."""

    kind: str
    text: str
    line: str
    again: bool = False


class ProgressReporter:
    """Prints the progress of a job on stderr; called with every event.

    Args:
        bar: The bar to move; where it is not drawn, lines are written.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._line_at = time.monotonic() + LINE_SECONDS
        self._printed: dict[str, set[str]] = {}
        self._counted: set[str] = set()
        self._held: _Failure | None = None
        self._last_failure = ""

    def __call__(self, event: JobEvent) -> None:
        """Print an event, if it is of interest."""
        match event:
            case JobProgressed():
                self._progressed(event)
            case ItemEnded(failure=failure) if failure is not None and not isinstance(failure, NeedsSandbox):
                self._last_failure = f"{event.shown_id}: {failure}"
                self._failed(_Failure(failure.title, str(failure), self._last_failure))
            case ItemEnded():
                self._print_held()
            case JobEnded(error=error):
                # What ended the job is printed by the command, once.
                if error is None or self._held is None or str(error) != self._held.text:
                    self._print_held()
                self._held = None
            case JobLog(level="warning") if event.text != self._last_failure:  # an error is raised besides
                self._note(f"warning: {event.text}")

    def _progressed(self, event: JobProgressed) -> None:
        from screens.jobs.job_line import progress_words

        if event.stage:
            self._bar.show(event.done, event.total or None, event.stage)
        else:
            self._bar.show(event.ended, event.total, self._bar.shortened(_so_far(event)))
        if not self._bar.wanted and time.monotonic() >= self._line_at:
            self._line_at = time.monotonic() + LINE_SECONDS
            self._note(f"{datetime.now():%Y-%m-%d %H:%M} {' · '.join(progress_words('running', event))}")

    def _failed(self, failure: _Failure) -> None:
        """Hold a failure back until it is known whether the job ends with it; an equal one is counted."""
        if self._held is not None and self._held.text == failure.text:
            self._held.again = True
            return
        self._print_held()
        printed = self._printed.setdefault(failure.kind, set())
        if failure.text in printed or len(printed) == TOLD_IN_FULL:
            self._more(failure.kind)
            return
        printed.add(failure.text)
        self._held = failure

    def _print_held(self) -> None:
        failure, self._held = self._held, None
        if failure is not None:
            self._note(f"warning: {failure.line}")
            if failure.again:
                self._more(failure.kind)

    def _more(self, kind: str) -> None:
        if kind not in self._counted:
            self._counted.add(kind)
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


def progress_of_work(bar: Bar) -> ReportWork:
    """Return a callback that shows progress with its rate: a bar in a terminal, otherwise a line a minute.

    It ends the work where a signal asks for that.
    """
    from workbench.output import note
    from workbench.signals import raise_if_stopped

    line_at = time.monotonic() + LINE_SECONDS

    def show(progress: WorkProgress) -> None:
        nonlocal line_at
        raise_if_stopped()
        rate = "" if progress.per_second is None else f" · {progress.per_second:,.0f}/s"
        bar.show(progress.done, progress.total, f"{progress.stage}{rate}")
        if not bar.wanted and time.monotonic() >= line_at:
            line_at = time.monotonic() + LINE_SECONDS
            left = progress.seconds_left
            ends = "" if left is None else f" · {format_duration(left)} left"
            note(f"{progress.stage} · {progress.done:,}/{progress.total:,}{rate}{ends}")

    return show


class MethodProgress:
    """Reports the steps of several methods that work one after another, each with the name of its method.

    Args:
        methods: How many there are.
        report: Receives the progress.
    """

    def __init__(self, methods: int, report: ReportWork) -> None:
        self._methods = methods
        self._report = report
        self._begun = 0
        self._name = ""

    def begin(self, name: str) -> None:
        """Report that the next method begins, which may have no steps to report."""
        self._begun += 1
        self._name = name
        self._report(WorkProgress(name, self._begun - 1, self._methods))

    def step(self, progress: WorkProgress) -> None:
        """Report a step of the method at work."""
        step = progress.stage
        named = step if step.endswith(f" by {self._name}") else f"{self._name}: {step}"
        place = "" if self._methods == 1 else f"{self._begun}/{self._methods} "
        self._report(replace(progress, stage=place + named))
