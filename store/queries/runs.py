"""What agents' runs have done and what is left for them, read from the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Select,
    Subquery,
    Table,
    case,
    cast,
    exists,
    func,
    select,
)

from store.errors import UnknownName
from store.queries.rows import NEEDS_SANDBOX, VERDICT_PATHS
from store.tables.columns import among, table_of
from store.tables.imported import Code, Item, Pair, Query
from store.tables.runs import Execution, ExecutionRow, Run, Step, StepRow, TestOutcomeRow, VerdictRow


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
        labelled: Items with a verdict.
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


@dataclass(frozen=True, slots=True)
class StoredExecution:
    """An execution with the outcomes of its tests, in the order they ran."""

    execution: Execution
    outcomes: tuple[TestOutcomeRow, ...]


@dataclass(frozen=True, slots=True)
class PairTexts:
    """What agents see of a pair."""

    item_id: int
    external_id: str
    query: str
    code: str
    language: str


def find_run(connection: Connection, configuration: str) -> Run | None:
    """Return the run of a configuration, given as the canonical JSON that the run keeps."""
    table = table_of(Run)
    row = connection.execute(select(table).where(table.c.configuration == configuration)).mappings().first()
    return None if row is None else Run(**row)


def all_runs(connection: Connection) -> list[Run]:
    """Return every run, the one begun last first."""
    table = table_of(Run)
    rows = connection.execute(select(table).order_by(table.c.started_at.desc(), table.c.id.desc()))
    return [Run(**row) for row in rows.mappings()]


def named_run(runs: Sequence[Run], name: str) -> Run:
    """Return the run of a name, or of how a name begins or ends where that is one run's alone.

    Raises:
        UnknownName: No run, or more than one, is called so.
    """
    close = [run for run in runs if run.name.startswith(name) or run.name.endswith(name)]
    found = [run for run in runs if run.name == name] or close
    if name and len(found) == 1:
        return found[0]
    raise UnknownName(
        "Unknown run",
        f"{'More than one' if name and found else 'No'} run is called {name!r}.",
        f"Runs here: {', '.join(run.name for run in runs) or 'none yet'}.",
    )


def items_without_verdict(
    connection: Connection, run_id: UUID, kind: str, *, after: int, count: int, missing_at: UUID | None = None
) -> list[int]:
    """Return the next items that a run has no verdict on.

    Args:
        connection: An open connection.
        run_id: The run.
        kind: The task kind of the items.
        after: Only items with a higher id; pages are walked by the last id of the one before.
        count: At most so many.
        missing_at: Only items on which no run at all had a verdict when this id was made; None for all.

    Returns:
        Item ids, rising.
    """
    item = table_of(Item)
    page = select(item.c.id).where(item.c.id > after, *open_items(item, run_id, kind, missing_at))
    return list(connection.execute(page.order_by(item.c.id).limit(count)).scalars())


def those_without_verdict(
    connection: Connection,
    run_id: UUID,
    kind: str,
    item_ids: Sequence[int],
    *,
    missing_at: UUID | None = None,
) -> list[int]:
    """Return, in the order given, those of some items that `items_without_verdict` would return."""
    item = table_of(Item)
    found = select(item.c.id).where(among(item.c.id, item_ids), *open_items(item, run_id, kind, missing_at))
    without = set(connection.execute(found).scalars())
    return [number for number in item_ids if number in without]


def count_without_verdict(
    connection: Connection, run_id: UUID, kind: str, *, missing_at: UUID | None = None
) -> int:
    """Return how many items `items_without_verdict` would return, page after page."""
    item = table_of(Item)
    return int(
        connection.execute(
            select(func.count()).select_from(item).where(*open_items(item, run_id, kind, missing_at))
        ).scalar_one()
    )


def count_verdicts(connection: Connection, run_id: UUID) -> int:
    """Return how many items a run has a verdict on."""
    verdict = table_of(VerdictRow)
    return int(
        connection.execute(
            select(func.count()).select_from(verdict).where(verdict.c.run_id == run_id)
        ).scalar_one()
    )


def open_items(item: Table, run_id: UUID, kind: str, missing_at: UUID | None) -> list[ColumnElement[bool]]:
    """Return the conditions that an item is of a kind and has no verdict; see `items_without_verdict`."""
    verdict = table_of(VerdictRow)
    ruled = exists().where(verdict.c.run_id == run_id, verdict.c.item_id == item.c.id)
    found = [item.c.kind == kind, ~ruled]
    if missing_at is not None:
        # Ids rise with time, so those below are of the verdicts that there were.
        found.append(~exists().where(verdict.c.item_id == item.c.id, verdict.c.id < missing_at))
    return found


def pair_texts(connection: Connection, item_ids: Sequence[int]) -> list[PairTexts]:
    """Return what agents see of some pairs, in the order given."""
    item, pair, query, code = (table_of(model) for model in (Item, Pair, Query, Code))
    rows = connection.execute(
        select(
            item.c.id.label("item_id"),
            item.c.external_id,
            query.c.text.label("query"),
            code.c.text.label("code"),
            code.c.language,
        )
        .select_from(item)
        .join(pair, pair.c.item_id == item.c.id)
        .join(query, query.c.id == pair.c.query_id)
        .join(code, code.c.id == pair.c.code_id)
        .where(among(item.c.id, item_ids))
    ).mappings()
    found = {row["item_id"]: PairTexts(**row) for row in rows}
    return [found[number] for number in item_ids if number in found]


def steps_of(connection: Connection, run_id: UUID, item_ids: Sequence[int]) -> dict[int, list[Step]]:
    """Return the steps of a run on some items, by item, in the order they were taken."""
    table = table_of(StepRow)
    found = (
        select(table).where(table.c.run_id == run_id, among(table.c.item_id, item_ids)).order_by(table.c.id)
    )
    steps: dict[int, list[Step]] = {}
    for row in connection.execute(found.order_by(table.c.id)).mappings():
        steps.setdefault(row["item_id"], []).append(Step(**row))
    return steps


def executions_of(connection: Connection, step_ids: Sequence[UUID]) -> dict[UUID, StoredExecution]:
    """Return the executions that some steps made, by step."""
    if not step_ids:
        return {}
    execution, outcome = table_of(ExecutionRow), table_of(TestOutcomeRow)
    made = [
        Execution(**row)
        for row in connection.execute(
            select(execution).where(among(execution.c.step_id, step_ids)).order_by(execution.c.id)
        ).mappings()
    ]
    tests: dict[UUID, list[TestOutcomeRow]] = {one.id: [] for one in made}
    found = select(outcome).where(among(outcome.c.execution_id, list(tests))).order_by(outcome.c.position)
    for row in connection.execute(found).mappings():
        tests[row["execution_id"]].append(TestOutcomeRow(**row))
    return {one.step_id: StoredExecution(one, tuple(tests[one.id])) for one in made if one.step_id}


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
    failures = [
        (title, cause, int(count)) for title, cause, count in connection.execute(_failures(step, run_id))
    ]
    reasons, causes = Counter[str](), Counter[str]()
    for title, cause, count in failures:
        reasons[title] += count
        if title != NEEDS_SANDBOX:
            causes[cause or "other"] += count  # older steps do not say
    needs_sandbox = reasons.pop(NEEDS_SANDBOX, 0)
    return RunCounts(
        items=int(sums.items),
        clear_match=assessments.get("clear_match", 0),
        clear_nonmatch=assessments.get("clear_nonmatch", 0),
        unclear=assessments.get("unclear", 0),
        executed=executed,
        executable=executable,
        labelled=sum(labels.values()),
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


def _failures(step: Table, run_id: UUID) -> Select[Any]:
    """Count items without a verdict by title and cause of the error of their last step, where that failed."""
    last = _failed(step, run_id)
    title = func.split_part(last.c.error, ": ", 1)
    return select(title, last.c.cause, func.count()).group_by(title, last.c.cause)


def _failed(step: Table, run_id: UUID) -> Subquery:
    """Select items without a verdict whose last step failed, with what is said of it."""
    verdict = table_of(VerdictRow)
    last = (
        select(
            step.c.item_id,
            step.c.outcome,
            step.c.error,
            step.c.cause,
            func.row_number().over(partition_by=step.c.item_id, order_by=step.c.id.desc()).label("place"),
        )
        .where(step.c.run_id == run_id)
        .subquery()
    )
    ruled = exists().where(verdict.c.run_id == run_id, verdict.c.item_id == last.c.item_id)
    return (
        select(last.c.item_id, last.c.error, last.c.cause)
        .where(last.c.place == 1, last.c.outcome == "failed", ~ruled)
        .subquery()
    )


def failed_items(connection: Connection, run_id: UUID) -> list[int]:
    """Return the items that a run failed on and has no verdict on since, rising.

    Those that only wait for a sandbox are not among them.
    """
    failed = _failed(table_of(StepRow), run_id)
    waits = func.split_part(failed.c.error, ": ", 1) == NEEDS_SANDBOX
    found = select(failed.c.item_id).where(~waits).order_by(failed.c.item_id)
    return list(connection.execute(found).scalars())
