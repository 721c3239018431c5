"""Algorithm 1 of CoSQA+ for one pair: screen, and where that is unclear, test and rule.

Any agent but the one that rules can be left out (section V.D); the others then work with what there is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.jobs.outcome import Verdict
from agents.pipelines.pair_annotation.arbiter import prediction, structured_report
from agents.pipelines.pair_annotation.configurations import (
    BUG_FIXER,
    EXECUTOR,
    SCREENER,
    SIMULATOR,
    TEST_CORRECTION,
    TEST_WRITER,
)
from agents.pipelines.pair_annotation.repair_loop import RepairLoop, Tested
from agents.pipelines.pair_annotation.reply_models import (
    ArbiterReply,
    ScreenerReply,
    SimulationReply,
    TestWriterReply,
)
from agents.pipelines.pair_annotation.snippet import read_snippet
from agents.sandbox.interpreter import python_version
from agents.sandbox.protocol import TestProgram
from agents.sandbox.trust import with_trust_checks

if TYPE_CHECKING:
    from agents.jobs.step_recorder import RecordedExecution, StepRecorder
    from agents.pipelines.pair_annotation.snippet import Snippet
    from agents.pipelines.spec import Configuration
    from agents.sandbox.protocol import ExecutionReport, Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.analysis.pair_runs import PairTexts

# The same in every configuration, so that they share the programs that were written and paid for.
_ENVIRONMENT = (
    "Python {}. At first only its standard library is there; what the program or the code imports beside it "
    "is installed from the package index, before the program runs again without a network."
)
_CLEAR = {"clear_match": 1.0, "clear_nonmatch": 0.0}


class PairPipeline:
    """Labels query-code pairs, one after another or many at a time.

    Args:
        configuration: Which agents take part.
        sandbox: Where test programs run; None where nothing is executed.
        settings: Limits of test programs, and how they are repaired and checked.
    """

    def __init__(
        self, configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings
    ) -> None:
        self._prompts = configuration.load_prompts()
        self._ruling_role = configuration.roles()[-1]
        self._sandbox = None if sandbox is None else with_trust_checks(sandbox, settings)
        self._limits = settings.limits
        self._environment = _ENVIRONMENT.format(python_version(settings))
        self._loop: RepairLoop | None = None
        if sandbox is not None and not self._prompts.keys().isdisjoint({BUG_FIXER, TEST_CORRECTION}):
            self._loop = RepairLoop(self._prompts, sandbox, self._execute, settings)

    async def run(self, item: PairTexts, recorder: StepRecorder) -> tuple[Verdict]:
        """Label one pair; see `agents.pipelines.spec.Pipeline`.

        A pair that failed can be worked on again, and goes on at the step that failed.
        """
        doubt = ""
        if SCREENER in self._prompts:
            messages = self._prompts[SCREENER].messages(query=item.query, code=item.code)
            screening = await recorder.ask(SCREENER, messages, ScreenerReply)
            doubt = screening.justification
            if screening.assessment != "unclear":
                return (Verdict(_CLEAR[screening.assessment], "screened", doubt),)
        if TEST_WRITER not in self._prompts:
            ruling = await self.rule(item, None, None, recorder)
            return (Verdict(ruling.label, "read", ruling.reason),)
        missing_names = undefined_names(await asyncio.to_thread(read_snippet, item.code))
        messages = self._prompts[TEST_WRITER].messages(
            environment=self._environment,
            query=item.query,
            code=item.code,
            undefined_names=missing_names,
            doubt=doubt,
        )
        test = await recorder.ask(TEST_WRITER, messages, TestWriterReply)
        if SIMULATOR in self._prompts:
            # It is not given the query: it predicts and does not judge.
            messages = self._prompts[SIMULATOR].messages(code=item.code, test_program=test.test_program)
            predicted = await recorder.ask(SIMULATOR, messages, SimulationReply)
            ruling = await self.rule(item, test, predicted, recorder)
            return (Verdict(ruling.label, "simulated", ruling.reason),)
        if self._sandbox is None:
            ruling = await self.rule(item, test, None, recorder)
            return (Verdict(ruling.label, "read", ruling.reason),)
        executed = await self._execute(item, test.test_program, recorder, "")
        tested = Tested(item, test, executed, missing_names, self._environment)
        if self._loop is not None:
            await self._loop.work(tested, recorder)
        report = tested.executed.report
        ruling = await self.rule(item, tested.test, report, recorder)
        path = "untested"
        if report.executable:
            # Of both, the correction says more of what the label rests on: the tests are other ones.
            path = "corrected" if tested.test != test else "repaired" if report.snapshot else "tested"
        return (Verdict(ruling.label, path, ruling.reason, execution_id=tested.executed.id),)

    async def rule(
        self,
        pair: PairTexts,
        test: TestWriterReply | None,
        found: ExecutionReport | SimulationReply | None,
        recorder: StepRecorder,
    ) -> ArbiterReply:
        """Ask for the final label, with what the configuration found out (section IV.C.d).

        Args:
            pair: The pair.
            test: The test program and its interpretation of the query; None where none is written.
            found: The report of its last execution, or a model's prediction of one; None where it was not
                run.
            recorder: Asks and records.
        """
        values = {"query": pair.query, "code": pair.code}
        if test is not None:
            values |= {"interpretation": test.interpretation, "test_program": test.test_program}
        if isinstance(found, SimulationReply):
            values["prediction"] = prediction(found)
        elif found is not None:
            values["report"] = structured_report(found)
        messages = self._prompts[self._ruling_role].messages(**values)
        return await recorder.ask(self._ruling_role, messages, ArbiterReply)

    async def _execute(
        self, pair: PairTexts, test_program: str, recorder: StepRecorder, snapshot: str
    ) -> RecordedExecution:
        assert self._sandbox is not None
        program = TestProgram(candidate=pair.code, test=test_program, snapshot=snapshot)
        return await recorder.execute(EXECUTOR, program, self._sandbox, self._limits)


def undefined_names(snippet: Snippet) -> str:
    """Return the names that a snippet lacks as a prompt lists them; a text that cannot be loaded says so."""
    if snippet.python == "3":
        return ", ".join(snippet.undefined_names) or "none"
    language = "Python 2" if snippet.python == "2" else "no valid Python"
    return f"not known: the code is {language}, and cannot be loaded"
