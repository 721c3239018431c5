"""What an result job came to, in numbers that the records give again at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from agents.jobs.errors import BudgetReached
from store.errors import WorkbenchError
from store.queries.run_counts import RunCounts


@dataclass(frozen=True, slots=True)
class JobReport:
    """How a job ended, and what the whole run's records add up to (`store.queries.run_counts.run_counts`).

    Attributes:
        run_id: The run.
        run_name: The run's name, which is also its rater's.
        configuration: Which agents took part, by the name of the configuration.
        model: The names of the models.
        sandbox: The name of the sandbox of this job; empty where nothing is executed.
        state: Whether the job did all it was asked, was stopped, or failed.
        done: Items that got a verdict in this job.
        failed: Items that ended in this job without one.
        waiting: Items that need a sandbox that is not here.
        counts: Of the whole run, also of earlier jobs.
        seconds: Seconds that this job was at work.
        error: Why it failed.
        used_up: The budget at which it stopped.
    """

    run_id: UUID
    run_name: str
    configuration: str
    model: str
    sandbox: str
    state: Literal["done", "stopped", "failed"]
    done: int
    failed: int
    waiting: int
    counts: RunCounts
    seconds: float
    error: WorkbenchError | None = None
    used_up: BudgetReached | None = None

    def as_json(self, *, blind: bool = False) -> dict[str, Any]:
        """Return the report as values that JSON knows.

        Args:
            blind: Leave out labels and assessments, and what tells of them.
        """
        error, used_up = self.error, self.used_up
        return {
            "run": str(self.run_id),
            "name": self.run_name,
            "configuration": self.configuration,
            "model": self.model,
            "sandbox": self.sandbox or None,
            "state": self.state,
            "job": {
                "done": self.done,
                "failed": self.failed,
                "needs_sandbox": self.waiting,
                "seconds": round(self.seconds, 3),
            },
            **counts_as_json(self.counts, blind=blind),
            "budget_reached": used_up
            and {"budget": used_up.what, "limit": used_up.limit, "spent": used_up.spent},
            "error": error and {"title": error.title, "message": error.message, "hint": error.hint},
        }


HIDDEN = (
    *("clear_match", "clear_nonmatch", "unclear", "unclear_share", "executed", "executable"),
    *("executable_rate", "labels", "paths", "steps"),
)
"""Counts that tell of labels and assessments, which a blind review does not show."""


def counts_as_json(counts: RunCounts, *, blind: bool = False) -> dict[str, Any]:
    """Return a run's counts as values that JSON knows; a blind review leaves out those of `HIDDEN`."""
    told = {
        "items": counts.items,
        "clear_match": counts.clear_match,
        "clear_nonmatch": counts.clear_nonmatch,
        "unclear": counts.unclear,
        "unclear_share": counts.unclear_share,
        "executed": counts.executed,
        "executable": counts.executable,
        "executable_rate": counts.executable_rate,
        "labelled": counts.labelled,
        "labels": {f"{value:g}": count for value, count in counts.labels.items()},
        "paths": dict(counts.paths),
        "needs_sandbox": counts.needs_sandbox,
        "failed": counts.failed,
        "reasons": dict(counts.reasons),
        "causes": dict(counts.causes),
        "steps": counts.steps,
        "requests": counts.requests,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "tokens_cached": counts.tokens_cached,
        "tokens_written": counts.tokens_written,
        "from_cache": counts.from_cache,
        "cost": counts.money,
        "cost_unknown_steps": counts.unpriced,
        "seconds": round(counts.agent_seconds, 3),
    }
    return {name: value for name, value in told.items() if not (blind and name in HIDDEN)}
