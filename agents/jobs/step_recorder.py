"""The steps of one item in a run: asks models and sandboxes, and records each step with its result.

A step is on disk before the next one begins; the last one is written with the outcomes, while the next item
is worked on. A step that this run recorded before, with the same request, is not taken again: its
recorded reply is returned. A step that failed before is taken again as a further attempt.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from agents.jobs.recorded_reports import repair_of, report_of, rows_of, step_reply
from agents.jobs.run_record import RecordedSteps, RunRecord
from agents.llm.errors import ModelError
from agents.sandbox.errors import NeedsSandbox, SandboxError
from agents.sandbox.repair import RepairAction, RepairReport
from store.json_fields import fields_of
from store.record.ids import now
from store.tables.runs import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.jobs.outcome import Outcome
    from agents.jobs.reply_cache import Replies, ReplyResult
    from agents.jobs.role_models import RoleModels
    from agents.llm.protocol import Message, PlainText
    from agents.llm.settings import ModelSettings
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox, TestProgram
    from store.errors import WorkbenchError

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class SandboxBroken(SandboxError):
    """The sandbox failed, which says nothing about the program."""


@dataclass(frozen=True, slots=True)
class RecordedExecution:
    """One execution: its key in the record, and its report."""

    id: UUID
    report: ExecutionReport


def key_of(program: TestProgram) -> str:
    """Return the key of a program's execution: its digest, and its environment."""
    if not program.snapshot:
        return program.digest
    return hashlib.sha256(f"{program.digest} {program.snapshot}".encode()).hexdigest()


def cause_of(failure: WorkbenchError) -> str:
    """Return why a turn failed in a word, which groups failures: a `ModelErrorKind`, or the sandbox."""
    if isinstance(failure, ModelError):
        return failure.kind
    if isinstance(failure, NeedsSandbox):
        return "needs_sandbox"
    return "sandbox" if isinstance(failure, SandboxError) else "other"


class StepRecorder:
    """Takes the turns of a pipeline's agents on one item, and records them.

    Args:
        record: The run.
        item_id: The key of the item.
        subject: The item's name in the imported file, by which scripted models answer.
        earlier: The steps recorded before.
        models: The model of each role.
        settings: How it is asked.
        replies: Where models are asked, at most once for the same.
        passing: Awaited before every turn; waits while the job is paused, raises when it stops.
        executing: Held while a program runs or an environment is repaired.
        on_step: Called with every recorded step.
    """

    def __init__(
        self,
        record: RunRecord,
        item_id: int,
        subject: str,
        earlier: RecordedSteps,
        *,
        models: RoleModels,
        settings: ModelSettings,
        replies: Replies,
        passing: Callable[[], Awaitable[None]],
        on_step: Callable[[Step], None],
        executing: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._record = record
        self._item_id = item_id
        self._subject = subject
        self._earlier = earlier
        self._models = models
        self._settings = settings
        self._reply_cache = replies
        self._passing = passing
        self._on_step = on_step
        self._executing = executing
        self._behind: asyncio.Task[None] | None = None
        self._last_step = earlier.steps[-1].id if earlier.steps else None
        self._attempts: dict[str, int] = {}
        for step in earlier.steps:
            self._attempts[step.role] = max(self._attempts.get(step.role, 0), step.attempt + 1)

    @property
    def run_id(self) -> UUID:
        """The key of the run."""
        return self._record.id

    def decodes_itself(self, role: str) -> bool:
        """Return whether the model of a role is sent no temperature, and so decodes in its own way."""
        model = self._models[role]
        return model.temperature is None or getattr(model.model, "decodes_itself", False)

    def model_of(self, role: str) -> str:
        """Return the name of a role's model."""
        return self._models[role].model.name

    async def ask(
        self,
        role: str,
        messages: tuple[Message, ...],
        reply_type: type[ReplyT],
        plain: PlainText | None = None,
        sample: int = 0,
    ) -> ReplyT:
        """Ask the model in a role.

        Args:
            role: The role.
            messages: The question.
            reply_type: The form of the reply; with a text to continue `agents.llm.plain_text.Continuations`.
            plain: The text to continue; models that only chat get the messages all the same.
            sample: Which of several replies to the same question, from 0.

        Returns:
            The reply, from the record where the same was asked before.

        Raises:
            ModelError: No usable reply came; the failed step is recorded.
        """
        who = self._models[role]
        model = who.model
        request = who.request(
            role, self._subject, messages, reply_type, self._settings, plain=plain, sample=sample
        )
        digest = request.digest(model.name)
        known = self._recorded(role, digest)
        if known is not None:
            try:
                return reply_type.model_validate_json(known.reply)
            except ValidationError:
                pass  # the form of replies has changed since: it is asked again
        await self._begin()

        def begun() -> Step:
            return self._step(role, digest, model=model.name)

        asked = await self._reply_cache.ask(model, request, digest, begun)
        self._behind = asyncio.create_task(self._write(asked))
        if asked.error is not None:
            await self.written()
        return asked.of_type(reply_type)

    async def execute(
        self, role: str, program: TestProgram, sandbox: Sandbox, limits: Limits
    ) -> RecordedExecution:
        """Run a test program in a sandbox.

        Returns:
            The report, from the record where the same program was run before in the same environment.

        Raises:
            SandboxError: The program was refused, or the sandbox broke; the failed step is recorded.
        """
        key = key_of(program)
        known = self._recorded(role, key)
        stored = None if known is None else self._earlier.execution_of(known)
        if stored is not None:
            return RecordedExecution(stored.execution.id, report_of(stored))
        await self.written()
        async with self._executing():
            return await self._execute(role, program, sandbox, limits)

    async def _execute(
        self, role: str, program: TestProgram, sandbox: Sandbox, limits: Limits
    ) -> RecordedExecution:
        await self._passing()
        started = perf_counter()
        step = self._step(role, key_of(program), model=sandbox.name)
        try:
            report = await sandbox.run(program, limits)
        except SandboxError as error:
            await self._add(step, outcome="failed", error=str(error), cause=cause_of(error))
            raise
        made = self._record.next_id()
        execution, outcomes = rows_of(report, program, made, item_id=step.item_id, step_id=step.id)
        broken = None
        if report.exit_reason == "infrastructure":
            broken = SandboxBroken(
                "The sandbox broke",
                f"{sandbox.name} did not run the program: {report.error or 'it does not say why'}.",
                "See: workbench doctor. The item is tried again when the job is started again.",
            )
        summary = {
            "execution": str(execution.id),
            **fields_of(report, "exit_reason", "executable"),
            "environment_error": report.error,
            **fields_of(report, "snapshot", "passed", "failed", "errors", "not_discriminating", "flaky"),
        }
        step = step.model_copy(
            update={
                "outcome": "failed" if broken else "ok",
                "error": str(broken) if broken else "",
                "cause": cause_of(broken) if broken else "",
                "reply": json.dumps(summary),
                "seconds": perf_counter() - started,
                "created_at": now(),
            }
        )
        await self._record.add_step(step, execution, outcomes)
        self._on_step(step)
        if broken is not None:
            raise broken
        return RecordedExecution(execution.id, report)

    async def repair(
        self,
        role: str,
        action: RepairAction,
        sandbox: Sandbox,
        after: str,
        *,
        again: bool = False,
        refused: str = "",
    ) -> RepairReport:
        """Have a sandbox repair the environment of later executions.

        Args:
            role: The role.
            action: The action.
            sandbox: Where.
            after: Name of the snapshot that it starts from; empty for the sandbox's own environment.
            again: Whether it is done although it was done before, since what it left is not there any more.
            refused: Why it is not done; recorded as a repair that failed.

        Returns:
            The report, from the record where the same was done before. A repair that failed is a turn that
            was taken, so that it is not tried again after an interruption.

        Raises:
            SandboxError: It could not begin, or the package index was out of reach: that says nothing about
                the program. The failed step is recorded.
        """
        digest = action.snapshot(after)
        known = None if again else self._recorded(role, digest)
        if known is not None:
            return repair_of(action, known)
        await self.written()
        async with self._executing():
            await self._passing()
            return await self._repair(role, action, sandbox, after, refused)

    async def _repair(
        self, role: str, action: RepairAction, sandbox: Sandbox, after: str, refused: str
    ) -> RepairReport:
        started = perf_counter()
        step = self._step(role, action.snapshot(after), model=sandbox.name)
        try:
            report = (
                RepairReport(action, "failed", "", None, "", refused, 0.0)
                if refused
                else await sandbox.repair(action, after)
            )
        except SandboxError as error:
            seconds = perf_counter() - started
            await self._add(step, outcome="failed", error=str(error), cause=cause_of(error), seconds=seconds)
            raise
        seconds, reply = perf_counter() - started, step_reply(report)
        if report.outcome == "unreachable":
            broken = SandboxBroken(
                "The package index cannot be reached",
                report.error,
                "The item is tried again when the job is started again. Without repairs: --no-repairs.",
            )
            failed = {"outcome": "failed", "error": str(broken), "cause": cause_of(broken)}
            await self._add(step, **failed, reply=reply, seconds=seconds)
            raise broken
        await self._add(step, outcome="ok", error=report.error, reply=reply, seconds=seconds)
        return report

    async def conclude(self, outcomes: Sequence[Outcome]) -> None:
        """Record the outcomes of the item, all or none; they are on disk after the next `written`.

        Raises:
            WorkbenchError: An outcome is of an unknown question, or a response of that name exists.
        """
        rows = await self._record.outcome_rows(self._item_id, outcomes, self._last_step)
        self._behind = asyncio.create_task(self._record.add_outcomes(rows, self._behind))

    async def written(self) -> None:
        """Wait until all that was done is on disk.

        Raises:
            Exception: It could not be written.
        """
        behind, self._behind = self._behind, None
        if behind is not None:
            await asyncio.shield(behind)

    async def _begin(self) -> None:
        """Wait until the turn before is on disk and the next one may be taken."""
        await self.written()
        await self._passing()

    async def _write(self, asked: ReplyResult) -> None:
        try:
            await self._record.add_step(asked.step, reply=asked.reply)
        finally:
            asked.recorded()
        self._on_step(asked.step)

    def _recorded(self, role: str, digest: str) -> Step | None:
        for step in reversed(self._earlier.steps):
            if step.role == role and step.outcome == "ok" and step.request_hash == digest:
                return step
        return None

    def _step(self, role: str, digest: str, *, model: str) -> Step:
        attempt = self._attempts.get(role, 0)
        self._attempts[role] = attempt + 1
        self._last_step = self._record.next_id()
        return Step(
            id=self._last_step,
            run_id=self._record.id,
            item_id=self._item_id,
            role=role,
            attempt=attempt,
            outcome="failed",
            request_hash=digest,
            model=model,
            created_at=now(),
        )

    async def _add(self, step: Step, **fields: object) -> None:
        step = step.model_copy(update={**fields, "created_at": now()})
        await self._record.add_step(step)
        self._on_step(step)
