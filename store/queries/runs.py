"""Runs, the items that they are done with or have left, and their recorded steps and executions."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CompoundSelect, Connection, Select, Table, func, select, union_all

from store.errors import UnknownName
from store.kinds.counting import in_order
from store.policy.rows import may
from store.policy.scope import RunRef, Scope, Shows
from store.queries.current import on_label, shown_runs
from store.record.rater_ref import RaterRef
from store.record.raters import find_rater
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.responses import Response, ResponseRef, Score
from store.tables.runs import Execution, ExecutionRow, Run, Step, StepRow, TestOutcomeRow, VerdictRow


@dataclass(frozen=True, slots=True)
class StoredExecution:
    """An execution with the outcomes of its tests, in the order they ran."""

    execution: Execution
    outcomes: tuple[TestOutcomeRow, ...]


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


def run_models(connection: Connection) -> list[str]:
    """Return the models that runs asked, each once, those of the run begun last first."""
    found: dict[str, None] = {}
    for run in all_runs(connection):
        fields = configuration_of(run)
        asked = (fields, *fields.get("roles", {}).values())
        found |= dict.fromkeys(each["model"] for each in asked if each.get("model"))
    return list(found)


def configuration_of(run: Run) -> dict[str, Any]:
    """Return what identifies a run; nothing where that is no object, as of labels that were imported."""
    with suppress(ValueError):
        fields = json.loads(run.configuration)
        if isinstance(fields, dict):
            return fields
    return {}


def run_names(connection: Connection, kind: str) -> list[str]:
    """Return the names of the runs on items of a kind, the one begun last first."""
    return [run.name for run in all_runs(connection) if run.kind == kind]


def shown_by_kind(connection: Connection, scope: Scope) -> dict[str, RunRef]:
    """Return the run of each kind whose verdicts are the agents' labels in a scope, by kind."""
    run = table_of(Run)
    found = select(run.c.kind, run.c.id, run.c.name).where(run.c.id.in_(shown_runs(scope)))
    return {row.kind: RunRef(row.id, row.name) for row in connection.execute(found.order_by(run.c.kind))}


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run, and how many items it has labelled of those that do not hide it."""

    run: Run
    labelled: int


def labelled_runs(connection: Connection, scope: Scope) -> list[LabelledRun]:
    """Return every run that has labels, the one begun last first."""
    verdict = table_of(VerdictRow)
    counts = (
        select(verdict.c.run_id, func.count())
        .where(on_label(verdict), may(scope, Shows.AGENTS, verdict.c.item_id))
        .group_by(verdict.c.run_id)
    )
    labelled = {run_id: int(count) for run_id, count in connection.execute(counts)}
    return [LabelledRun(run, labelled[run.id]) for run in all_runs(connection) if run.id in labelled]


def named_run(runs: Sequence[Run], name: str) -> Run:
    """Return the run of a name or an id, or of how its name begins or ends where that is one run's alone.

    Raises:
        UnknownName: No run, or more than one, is called so.
    """
    close = [run for run in runs if run.name.startswith(name) or run.name.endswith(name)]
    found = [run for run in runs if name in (run.name, str(run.id))] or close
    if name and len(found) == 1:
        return found[0]
    raise UnknownName(
        "Unknown run",
        f"{'More than one' if name and found else 'No'} run is called {name!r}.",
        f"Runs here: {', '.join(run.name for run in runs) or 'none yet'}.",
    )


def rater_or_run(connection: Connection, name: str) -> RaterRef:
    """Return the rater of a name, or that of the run which it names in part.

    Raises:
        UnknownName: There is neither.
    """
    try:
        return find_rater(connection, name)
    except UnknownName as unknown:
        try:
            run = named_run(all_runs(connection), name)
        except UnknownName as no_run:
            raise UnknownName(unknown.title, f"{unknown.message} {no_run.message}", unknown.hint) from no_run
        return RaterRef(run.rater_id, "agent", run.name)


def kinds_there(connection: Connection, kinds: Collection[str]) -> list[str]:
    """Return those of some kinds of which there are items, in order."""
    item = table_of(Item)
    found = set(connection.execute(select(item.c.kind).distinct()).scalars())
    return in_order(found.intersection(kinds))


def kind_for_agents(connection: Connection, kinds: Collection[str]) -> str | None:
    """Return the kind whose items agents take up next: the first one of which some have no outcome at all.

    Returns:
        The first of these of which there are items where all have one; None where there are no items.
    """
    item, outcome = table_of(Item), outcomes().subquery()
    there = kinds_there(connection, kinds)
    for kind in there if len(there) > 1 else ():
        bare = select(item.c.id).where(item.c.kind == kind, item.c.id.not_in(select(outcome.c.item_id)))
        if connection.execute(bare.limit(1)).first() is not None:
            return kind
    return there[0] if there else None


def kind_of_run(connection: Connection, run_id: UUID) -> str | None:
    """Return the kind of the items of a run; None where there is no such run."""
    run = table_of(Run)
    kind: str | None = connection.execute(select(run.c.kind).where(run.c.id == run_id)).scalar()
    return kind


def items_without_outcome(
    connection: Connection, run_id: UUID, kind: str, *, after: int, count: int, missing_at: UUID | None = None
) -> list[int]:
    """Return the next items that a run has no outcome for.

    Args:
        connection: An open connection.
        run_id: The run.
        kind: The task kind of the items.
        after: Only items with a higher id; pages are walked by the last id of the one before.
        count: At most so many.
        missing_at: Only items for which no run at all had an outcome when this id was made; None for all.

    Returns:
        Item ids, rising.
    """
    item = table_of(Item)
    page = select(item.c.id).where(item.c.id > after, *open_items(item, run_id, kind, missing_at))
    return list(connection.execute(page.order_by(item.c.id).limit(count)).scalars())


def select_without_outcome(
    connection: Connection,
    run_id: UUID,
    kind: str,
    item_ids: Sequence[int],
    *,
    missing_at: UUID | None = None,
) -> list[int]:
    """Return, in the order given, those of some items that `items_without_outcome` would return."""
    item = table_of(Item)
    found = select(item.c.id).where(among(item.c.id, item_ids), *open_items(item, run_id, kind, missing_at))
    without = set(connection.execute(found).scalars())
    return [number for number in item_ids if number in without]


def count_without_outcome(
    connection: Connection, run_id: UUID, kind: str, *, missing_at: UUID | None = None
) -> int:
    """Return how many items `items_without_outcome` would return, page after page."""
    item = table_of(Item)
    return int(
        connection.execute(
            select(func.count()).select_from(item).where(*open_items(item, run_id, kind, missing_at))
        ).scalar_one()
    )


def count_done(connection: Connection, run_id: UUID) -> int:
    """Return how many items a run is done with."""
    done = done_items(run_id).subquery()
    return int(connection.execute(select(func.count(done.c.item_id.distinct()))).scalar_one())


def outcomes() -> CompoundSelect[Any]:
    """Select (run_id, item_id, id) of everything that pipelines yielded: verdicts, responses and scores.

    A pipeline's outcomes of an item are written together, so an item with one of them is done. `id` rises
    with time; of a response it is that of the step that made it.
    """
    verdict, response, score, ref = (table_of(model) for model in (VerdictRow, Response, Score, ResponseRef))
    made = func.coalesce(response.c.step_id, response.c.run_id)
    return union_all(
        select(verdict.c.run_id, verdict.c.item_id, verdict.c.id),
        select(response.c.run_id, ref.c.item_id, made)
        .join(ref, ref.c.id == response.c.id)
        .where(response.c.run_id.is_not(None)),
        select(score.c.run_id, ref.c.item_id, score.c.id)
        .join(ref, ref.c.id == score.c.response_ref_id)
        .where(score.c.run_id.is_not(None)),
    )


def done_items(run_id: UUID) -> Select[Any]:
    """Select `item_id` of every outcome of a run, but of items with responses that came after its scores."""
    outcome = outcomes().subquery()
    found = select(outcome.c.item_id).where(outcome.c.run_id == run_id)
    return found.where(outcome.c.item_id.not_in(_with_new_responses(run_id)))


def _with_new_responses(run_id: UUID) -> Select[Any]:
    """Select `item_id` of items of which a run has scored some responses, and not all of them."""
    response, score, ref = (table_of(model) for model in (Response, Score, ResponseRef))
    scored = select(score.c.response_ref_id).where(score.c.run_id == run_id)
    of_run = select(ref.c.item_id).where(ref.c.id.in_(scored))
    return (
        select(ref.c.item_id)
        .join(response, response.c.id == ref.c.id)
        .where(ref.c.item_id.in_(of_run), ref.c.id.not_in(scored))
    )


def open_items(item: Table, run_id: UUID, kind: str, missing_at: UUID | None) -> list[ColumnElement[bool]]:
    """Return the conditions that an item is of a kind and has no outcome; see `items_without_outcome`."""
    found = [item.c.kind == kind, item.c.id.not_in(done_items(run_id))]
    if missing_at is not None:
        # Ids rise with time, so those below are of the outcomes that there were.
        outcome = outcomes().subquery()
        found.append(item.c.id.not_in(select(outcome.c.item_id).where(outcome.c.id < missing_at)))
    return found


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
