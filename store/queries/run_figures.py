"""Figures of runs, added up from their records: of a run as a whole, of each role, of all runs in a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Table, case, func, literal, select

from store.json_fields import ROUNDED, json_name
from store.queries.current import on_label
from store.queries.rows import NEEDS_SANDBOX
from store.queries.run_items import WAITING, failed_steps
from store.queries.runs import all_runs, count_done, outcomes
from store.tables.columns import table_of
from store.tables.runs import ReplyRow, Run, StepRow, VerdictRow

LATELY = timedelta(seconds=60)
"""How far back steps count for a rate."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of a run over every job that worked on it, whatever its pipeline.

    Attributes:
        items: Items that an agent of the run has worked on. Each is done, failed, waiting or unfinished.
        labelled: Items with an outcome of the run.
        labels: Verdicts on labels by value, such as {0.0: 51, 1.0: 34}.
        paths: The same by how the pipeline came to them, in its own words.
        needs_sandbox: Items that wait for a sandbox to run their test in.
        failed: Items without an outcome whose last step failed otherwise.
        reasons: Failed items by the title of what went wrong, the most frequent first.
        causes: Failed items by its cause, a word such as "rate_limited" (`store.tables.runs.Step`).
        steps: Steps recorded, failed ones included.
        requests: Requests sent to models; as the next three, over all steps.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        tokens_cached: Input tokens that the service had in its cache.
        tokens_written: Input tokens that it put there.
        from_cache: Steps that were answered from the workspace, at no cost.
        money_from_cache: US dollars that these replies cost when they came; None where that is not
            known of all.
        money: US dollars that the steps cost, as far as that is known; see `known_cost`.
        money_per_item: US dollars of an item all of whose steps have a price, on average; None without one,
            and where `money` is None.
        unpriced: Steps that sent requests and whose cost is not known.
        unpriced_items: Items with such a step.
        seconds: Seconds that agents' steps took, added up.
    """

    items: int = 0
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
    money_from_cache: float | None = 0.0
    money: float | None = 0.0
    money_per_item: float | None = None
    unpriced: int = 0
    unpriced_items: int = 0
    seconds: float = 0.0

    @property
    def unfinished(self) -> int:
        """Items without an outcome whose last step did not fail."""
        return self.items - self.labelled - self.failed - self.needs_sandbox


def run_figures(connection: Connection, run_id: UUID) -> RunFigures:
    """Add up what a run has done.

    Returns:
        The figures; all zero for a run that has done nothing.
    """
    step, verdict = table_of(StepRow), table_of(VerdictRow)
    by_item = (
        select(
            step.c.item_id,
            *_sums(step),
            func.count(case((step.c.requests > 0, 1))).label("asking"),
        )
        .where(step.c.run_id == run_id)
        .group_by(step.c.item_id)
        .subquery()
        .c
    )
    names = ("steps", *_SUMMED, "unpriced", "from_cache", "asking")
    priced = by_item.unpriced == 0
    row = connection.execute(
        select(
            func.count().label("items"),
            *(func.coalesce(func.sum(by_item[name]), 0).label(name) for name in names),
            func.sum(by_item.money).label("money"),
            func.count(case((priced, 1))).label("priced_items"),
            func.sum(case((priced, by_item.money))).label("priced_money"),
        )
    ).one()
    sums = {name: int(row._mapping[name]) for name in ("items", *names) if name != "seconds"}
    money = known_cost(row.money, sums.pop("asking"), sums["unpriced"])
    per_item = (
        (row.priced_money or 0.0) / row.priced_items if row.priced_items and money is not None else None
    )
    on_labels = (verdict.c.run_id == run_id, on_label(verdict))
    values = select(verdict.c.value, func.count()).where(*on_labels).group_by(verdict.c.value)
    paths = select(verdict.c.path, func.count()).where(*on_labels).group_by(verdict.c.path)
    reasons, causes = Counter[str](), Counter[str]()
    for title, cause, count in connection.execute(_failures(run_id)):
        reasons[title] += int(count)
        causes[cause] += int(count)
    needs_sandbox = causes.pop(WAITING, 0)
    reasons.pop(NEEDS_SANDBOX, 0)
    return RunFigures(
        **sums,
        labelled=count_done(connection, run_id),
        labels=dict(sorted(_pairs(connection, values).items())),
        paths=dict(sorted(_pairs(connection, paths).items())),
        needs_sandbox=needs_sandbox,
        failed=sum(reasons.values()),
        reasons=_most_first(reasons),
        causes=_most_first(causes),
        money_from_cache=_money_from_cache(connection, run_id) if sums["from_cache"] else 0.0,
        money=money,
        money_per_item=per_item,
        unpriced_items=sums["items"] - int(row.priced_items),
        seconds=float(row.seconds),
    )


_SUMMED = ("requests", "tokens_in", "tokens_out", "tokens_cached", "tokens_written", "seconds")


def _sums(step: Table) -> list[ColumnElement[Any]]:
    """Return the sums over steps that a run and a role have in common."""
    return [
        func.count().label("steps"),
        *(func.coalesce(func.sum(step.c[name]), 0).label(name) for name in _SUMMED),
        func.sum(step.c.money).label("money"),
        func.count(case((unpriced(step), 1))).label("unpriced"),
        func.count(case((step.c.from_cache, 1))).label("from_cache"),
    ]


def _money_from_cache(connection: Connection, run_id: UUID) -> float | None:
    """Return what the replies from the cache cost when they came; None where it is not known of all."""
    step, reply = table_of(StepRow), table_of(ReplyRow)
    found = (
        select(func.count(), func.count(reply.c.money), func.sum(reply.c.money))
        .select_from(step)
        .outerjoin(reply, reply.c.id == step.c.reply_id)
        .where(step.c.run_id == run_id, step.c.from_cache)
    )
    count, known, money = connection.execute(found).one()
    return (money or 0.0) if count == known else None


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


def _failures(run_id: UUID) -> Select[Any]:
    """Count items without a verdict by title and cause of the error of their last step, where that failed."""
    last = failed_steps(run_id).subquery()
    title = func.split_part(last.c.error, ": ", 1)
    return select(title, last.c.cause, func.count()).group_by(title, last.c.cause)


@dataclass(frozen=True, slots=True)
class RoleFigures:
    """One role's turns in a run, over every job that worked on it.

    Attributes:
        role: The role, as its steps say it.
        turns: Steps recorded, failed ones included.
        items: Items that it worked on.
        failed: Turns that failed, those that were made good by a later one included.
        retries: Turns on an item on which the role had a turn before: after a failure, or for a repair.
        retried_items: Items with such a turn.
        lately: Turns recorded in the last `LATELY` before the moment that was given.
        requests: Requests sent to models.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        money: US dollars, None where no step knows.
        unpriced: Turns that sent requests and of which it is not known what they cost.
        from_cache: Turns that were answered from the workspace, at no cost.
        seconds: Seconds of all turns.
    """

    JSON_ALSO: ClassVar = ("seconds_a_turn",)

    role: str
    turns: int
    items: int
    failed: int
    retries: int
    retried_items: int
    lately: int = field(metadata=json_name("last_minute"))
    requests: int
    tokens_in: int
    tokens_out: int
    money: float | None = field(metadata=json_name("cost"))
    unpriced: int
    from_cache: int
    seconds: float = field(metadata=ROUNDED)

    @property
    def seconds_a_turn(self) -> float | None:
        """Seconds of a turn, on average; None without turns."""
        return round(self.seconds / self.turns, 3) if self.turns else None


def role_figures(
    connection: Connection, run_id: UUID, now: datetime, *, together: bool = False
) -> tuple[RoleFigures, ...]:
    """Add up what each role of a run has done.

    Args:
        connection: An open connection.
        run_id: The run.
        now: The moment that `lately` looks back from.
        together: Whether all roles are added up as one called "all": which of them took part tells what was
            found of an item.

    Returns:
        The roles that the run's steps name, in the order in which they first came.
    """
    step = table_of(StepRow)
    sums = [each for each in _sums(step) if each.name in RoleFigures.__dataclass_fields__]
    role: ColumnElement[str] = literal("all").label("role") if together else step.c.role
    one_for_each = () if together else (step.c.role,)
    found = (
        select(
            role,
            func.count().label("turns"),
            func.count(step.c.item_id.distinct()).label("items"),
            func.count(case((step.c.outcome == "failed", 1))).label("failed"),
            # A role counts its turns on an item from 0.
            func.count(case((step.c.attempt > 0, 1))).label("retries"),
            func.count(case((step.c.attempt > 0, step.c.item_id)).distinct()).label("retried_items"),
            func.count(case((step.c.created_at > now - LATELY, 1))).label("lately"),
            *sums,
        )
        .where(step.c.run_id == run_id)
        .group_by(*one_for_each)
        .having(func.count() > 0)
        .order_by(func.min(step.c.id))
    )
    return tuple(RoleFigures(**row) for row in connection.execute(found).mappings())


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run, the items that it labelled, and its money in US dollars (None where no step knows)."""

    run: Run
    labelled: int
    money: float | None


def listed_runs(connection: Connection) -> tuple[ListedRun, ...]:
    """Return every run, the one begun last first."""
    step, outcome = table_of(StepRow), outcomes().subquery()
    labelled = select(outcome.c.run_id, func.count(outcome.c.item_id.distinct())).group_by(outcome.c.run_id)
    labels = {run_id: int(count) for run_id, count in connection.execute(labelled)}
    spent = select(step.c.run_id, func.sum(step.c.money)).group_by(step.c.run_id)
    money = {row[0]: row[1] for row in connection.execute(spent)}
    return tuple(ListedRun(run, labels.get(run.id, 0), money.get(run.id)) for run in all_runs(connection))
