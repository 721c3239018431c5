"""What a run has done, added up from its records: pairs by what came of them, and what its steps cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ColumnElement, Connection, Select, Table, case, cast, func, select

from store.queries.rows import NEEDS_SANDBOX, VERDICT_PATHS
from store.queries.run_failures import WAITING, failed_steps
from store.queries.runs import count_done
from store.tables.columns import table_of
from store.tables.runs import ExecutionRow, StepRow, VerdictRow


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a run's records add up to, over every job that worked on it.

    Attributes:
        items: Items that an agent of the run has worked on.
        clear_match: Items that the screener found a clear match; likewise the next two.
        clear_nonmatch: See `clear_match`.
        unclear: See `clear_match`; these go on to be tested.
        executed: Items whose test program was run, a sandbox that broke not counted.
        executable: Items whose last execution did its work ("Exec. rate" of CoSQA+, Table II).
        labelled: Items with an outcome of the run.
        labels: Verdicts by value, such as {0.0: 51, 1.0: 34}.
        paths: Verdicts by how agents came to them (`store.queries.rows.VERDICT_PATHS`), those that occur.
        needs_sandbox: Unclear items that wait for a sandbox to run their test in.
        failed: Items without a verdict whose last step failed otherwise.
        reasons: Failed items by the title of what went wrong.
        causes: Failed items by its cause, a word such as "rate_limited" (`store.tables.runs.Step`).
        steps: Steps recorded, failed ones included.
        requests: Requests sent to models; as the next three, over all steps.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        tokens_cached: Input tokens that the service had in its cache.
        tokens_written: Input tokens that it put there.
        from_cache: Steps that were answered from the workspace, at no cost.
        money: US dollars that the steps cost, as far as that is known; see `known_cost`.
        unpriced: Steps that sent requests and of which it is not known what they cost.
        agent_seconds: Seconds that agents' turns took, added up.
    """

    items: int = 0
    clear_match: int = 0
    clear_nonmatch: int = 0
    unclear: int = 0
    executed: int = 0
    executable: int = 0
    labelled: int = 0
    labels: dict[float, int] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    needs_sandbox: int = 0
    failed: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    causes: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    from_cache: int = 0
    money: float | None = None
    unpriced: int = 0
    agent_seconds: float = 0.0

    @property
    def unclear_share(self) -> float | None:
        """The share of screened items that were unclear; None when none was screened."""
        screened = self.clear_match + self.clear_nonmatch + self.unclear
        return self.unclear / screened if screened else None

    @property
    def executable_rate(self) -> float | None:
        """The share of executed programs that did their work; None when none was run."""
        return self.executable / self.executed if self.executed else None


def run_counts(connection: Connection, run_id: UUID) -> RunCounts:
    """Add up what a run has done.

    Args:
        connection: An open connection.
        run_id: The run.

    Returns:
        The counts; all zero for a run that has done nothing.
    """
    step, verdict = table_of(StepRow), table_of(VerdictRow)
    items = func.count(step.c.item_id.distinct())
    sums = connection.execute(
        select(
            items.label("items"),
            func.count().label("steps"),
            *(func.coalesce(func.sum(step.c[name]), 0).label(name) for name in _SUMMED),
            func.sum(step.c.money).label("money"),
            func.count(case((step.c.from_cache, 1))).label("from_cache"),
            func.count(case((step.c.requests > 0, 1))).label("asking"),
            func.count(case((unpriced(step), 1))).label("unpriced"),
        ).where(step.c.run_id == run_id)
    ).one()
    assessments = _pairs(connection, _assessments(step, run_id))
    labels = _pairs(
        connection,
        select(verdict.c.value, func.count()).where(verdict.c.run_id == run_id).group_by(verdict.c.value),
    )
    paths = _pairs(
        connection,
        select(verdict.c.path, func.count()).where(verdict.c.run_id == run_id).group_by(verdict.c.path),
    )
    executed, executable = _executions(connection, run_id)
    reasons, causes = Counter[str](), Counter[str]()
    for title, cause, count in connection.execute(_failures(run_id)):
        reasons[title] += int(count)
        causes[cause] += int(count)
    needs_sandbox = causes.pop(WAITING, 0)
    reasons.pop(NEEDS_SANDBOX, 0)
    return RunCounts(
        items=int(sums.items),
        clear_match=assessments.get("clear_match", 0),
        clear_nonmatch=assessments.get("clear_nonmatch", 0),
        unclear=assessments.get("unclear", 0),
        executed=executed,
        executable=executable,
        labelled=count_done(connection, run_id),
        labels=dict(sorted(labels.items())),
        paths={path: paths[path] for path in VERDICT_PATHS if path in paths},
        needs_sandbox=needs_sandbox,
        failed=sum(reasons.values()),
        reasons=_most_first(reasons),
        causes=_most_first(causes),
        steps=int(sums.steps),
        requests=int(sums.requests),
        tokens_in=int(sums.tokens_in),
        tokens_out=int(sums.tokens_out),
        tokens_cached=int(sums.tokens_cached),
        tokens_written=int(sums.tokens_written),
        from_cache=int(sums.from_cache),
        money=known_cost(sums.money, sums.asking, sums.unpriced),
        unpriced=int(sums.unpriced),
        agent_seconds=float(sums.seconds),
    )


_SUMMED = ("requests", "tokens_in", "tokens_out", "tokens_cached", "tokens_written", "seconds")


def unpriced(step: Table) -> ColumnElement[bool]:
    """Return the condition that a step asked a model and that it is not known what that cost."""
    return (step.c.requests > 0) & step.c.money.is_(None)


def known_cost(money: float | None, asking: int, unpriced: int) -> float | None:
    """Return what steps cost, as every command tells it.

    Args:
        money: The sum in US dollars over the steps of which it is known; None where there is none.
        asking: Steps that asked a model.
        unpriced: Those of them of which it is not known what they cost.

    Returns:
        The sum; 0 where no model was asked; None where it is not known of any step that asked one.
    """
    return None if asking and unpriced == asking else money or 0.0


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))


def _pairs(connection: Connection, statement: Select[Any]) -> dict[Any, int]:
    return {key: int(count) for key, count in connection.execute(statement)}


def _assessments(step: Table, run_id: UUID) -> Select[Any]:
    """Count items by the screener's last assessment; replies of failed steps need not be JSON."""
    place = func.row_number().over(partition_by=step.c.item_id, order_by=step.c.id.desc())
    screened = (
        select(step.c.id, place.label("place"))
        .where(step.c.run_id == run_id, step.c.role == "screener", step.c.outcome == "ok")
        .subquery()
    )
    assessment = cast(step.c.reply, JSON)["assessment"].as_string()
    return (
        select(assessment, func.count())
        .select_from(step)
        .join(screened, screened.c.id == step.c.id)
        .where(screened.c.place == 1)
        .group_by(assessment)
    )


def _executions(connection: Connection, run_id: UUID) -> tuple[int, int]:
    """Count items whose program was run, and those whose last run did its work."""
    step, execution = table_of(StepRow), table_of(ExecutionRow)
    latest = (
        select(
            execution.c.executable,
            func.row_number()
            .over(partition_by=execution.c.item_id, order_by=execution.c.id.desc())
            .label("place"),
        )
        .select_from(execution)
        .join(step, step.c.id == execution.c.step_id)
        .where(step.c.run_id == run_id, execution.c.exit_reason != "infrastructure")
        .subquery()
    )
    by_executable = select(latest.c.executable, func.count()).where(latest.c.place == 1)
    counts = _pairs(connection, by_executable.group_by(latest.c.executable))
    return sum(counts.values()), counts.get(True, 0)


def _failures(run_id: UUID) -> Select[Any]:
    """Count items without a verdict by title and cause of the error of their last step, where that failed."""
    last = failed_steps(run_id).subquery()
    title = func.split_part(last.c.error, ": ", 1)
    return select(title, last.c.cause, func.count()).group_by(title, last.c.cause)
