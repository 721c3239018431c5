"""The report of a job, in numbers that can be read from the records at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from agents.jobs.errors import BudgetReached
from agents.pipelines.spec import PipelineFigures
from store.errors import WorkbenchError
from store.json_fields import fields_of
from store.queries.run_figures import RunFigures


@dataclass(frozen=True, slots=True)
class JobReport:
    """The result of a job, and the figures of its whole run.

    Attributes:
        run_name: The run's name, which is also its rater's.
        kind: The kind of its items.
        configuration: Which agents took part, by the name of the configuration.
        sandbox: The name of the sandbox of this job; empty where nothing is executed.
        state: Whether the job did all it was asked, was stopped, or failed.
        done: Items that got a verdict in this job.
        failed: Items that ended in this job without one.
        waiting: Items that wait for a sandbox.
        counts: Figures of the whole run, also of earlier jobs.
        pipeline: Those that only the pipeline knows.
        seconds: Seconds that this job was at work.
        error: Why it failed.
        used_up: The budget at which it stopped.
    """

    run_id: UUID
    run_name: str
    kind: str
    configuration: str
    model: str
    sandbox: str
    state: Literal["done", "stopped", "failed"]
    done: int
    failed: int
    waiting: int
    counts: RunFigures
    pipeline: PipelineFigures
    seconds: float
    error: WorkbenchError | None = None
    used_up: BudgetReached | None = None

    def to_dict(self, *, blind: bool = False) -> dict[str, Any]:
        """Return the report as plain values for JSON.

        Args:
            blind: Leave out labels and assessments, and figures that disclose them.
        """
        error, used_up, counts = self.error, self.used_up, self.counts
        hidden = {
            **self.pipeline.numbers,
            "labels": {f"{value:g}": count for value, count in counts.labels.items()},
            "paths": counts.paths,
            "steps": counts.steps,
        }
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
            **fields_of(counts, "items", "labelled"),
            **({} if blind else hidden),
            **fields_of(counts, "needs_sandbox", "failed", "reasons", "causes", "requests"),
            **fields_of(counts, "tokens_in", "tokens_out", "tokens_cached", "tokens_written", "from_cache"),
            "cost": counts.money,
            "cost_unknown_steps": counts.unpriced,
            "seconds": round(counts.seconds, 3),
            "budget_reached": used_up
            and {"budget": used_up.option, "limit": used_up.limit, "spent": used_up.spent},
            "error": error and fields_of(error, "title", "message", "hint"),
        }
