"""What a model predicted of a test that nobody ran, in words and signs that no execution has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ROLE = "simulated_executor"

_WOULD = {"passed": "would pass", "failed": "would fail", "error": "would raise an exception"}


def summary(reply: Mapping[str, Any]) -> str:
    """Say in few words what was predicted: "1 of 2 would pass"."""
    tests = _tests(reply)
    if not reply.get("executable"):
        return "would not run"
    passing = sum(test.get("outcome") == "passed" for test in tests)
    return f"{passing:,} of {len(tests):,} would pass"


def predicted(reply: Mapping[str, Any]) -> Iterator[str]:
    """Return a line for each test that a model wrote of."""
    if not reply.get("executable"):
        yield f"would not run: {reply.get('environment_error') or 'the model does not say why'}"
    for test in _tests(reply):
        outcome = str(test.get("outcome", ""))
        why = f": {test['why']}" if test.get("why") else ""
        yield f"? {test.get('name', '')} {_WOULD.get(outcome, outcome)}{why}"


def _tests(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tests = reply.get("tests")
    return [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
