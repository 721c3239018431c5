"""Counts the progress of a job, and emits it at most ten times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.jobs.events import JobProgressed, Spent
from agents.sandbox.errors import NeedsSandbox

if TYPE_CHECKING:
    from uuid import UUID

    from agents.jobs.events import ItemEnded, JobEvent
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Step

INTERVAL_SECONDS = 0.1


class JobProgress:
    """One job's counts, in the job's own loop.

    Args:
        job: The job's number.
        run_id: The run that it works on.
        total: Items that it works on.
        before: The figures of the run before it.
        emit: Called with the progress.
    """

    def __init__(
        self, job: int, run_id: UUID, total: int, before: RunFigures, emit: Callable[[JobEvent], None]
    ) -> None:
        self.total = total
        self.done = 0
        self.failed = 0
        self.waiting = 0
        self._job = job
        self._run_id = run_id
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._latest = ""
        self._labelled_before = before.labelled
        self._spent = Spent(
            before.requests,
            before.tokens_in + before.tokens_out,
            before.money if before.requests else None,
            before.unpriced,
            before.from_cache,
        )
        self._worked = 0.0
        self._since: float | None = self._loop.time()
        self._emitted_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def step(self, step: Step) -> None:
        """Count what a recorded step cost."""
        spent = self._spent
        self._spent = replace(
            spent,
            requests=spent.requests + step.requests,
            tokens=spent.tokens + step.tokens_in + step.tokens_out,
            money=spent.money if step.money is None else (spent.money or 0.0) + step.money,
            unpriced=spent.unpriced + (step.requests > 0 and step.money is None),
            from_cache=spent.from_cache + step.from_cache,
        )
        self._changed()

    def ended(self, event: ItemEnded) -> None:
        """Count an item that ended."""
        if event.failure is None:
            self.done += 1
        elif isinstance(event.failure, NeedsSandbox):
            self.waiting += 1
        else:
            self.failed += 1
        self._latest = event.shown_id
        self._changed()

    def pause(self) -> None:
        """Stop the clock, and emit the progress."""
        self._worked = self.seconds
        self._since = None
        self.emit()

    def resume(self) -> None:
        """Let the clock go on."""
        self._since = self._loop.time()
        self._changed()

    @property
    def ended_items(self) -> int:
        """How many items ended, with a verdict or without."""
        return self.done + self.failed + self.waiting

    @property
    def seconds(self) -> float:
        """Seconds at work, pauses not counted."""
        return self._worked + (0.0 if self._since is None else self._loop.time() - self._since)

    def emit(self) -> None:
        """Emit the progress now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._emitted_at = self._loop.time()
        seconds = self.seconds
        self._emit(
            JobProgressed(
                job=self._job,
                run_id=self._run_id,
                done=self.done,
                failed=self.failed,
                total=self.total,
                seconds=seconds,
                per_minute=self.ended_items * 60 / seconds if seconds > 0 else 0.0,
                latest=self._latest,
                spent=self._spent,
                labelled=self._labelled_before + self.done,
                waiting=self.waiting,
            )
        )

    def _changed(self) -> None:
        """Emit at once when the last event is old enough, else later."""
        if self._timer is not None:
            return
        wait = self._emitted_at + INTERVAL_SECONDS - self._loop.time()
        if wait <= 0:
            self.emit()
        else:
            self._timer = self._loop.call_later(wait, self.emit)
