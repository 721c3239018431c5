"""The screen part of the task kind `pair`: query, code, and the agents' case as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy import Connection

from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from screens.items.history import history
from screens.items.runs import describe_run, moment, own_runs_of, results, runs_of
from screens.items.signs import ERROR, INDISCRIMINATE, sign_of, sign_spans, signs_of_lines
from screens.items.skeleton import skeleton
from screens.items.steps import (
    CORRECTION_ROLE,
    SIMULATED_ROLE,
    prediction_lines,
    prediction_summary,
    role_word,
    step_lines,
)
from screens.items.views import Claim, ItemView, PaneText, QuestionPrompt, ReviewPart, TestRunView
from store.cuts import with_note
from store.formatting import pluralize
from store.kinds.pair import GUIDELINE, MATCH
from store.kinds.pair import PAIR as KIND
from store.outcome_counts import ON_A_STUB, passes_on_stub
from store.policy.scope import Scope
from store.queries.agent_case import AgentCase, StepView, load_case
from store.queries.executions import ExecutionView
from store.queries.item import ItemDetails, load_item
from store.queries.rows import NEEDS_SANDBOX
from store.tables.record import QuestionTarget

_NO_EVIDENCE = f"  {INDISCRIMINATE} means: passes even if the code returns nothing or its input; no evidence"

_ASSESSMENTS = {"clear_match": "clear match", "clear_nonmatch": "clear non-match"}

_PYTHON = ("", "python", "python3")
_NO_TEST = "No test program: the screener decided the pair."
_NOT_WRITTEN = "No test program was written."
_OWN_TEST = " {review.edit} writes one of your own."
_ONLY_READ = "No test program: these agents only read the code."
_NO_RUN = "Nothing was executed."
_SIMULATED = "Nothing was executed: a model predicted the result of the test; see the Verdict tab."
_NOT_RUN = "Nothing was executed: these agents only read the test."
_NO_TEST_SHOWN = "The agents wrote no test program."
_NO_RUN_SHOWN = "The agents ran no test program."
_NO_OWN_TEST = "Tests are written in Python, and this code is not."
_NO_OWN_RUN = "No test of yours was run yet."
_BEGINNING = "Your test · not run yet"
_REASON_HIDDEN = "The reason is based on a test, and tests are not shown here."
_STEPS_HIDDEN = "Turns that write, run or read a test are not shown here."
_NOT_LABELLED = "The agents have not labelled this pair."
_NOT_YET = "The agents have not labelled this pair yet. {app.jobs} shows the jobs."


def load(connection: Connection, scope: Scope, item_id: int) -> ItemView:
    """Read a pair for review (see ReviewPart)."""
    pair = load_item(connection, scope, KIND, item_id)
    hidden = pair.blind and pair.tests == "none"
    return view(pair, None if hidden else load_case(connection, scope, item_id))


def view(pair: ItemDetails, case: AgentCase | None) -> ItemView:
    """Lay out a pair in panes.

    Args:
        case: What may be seen of the agents' case and of experts' tests; None where that is nothing.
    """
    target = QuestionTarget(pair.question_ids[MATCH.name])
    questions = (QuestionPrompt(MATCH, target, claim=_claim(case), unclaimed=_unclaimed(case)),)
    guide = PaneText("guideline", "Guide", GUIDELINE)
    first = _first_test(pair)
    runs = () if case is None or pair.tests == "none" else _runs(pair, case, first)
    # Of one's own tests the last run is shown.
    run = len(runs) - 1 if pair.tests == "own" else 0
    tests = runs[run].panes if runs else ()
    panes: tuple[PaneText, ...]
    if case is None:
        panes = (replace(guide, title="Guide"), history(pair, questions))
    elif pair.blind:
        panes = (*tests, guide, history(pair, questions, runs=case.expert_runs))
    else:
        panes = (
            _verdict(case, tests=pair.tests != "none"),
            *tests,
            _steps(pair, case),
            history(pair, questions, runs=case.expert_runs),
            guide,
        )
    if pair.assignment_id is not None:
        # A study shows no jobs, and nobody waits for labels.
        panes = tuple(
            replace(pane, empty=_NOT_LABELLED) if pane.empty == _NOT_YET else pane for pane in panes
        )
    return ItemView(
        item_id=pair.item_id,
        external_id=pair.external_id,
        kind=pair.kind,
        prompt=pair.fields["query"],
        subject=PaneText(
            "code",
            _heading(pair),
            pair.fields["code"],
            language=pair.fields["language"] or None,
            kind="code",
            part="code",
        ),
        case=panes,
        questions=questions,
        own=pair.own,
        blind=pair.blind,
        assignment_id=pair.assignment_id,
        phase=pair.phase,
        tests=pair.tests,
        runs=runs,
        run=run,
        reading="" if case is None else _reading(case),
        first_test=first,
        others=() if case is None else tuple(one.run for one in case.others),
    )


def _first_test(pair: ItemDetails) -> str:
    """Return the beginning of an expert's own test; empty where none can be run, or the code is no Python."""
    if pair.tests == "none" or pair.fields["language"].lower() not in _PYTHON:
        return ""
    return skeleton(pair.fields["code"], pair.fields["name"])


def _runs(pair: ItemDetails, case: AgentCase, first: str) -> tuple[TestRunView, ...]:
    """Return the runs of the tests that are shown; `first` is the beginning of one's own."""
    if pair.tests == "own":
        return own_runs_of(case, lambda execution: _own_panes(case, execution, first))
    own = _OWN_TEST if first else ""
    panes = runs_of(case, lambda execution: (_test(case, execution, own), _run(case, execution)))
    if not pair.blind:
        return panes
    # Why there is none would tell what the agents decided.
    plain = {"test": _NO_TEST_SHOWN + own, "run": _NO_RUN_SHOWN}
    return tuple(
        replace(one, panes=tuple(replace(pane, empty=plain[pane.id]) for pane in one.panes)) for one in panes
    )


def _own_panes(case: AgentCase, execution: ExecutionView | None, first: str) -> tuple[PaneText, PaneText]:
    """Return a run of the rater's own test; without one the beginning of a test, which cannot be cited."""
    if execution is not None:
        return _test(case, execution, ""), _run(case, execution)
    test = PaneText("test", "Test", first, language="python", kind="test", empty=_NO_OWN_TEST)
    return replace(test, heading=_BEGINNING if first else ""), PaneText(
        "run", "Run", "", kind="log", empty=_NO_OWN_RUN if first else _NO_OWN_TEST
    )


def _steps(pair: ItemDetails, case: AgentCase) -> PaneText:
    """Return the turns of the agents, and say where some are hidden."""
    lines, signed = step_lines(case.steps)
    if lines and pair.tests == "none":
        lines += ["", _STEPS_HIDDEN]
    spans = tuple(sign_spans(lines, signed))
    return PaneText("steps", "Steps", "\n".join(lines), empty=_NOT_YET, spans=spans)


def _heading(pair: ItemDetails) -> str:
    similarity = sum(pair.similarities.values()) / len(pair.similarities) if pair.similarities else None
    parts = [
        pair.fields["name"] or "code",
        _place(pair),
        f"sim {similarity:.2f}" if similarity is not None else "",
        "/".join(pair.fields[part] for part in ("repository", "path") if pair.fields[part]),
        pair.fields["licence"],
    ]
    return " · ".join(part for part in parts if part)


def _place(pair: ItemDetails) -> str:
    """Return the place among the candidates of the query, not all of which need be in the workspace."""
    rank = pair.fields["rank"]
    if rank is None:
        return ""
    return f"rank {rank}" if rank > pair.group_size else f"candidate {rank:,} of {pair.group_size:,}"


def _claim(case: AgentCase | None) -> Claim | None:
    if case is None or case.verdict is None:
        return None
    verdict = case.verdict
    parts = [f"◆ {MATCH.scale.word(verdict.value)}", verdict.path]
    if case.execution is not None and verdict.execution_id is not None:
        parts += results(case.execution)
    elif verdict.path == "simulated" and case.reply_of(SIMULATED_ROLE):
        parts.append(prediction_summary(case.reply_of(SIMULATED_ROLE)))
    return Claim(verdict.id, verdict.execution_id, verdict.value, " · ".join(parts))


def _unclaimed(case: AgentCase | None) -> str:
    """Say that the run which is shown has no label where others have one; empty otherwise."""
    if case is None or case.verdict is not None or case.run is None or not case.others:
        return ""
    number = len(case.others)
    others = "1 other run has one" if number == 1 else f"{number:,} other runs have one"
    return f"no label by {case.run.name}; {others}"


def _verdict(case: AgentCase, *, tests: bool) -> PaneText:
    """Return the agents' case in the order in which they came to it, and the labels of other runs.

    Args:
        tests: Whether tests are shown; what rests on them is not in the case otherwise.
    """
    if case.verdict is None and not case.steps and not case.others:
        return PaneText("verdict", "Verdict", "", empty=_NOT_YET)
    lines: list[str] = []
    signed = range(0)
    if case.verdict is None and not case.steps:
        lines.append(_unclaimed(case))
    elif case.verdict is None:
        failed = [step for step in case.steps if step.outcome == "failed"]
        if failed and failed[-1].error.startswith(NEEDS_SANDBOX):
            lines.append("No verdict: the test waits for a sandbox.")
        else:
            lines += [
                "No verdict yet." if not failed else f"No verdict: {role_word(failed[-1].role)} failed."
            ]
        lines += [f"  {failed[-1].error}"] if failed else []
    else:
        claim = _claim(case)
        reason = case.verdict.reason if tests or case.verdict.reason else _REASON_HIDDEN
        lines += [claim.summary if claim else "", f"  {reason}"]
    screener, writer = case.reply_of("screener"), case.reply_of("test_writer")
    if screener:
        assessment = str(screener.get("assessment", ""))
        why = screener.get("justification", "")
        lines += ["", f"Screener: {_ASSESSMENTS.get(assessment, assessment)}"]
        # The reason of a verdict by the screener alone is above already.
        lines += [] if case.verdict is not None and case.verdict.reason == why else [f"  {why}"]
    if writer:
        lines += ["", "The test reads the query as", f"  {writer.get('interpretation', '')}"]
    if case.execution is not None:
        lines += ["", f"Execution: {_ending(case.execution)}"]
        begun = len(lines)
        lines += _outcomes(case.execution)
        lines += (
            [f"  {ERROR} Not executable: {case.execution.error}"] if not case.execution.executable else []
        )
        signed = range(begun, len(lines))
    elif prediction := case.reply_of(SIMULATED_ROLE):
        lines += ["", "Simulated, not executed: a model predicts that"]
        lines += [f"  {line}" for line in prediction_lines(prediction)]
    elif writer and case.verdict is not None:
        lines += ["", _NOT_RUN]
    repairs = list(_repairs(case.steps))
    corrected = any(step.role == CORRECTION_ROLE for step in case.steps)
    lines += ["", "Repairs and corrections" if corrected else "Repairs", *repairs] if repairs else []
    if case.expert_runs:
        lines += ["", "Run by experts"]
        lines += [f"  {moment(run.execution.created_at)}  {describe_run(run)}" for run in case.expert_runs]
    arbiter = case.reply_of("arbiter")
    if arbiter and case.verdict is None:
        lines += ["", "Arbiter", f"  {arbiter.get('reason', '')}"]
    tokens = sum(step.tokens_in + step.tokens_out for step in case.steps)
    seconds = sum(step.seconds for step in case.steps)
    if case.verdict is not None and not tests:
        lines += ["", *_agents(case.verdict.run_name)]
    elif case.verdict is not None:
        steps = pluralize(len(case.steps), "step")
        lines += ["", *_agents(case.verdict.run_name)]
        lines += [f"{case.verdict.model} · {steps} · {pluralize(tokens, 'token')} · {seconds:.1f} s"]
    lines += [f"Run {case.run.name}"] if case.run is not None else []
    if case.others:
        lines += ["", "Other runs"]
        lines += [f"  {MATCH.scale.word(one.value)} · {one.path} · {one.run.name}" for one in case.others]
    return PaneText("verdict", "Verdict", "\n".join(lines), spans=tuple(sign_spans(lines, signed)))


def _repairs(steps: tuple[StepView, ...]) -> Iterator[str]:
    """Return a line for each repair and correction with its result; the Steps pane has the details."""
    written = next((step.reply.get("test_program") for step in steps if step.role == "test_writer"), None)
    for step in steps:
        if step.role == "repair":
            what = step.reply.get("packages") or step.reply.get("commands")
            done = "; ".join(map(str, what)) if isinstance(what, list) else ""
            kind = "install " if step.reply.get("repair") == "install" else ""
            yield f"  {kind}{done or 'not begun'}: {step.error or 'done'}"
        elif step.role == CORRECTION_ROLE:
            done = "left as it is" if step.reply.get("test_program") == written else "corrected"
            yield f"  test {done} by its writer: {step.error or step.reply.get('explanation', '')}"


def _agents(run_name: str) -> Iterator[str]:
    """Say which agents took part where it were not all of them."""
    pipeline = run_name.partition("/")[0]
    for configuration in CONFIGURATIONS[:-1]:
        if configuration.pipeline == pipeline:
            yield f"Agents: {configuration.name}. {configuration.sentence}"


def _reading(case: AgentCase) -> str:
    return str(case.reply_of("test_writer").get("interpretation", ""))


def run_panes(execution: ExecutionView) -> tuple[PaneText, PaneText]:
    """Lay out a run of a test that is not the agents': the test and its log."""
    return _test(_NO_CASE, execution, ""), _run(_NO_CASE, execution)


_NO_CASE = AgentCase(None, (), None)


def _test(case: AgentCase, execution: ExecutionView | None, own: str) -> PaneText:
    reply = case.reply_of("test_correction") or case.reply_of("test_writer")
    program = execution.program if execution is not None else str(reply.get("test_program", ""))
    unrun = "Not run by the agents. " if execution is None and case.verdict is not None else ""
    return PaneText(
        "test",
        "Test",
        program,
        language="python",
        kind="test",
        empty=_why_no_test(case) + own,
        part="test",
        execution=None if execution is None else execution.id,
        gutter={} if execution is None else signs_of_lines(program, execution),
        above=f"{unrun}The test reads the query as: {_reading(case)}" if program and _reading(case) else "",
    )


def _unlike(case: AgentCase, execution: ExecutionView) -> str:
    """Say when a run was not in the environment of the agents' run."""
    agents = case.execution
    if agents is None or execution.environment == agents.environment:
        return ""
    return f", not the agents' ({agents.environment}, {agents.sandbox})"


def _ending(execution: ExecutionView) -> str:
    code = "" if execution.exit_code is None else f" · exit code {execution.exit_code}"
    return f"{execution.exit_reason}{code} · {execution.seconds:.2f} s · {execution.sandbox}"


def _outcomes(execution: ExecutionView) -> Iterator[str]:
    for outcome in execution.outcomes:
        details = []
        if outcome.message and outcome.outcome != "passed":
            details.append(outcome.message)
        if passes_on_stub(outcome):
            details.append(f"({ON_A_STUB})")
        if outcome.obstacle:
            details.append("(no result)")
        if outcome.flaky:
            details.append("(flaky: another result with another hash seed)")
        yield "  ".join((f"  {sign_of(outcome)} {outcome.name}", *details))
    if execution.counts.not_discriminating:
        yield _NO_EVIDENCE


def _why_no_test(case: AgentCase) -> str:
    if not case.steps:
        return _NOT_YET
    if case.verdict is not None and case.verdict.path == "read":
        return _ONLY_READ
    clear = str(case.reply_of("screener").get("assessment", "")).startswith("clear")
    return _NO_TEST if clear else _NOT_WRITTEN


def _why_no_run(case: AgentCase) -> str:
    if not case.reply_of("test_writer"):
        return _why_no_test(case)
    if case.reply_of(SIMULATED_ROLE):
        return _SIMULATED
    return _NOT_RUN if case.verdict is not None and case.verdict.path == "read" else _NO_RUN


def _run(case: AgentCase, execution: ExecutionView | None) -> PaneText:
    """Return the log; landmarks are on failures, in the outcomes and at the traceback."""
    if execution is None:
        return PaneText("run", "Run", "", kind="log", empty=_why_no_run(case))
    head = [f"Ended: {_ending(execution)}", f"Environment: {execution.environment}{_unlike(case, execution)}"]
    head += [f"Image: {execution.image}"] if execution.image else []
    head += [f"Repaired environment: {execution.snapshot}"] if execution.snapshot else []
    head += [f"Packages: {', '.join(execution.packages) or 'only the standard library'}"]
    if execution.error:
        head.append(
            f"{ERROR} Not executable: {execution.error}"
            if not execution.executable
            else f"Error: {execution.error}"
        )
    if execution.output_dropped and not (execution.stdout_cut or execution.stderr_cut):
        head.append(f"Output beyond the limit was dropped: {pluralize(execution.output_dropped, 'byte')}.")
    traces = [(f"trace of {test.name}", test.trace) for test in execution.outcomes if test.trace]
    parts = [("trace", execution.trace)] * bool(execution.trace) + traces
    parts.append(("stdout", with_note(execution.stdout, execution.stdout_cut)))
    parts.append(("stderr", with_note(execution.stderr, execution.stderr_cut)))
    lines = [*head, "", *_outcomes(execution)]
    signed = range(len(lines))
    for title, text in parts:
        lines += ["", f"── {title} " + "─" * 30, *(text.split("\n") if text else ["(nothing)"])]
    log = "\n".join(lines)
    marks = [
        number
        for number, line in enumerate(log.split("\n"), start=1)
        if line.startswith(("  ✗", "  !", f"{ERROR} Not executable", "Traceback (most recent call last)"))
    ]
    if not marks and execution.exit_reason != "ok":
        # Of a run that was cut off, how it ended is the failure.
        marks = [1]
    return PaneText(
        "run",
        "Run",
        log,
        kind="log",
        landmarks=tuple(marks),
        part="log",
        execution=execution.id,
        spans=tuple(sign_spans(lines, signed)),
    )


PAIR = ReviewPart(kind=KIND.name, load=load)
