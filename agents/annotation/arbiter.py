"""The final arbiter of Algorithm 1, in one question to the model.

It is told what its configuration found out: an execution as a structured report, a prediction as what it is,
a test program that nobody ran, or nothing beside the pair. A single model is an arbiter without others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents.annotation.replies import ArbiterReply, SimulationReply
from agents.prompts import load_prompt
from store.cuts import Cut

if TYPE_CHECKING:
    from agents.annotation.replies import TestWriterReply
    from agents.sandbox.protocol import ExecutionReport
    from agents.turns import Turns
    from store.queries.runs import PairTexts

_END_CHARACTERS = 1500
_MESSAGE_CHARACTERS = 600
_TESTS_TOLD = 40
_PACKAGES_TOLD = 40


class ModelArbiter:
    """Asks for the label, with what was found out.

    Args:
        role: Whose turn it is: the arbiter's, or that of a model which works alone.
        prompt: The name of its prompt, whose places say what it is told.
    """

    def __init__(self, role: str, prompt: str) -> None:
        self._role = role
        self._prompt = load_prompt(prompt)

    async def rule(
        self,
        pair: PairTexts,
        test: TestWriterReply | None,
        found: ExecutionReport | SimulationReply | None,
        turns: Turns,
    ) -> ArbiterReply:
        """Give the final label; see `protocols.Arbiter`."""
        told = {"query": pair.query, "code": pair.code}
        if test is not None:
            told |= {"interpretation": test.interpretation, "test_program": test.test_program}
        if isinstance(found, SimulationReply):
            told["prediction"] = prediction(found)
        elif found is not None:
            told["report"] = structured_report(found)
        return await turns.ask(self._role, self._prompt.messages(**told), ArbiterReply)


def prediction(found: SimulationReply) -> str:
    """Tell the arbiter what a model predicted, as JSON that says it is no execution."""
    return json.dumps({"simulated": True, **found.model_dump(mode="json")}, ensure_ascii=False, indent=1)


def structured_report(report: ExecutionReport) -> str:
    """Tell an execution to the arbiter.

    Durations are left out: the same outcome gives the same text, whenever it came about.

    Args:
        report: The execution.

    Returns:
        JSON with the exit reason, each test's outcome, message, trace and how far it can be trusted, what
        stood in the program's way, what was installed, and head and tail of what it wrote. Long texts are
        cut, and say how much is left out.
    """
    told = report.outcomes[:_TESTS_TOLD]
    summary: dict[str, Any] = {
        "executable": report.executable,
        "exit_reason": report.exit_reason,
        "environment_error": _head(report.error),
        "trace": _ends(report.trace),
        "image": report.image,
        "packages": list(report.packages[:_PACKAGES_TOLD]),
        "packages_left_out": len(report.packages[_PACKAGES_TOLD:]),
        "exit_code": report.exit_code,
        "passed": report.passed,
        "failed": report.failed,
        "errors": report.errors,
        "not_discriminating": report.not_discriminating,
        "flaky": report.flaky,
        "tests": [
            {
                "name": test.name,
                "outcome": test.outcome,
                "message": _head(test.message),
                "trace": _ends(test.trace),
                "discriminates": test.discriminates,
                "flaky": test.flaky,
            }
            for test in told
        ],
        "tests_left_out": len(report.outcomes) - len(told),
        "stdout": _ends(report.stdout, report.stdout_cut),
        "stderr": _ends(report.stderr, report.stderr_cut),
        "output_bytes_dropped": report.output_dropped,
    }
    return json.dumps(summary, ensure_ascii=False, indent=1)


def _head(text: str) -> str:
    if len(text) <= _MESSAGE_CHARACTERS:
        return text
    return f"{text[:_MESSAGE_CHARACTERS]} … ({len(text) - _MESSAGE_CHARACTERS} more characters)"


def _ends(text: str, cut: Cut | None = None) -> dict[str, Any] | str:
    """Return a short text as it is, and of a long or a cut one its head, its tail, and what lies between."""
    if cut is None and len(text) <= 2 * _END_CHARACTERS:
        return text
    at = len(text) // 2 if cut is None else cut.at
    head, tail = text[:at][:_END_CHARACTERS], text[at:][-_END_CHARACTERS:]
    between = text[len(head) : len(text) - len(tail)]
    missing = Cut(0, 0, 0) if cut is None else cut
    left_out = {
        "bytes": len(between.encode("utf-8", "surrogatepass")) + missing.bytes,
        "lines": between.count("\n") + missing.lines,
    }
    return {"head": head, "left_out": left_out, "tail": tail}
