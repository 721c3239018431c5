"""The work of agents: runs, steps, replies, executions with test outcomes, verdicts; and other works.

Only these ever change: a run's state, a work that goes on, and a reply when a person has the same request
sent again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict
from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, real, string, uid

RUN_STATES = ("running", "paused", "stopped", "done", "failed")
STEP_OUTCOMES = ("ok", "failed")
EXIT_REASONS = (
    *("ok", "assertion", "error", "timeout", "memory", "processes", "output", "disk", "killed"),
    "infrastructure",
)
TEST_OUTCOMES = ("passed", "failed", "error")


class Run(SQLModel, table=True):
    """One configuration of a pipeline over a set of items, named by the hash of that configuration.

    `fullness` is the place of the configuration among those of its kind, from 1, the fullest last; 0 where
    that is not known.
    """

    id: UUID = uid(primary_key=True)
    kind: str = string()
    name: str = string()
    configuration: str = string()
    model: str = string()
    rater_id: int = big()
    state: str = string()
    total: int = big()
    started_at: datetime = moment()
    ended_at: datetime | None = moment(default=None)
    fullness: int = big(default=0)


class WorkRow(SQLModel, table=True):
    """A work that is no run of the agents, such as a search for candidate pairs.

    `description` is JSON of which `kind` makes the same work again, `kept` is JSON from which that goes on,
    and `said` is what came of it, or why it failed. `done` and `total` are the progress of its last step.
    """

    __tablename__ = "work"

    id: UUID = uid(primary_key=True)
    kind: str = string()
    name: str = string()
    description: str = string()
    state: str = string()
    kept: str = string(default="")
    said: str = string(default="")
    started_at: datetime = moment()
    ended_at: datetime | None = moment(default=None)
    done: int = big(default=0)
    total: int = big(default=0)


def described(row: WorkRow) -> Mapping[str, Any]:
    """Return the description of a work."""
    found: dict[str, Any] = json.loads(row.description)
    return found


def kept(row: WorkRow) -> dict[str, Any]:
    """Return what a work kept last; nothing where it kept nothing."""
    found: dict[str, Any] = json.loads(row.kept or "{}")
    return found


class Step(SQLModel):
    """One agent's turn on one item; (run, item, role, attempt) is its key.

    `money` is in US dollars at the price of the moment, which `price` holds as JSON; None where nobody gave
    one. `cause` says why a turn failed, in a word that groups such failures. `reply_id` names the reply that
    the turn rests on; with `from_cache` it was there before, and the turn cost nothing.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    run_id: UUID = uid()
    item_id: int = big()
    role: str = string()
    attempt: int = big(default=0)
    outcome: str = string()
    request_hash: str = string(default="")
    reply: str = string(default="")
    error: str = string(default="")
    model: str = string(default="")
    tokens_in: int = big(default=0)
    tokens_out: int = big(default=0)
    tokens_cached: int = big(default=0)
    money: float | None = real(default=None)
    requests: int = big(default=0)
    seconds: float = real(default=0.0)
    created_at: datetime = moment()
    tokens_written: int = big(default=0)
    price: str = string(default="")
    sdk: str = string(default="")
    cause: str = string(default="")
    reply_id: UUID | None = uid(default=None)
    from_cache: bool = False


class StepRow(Step, table=True):
    """A step as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "step"

    id: UUID = uid(primary_key=True)


class Reply(SQLModel):
    """A model's reply; its key is the hash of the whole request.

    `text` is the reply as it was written, `role` whose turn it was first. Tokens, money, requests and
    seconds are what it cost when it was asked for, malformed answers on the way included.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    role: str = string()
    model: str = string()
    service: str = string()
    snapshot: str = string()
    text: str = string()
    tokens_in: int = big(default=0)
    tokens_out: int = big(default=0)
    tokens_cached: int = big(default=0)
    tokens_written: int = big(default=0)
    money: float | None = real(default=None)
    price: str = string(default="")
    requests: int = big(default=0)
    seconds: float = real(default=0.0)
    sdk: str = string(default="")
    created_at: datetime = moment()


class ReplyRow(Reply, table=True):
    """A reply as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "reply"

    id: UUID = uid(primary_key=True)


class Execution(SQLModel):
    """One sandboxed run of a test program, by a step of a run or by an expert.

    `assignment_id` is the assignment of the expert who had it run; None outside a study. `editing_ms` is for
    how long the expert edited the program since the run before.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    item_id: int = big()
    step_id: UUID | None = uid(default=None)
    rater_id: int | None = big(default=None)
    program: str = string()
    program_digest: str = string()
    sandbox: str = string()
    environment: str = string()
    exit_reason: str = string()
    exit_code: int | None = big(default=None)
    executable: bool = False
    error: str = string(default="")
    stdout: str = string(default="")
    stderr: str = string(default="")
    output_dropped: int = big(default=0)
    seconds: float = real(default=0.0)
    created_at: datetime = moment()
    trace: str = string(default="")
    image: str = string(default="")
    packages: str = string(default="")
    stdout_cut: str = string(default="")
    stderr_cut: str = string(default="")
    snapshot: str = string(default="")
    assignment_id: UUID | None = uid(default=None)
    editing_ms: int | None = big(default=None)


class ExecutionRow(Execution, table=True):
    """An execution as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "execution"

    id: UUID = uid(primary_key=True)


class TestOutcomeRow(SQLModel, table=True):
    """One test case of an execution.

    `obstacle` is what kept it from a result; empty where nothing did, None where that was not recorded.
    """

    __tablename__ = "test_outcome"
    __test__: ClassVar[bool] = False

    execution_id: UUID = uid(primary_key=True)
    position: int = big(primary_key=True)
    name: str = string()
    outcome: str = string()
    message: str = string(default="")
    seconds: float = real(default=0.0)
    discriminates: bool | None = None
    flaky: bool | None = None
    trace: str = string(default="")
    obstacle: str | None = string(default=None)


class Verdict(SQLModel):
    """An agent run's final label of an item; (run, item, question, response reference) is its key.

    `path` says how the pipeline came to it, in a word of the pipeline's own.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    run_id: UUID = uid()
    item_id: int = big()
    value: float = real()
    path: str = string()
    reason: str = string()
    execution_id: UUID | None = uid(default=None)
    created_at: datetime = moment()
    question_id: int = big()
    response_ref_id: int | None = big(default=None)


class VerdictRow(Verdict, table=True):
    """A verdict as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "verdict"

    id: UUID = uid(primary_key=True)
