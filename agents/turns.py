"""One item's turns in a run: asks the model and the sandbox, once each, and records what came of it.

A turn is on disk before the next one begins; the last one is written with the verdict, behind the next item's
turns. A turn that this run took before, with the same request, is not taken again: its recorded reply stands.
A turn that failed before is taken again as a further attempt.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from agents.llm.errors import ModelError
from agents.llm.protocol import Message, ModelRequest
from agents.recorded_reports import repair_of, report_of, rows_of, told_of
from agents.records import Earlier, RunRecord
from agents.sandbox.errors import NeedsSandbox, SandboxError
from agents.sandbox.repair import RepairAction, RepairReport
from store.ids import now
from store.tables.runs import Step, Verdict

if TYPE_CHECKING:
    from agents.kinds import WorkItem
    from agents.llm.settings import ModelSettings
    from agents.replies import Asked, Replies
    from agents.role_models import RoleModels
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox, TestProgram
    from store.errors import WorkbenchError

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class SandboxBroken(SandboxError):
    """The sandbox failed, which says nothing about the program."""


@dataclass(frozen=True, slots=True)
class Executed:
    """One execution: its key in the record, and its report."""

    id: UUID
    report: ExecutionReport


def key_of(program: TestProgram) -> str:
    """Return what tells the execution of a program from every other: its digest, and where it is to run."""
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


class Turns:
    """Takes the turns of a pipeline's agents on one item, and records them.

    Args:
        record: The run.
        item: The item.
        earlier: What the run did with it before.
        models: Who is asked in each role.
        settings: How it is asked.
        replies: Where models are asked, at most once for the same.
        passing: Awaited before every turn; waits while the job is paused, raises when it stops.
        paying: Awaited before a model is asked, and not where the reply is kept already.
        on_step: Told of every step that was recorded.
    """

    def __init__(
        self,
        record: RunRecord,
        item: WorkItem,
        earlier: Earlier,
        *,
        models: RoleModels,
        settings: ModelSettings,
        replies: Replies,
        passing: Callable[[], Awaitable[None]],
        paying: Callable[[], Awaitable[None]],
        on_step: Callable[[Step], None],
    ) -> None:
        self._record = record
        self._item = item
        self._earlier = earlier
        self._models = models
        self._settings = settings
        self._replies = replies
        self._passing = passing
        self._paying = paying
        self._on_step = on_step
        self._behind: asyncio.Task[None] | None = None
        self._attempts: dict[str, int] = {}
        for step in earlier.steps:
            self._attempts[step.role] = max(self._attempts.get(step.role, 0), step.attempt + 1)

    async def ask(self, role: str, messages: tuple[Message, ...], reply_type: type[ReplyT]) -> ReplyT:
        """Ask the model in a role.

        Args:
            role: Whose turn it is.
            messages: What is asked.
            reply_type: What the reply must be.

        Returns:
            The reply, from the record where the same was asked before.

        Raises:
            ModelError: No usable reply came; the failed step is recorded.
        """
        who = self._models[role]
        model = who.model
        request = ModelRequest(
            role=role,
            subject=self._item.external_id,
            messages=messages,
            reply_type=reply_type,
            temperature=who.temperature,
            max_output_tokens=self._settings.max_output_tokens,
            seed=self._settings.seed,
        )
        digest = request.digest(model.name)
        known = self._recorded(role, digest)
        if known is not None:
            try:
                return reply_type.model_validate_json(known.reply)
            except ValidationError:
                pass  # the form of replies has changed since: it is asked anew
        await self._begin()

        def begun() -> Step:
            return self._step(role, digest, model=model.name)

        asked = await self._replies.ask(model, request, digest, self._paying, begun)
        self._behind = asyncio.create_task(self._write(asked))
        if asked.error is not None:
            await self.written()
            raise asked.error
        if not isinstance(asked.value, reply_type):
            raise TypeError(f"{model.name} returned {type(asked.value).__name__} for {reply_type.__name__}")
        return asked.value

    async def execute(self, role: str, program: TestProgram, sandbox: Sandbox, limits: Limits) -> Executed:
        """Run a test program in a sandbox.

        Args:
            role: Whose turn it is.
            program: Candidate and test.
            sandbox: Where it runs.
            limits: What it may use.

        Returns:
            What happened, from the record where the same program was run before in the same environment.

        Raises:
            SandboxError: The program was refused, or the sandbox broke; the failed step is recorded.
        """
        key = key_of(program)
        known = self._recorded(role, key)
        stored = None if known is None else self._earlier.execution_of(known)
        if stored is not None:
            return Executed(stored.execution.id, report_of(stored))
        await self._begin()
        started = perf_counter()
        step = self._step(role, key, model=sandbox.name)
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
            "exit_reason": report.exit_reason,
            "executable": report.executable,
            "environment_error": report.error,
            "snapshot": report.snapshot,
            "passed": report.passed,
            "failed": report.failed,
            "errors": report.errors,
            "not_discriminating": report.not_discriminating,
            "flaky": report.flaky,
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
        return Executed(execution.id, report)

    async def repair(
        self, role: str, action: RepairAction, sandbox: Sandbox, after: str, *, anew: bool = False
    ) -> RepairReport:
        """Have a sandbox repair the environment of later executions.

        Args:
            role: Whose turn it is.
            action: What is to be done.
            sandbox: Where.
            after: Name of the snapshot that it starts from; empty for the sandbox's own environment.
            anew: Whether it is done although it was done before, since what it left is not there any more.

        Returns:
            What happened, from the record where the same was done before. A repair that failed is a turn that
            was taken, so that it is not tried again after an interruption.

        Raises:
            SandboxError: It could not begin, or the package index was out of reach: that says nothing about
                the program. The failed step is recorded.
        """
        digest = action.snapshot(after)
        known = None if anew else self._recorded(role, digest)
        if known is not None:
            return repair_of(action, known)
        await self._begin()
        started = perf_counter()
        step = self._step(role, digest, model=sandbox.name)
        try:
            report = await sandbox.repair(action, after)
        except SandboxError as error:
            seconds = perf_counter() - started
            await self._add(step, outcome="failed", error=str(error), cause=cause_of(error), seconds=seconds)
            raise
        seconds, told = perf_counter() - started, told_of(report)
        if report.outcome == "unreachable":
            broken = SandboxBroken(
                "The package index cannot be reached",
                report.error,
                "The item is tried again when the job is started again. Without repairs: --no-repairs.",
            )
            failed = {"outcome": "failed", "error": str(broken), "cause": cause_of(broken)}
            await self._add(step, **failed, reply=told, seconds=seconds)
            raise broken
        await self._add(step, outcome="ok", error=report.error, reply=told, seconds=seconds)
        return report

    async def conclude(self, value: float, path: str, reason: str, execution: UUID | None = None) -> Verdict:
        """Record the final word on the item.

        Args:
            value: The label, on the scale of the kind's first question.
            path: How it came about, in a word of the pipeline's: see `store.queries.rows.VERDICT_PATHS`.
            reason: Why, in the words of the agent that decided.
            execution: The execution that it rests on.

        Returns:
            The verdict, which is on disk after the next `written`.
        """
        verdict = Verdict(
            id=self._record.next_id(),
            run_id=self._record.id,
            item_id=self._item.item_id,
            value=float(value),
            path=path,
            reason=reason,
            execution_id=execution,
            question_id=self._record.question_id,
            created_at=now(),
        )
        self._behind = asyncio.create_task(self._record.add_verdict(verdict, self._behind))
        return verdict

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

    async def _write(self, asked: Asked) -> None:
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
        return Step(
            id=self._record.next_id(),
            run_id=self._record.id,
            item_id=self._item.item_id,
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
