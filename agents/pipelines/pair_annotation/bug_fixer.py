"""The bug fixer of Algorithm 1: repairs what a program's environment lacks, and has it executed again.

In two stages (CoSQA+, section IV.C.c): a missing module is installed directly, from the distribution that it
is known to come from; where that is not what is missing, or did not work, the model writes terminal
commands. Each round of the loop is one repair and one execution, and is over when the program is executable,
when nothing more can be done, or when `max_try_time` + 1 repairs have been made.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.configurations import BUG_FIXER, REPAIR
from agents.pipelines.pair_annotation.environment_errors import may_be_repaired, missing_distribution
from agents.pipelines.pair_annotation.reply_models import BugFixerReply
from agents.sandbox.errors import SandboxError
from agents.sandbox.repair import RepairAction, SnapshotMissing

if TYPE_CHECKING:
    from agents.jobs.step_recorder import RecordedExecution, StepRecorder
    from agents.pipelines.pair_annotation.reply_models import TestWriterReply
    from agents.prompts import Prompt
    from agents.sandbox.protocol import ExecutionReport, Sandbox
    from agents.sandbox.repair import RepairReport
    from store.queries.pair_runs import PairTexts

Execute = Callable[["PairTexts", str, "StepRecorder", str], Awaitable["RecordedExecution"]]
"""Runs a test program against a pair's code in the environment of a snapshot (empty: the sandbox's own)."""

_END_CHARACTERS = 1500
_MAX_PACKAGES = 40


@dataclass(slots=True)
class _Work:
    """How far the repair of one program is.

    Attributes:
        executed: Its last execution.
        made: The repairs that hold, each starting from the one before.
        tries: The texts about every repair so far, for the model.
        installed: Distributions whose direct installation was tried.
    """

    executed: RecordedExecution
    made: list[RepairReport] = field(default_factory=list)
    tries: list[str] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> str:
        return self.made[-1].snapshot if self.made else ""

    def start_of(self, place: int) -> str:
        """Name what the repair at a place starts from."""
        return self.made[place - 1].snapshot if place else ""


class BugFixer:
    """Repairs environments in the sandbox in which programs run.

    Args:
        prompt: Its prompt.
        sandbox: Where repairs are made.
        execute: Runs the program again, in a repaired environment.
        max_try_time: As in Algorithm 1: there are at most so many repairs and one more.
    """

    def __init__(self, prompt: Prompt, sandbox: Sandbox, execute: Execute, max_try_time: int) -> None:
        self._prompt = prompt
        self._sandbox = sandbox
        self._run = execute
        self._max_try_time = max_try_time

    async def fix(
        self, pair: PairTexts, test: TestWriterReply, executed: RecordedExecution, recorder: StepRecorder
    ) -> RecordedExecution:
        """Repair and execute until the program is executable or is given up.

        Args:
            pair: The pair.
            test: The test program.
            executed: Its first execution.
            recorder: Asks and records.

        Returns:
            Its last execution; the first, where there was nothing to repair or no way to.

        Raises:
            ModelError: There was no usable reply.
            SandboxError: The sandbox or the place of a repair broke, or the package index was out of reach.
        """
        work = _Work(executed)
        try_time = 0
        while (
            self._sandbox.repairs and may_be_repaired(work.executed.report) and try_time <= self._max_try_time
        ):
            repaired = await self._repair(pair, test, work, recorder)
            if repaired is None:
                break
            if repaired:
                # After a repair that failed all is as before, and so would be what an execution shows.
                work.executed = await self._execute(pair, test, work, recorder)
            try_time += 1
        return work.executed

    async def _repair(
        self, pair: PairTexts, test: TestWriterReply, work: _Work, recorder: StepRecorder
    ) -> bool | None:
        """Make one repair; whether it worked, and None where nothing can be done."""
        missing = missing_distribution(work.executed.report)
        if missing and missing not in work.installed:
            work.installed.append(missing)
            return await self._install(missing, work, recorder)
        messages = self._prompt.messages(
            environment=self._sandbox.repairs,
            code=pair.code,
            test_program=test.test_program,
            failure=_failure(work.executed.report),
            tries="\n\n".join(work.tries) or "none",
        )
        reply = await recorder.ask(BUG_FIXER, messages, BugFixerReply)
        if not reply.commands:
            return None
        return await self._act(RepairAction("commands", reply.commands), len(work.made), work, recorder)

    async def _install(self, distribution: str, work: _Work, recorder: StepRecorder) -> bool:
        """Install a distribution; together with those that the repair before installed, as one set."""
        place, together = len(work.made), {distribution}
        if work.made and work.made[-1].action.kind == "install":
            place -= 1
            together |= set(work.made[-1].action.items)
        action = RepairAction("install", tuple(sorted(together)))
        return await self._act(action, place, work, recorder)

    async def _act(self, action: RepairAction, place: int, work: _Work, recorder: StepRecorder) -> bool:
        """Carry an action out in place of those from there on; whether it worked."""
        try:
            report = await recorder.repair(REPAIR, action, self._sandbox, work.start_of(place))
        except SnapshotMissing:
            await self._make_again(work, recorder)
            report = await recorder.repair(REPAIR, action, self._sandbox, work.start_of(place))
        done = report.outcome == "done"
        if done:
            work.made[place:] = [report]
        left = "" if done else f"\n{report.error}"
        work.tries.append(f"{action.kind}: {json.dumps(action.items)}\n{_end(report.output)}{left}")
        return done

    async def _execute(
        self, pair: PairTexts, test: TestWriterReply, work: _Work, recorder: StepRecorder
    ) -> RecordedExecution:
        try:
            executed = await self._run(pair, test.test_program, recorder, work.snapshot)
        except SnapshotMissing:
            await self._make_again(work, recorder)
            executed = await self._run(pair, test.test_program, recorder, work.snapshot)
        if executed.report.error:
            work.tries[-1] += f"\nThen: {executed.report.error}"
        return executed

    async def _make_again(self, work: _Work, recorder: StepRecorder) -> None:
        """Make what the record says was made, where it is not on this machine (any more)."""
        for place, report in enumerate(work.made):
            again = await recorder.repair(
                REPAIR, report.action, self._sandbox, work.start_of(place), again=True
            )
            if again.outcome != "done":
                raise SandboxError(
                    "A repair could not be made again",
                    f"{again.error} It worked before, and what it left is not on this machine any more.",
                    "The item is tried again by the next job.",
                )
            work.made[place] = again


def _failure(report: ExecutionReport) -> str:
    """Tell the model why a program could not be executed, as JSON."""
    fields = {
        "error": report.error,
        "trace": _end(report.trace),
        "stderr": _end(report.stderr),
        "packages": list(report.packages[:_MAX_PACKAGES]),
    }
    return json.dumps(fields, ensure_ascii=False, indent=1)


def _end(text: str) -> str:
    return text if len(text) <= _END_CHARACTERS else "…" + text[-_END_CHARACTERS:]
