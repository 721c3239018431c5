"""The runs of an item's test, of which one is shown: the agents', and those of experts beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from screens.items.signs import OUTCOME_GLYPHS
from screens.items.views import PaneText, TestRunView
from screens.widgets.text.sanitize import one_line
from store.queries.agent_case import AgentCase
from store.queries.executions import ExecutionView
from store.queries.expert_runs import ExpertRunView
from store.record.ids import now

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport

KIND = 40
"""Characters of the kind of an error, which a program chooses."""

# Exit reasons that the test results explain.
_BY_ITSELF = ("ok", "assertion", "error")


def results(execution: ExecutionView | ExecutionReport) -> Iterator[str]:
    """Say in few words what the tests showed, and how far they can be trusted."""
    said = execution.counts.words()
    if execution.outcomes:
        yield said["passed"]
    if execution.executable and (lacking := sum(bool(test.obstacle) for test in execution.outcomes)):
        yield f"{lacking:,} no result"
    if not execution.outcomes or execution.exit_reason not in _BY_ITSELF:
        yield f"ended: {execution.exit_reason}"
    yield from (said[name] for name in ("not_discriminating", "flaky") if name in said)
    if not execution.executable:
        kind = one_line(execution.error.partition(":")[0], KIND) if execution.exit_reason == "error" else ""
        yield f"not executable: {kind}" if kind else "not executable"


def runs_of(
    case: AgentCase, panes: Callable[[ExecutionView | None], tuple[PaneText, ...]]
) -> tuple[TestRunView, ...]:
    """Return the runs of an item's test, the agents' first.

    Args:
        case: The agents' case and the experts' runs.
        panes: Lays a run out as the panes of test and log; that of None where the agents ran nothing.
    """
    agents = case.execution
    tests = agents.outcomes if agents else ()
    first = TestRunView(agents.id if agents else None, panes(agents), tests=tests)
    if not case.expert_runs:
        return (first,)
    total = len(case.expert_runs) + 1
    wrote = "No test by the agents" if case.expert_runs[0].alone else "Test as the agents wrote it"
    theirs = (wrote, "Run by the agents" if agents else "Not run by the agents")
    found = [_headed(first, theirs, 1, total)]
    for number, run in enumerate(case.expert_runs, start=2):
        shown = TestRunView(run.execution.id, panes(run.execution), tests=run.execution.outcomes)
        found.append(_headed(shown, _headings(run), number, total))
    return tuple(found)


def own_runs_of(
    case: AgentCase, panes: Callable[[ExecutionView | None], tuple[PaneText, ...]]
) -> tuple[TestRunView, ...]:
    """Return the runs of a rater's own tests, of which none is the agents'.

    Args:
        case: The rater's runs.
        panes: Lays a run out as the panes of test and log; None is the beginning of a test that was not run.
    """
    if not case.expert_runs:
        return (TestRunView(None, panes(None)),)
    total = len(case.expert_runs)
    found = []
    for number, run in enumerate(case.expert_runs, start=1):
        summary = outcome_strip(run.execution)
        shown = TestRunView(run.execution.id, panes(run.execution), summary, run.execution.outcomes)
        found.append(_headed(shown, _headings(run), number, total))
    return tuple(found)


def outcome_strip(execution: ExecutionView) -> str:
    """Return in one line what the tests of an execution showed: "1 of 2 passed · ✓ usual · ✗ edge"."""
    tests = (f"{OUTCOME_GLYPHS[one.outcome]} {one.name.removeprefix('test_')}" for one in execution.outcomes)
    return " · ".join([*results(execution), *tests])


def _headed(run: TestRunView, headings: Sequence[str], number: int, total: int) -> TestRunView:
    """Return a run with panes headed by the authors of test and run, and the number of runs."""
    panes = (
        replace(pane, heading=f"{heading} · {number:,} of {total:,}")
        for pane, heading in zip(run.panes, headings, strict=True)
    )
    return replace(run, panes=tuple(panes))


def _headings(run: ExpertRunView) -> tuple[str, str]:
    when = moment(run.execution.created_at)
    by = f"{'you' if run.own else run.rater} {when}"
    if not run.edited:
        return f"Test as the agents wrote it, run by {by}", f"Run by {by}, of the agents' test"
    whose = "Your" if run.own else f"{run.rater}'s"
    return f"{whose} test, run {when}", f"Run by {by}, of {whose.lower() if run.own else whose} test"


def moment(when: datetime) -> str:
    """Return when something was as a person here reads it: `12:03`, with the day when it was not today."""
    local, today = when.astimezone(), now().astimezone().date()
    return f"{local:%H:%M}" if local.date() == today else f"{local:%Y-%m-%d %H:%M}"


def describe_run(run: ExpertRunView) -> str:
    """Say who ran which test, and what that showed."""
    which = "a test of their own" if run.alone else "an edited test" if run.edited else "the agents' test"
    return f"{run.rater}  ran {which} · {' · '.join(results(run.execution))}"
