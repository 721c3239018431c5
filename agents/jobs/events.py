"""The events of a running job: frozen values, given to the job's `emit` from the jobs' own thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from agents.jobs.outcome import Outcome
from store.errors import WorkbenchError

JobState = Literal["starting", "running", "paused", "stopping", "done", "stopped", "failed"]
ENDED: tuple[JobState, ...] = ("done", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of the recorded steps of a run, all its jobs together.

    Attributes:
        requests: Requests sent to models.
        tokens: Input and output tokens.
        money: US dollars, as far as that is known; None where no turn knows.
        unpriced: StepRecorder that sent requests and of which it is not known what they cost.
        from_cache: StepRecorder that were answered from the workspace, at no cost.
    """

    requests: int = 0
    tokens: int = 0
    money: float | None = None
    unpriced: int = 0
    from_cache: int = 0


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A job begins its work; one on items knows its run.

    Attributes:
        run_id: The run that it works on; None for another work.
        run_name: The run's name, which is also its rater's; that of another work.
        sandbox: The sandbox's name; empty where nothing is executed.
        total: Items that this job will work on.
    """

    job: int
    run_id: UUID | None
    run_name: str
    model: str = ""
    sandbox: str = ""
    total: int = 0


@dataclass(frozen=True, slots=True)
class JobProgressed:
    """How far a job is. Sent at most about ten times a second; the last state always comes.

    Attributes:
        run_id: The run that it works on; None for another work.
        done: Items of this job that ended with a verdict; of another work, how much of its step is done.
        failed: Items of this job that ended without one.
        total: Items that this job works on.
        seconds: Seconds at work, pauses not counted.
        per_minute: Items ended per minute at work; 0 while none has ended.
        latest: The external id of the item that ended last; empty before.
        spent: The cost of the run's steps, those of its earlier jobs and of unfinished items included.
        labelled: Items of the run with a verdict, those of its earlier jobs included.
        waiting: Items that need a sandbox that is not here; they are not counted as failed.
        stage: The step of another work, as a phrase.
        of_step: An estimate of the seconds to the end of that step.
    """

    job: int
    run_id: UUID | None
    done: int
    failed: int
    total: int
    seconds: float
    per_minute: float
    latest: str
    spent: Spent
    labelled: int
    waiting: int = 0
    stage: str = ""
    of_step: float | None = None

    @property
    def ended(self) -> int:
        """Items that this job is over with."""
        return self.done + self.failed + self.waiting

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the seconds to the end; None while there is nothing to go by."""
        if self.stage or not self.per_minute:
            return self.of_step
        return max(self.total - self.ended, 0) * 60 / self.per_minute


@dataclass(frozen=True, slots=True)
class ItemEnded:
    """The work on an item has ended, and its record is on disk.

    Attributes:
        shown_id: What the item is called on screens.
        outcomes: The outcomes of the pipeline; empty for an item that failed.
        failure: Why it failed.
    """

    job: int
    run_id: UUID
    item_id: int
    shown_id: str
    outcomes: tuple[Outcome, ...] = ()
    failure: WorkbenchError | None = None


@dataclass(frozen=True, slots=True)
class JobLog:
    """A line for the job's log; text of models and programs may be in it and is data."""

    job: int
    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class JobWaits:
    """A job's service turns everything down for a while: nothing is asked of it until that moment."""

    job: int
    until: datetime


@dataclass(frozen=True, slots=True)
class JobFormWeakened:
    """A service refuses the strongest way of asking for the form of replies; `text` says how it is asked."""

    job: int
    text: str


@dataclass(frozen=True, slots=True)
class JobPaused:
    """A job takes up no further turn; `reason` says why, where it was not the user who paused it."""

    job: int
    reason: WorkbenchError | None = None


@dataclass(frozen=True, slots=True)
class JobResumed:
    """A paused job goes on."""

    job: int


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job is over, and what it recorded is on disk.

    Attributes:
        state: Whether it did all it was asked, was stopped (it can be started again), or failed.
        run_id: The run; None when it failed before there was one.
        error: Why it failed, or the budget at which it stopped.
        said: What came of another work, in a sentence.
    """

    job: int
    state: Literal["done", "stopped", "failed"]
    run_id: UUID | None = None
    error: WorkbenchError | None = None
    said: str = ""


JobEvent = (
    JobStarted
    | JobProgressed
    | ItemEnded
    | JobLog
    | JobWaits
    | JobFormWeakened
    | JobPaused
    | JobResumed
    | JobEnded
)
