"""Conversion of execution and repair reports to rows and steps, and back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING
from uuid import UUID

from agents.sandbox.protocol import ExecutionReport, TestOutcome
from agents.sandbox.repair import RepairAction, RepairReport
from store.cuts import cut_as_text, cut_of_text
from store.tables.runs import Execution, TestOutcomeRow

if TYPE_CHECKING:
    from agents.sandbox.protocol import TestProgram
    from store.queries.runs import StoredExecution
    from store.tables.runs import Step

_SAME = (
    *("sandbox", "environment", "exit_reason", "exit_code", "error", "stdout", "stderr", "output_dropped"),
    *("seconds", "trace", "image", "snapshot"),
)
"""The fields that the report of an execution and its row share."""


def rows_of(
    report: ExecutionReport,
    program: TestProgram,
    key: UUID,
    *,
    item_id: int,
    step_id: UUID | None = None,
    rater_id: int | None = None,
    assignment_id: UUID | None = None,
    editing_ms: int | None = None,
) -> tuple[Execution, list[TestOutcomeRow]]:
    """Return an execution, and the outcomes of its tests, as they are recorded.

    Args:
        report: The report.
        program: The program.
        key: The key of the execution.
        item_id: The item whose candidate was tested.
        step_id: The agent's turn that ran it; None for none.
        rater_id: The expert who had it run; None for none.
        assignment_id: The expert's assignment; None for none.
        editing_ms: How long the expert edited the program; None for an agent's.
    """
    execution = Execution(
        id=key,
        item_id=item_id,
        step_id=step_id,
        rater_id=rater_id,
        program=program.test,
        program_digest=program.digest,
        executable=report.executable,
        created_at=report.started_at,
        packages="\n".join(report.packages),
        stdout_cut=cut_as_text(report.stdout_cut),
        stderr_cut=cut_as_text(report.stderr_cut),
        assignment_id=assignment_id,
        editing_ms=editing_ms,
        **{name: getattr(report, name) for name in _SAME},
    )
    return execution, [
        TestOutcomeRow(execution_id=key, position=position, **asdict(test))
        for position, test in enumerate(report.outcomes)
    ]


def report_of(stored: StoredExecution) -> ExecutionReport:
    """Return an execution of the record as the report that it was recorded from."""
    execution = stored.execution
    names = [one.name for one in fields(TestOutcome)]
    outcomes = [{name: getattr(test, name) for name in names} for test in stored.outcomes]
    return ExecutionReport(
        outcomes=tuple(TestOutcome(**one | {"obstacle": one["obstacle"] or ""}) for one in outcomes),
        started_at=execution.created_at,
        packages=tuple(execution.packages.split("\n")) if execution.packages else (),
        stdout_cut=cut_of_text(execution.stdout_cut),
        stderr_cut=cut_of_text(execution.stderr_cut),
        **{name: getattr(execution, name) for name in _SAME},
    )


def step_reply(report: RepairReport) -> str:
    """Return a repair as its step keeps it: what was done, and what came of it, as JSON."""
    return json.dumps(
        {
            "repair": report.action.kind,
            "commands" if report.action.kind == "commands" else "packages": list(report.action.items),
            "outcome": report.outcome,
            "exit_code": report.exit_code,
            "output": report.output,
            "snapshot": report.snapshot,
        },
        ensure_ascii=False,
    )


def action_of(step: Step) -> RepairAction:
    """Return what a repair of the record did."""
    fields = json.loads(step.reply)
    items = fields["commands" if fields["repair"] == "commands" else "packages"]
    return RepairAction(fields["repair"], tuple(items))


def repair_of(action: RepairAction, step: Step) -> RepairReport:
    """Return a repair of the record as the report that it was recorded from."""
    fields = json.loads(step.reply)
    return RepairReport(
        action=action,
        outcome=fields["outcome"],
        snapshot=fields["snapshot"],
        exit_code=fields["exit_code"],
        output=fields["output"],
        error=step.error,
        seconds=step.seconds,
    )
