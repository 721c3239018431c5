"""The steps of the agents as text: replies, costs and errors, and predictions of simulated executions."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from screens.items.signs import ERROR, SIGN_OF_COUNT
from store.formatting import dollars, pluralize
from store.outcome_counts import OutcomeCounts
from store.queries.agent_case import StepView

SIMULATED_ROLE = "simulated_executor"
CORRECTION_ROLE = "test_correction"

_WOULD = {"passed": "would pass", "failed": "would fail", "error": "would raise an exception"}

_ROLES = {
    "annotator": "Single model",
    "screener": "Screener",
    "test_writer": "Test writer",
    "executor": "Execution",
    SIMULATED_ROLE: "Simulated execution (nothing was run)",
    "bug_fixer": "Bug fixer",
    CORRECTION_ROLE: "Correction by the test writer",
    "repair": "Repair",
    "arbiter": "Arbiter",
    "issue_screener": "Screener",
    "question_writer": "Question writer",
    "reference_writer": "Reference writer",
    "judge": "Judge",
    "judge_swapped": "Judge, in the other order",
}
_SNAPSHOT_SHOWN = 12
"""Characters of a snapshot's name that identify it; the Run pane has the whole."""


def prediction_summary(reply: Mapping[str, Any]) -> str:
    """Say in few words what was predicted: "1 of 2 would pass"."""
    tests = _tests(reply)
    if not reply.get("executable"):
        return "would not run"
    passing = sum(test.get("outcome") == "passed" for test in tests)
    return f"{passing:,} of {len(tests):,} would pass"


def prediction_lines(reply: Mapping[str, Any]) -> Iterator[str]:
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


def role_word(role: str) -> str:
    """Return what an agent is called."""
    return _ROLES.get(role, role)


def describe_steps(steps: tuple[StepView, ...], words: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text of `step_lines`."""
    return "\n".join(step_lines(steps, words)[0])


def step_lines(
    steps: tuple[StepView, ...], words: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], set[int]]:
    """Return every turn of the agents with what it cost, in order, after what they cost together.

    Args:
        words: What to call roles in place of `role_word`.

    Returns:
        The lines, and which of them, from 0, have signs of results.
    """
    lines = [*_in_all(steps), ""] if len(steps) > 1 else []
    signed = set[int]()
    program = ""
    for number, step in enumerate(steps, start=1):
        again = f" (try {step.attempt + 1})" if step.attempt else ""
        if step.role == "question_writer":
            again = f", question {step.attempt + 1}"
        cost = f" · {dollars(step.money)}" if step.money is not None else ""
        if step.from_cache:
            cost = " · from the cache, at no cost"
        spent = (
            f"{pluralize(step.tokens_in, 'token')} in, {step.tokens_out:,} out · "
            if step.tokens_in or step.tokens_out
            else ""
        )
        role = words.get(step.role) or role_word(step.role)
        lines.append(f"{number}. {role}{again} · {spent}{step.seconds:.2f} s{cost}")
        if step.model:
            lines.append(f"   {step.model}")
        if step.error and step.role != "repair":
            signed.add(len(lines))
            lines += f"   {ERROR} failed: {step.error}".split("\n")
        written = str(step.reply.get("test_program") or "")
        changed = _changes(program, written) if step.role == CORRECTION_ROLE and written else ()
        outcome = [f"   {line}" for line in (*_outcome(step), *changed)]
        if step.role in ("executor", "repair"):
            signed.update(range(len(lines), len(lines) + len(outcome)))
        lines += [*outcome, ""]
        program = written or program
    return lines[:-1], signed


def _in_all(steps: tuple[StepView, ...]) -> Iterator[str]:
    """Return what the turns cost together, and which of them were answered from the cache."""
    known = [step.money for step in steps if step.money is not None]
    # Turns without a model, such as an execution, cost nothing; others may have an unknown cost.
    unknown = any(step.money is None and (step.tokens_in or step.tokens_out) for step in steps)
    parts = [f"All {pluralize(len(steps), 'turn')}"]
    if tokens_in := sum(step.tokens_in for step in steps):
        parts.append(f"{pluralize(tokens_in, 'token')} in, {sum(step.tokens_out for step in steps):,} out")
    parts.append(f"{sum(step.seconds for step in steps):.2f} s")
    if known:
        parts.append(dollars(sum(known)) + (" and unknown costs" if unknown else ""))
    elif unknown:
        parts.append("cost not known")
    yield " · ".join(parts)
    if kept := Counter(role_word(step.role) for step in steps if step.from_cache):
        names = (f"{count:,} × {name}" if count > 1 else name for name, count in kept.items())
        yield f"From the cache, at no cost: {', '.join(names)}"


def _outcome(step: StepView) -> Iterator[str]:
    """Return what a turn came to."""
    if step.role == "executor" and "exit_reason" in step.reply:
        return _execution(step.reply)
    if step.role == "repair":
        return _repair(step)
    if step.role == SIMULATED_ROLE:
        return prediction_lines(step.reply)
    return _reply(step.reply)


def _changes(before: str, after: str) -> Iterator[str]:
    """Return the lines of a program that a correction took out and put in."""
    if before == after:
        yield "nothing was changed"
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield f"│ {line[0]} {line[1:]}"


def _execution(reply: Mapping[str, object]) -> Iterator[str]:
    counts = OutcomeCounts.of_reply(reply)
    # None that passed is no good sign.
    signs = SIGN_OF_COUNT if counts.passed else {**SIGN_OF_COUNT, "passed": ""}
    parts = [f"{signs.get(name, '')} {words}".strip() for name, words in counts.words().items()]
    yield " · ".join([f"ended: {reply['exit_reason']}", *parts])
    if not reply.get("executable"):
        yield f"{ERROR} not executable: {reply.get('environment_error') or 'it did not finish'}"
    elif reply.get("environment_error"):
        yield f"a test without a result: {reply['environment_error']}"
    if reply.get("snapshot"):
        yield f"in the snapshot {str(reply['snapshot'])[:_SNAPSHOT_SHOWN]}"


def _repair(step: StepView) -> Iterator[str]:
    """Return what was done, what that wrote, and what is left of it."""
    output = str(step.reply.get("output") or "")
    packages = step.reply.get("packages")
    if isinstance(packages, list):
        yield f"install: {', '.join(map(str, packages))}"
    commands = step.reply.get("commands")
    # Each command is above its output, where anything was run.
    if isinstance(commands, list) and "$ " not in output:
        yield from _commands(commands)
    yield from (f"│ {line}" for line in output.splitlines())
    snapshot = str(step.reply.get("snapshot") or "")
    if step.error:
        yield f"{ERROR} failed: {step.error}"
    elif snapshot:
        yield f"done; it left the snapshot {snapshot[:_SNAPSHOT_SHOWN]}"


def _reply(reply: Mapping[str, object]) -> Iterator[str]:
    for name, value in reply.items():
        if name == "test_program":
            yield f"test program: {pluralize(str(value).count(chr(10)) + 1, 'line')}, in the Test pane"
        elif name == "commands" and isinstance(value, list):
            yield from _commands(value)
            if not value:
                yield "no command would help"
        elif isinstance(value, list):
            yield f"{name.replace('_', ' ')}: {', '.join(map(str, value)) or 'none'}"
        elif value not in ("", None):
            yield f"{name.replace('_', ' ')}: {value}"


def _commands(commands: list[object]) -> Iterator[str]:
    return (f"$ {line}" for each in commands for line in str(each).splitlines())
