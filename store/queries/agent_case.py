"""The agents' case of one item: the verdict of one run, with the steps and executions that it rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, RowMapping, or_, select

from store.policy.scope import REPEAT, RunRef, Scope
from store.queries.current import on_label, shown_runs
from store.queries.executions import ExecutionView, load_executions
from store.queries.expert_runs import TEST_WRITER, ExpertRunView, expert_runs
from store.queries.item import ItemAccess, item_access
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.runs import ExecutionRow, Run, StepRow, VerdictRow

TEST_CORRECTION = "test_correction"
"""The role in which a test writer corrects its program."""
WITHOUT_TESTS = (
    *("screener", "annotator", "judge", "judge_swapped"),
    *("issue_screener", "question_writer", "reference_writer"),
)
"""The roles whose turns tell nothing of a test program: they come before there is one, or there is none."""


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The agents' label of an item, with its reasons."""

    id: UUID
    value: float
    path: str
    reason: str
    model: str
    run_name: str
    execution_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StepView:
    """One agent's turn. `reply` is the parsed JSON reply, empty when there was none.

    With `from_cache` the workspace had the reply already, and the turn cost nothing.
    """

    role: str
    attempt: int
    outcome: str
    reply: Mapping[str, Any]
    error: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    money: float | None = None
    seconds: float = 0.0
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class OtherVerdict:
    """The label of an item by another run than the one that is shown."""

    run: RunRef
    value: float
    path: str


@dataclass(frozen=True, slots=True)
class AgentCase:
    """The agents' label of an item with its reasons, and the expert runs of its test.

    Attributes:
        steps: Their turns, in order.
        execution: The execution that the verdict saw.
        expert_runs: The expert runs, in order.
        run: The run whose work this is; None where no agent has worked on items of the kind.
        others: The labels of other runs, the one begun last first.
    """

    verdict: VerdictView | None
    steps: tuple[StepView, ...]
    execution: ExecutionView | None
    expert_runs: tuple[ExpertRunView, ...] = ()
    run: RunRef | None = None
    others: tuple[OtherVerdict, ...] = ()

    def reply_of(self, role: str) -> Mapping[str, Any]:
        """Return the last good reply of a role, empty when there is none."""
        good = [step.reply for step in self.steps if step.role == role and step.outcome == "ok"]
        return good[-1] if good else {}


def load_case(connection: Connection, scope: Scope, item_id: int) -> AgentCase:
    """Read the verdict of the shown run on an item with that run's steps; without a verdict, its steps.

    What the rater may not see of it is not read. Where the label is hidden, it is the agents' test program
    with its execution, or the rater's own tests, or nothing. Where tests are hidden, it is the label without
    what rests on a test: of the steps those before it, and no reason where there were others.
    """
    access = item_access(connection, scope, item_id)
    if access.blind and access.tests != "agents":
        return AgentCase(None, (), None, _expert_runs(connection, scope, access, item_id))
    run = _shown_run(connection, scope, item_id)
    steps = [] if run is None else _steps(connection, run, item_id, access)
    if access.blind:
        rests_on = None if run is None else _rests_on(connection, item_id, run)
        execution = _execution(connection, item_id, run, rests_on)
        return AgentCase(None, tuple(steps), execution, _expert_runs(connection, scope, access, item_id))
    seen, others = _verdicts(connection, item_id, run)
    if access.tests == "none":
        if seen is not None:
            tested = run is not None and _is_tested(connection, run, item_id)
            seen = replace(seen, reason="" if tested else seen.reason, execution_id=None)
        return AgentCase(seen, tuple(steps), None, run=run, others=others)
    return AgentCase(
        verdict=seen,
        steps=tuple(steps),
        execution=_execution(connection, item_id, run, None if seen is None else seen.execution_id),
        expert_runs=_expert_runs(connection, scope, access, item_id),
        run=run,
        others=others,
    )


def _steps(connection: Connection, run: RunRef, item_id: int, access: ItemAccess) -> list[StepView]:
    """Read the turns of a run on an item that a rater may see."""
    step = table_of(StepRow)
    wanted = select(step).where(step.c.item_id == item_id, step.c.run_id == run.id).order_by(step.c.id)
    if access.blind:
        # Of what wrote the test only the program: the rest of a reply may tell what its writer thinks.
        wanted = wanted.where(step.c.role.in_((TEST_WRITER, TEST_CORRECTION)), step.c.outcome == "ok")
    elif access.tests == "none":
        wanted = wanted.where(step.c.role.in_(WITHOUT_TESTS))
    found = [_step(row) for row in connection.execute(wanted).mappings()]
    if not access.blind:
        return found
    return [
        StepView(one.role, 0, "ok", {name: one.reply[name] for name in _PROGRAM if name in one.reply}, "")
        for one in found
    ]


_PROGRAM = ("test_program",)


def _is_tested(connection: Connection, run: RunRef, item_id: int) -> bool:
    """Return whether a run had a turn on an item that writes, runs or reads a test."""
    step = table_of(StepRow)
    other = select(step.c.id).where(
        step.c.item_id == item_id, step.c.run_id == run.id, step.c.role.not_in(WITHOUT_TESTS)
    )
    return connection.execute(other.limit(1)).first() is not None


def _rests_on(connection: Connection, item_id: int, run: RunRef) -> UUID | None:
    """Return the execution that a run's verdict on an item's label saw, and nothing else of the verdict."""
    verdict = table_of(VerdictRow)
    found = select(verdict.c.execution_id).where(
        verdict.c.item_id == item_id, verdict.c.run_id == run.id, on_label(verdict)
    )
    return connection.execute(found).scalar()


def _execution(
    connection: Connection, item_id: int, run: RunRef | None, rests_on: UUID | None
) -> ExecutionView | None:
    """Read the execution of a run on an item that its verdict rests on; without one the last."""
    if run is None:
        return None
    made, step = table_of(ExecutionRow), table_of(StepRow)
    keys = select(made.c.id).join(step, step.c.id == made.c.step_id)
    keys = keys.where(made.c.item_id == item_id, step.c.run_id == run.id, step.c.item_id == item_id)
    found = list(connection.execute(keys.order_by(made.c.id)).scalars())
    if not found:
        return None
    return load_executions(connection, made.c.id == (rests_on if rests_on in found else found[-1]))[0]


def _expert_runs(
    connection: Connection, scope: Scope, access: ItemAccess, item_id: int
) -> tuple[ExpertRunView, ...]:
    """Read the tests that experts ran on an item and that a rater may see.

    Where others' work is hidden they are the rater's own. Under an assignment these are of it alone: a rater
    who meets an item again meets it as at first.
    """
    if access.tests == "none":
        return ()
    made, conditions = table_of(ExecutionRow), list[ColumnElement[bool]]()
    own = made.c.rater_id == scope.rater_id
    here = own & (made.c.assignment_id == access.assignment_id)
    if access.blind:
        conditions = [here]
    elif scope.adjudicates:
        # Others' runs name them; what an adjudicator sees of these comes under pseudonyms.
        conditions = [own]
    elif access.phase == REPEAT:
        conditions = [or_(~own, here)]
    with_agents = access.tests == "agents"
    found = expert_runs(connection, [item_id], scope.rater_id, *conditions, with_agents=with_agents)
    return found.get(item_id, ())


def _shown_run(connection: Connection, scope: Scope, item_id: int) -> RunRef | None:
    """Return the run that is shown of the items of an item's kind; None where there is none."""
    run, item = table_of(Run), table_of(Item)
    kind = select(item.c.kind).where(item.c.id == item_id).scalar_subquery()
    of_kind = select(run.c.id, run.c.name).where(run.c.kind == kind)
    found = None
    if scope.run is not None:
        # The default one takes a look at every verdict.
        found = connection.execute(of_kind.where(run.c.id == scope.run.id)).first()
    if found is None:
        found = connection.execute(of_kind.where(run.c.id.in_(shown_runs(scope)))).first()
    return None if found is None else RunRef(*found)


def _verdicts(
    connection: Connection, item_id: int, shown: RunRef | None
) -> tuple[VerdictView | None, tuple[OtherVerdict, ...]]:
    """Return the verdict of a run on an item's label, and those of the others, the one begun last first."""
    verdict, run = table_of(VerdictRow), table_of(Run)
    rows = connection.execute(
        select(verdict, run.c.model, run.c.name.label("run_name"))
        .join(run, run.c.id == verdict.c.run_id)
        .where(verdict.c.item_id == item_id, on_label(verdict))
        .order_by(run.c.started_at.desc(), run.c.id.desc())
    ).mappings()
    seen, others = None, []
    for row in rows:
        if shown is not None and row["run_id"] == shown.id:
            seen = VerdictView(**{name: row[name] for name in VerdictView.__dataclass_fields__})
        else:
            others.append(OtherVerdict(RunRef(row["run_id"], row["run_name"]), row["value"], row["path"]))
    return seen, tuple(others)


def _step(row: RowMapping) -> StepView:
    try:
        reply = json.loads(row["reply"]) if row["reply"] else {}
    except ValueError:
        reply = {}
    names = [name for name in StepView.__dataclass_fields__ if name != "reply"]
    return StepView(reply=reply if isinstance(reply, dict) else {}, **{name: row[name] for name in names})
