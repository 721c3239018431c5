"""What the Jobs screen lists: runs of the agents and other works, each with its job of this session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from agents.jobs.events import ENDED
from agents.jobs.work_record import INTERRUPTED

if TYPE_CHECKING:
    from agents.jobs.runner import Job
    from store.queries.run_figures import ListedRun
    from store.tables.runs import WorkRow


@dataclass(frozen=True, slots=True)
class Entry:
    """A run or another work.

    Attributes:
        run: The run; None for another work.
        work: The row of another work; None for a run.
        job: The latest job on it in this session; None where it was not started in it.
    """

    run: ListedRun | None
    work: WorkRow | None
    job: Job | None = None

    @property
    def id(self) -> UUID:
        """The key of the run or work."""
        if self.run is not None:
            return self.run.run.id
        assert self.work is not None
        return self.work.id

    @property
    def name(self) -> str:
        """Its name."""
        if self.run is not None:
            return self.run.run.name
        assert self.work is not None
        return self.work.name

    @property
    def began(self) -> datetime:
        """When it began."""
        if self.run is not None:
            return self.run.run.started_at
        assert self.work is not None
        return self.work.started_at

    @property
    def state(self) -> str:
        """Its state, as the job knows it."""
        if self.job is not None:
            return self.job.state
        if self.run is not None:
            return self.run.run.state
        assert self.work is not None
        return self.work.state

    @property
    def at_work(self) -> Job | None:
        """The job that works on it; None where none does."""
        return self.job if self.job is not None and self.job.state not in ENDED else None

    @property
    def share(self) -> tuple[int, int]:
        """How much is done, out of how much: items of a run with a label, or the step of another work."""
        if self.run is not None:
            progress = None if self.job is None else self.job.progress
            labelled = self.run.labelled if progress is None else max(progress.labelled, self.run.labelled)
            return labelled, self.run.run.total
        if self.state == "done":
            return 1, 1
        progress = None if self.job is None else self.job.progress
        if progress is None:
            assert self.work is not None
            return self.work.done, self.work.total
        return progress.done, progress.total


AT_WORK = ("running", "paused")
"""The states of what is at work. Without a job of this session, a process that died has left it so."""


def entries_of(runs: Sequence[ListedRun], works: Sequence[WorkRow], jobs: Sequence[Job]) -> list[Entry]:
    """Return runs and works with the jobs of this session, the one begun last first.

    Args:
        jobs: The jobs of this session, the latest last.
    """
    on_run = {job.run_id: job for job in jobs if job.run_id is not None}
    on_work = {job.work_id: job for job in jobs if job.work_id is not None}
    rows = {row.id: row for row in works}
    # What has begun since is not read yet.
    rows |= {job.record.row.id: job.record.row for job in jobs if job.record is not None}
    for row in rows.values():
        if row.state in AT_WORK and row.id not in on_work:
            row.state, row.said = "stopped", INTERRUPTED
    for run in runs:
        if run.run.state in AT_WORK and run.run.id not in on_run:
            run.run.state = "stopped"
    found = [Entry(run, None, on_run.get(run.run.id)) for run in runs]
    found += [Entry(None, row, on_work.get(row.id)) for row in rows.values()]
    return sorted(found, key=lambda entry: entry.began, reverse=True)
