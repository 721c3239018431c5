"""Executions and predictions as JSON, for the arbiter of Algorithm 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from store.cuts import Cut
from store.json_fields import fields_of

if TYPE_CHECKING:
    from agents.pipelines.pair_annotation.reply_models import SimulationReply
    from agents.sandbox.protocol import ExecutionReport

END_CHARACTERS = 1500
_MESSAGE_CHARACTERS = 600
_MAX_TESTS = 40
MAX_PACKAGES = 40


def prediction(found: SimulationReply) -> str:
    """Return a model's prediction as JSON that says that it is no execution."""
    return json.dumps({"simulated": True, **found.model_dump(mode="json")}, ensure_ascii=False, indent=1)


def structured_report(report: ExecutionReport) -> str:
    """Return an execution as JSON for the arbiter.

    Durations are left out: the same outcome gives the same text, whenever it came about.

    Returns:
        JSON with the exit reason, each test's outcome, message, trace and how far it can be trusted, what
        kept the program from running, what was installed, and head and tail of what it wrote. Long texts are
        cut, and say how much is left out.
    """
    tests = report.outcomes[:_MAX_TESTS]
    summary: dict[str, Any] = {
        "executable": report.executable,
        "exit_reason": report.exit_reason,
        "environment_error": _head(report.error),
        "trace": _ends(report.trace),
        "image": report.image,
        "packages": list(report.packages[:MAX_PACKAGES]),
        "packages_left_out": len(report.packages[MAX_PACKAGES:]),
        **fields_of(report, "exit_code", "passed", "failed", "errors", "not_discriminating", "flaky"),
        "tests": [
            {
                "name": test.name,
                "outcome": test.outcome,
                "obstacle": test.obstacle,
                "message": _head(test.message),
                "trace": _ends(test.trace),
                "discriminates": test.discriminates,
                "flaky": test.flaky,
            }
            for test in tests
        ],
        "tests_left_out": len(report.outcomes) - len(tests),
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
    if cut is None and len(text) <= 2 * END_CHARACTERS:
        return text
    at = len(text) // 2 if cut is None else cut.at
    head, tail = text[:at][:END_CHARACTERS], text[at:][-END_CHARACTERS:]
    between = text[len(head) : len(text) - len(tail)]
    missing = Cut(0, 0, 0) if cut is None else cut
    left_out = {
        "bytes": len(between.encode("utf-8", "surrogatepass")) + missing.bytes,
        "lines": between.count("\n") + missing.lines,
    }
    return {"head": head, "left_out": left_out, "tail": tail}
