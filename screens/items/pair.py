"""The screen part of the task kind `pair`: query, code, and the agents' case as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from keyword import iskeyword

from sqlalchemy import Connection

from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from screens.items.history import history
from screens.items.runs import describe_run, moment, results, runs_of
from screens.items.steps import (
    CORRECTION_ROLE,
    SIMULATED_ROLE,
    describe_steps,
    prediction_lines,
    prediction_summary,
    role_word,
)
from screens.items.views import Claim, ItemView, PaneText, QuestionPrompt, ReviewPart, TestRunView
from store.cuts import with_note
from store.formatting import pluralize
from store.kinds.pair import GUIDELINE, MATCH
from store.kinds.pair import PAIR as KIND
from store.queries.agent_case import AgentCase, StepView, load_case
from store.queries.executions import ExecutionView
from store.queries.item import ItemDetails, load_item
from store.queries.rows import NEEDS_SANDBOX
from store.record.scope import Scope
from store.tables.record import QuestionTarget

OUTCOME_GLYPHS = {"passed": "✓", "failed": "✗", "error": "!"}
_INDISCRIMINATE = "~"
_NO_EVIDENCE = (
    f"  {_INDISCRIMINATE} means: passes even if the code returns nothing, or its input; no evidence"
)

_ASSESSMENTS = {"clear_match": "clear match", "clear_nonmatch": "clear non-match"}

_PYTHON = ("", "python", "python3")
_DEFINED = re.compile(r"^(?:(?:async )?def|class) (\w+)", re.MULTILINE)
_NO_TEST = "No test program: the screener found the pair clear."
_NOT_WRITTEN = "No test program was written."
_OWN_TEST = " {review.edit} writes one of your own."
_ONLY_READ = "No test program: these agents only read the code."
_NO_RUN = "Nothing was executed."
_SIMULATED = "Nothing was executed: a model predicted what the test would show. The Verdict pane tells it."
_NOT_RUN = "Nothing was executed: these agents only read the test."
_NOT_YET = "The agents have not looked at this pair yet. {app.jobs} shows them at work."


def load(connection: Connection, scope: Scope, item_id: int) -> ItemView:
    """Read a pair for review (see ReviewPart)."""
    pair = load_item(connection, scope, KIND, item_id)
    return view(pair, None if pair.blind else load_case(connection, scope, item_id))


def view(pair: ItemDetails, case: AgentCase | None) -> ItemView:
    """Lay out a pair in panes.

    Args:
        pair: The pair.
        case: The agents' case; None where the review is blind.
    """
    target = QuestionTarget(pair.question_ids[MATCH.name])
    questions = (QuestionPrompt(MATCH, target, claim=_claim(case), unclaimed=_unclaimed(case)),)
    runs: tuple[TestRunView, ...] = ()
    panes: tuple[PaneText, ...]
    if case is None:
        panes = (
            PaneText("guideline", "Guideline", GUIDELINE),
            history(pair, questions),
        )
    else:
        own = _OWN_TEST if _first_test(pair) else ""
        runs = runs_of(case, lambda execution: (_test(case, execution, own), _run(case, execution)))
        panes = (
            PaneText("verdict", "Verdict", _verdict(case), empty=_NOT_YET),
            *runs[0].panes,
            PaneText("steps", "Steps", describe_steps(case.steps), empty=_NOT_YET),
            history(pair, questions, case.expert_runs),
            PaneText("guideline", "Guide", GUIDELINE),
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
        runs=runs,
        reading="" if case is None else _reading(case),
        first_test="" if case is None else _first_test(pair),
        others=() if case is None else tuple(one.run for one in case.others),
    )


def _first_test(pair: ItemDetails) -> str:
    """Return what an expert's own test of a pair begins with; empty where the code is no Python."""
    if pair.fields["language"].lower() not in _PYTHON:
        return ""
    name = pair.fields["name"]
    if not name.isidentifier() or iskeyword(name):
        defined = _DEFINED.search(pair.fields["code"])
        name = defined[1] if defined else ""
    bring = f"from candidate import {name}" if name else "import candidate"
    call = f"{name}(...)" if name else "candidate.NAME(...)"
    return f"{bring}\n\n\ndef test_{name or 'candidate'}():\n    assert {call} == ...\n"


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
    elif verdict.path == "simulated":
        parts.append(prediction_summary(case.reply_of(SIMULATED_ROLE)))
    return Claim(verdict.id, verdict.execution_id, verdict.value, " · ".join(parts))


def _unclaimed(case: AgentCase | None) -> str:
    """Say that the run which is shown has no label where others have one; empty otherwise."""
    if case is None or case.verdict is not None or case.run is None or not case.others:
        return ""
    number = len(case.others)
    others = "1 other run has one" if number == 1 else f"{number:,} other runs have one"
    return f"no label by {case.run.name}; {others}"


def _verdict(case: AgentCase) -> str:
    """Return the agents' case in the order in which they came to it, and the labels of other runs."""
    if case.verdict is None and not case.steps and not case.others:
        return ""
    lines: list[str] = []
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
        lines += [claim.summary if claim else "", f"  {case.verdict.reason}"]
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
        lines += ["", f"Execution: {_ending(case.execution)}", *_outcomes(case.execution)]
        lines += [f"  Not executable: {case.execution.error}"] if not case.execution.executable else []
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
    if case.verdict is not None:
        steps = pluralize(len(case.steps), "step")
        lines += ["", *_agents(case.verdict.run_name)]
        lines += [f"{case.verdict.model} · {steps} · {pluralize(tokens, 'token')} · {seconds:.1f} s"]
    lines += [f"Run {case.run.name}"] if case.run is not None else []
    if case.others:
        lines += ["", "Other runs"]
        lines += [f"  {MATCH.scale.word(one.value)} · {one.path} · {one.run.name}" for one in case.others]
    return "\n".join(lines)


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
        above=f"{unrun}The test reads the query as: {_reading(case)}" if program and _reading(case) else "",
    )


def _unlike(case: AgentCase, execution: ExecutionView) -> str:
    """Say when a run was not in the environment of the agents' run."""
    agents = case.execution
    if agents is None or execution.environment == agents.environment:
        return ""
    return f", another one than the agents' ({agents.environment}, {agents.sandbox})"


def _ending(execution: ExecutionView) -> str:
    code = "" if execution.exit_code is None else f" · exit code {execution.exit_code}"
    return f"{execution.exit_reason}{code} · {execution.seconds:.2f} s · {execution.sandbox}"


def _outcomes(execution: ExecutionView) -> Iterator[str]:
    for outcome in execution.outcomes:
        glyph, details = OUTCOME_GLYPHS[outcome.outcome], []
        if outcome.message and outcome.outcome != "passed":
            details.append(outcome.message)
        if outcome.discriminates is False:
            glyph = _INDISCRIMINATE
            details.append("(passes on a stub)")
        if outcome.obstacle:
            details.append("(no result)")
        if outcome.flaky:
            details.append("(flaky: comes out otherwise under another hash seed)")
        yield "  ".join((f"  {glyph} {outcome.name}", *details))
    if execution.not_discriminating:
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
    head += [f"Packages: {', '.join(execution.packages) or 'none beside the standard library'}"]
    if execution.error:
        head.append(
            f"Not executable: {execution.error}" if not execution.executable else f"Error: {execution.error}"
        )
    if execution.output_dropped and not (execution.stdout_cut or execution.stderr_cut):
        head.append(
            f"Output beyond the limit was thrown away: {pluralize(execution.output_dropped, 'byte')}."
        )
    traces = [(f"trace of {test.name}", test.trace) for test in execution.outcomes if test.trace]
    parts = [("trace", execution.trace)] * bool(execution.trace) + traces
    parts.append(("stdout", with_note(execution.stdout, execution.stdout_cut)))
    parts.append(("stderr", with_note(execution.stderr, execution.stderr_cut)))
    lines = [*head, "", *_outcomes(execution)]
    for title, text in parts:
        lines += ["", f"── {title} " + "─" * 30, *(text.split("\n") if text else ["(nothing)"])]
    log = "\n".join(lines)
    marks = [
        number
        for number, line in enumerate(log.split("\n"), start=1)
        if line.startswith(("  ✗", "  !", "Not executable", "Traceback (most recent call last)"))
    ]
    if not marks and execution.exit_reason != "ok":
        # Of a run that was cut off, how it ended is the failure.
        marks = [1]
    return PaneText("run", "Run", log, kind="log", landmarks=tuple(marks), part="log", execution=execution.id)


PAIR = ReviewPart(kind=KIND.name, load=load)
