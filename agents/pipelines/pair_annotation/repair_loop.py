"""The loop of Algorithm 1: repairs what keeps a test program from a result, and has it executed again.

The environment is repaired in two stages (CoSQA+, section IV.C.c): a missing module is installed directly,
from the distribution that it is known to come from; where that is not what is missing, or did not work, the
bug fixer writes terminal commands. There are at most `max_try_time` + 1 such repairs.

A configuration with the role `test_correction` also lets the test writer correct its own slip, once: a name,
an import, invalid Python in tests or scaffold, or a test that cannot be run. That is our addition, and counts
as no repair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.llm.errors import ModelError
from agents.pipelines.pair_annotation.arbiter import END_CHARACTERS, MAX_PACKAGES
from agents.pipelines.pair_annotation.configurations import BUG_FIXER, REPAIR, TEST_CORRECTION
from agents.pipelines.pair_annotation.distributions import is_own_module
from agents.pipelines.pair_annotation.environment_errors import (
    errors_of_environment,
    is_import,
    is_not_run,
    is_slip,
    missing_distribution,
)
from agents.pipelines.pair_annotation.reply_models import BugFixerReply, TestCorrectionReply
from agents.sandbox.errors import SandboxError
from agents.sandbox.repair import RepairAction, SnapshotMissing

if TYPE_CHECKING:
    from agents.jobs.step_recorder import RecordedExecution, StepRecorder
    from agents.pipelines.pair_annotation.reply_models import TestWriterReply
    from agents.prompts import Prompt
    from agents.sandbox.protocol import ExecutionReport, Sandbox
    from agents.sandbox.repair import RepairReport
    from agents.sandbox.settings import SandboxSettings
    from store.analysis.pair_runs import PairTexts

Execute = Callable[["PairTexts", str, "StepRecorder", str], Awaitable["RecordedExecution"]]
"""Runs a test program against a pair's code in the environment of a snapshot (empty: the sandbox's own)."""

UNUSABLE = ("malformed", "truncated", "refused")
"""Failures of a reply that say something of the model, and not of the way to it: the agent gives up."""

_MAX_TESTS = 10
_INSTALL = re.compile(r"\bpip3?(?:\.\d+)?\s+(?:[^|;&]*?\s)?install\s(?P<what>[^|;&]*)")
_QUOTING = re.compile(r"[\"']|\\\n")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(slots=True)
class Tested:
    """A pair's test program in the loop.

    Attributes:
        test: The program as it is now, and the reading of the query that it tests.
        executed: Its last execution.
        undefined_names: The names that the candidate lacks, as prompts list them.
        environment: Where it runs, as prompts describe it.
        corrected: Whether the test writer was asked for a correction.
        gave_up: Whether the bug fixer has no further command to try.
        made: The repairs that hold, each starting from the one before.
        tries: The texts about every repair so far, for the model.
        installed: Distributions whose direct installation was tried.
    """

    pair: PairTexts
    test: TestWriterReply
    executed: RecordedExecution
    undefined_names: str
    environment: str
    corrected: bool = False
    gave_up: bool = False
    repairs: int = 0
    made: list[RepairReport] = field(default_factory=list)
    tries: list[str] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> str:
        """The environment that it runs in."""
        return self.made[-1].snapshot if self.made else ""

    def start_of(self, place: int) -> str:
        """Name what the repair at a place starts from."""
        return self.made[place - 1].snapshot if place else ""


class RepairLoop:
    """Repairs environments in the sandbox in which programs run, and has slips of the test writer corrected.

    Args:
        prompts: The prompts of the configuration; of the roles `bug_fixer` and `test_correction` none, one
            or both.
        sandbox: Where repairs are made.
        execute: Runs a program.
        settings: Whether the environment is repaired, and how often (`max_try_time`).
    """

    def __init__(
        self, prompts: Mapping[str, Prompt], sandbox: Sandbox, execute: Execute, settings: SandboxSettings
    ) -> None:
        repairs = settings.repairs and bool(sandbox.repairs)
        self._bug_fixer = prompts.get(BUG_FIXER) if repairs else None
        self._correction = prompts.get(TEST_CORRECTION)
        self._sandbox = sandbox
        self._run = execute
        self._most_repairs = settings.max_try_time + 1

    async def work(self, tested: Tested, recorder: StepRecorder) -> None:
        """Repair and execute until nothing keeps the program from a result, or it is given up.

        Args:
            tested: The program after its first execution; it is changed to what it is after the last one.
            recorder: Asks and records.

        Raises:
            ModelError: A model could not be asked. A reply that cannot be used is none: its agent gives up.
            SandboxError: The sandbox or the place of a repair broke, or the package index was out of reach.
        """
        while turn := self._next(tested):
            if await turn(tested, recorder):
                # After a repair that failed all is as before, and so would be what an execution shows.
                await self._execute(tested, recorder)

    def _next(self, tested: Tested) -> Callable[[Tested, StepRecorder], Awaitable[bool]] | None:
        """Choose the next turn; it returns whether anything changed. None where the loop is over."""
        errors = errors_of_environment(tested.executed.report)
        over = tested.gave_up or tested.repairs >= self._most_repairs
        repairs = self._bug_fixer is not None and not over and not all(map(is_not_run, errors))
        if repairs and _installable(errors, tested):
            return self._install
        # An import that no repair brings is the writer's; where nothing is repaired, nobody knows that.
        slips = any(is_slip(error) or (over and is_import(error)) for error in errors)
        if slips and self._correction is not None and not tested.corrected:
            return self._correct
        return self._command if repairs else None

    async def _install(self, tested: Tested, recorder: StepRecorder) -> bool:
        """Install a distribution; together with those that the repair before installed, as one set."""
        (distribution, *_) = _installable(errors_of_environment(tested.executed.report), tested)
        tested.installed.append(distribution)
        place, together = len(tested.made), {distribution}
        if tested.made and tested.made[-1].action.kind == "install":
            place -= 1
            together |= set(tested.made[-1].action.items)
        action = RepairAction("install", tuple(sorted(together)))
        return await self._repair(action, place, tested, recorder)

    async def _command(self, tested: Tested, recorder: StepRecorder) -> bool:
        """Have the bug fixer write commands, and carry them out."""
        assert self._bug_fixer is not None
        messages = self._bug_fixer.messages(
            environment=self._sandbox.repairs,
            code=tested.pair.code,
            test_program=tested.test.test_program,
            failure=failure(tested.executed.report),
            tries="\n\n".join(tested.tries) or "none",
        )
        try:
            reply = await recorder.ask(BUG_FIXER, messages, BugFixerReply)
        except ModelError as error:
            if error.kind not in UNUSABLE:
                raise
            tested.gave_up = True
            return False
        if not reply.commands:
            tested.gave_up = True
            return False
        action = RepairAction("commands", reply.commands)
        refused = _refused(reply.commands)
        return await self._repair(action, len(tested.made), tested, recorder, refused=refused)

    async def _correct(self, tested: Tested, recorder: StepRecorder) -> bool:
        """Have the test writer correct its program; whether it did."""
        assert self._correction is not None
        tested.corrected = True
        messages = self._correction.messages(
            environment=tested.environment,
            code=tested.pair.code,
            undefined_names=tested.undefined_names,
            test_program=tested.test.test_program,
            failure=failure(tested.executed.report),
        )
        try:
            reply = await recorder.ask(TEST_CORRECTION, messages, TestCorrectionReply)
        except ModelError as error:
            if error.kind not in UNUSABLE:
                raise
            return False
        if reply.test_program == tested.test.test_program:
            return False
        tested.test = tested.test.model_copy(update={"test_program": reply.test_program})
        tested.gave_up = False  # another program may lack what commands can bring
        return True

    async def _repair(
        self, action: RepairAction, place: int, tested: Tested, recorder: StepRecorder, *, refused: str = ""
    ) -> bool:
        """Carry an action out in place of those from there on; whether it worked."""
        tested.repairs += 1
        after = tested.start_of(place)
        try:
            report = await recorder.repair(REPAIR, action, self._sandbox, after, refused=refused)
        except SnapshotMissing:
            await self._make_again(tested, recorder)
            report = await recorder.repair(REPAIR, action, self._sandbox, tested.start_of(place))
        done = report.outcome == "done"
        if done:
            tested.made[place:] = [report]
        left = "" if done else f"\n{report.error}"
        tested.tries.append(f"{action.kind}: {json.dumps(action.items)}\n{_end(report.output)}{left}")
        return done

    async def _execute(self, tested: Tested, recorder: StepRecorder) -> None:
        program = (tested.pair, tested.test.test_program, recorder)
        try:
            tested.executed = await self._run(*program, tested.snapshot)
        except SnapshotMissing:
            await self._make_again(tested, recorder)
            tested.executed = await self._run(*program, tested.snapshot)
        if tested.tries and tested.executed.report.error:
            tested.tries[-1] += f"\nThen: {tested.executed.report.error}"

    async def _make_again(self, tested: Tested, recorder: StepRecorder) -> None:
        """Make what the record says was made, where it is not on this machine (any more)."""
        for place, report in enumerate(tested.made):
            again = await recorder.repair(
                REPAIR, report.action, self._sandbox, tested.start_of(place), again=True
            )
            if again.outcome != "done":
                raise SandboxError(
                    "A repair could not be made again",
                    f"{again.error} It worked before, and what it left is not on this machine any more.",
                    "The item is tried again by the next job.",
                )
            tested.made[place] = again


def failure(report: ExecutionReport) -> str:
    """Tell a model what kept a program from results, as JSON: of the program, and of its tests."""
    lacking = [test for test in report.outcomes if test.obstacle in ("environment", "test")]
    fields = {
        "error": report.error,
        "trace": _end(report.trace),
        "tests": [
            {"name": test.name, "error": _end(test.message), "trace": _end(test.trace)}
            for test in lacking[:_MAX_TESTS]
        ],
        "tests_with_a_result": sum(not test.obstacle for test in report.outcomes),
        "stderr": _end(report.stderr),
        "packages": list(report.packages[:MAX_PACKAGES]),
    }
    return json.dumps(fields, ensure_ascii=False, indent=1)


def _installable(errors: tuple[str, ...], tested: Tested) -> list[str]:
    """Name the distributions that errors call for and whose installation was not tried."""
    named = dict.fromkeys(missing_distribution(error) for error in errors)
    return [each for each in named if each and each not in tested.installed]


def _refused(commands: tuple[str, ...]) -> str:
    """Say why commands are not carried out; empty where they are."""
    for command in commands:
        for call in _INSTALL.finditer(_QUOTING.sub("", command)):
            for word in call["what"].partition(" #")[0].split():
                name = _NAME.match(word)
                if name and is_own_module(name[0]):
                    return (
                        f"Refused: {name[0]!r} is a module of the code's own project, and the package of "
                        "that name in the index is another one."
                    )
    return ""


def _end(text: str) -> str:
    return text if len(text) <= END_CHARACTERS else "…" + text[-END_CHARACTERS:]
