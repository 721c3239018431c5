"""The items of a run by how they ended, by cause of failure and by reply; and its failed steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Subquery, Table, case, func, select

from store.json_fields import json_name
from store.queries.current import on_label
from store.queries.rows import FAILED_PATH, NEEDS_SANDBOX, WAITING_PATH
from store.queries.runs import done_items
from store.tables.columns import among, table_of
from store.tables.runs import StepRow, VerdictRow

if TYPE_CHECKING:
    from store.queries.rows import Ids
    from store.workspace.duckdb import Workspace

WAITING = "needs_sandbox"
"""The cause of what only waits for a sandbox."""

MESSAGES = 3
"""How many different messages of a cause are named, the most frequent ones."""


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """One message, and how many items ended with exactly that."""

    text: str = field(metadata=json_name("message"))
    items: int


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Items without a verdict whose last step failed, by why it failed.

    Attributes:
        cause: Why, as the step says it (`store.tables.runs.Step`): "rate_limited"; "other" where it does not.
        items: How many items.
        different: How many different messages there are.
        messages: The most frequent messages, at most `MESSAGES`.
    """

    cause: str
    items: int
    different: int = field(metadata=json_name("different_messages"))
    messages: tuple[FailureMessage, ...]

    @property
    def waits(self) -> bool:
        """Whether these items only wait for a sandbox."""
        return self.cause == WAITING

    @property
    def words(self) -> str:
        """The cause as a person reads it."""
        return "needs a sandbox" if self.waits else self.cause.replace("_", " ")


@dataclass(frozen=True, slots=True)
class FailedTurns:
    """Turns that failed with the same message: how many, and when the last of them was."""

    text: str
    turns: int
    latest: datetime


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Which items of a run are meant: those that failed, where nothing else is said.

    Attributes:
        finished: Those with a verdict.
        cause: Of those that failed, only those of this cause (`FailureCause.cause`).
        message: Of these, only those that ended with exactly this.
        role: Those on which a model replied in this role.
        output: Of these, only those that got exactly this reply.
    """

    finished: bool = False
    cause: str | None = None
    message: str | None = None
    role: str | None = None
    output: str | None = None

    @property
    def failed(self) -> bool:
        """Whether these are items that failed, or wait."""
        return not self.finished and self.role is None


def failure_causes(connection: Connection, run_id: UUID) -> tuple[FailureCause, ...]:
    """Group the items that a run failed on, or that wait for a sandbox.

    Returns:
        The causes, the most frequent first, those that only wait last.
    """
    ended = failed_steps(run_id).subquery()
    by_message = select(ended.c.cause, ended.c.error, func.count().label("number"))
    grouped = by_message.group_by(ended.c.cause, ended.c.error).subquery()
    each = grouped.c
    place = func.row_number().over(partition_by=each.cause, order_by=(each.number.desc(), each.error))
    numbered = select(
        each.cause,
        each.error,
        each.number,
        func.sum(each.number).over(partition_by=each.cause).label("of_cause"),
        func.count().over(partition_by=each.cause).label("different"),
        place.label("place"),
    ).subquery()
    named = select(numbered).where(numbered.c.place <= MESSAGES)
    rows = connection.execute(named.order_by(numbered.c.of_cause.desc(), numbered.c.cause, numbered.c.place))
    causes: dict[str, FailureCause] = {}
    for row in rows:
        before = causes.get(row.cause)
        message = FailureMessage(row.error, int(row.number))
        messages = (*before.messages, message) if before else (message,)
        causes[row.cause] = FailureCause(row.cause, int(row.of_cause), int(row.different), messages)
    return tuple(sorted(causes.values(), key=lambda cause: cause.waits))


def failed_turns(connection: Connection, run_id: UUID, count: int) -> list[FailedTurns]:
    """Return the messages of turns that failed, made good later or not, the latest last.

    They are at most `count` different ones, the latest.
    """
    step = table_of(StepRow)
    latest = func.max(step.c.created_at)
    found = (
        select(step.c.error, func.count(), latest)
        .where(step.c.run_id == run_id, step.c.outcome == "failed")
        .group_by(step.c.error)
        .order_by(latest.desc(), step.c.error)
        .limit(count)
    )
    return [FailedTurns(text, int(turns), when) for text, turns, when in connection.execute(found)][::-1]


def run_items(workspace: Workspace, run_id: UUID, group: ItemGroup) -> Ids:
    """Return the items of a group, of shape (n,), in the order of import."""
    if group.finished:
        done = done_items(run_id).distinct().subquery()
        return workspace.column(select(done.c.item_id).order_by(done.c.item_id))
    if group.role is not None:
        return workspace.column(items_replied(run_id, group.role, group.output))
    ended = failed_steps(run_id).subquery()
    wanted = select(ended.c.item_id).order_by(ended.c.item_id)
    # What only waits for a sandbox did not fail.
    wanted = wanted.where(ended.c.cause != WAITING if group.cause is None else ended.c.cause == group.cause)
    if group.message is not None:
        wanted = wanted.where(ended.c.error == group.message)
    return workspace.column(wanted)


def run_outcomes(
    connection: Connection, run_id: UUID, item_ids: Collection[int]
) -> dict[int, tuple[float | None, str]]:
    """Return how a run ended on some items: its label with the way to it, or none with why.

    Items on which it did nothing are left out.
    """
    verdict, ended = table_of(VerdictRow), failed_steps(run_id).subquery()
    labels = select(verdict.c.item_id, verdict.c.value, verdict.c.path).where(
        verdict.c.run_id == run_id, on_label(verdict), among(verdict.c.item_id, item_ids)
    )
    found: dict[int, tuple[float | None, str]] = {
        item_id: (value, path) for item_id, value, path in connection.execute(labels)
    }
    failed = select(ended.c.item_id, ended.c.cause).where(among(ended.c.item_id, item_ids))
    for item_id, cause in connection.execute(failed):
        found[item_id] = (None, WAITING_PATH if cause == WAITING else FAILED_PATH)
    return found


def failed_steps(run_id: UUID) -> Select[Any]:
    """Select the items without a verdict whose last step failed, with its error and its cause.

    Failed steps are few, so that they are looked for first: all steps of a large run are not put in order.
    """
    step = table_of(StepRow)
    bad = _last(select(step.c.item_id, func.max(step.c.id).label("id")), run_id).where(
        step.c.outcome == "failed", step.c.item_id.not_in(done_items(run_id))
    )
    bad_ids: Subquery = bad.subquery()
    last = _last(select(step.c.item_id, func.max(step.c.id).label("id")), run_id).where(
        step.c.item_id.in_(select(bad_ids.c.item_id))
    )
    last_ids = last.subquery()
    # What waits is known by its title, and steps from before there were causes say none.
    waits = func.split_part(step.c.error, ": ", 1) == NEEDS_SANDBOX
    cause = case((waits, WAITING), (func.coalesce(step.c.cause, "") == "", "other"), else_=step.c.cause)
    return (
        select(step.c.item_id, step.c.error, cause.label("cause"))
        .join(bad_ids, bad_ids.c.id == step.c.id)
        .join(last_ids, last_ids.c.id == step.c.id)
    )


def _last(statement: Select[Any], run_id: UUID) -> Select[Any]:
    step = table_of(StepRow)
    return statement.where(step.c.run_id == run_id).group_by(step.c.item_id)


def failed_items(connection: Connection, run_id: UUID) -> list[int]:
    """Return the items that a run failed on and has no verdict on since, rising.

    Those that only wait for a sandbox are not among them.
    """
    failed = failed_steps(run_id).subquery()
    found = select(failed.c.item_id).where(failed.c.cause != WAITING).order_by(failed.c.item_id)
    return list(connection.execute(found).scalars())


OUTPUTS_NAMED = 10
"""How many different replies of a role are named."""


@dataclass(frozen=True, slots=True)
class RunOutput:
    """One reply, and how many items got exactly that; the text is a model's, and data."""

    text: str
    items: int


@dataclass(frozen=True, slots=True)
class RoleOutputs:
    """The replies of one role in a run.

    Attributes:
        role: The role, as its steps say it.
        items: Items on which it replied.
        different: How many different replies there are.
        named: Replies that several items got, the most frequent first, at most `OUTPUTS_NAMED`.
    """

    role: str
    items: int
    different: int
    named: tuple[RunOutput, ...]


def run_outputs(connection: Connection, run_id: UUID) -> tuple[RoleOutputs, ...]:
    """Group what models replied in a run by role and text.

    Returns:
        The roles, in the order in which they first replied.
    """
    step = table_of(StepRow)
    # By a hash: nearly all of a million replies may differ, and their texts are long. What it names is
    # counted by text below, so that a collision could at worst leave a reply unnamed.
    by_hash = (
        select(step.c.role, func.min(step.c.id).label("first"), func.count().label("turns"))
        .where(*replied(step, run_id))
        .group_by(step.c.role, func.hash(step.c.reply))
        .subquery()
        .c
    )
    most = func.arg_max(by_hash.first, by_hash.turns, OUTPUTS_NAMED).filter(by_hash.turns > 1)
    kinds = connection.execute(
        select(by_hash.role, func.count(), most).group_by(by_hash.role).order_by(func.min(by_hash.first))
    ).all()
    asked = select(step.c.role, func.count(step.c.item_id.distinct())).where(*replied(step, run_id))
    items = {role: int(count) for role, count in connection.execute(asked.group_by(step.c.role))}
    named = _counted(connection, run_id, [key for *_, keys in kinds for key in keys or ()])
    return tuple(
        RoleOutputs(role, items[role], int(different), named.get(role, ())) for role, different, _ in kinds
    )


def _counted(
    connection: Connection, run_id: UUID, step_ids: Sequence[UUID]
) -> dict[str, tuple[RunOutput, ...]]:
    """Return by role the replies of some steps that several items got, the most frequent first."""
    step = table_of(StepRow)
    same = step.alias()
    number = func.count(step.c.item_id.distinct())
    found = connection.execute(
        select(step.c.role, step.c.reply, number)
        .join(same, (same.c.role == step.c.role) & (same.c.reply == step.c.reply))
        .where(*replied(step, run_id), among(same.c.id, step_ids))
        .group_by(step.c.role, step.c.reply)
        .having(number > 1)
        .order_by(number.desc(), func.min(step.c.id))
    )
    outputs: dict[str, tuple[RunOutput, ...]] = {}
    for role, text, count in found:
        outputs[role] = (*outputs.get(role, ()), RunOutput(text, int(count)))
    return outputs


def items_replied(run_id: UUID, role: str, text: str | None) -> Select[Any]:
    """Select the items on which a role replied, in the order of import.

    Args:
        run_id: The run.
        role: The role.
        text: Only those that got exactly this reply; None for all.
    """
    step = table_of(StepRow)
    found = select(step.c.item_id).where(*replied(step, run_id), step.c.role == role).distinct()
    return (found if text is None else found.where(step.c.reply == text)).order_by(step.c.item_id)


def replied(step: Table, run_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a step of a run holds what a model replied, not what a sandbox did."""
    return step.c.run_id == run_id, step.c.reply != "", (step.c.requests > 0) | step.c.from_cache
