"""`workbench judge`: labels by command."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import JudgmentRefused, UnknownName
from store.formatting import pluralize
from workbench.cli.options import (
    Answer,
    ConfigFile,
    OwnStudy,
    RaterName,
    RunName,
    Workspace,
    command,
    given_rater,
    session,
    settings,
)
from workbench.judgment_lines import FORM, JudgmentLine, read_lines, refused_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from store.policy.scope import Scope
    from store.record.actions import Action
    from store.tables.record import Judgment
    from store.workspace.duckdb import Workspace as OpenWorkspace


@command
def judge_command(
    workspace: Workspace,
    item: Annotated[
        str | None,
        typer.Argument(help="The item: its id in the imported file, or its number.", show_default=False),
    ] = None,
    value: Annotated[
        str | None,
        typer.Argument(help="The label: a value of the scale, its word or its sign.", show_default=False),
    ] = None,
    *,
    from_stdin: Annotated[
        bool,
        typer.Option(
            "--from-stdin",
            help="Read judgments as JSON from standard input, a line each: item, value, and where needed "
            "question and comment. All are recorded, or none.",
        ),
    ] = False,
    cannot_decide: Annotated[
        bool, typer.Option("--cannot-decide", help="Say that it cannot be decided, in place of a label.")
    ] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Put the item off, in place of a label.")] = False,
    without_test: Annotated[
        bool,
        typer.Option("--without-test", help="Where the study asks for a test of your own: label without."),
    ] = False,
    question: Annotated[
        str | None,
        typer.Option(help="The question, where an item is asked several; its kind can be left out."),
    ] = None,
    rater: RaterName = None,
    study: OwnStudy = None,
    comment: Annotated[str, typer.Option(help="A comment that stays with what is recorded.")] = "",
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="PART:LINES", help="Lines to cite: code:3-5, test:2, log:7; can be repeated."),
    ] = None,
    run: RunName = None,
    config: ConfigFile = None,
) -> Answer:
    """Record a judgment: `workbench judge study.duckdb q-0042 match --rater dana`.

    In place of a label: `workbench judge study.duckdb q-0042 --cannot-decide --comment "no query"`.
    Many at once: `workbench judge study.duckdb --from-stdin < labels.jsonl`.
    """
    from store.policy.refusal import refuse
    from store.policy.scope import Shows
    from store.record.raters import ensure_rater, register_kinds
    from workbench.rater import rater_name_in
    from workbench.study_session import configured_viewer, open_session

    if from_stdin:
        _refuse_beside_stdin(item, mark=cannot_decide or skip, cites=bool(evidence))
        mark = ""
        # To the end, before the workspace is opened: what writes it may have it open until then.
        lines = read_lines(sys.stdin)
    else:
        if item is None:
            raise JudgmentRefused(
                "No item", "Name the item that is judged.", "Many at once: --from-stdin, with JSON lines."
            )
        of_label = bool(question or evidence)
        mark = _mark_instead(value, cannot_decide=cannot_decide, skip=skip, of_label=of_label)
        lines = [JudgmentLine("", item, value or "", question, comment)]
    loaded = settings(config)
    refuse(None, configured_viewer(loaded), Shows.RUN, run)
    with session(workspace, loaded) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            own = open_session(connection, loaded, given_rater(rater), run, study)
            if own.study is not None and own.study.needs_consent:
                raise JudgmentRefused(
                    "Consent first",
                    f"{own.study.study.name} asks its raters to agree to take part before they judge.",
                    "Read it in the app: workbench "
                    + shlex.join([str(workspace), "--rater", own.study.rater.name]),
                )
            numbers = _numbers(connection, own.scope, lines)
        scope = replace(
            own.scope, rater=ensure_rater(opened, rater_name_in(opened, given_rater(rater), loaded) or "")
        )
        if mark:
            recorded = [_mark(opened, scope, numbers[0], mark, comment)]
        else:
            lines = [
                replace(line, question=line.question or question, comment=line.comment or comment)
                for line in lines
            ]
            recorded = _judge(opened, scope, lines, numbers, evidence or [], without_test=without_test)
    where = f" · rater {recorded[0]['rater']}" + (own.where and f" · {own.where}")
    if from_stdin:
        return Answer({"judgments": recorded}, f"● {pluralize(len(recorded), 'judgment')} recorded{where}")
    (facts,) = recorded
    done = mark.replace("_", " ") if mark else f"{facts['word']} · {facts['question']}"
    reason = f" · {facts['reason']}" if facts.get("reason") else ""
    return Answer(facts, f"● {facts['item']}: {done}{reason}{where}")


def _refuse_beside_stdin(item: str | None, *, mark: bool, cites: bool) -> None:
    """Refuse what names one item beside those on standard input.

    Raises:
        JudgmentRefused: Something does.
    """
    if item is not None or mark or cites:
        raise JudgmentRefused(
            "Items come from standard input",
            "With --from-stdin no item, mark or line to cite is named.",
            FORM,
        )


def _numbers(connection: Connection, scope: Scope, lines: Sequence[JudgmentLine]) -> list[int]:
    """Return the keys of the items of some lines.

    Raises:
        JudgmentRefused: Some of the lines on standard input name no item.
        UnknownName: The one item of a command line is unknown.
    """
    from store.queries.item import find_item

    known: dict[str, int] = {}
    problems: list[str] = []
    for line in lines:
        try:
            known[line.item] = known.get(line.item) or find_item(connection, line.item, scope)
        except UnknownName as error:
            if not line.place:
                raise
            problems.append(f"{line.place}: {error.message}")
    if problems:
        raise refused_lines(problems)
    return [known[line.item] for line in lines]


def _mark_instead(value: str | None, *, cannot_decide: bool, skip: bool, of_label: bool) -> str:
    """Return the mark that is recorded in place of a label; empty for a label.

    Raises:
        JudgmentRefused: Not exactly one of them was given, or a mark with what belongs to a label.
    """
    if (value is not None) + cannot_decide + skip != 1:
        raise JudgmentRefused(
            "One of them", "An item gets a label, --cannot-decide or --skip.", "Give one of the three."
        )
    if value is None and of_label:
        raise JudgmentRefused(
            "Not of a label",
            "--question and --evidence belong to a label; a mark is about the whole item.",
            "Leave them out; --comment says why.",
        )
    return "cannot_decide" if cannot_decide else "skip" if skip else ""


def _mark(opened: OpenWorkspace, scope: Scope, number: int, kind: str, comment: str) -> dict[str, Any]:
    """Record that an item cannot be decided, or is put off."""
    from store.queries.item import item_access
    from store.queries.questions import kind_name
    from store.queries.shown_ids import shown_name
    from store.record.actions import Action, Recorder, new_record
    from store.tables.record import Mark

    rater = scope.rater
    assert rater is not None
    with opened.reading() as connection:
        item_kind, name = kind_name(connection, number), shown_name(connection, number)
        access = item_access(connection, scope, number)
    record = new_record(
        Mark,
        opened.ids,
        item_id=number,
        rater_id=rater.id,
        assignment_id=access.assignment_id,
        phase=access.phase,
        kind=kind,
        text=comment,
    )
    Recorder(opened, rater).submit(Action.of(record)).result()
    return {
        "mark": record.id,
        "item": name,
        "number": _shown_number(scope, item_kind, number),
        "kind": kind,
        "rater": rater.name,
        "comment": comment,
        "created_at": record.created_at,
    }


def _shown_number(scope: Scope, kind: str, number: int) -> int | None:
    """Return an item's number where it may be shown: it follows the order of import, which can tell texts.

    Whose texts a comparison has stays hidden in a study.
    """
    from store.kinds.spec import task_kinds

    found = task_kinds().get(kind)
    hidden = scope.sitting is not None and found is not None and found.record.hidden
    return None if hidden else number


@dataclass(frozen=True, slots=True)
class _Judged:
    """A judgment with the names of what it is about."""

    judgment: Judgment
    item: str
    kind: str
    question: str
    word: str


def _judge(
    opened: OpenWorkspace,
    scope: Scope,
    lines: Sequence[JudgmentLine],
    numbers: Sequence[int],
    evidence: Sequence[str],
    *,
    without_test: bool,
) -> list[dict[str, Any]]:
    """Record the judgments of some lines, all of them or none.

    Raises:
        JudgmentRefused: Some of the lines on standard input cannot be recorded.
        WorkbenchError: The one judgment of a command line cannot be.
    """
    from store.record.actions import Action, Recorder

    found: list[_Judged] = []
    problems: list[str] = []
    places: dict[tuple[Any, ...], str] = {}
    for line, number in zip(lines, numbers, strict=True):
        try:
            judged = _judgment(opened, scope, number, line, evidence=evidence, without_test=without_test)
        except (JudgmentRefused, UnknownName) as error:
            if not line.place:
                raise
            problems.append(f"{line.place}: {error.message} {error.hint}")
            continue
        earlier = places.setdefault((number, judged.judgment.target), line.place)
        if earlier != line.place:
            problems.append(f"{line.place}: it answers the same question of the same item as {earlier}")
        found.append(judged)
    if problems:
        raise refused_lines(problems)
    assert scope.rater is not None
    actions = [Action.of(one.judgment) for one in found]
    written = Recorder(opened, scope.rater).submit_all(actions).result()
    return [_facts(scope, one, action) for one, action in zip(found, written, strict=True)]


def _judgment(
    opened: OpenWorkspace,
    scope: Scope,
    number: int,
    line: JudgmentLine,
    *,
    evidence: Sequence[str],
    without_test: bool,
) -> _Judged:
    from store.kinds.comparison import (
        AS_LISTED,
        BOTH_BAD,
        BOTH_BAD_WORD,
        canonical_scale,
        given_value,
    )
    from store.kinds.spec import task_kinds
    from store.queries.expert_runs import own_run
    from store.queries.item import item_access, load_item
    from store.queries.questions import item_questions, kind_name, last_answered
    from store.queries.shown_ids import shown_name
    from store.queries.shown_texts import protocol_of
    from store.record.actions import new_record
    from store.record.evidence import NONE
    from store.record.expert_runs import WITHOUT_TEST
    from store.record.raters import question_number
    from store.record.response_names import question_name
    from store.record.scales import scale_value
    from store.tables.record import Judgment

    with opened.reading() as connection:
        item_kind, shown = kind_name(connection, number), shown_name(connection, number)
        kind = task_kinds().get(item_kind)
        if kind is None:
            raise UnknownName(
                "Unknown task kind",
                f"No installed package adds the kind {item_kind!r}.",
                "Install the package that adds it; `workbench doctor` lists the kinds.",
            )
        access = item_access(connection, scope, number)
        execution = own_run(connection, access.assignment_id) if access.tests == "own" else None
        if access.tests == "own" and execution is None and not without_test:
            raise JudgmentRefused(
                "No own test",
                f"The study asks for a test of your own of {shown}, and none of yours was run.",
                "Write and run one in the app, or give --without-test; the label then says so.",
            )
        questions = {
            question_name(spec.name, response): (spec, ref)
            for spec, ref, response in item_questions(connection, kind, number, scope)
        }
        name = _question(list(questions), line.question, hidden=access.hides_models)
        question, response_ref_id = questions[name]
        last = last_answered(connection, kind, number, scope)
        if last is not None and question != last:
            raise JudgmentRefused(
                "Nothing more is asked",
                f"{shown} has {last.scale.word(last.last_value or 0)!r} for {last.title}, which ends it.",
                f"Change that first: --question {last.title}",
            )
        shown_as, reason = "", WITHOUT_TEST if access.tests == "own" and execution is None else ""
        if kind.two_sided:
            protocol = protocol_of(connection, scope)
            on_scale, reason = given_value(
                canonical_scale("" if protocol is None else protocol.scale), line.value
            )
            # Commands list the first candidate before the second.
            shown_as = " ".join((AS_LISTED, *load_item(connection, scope, kind, number).changes))
        else:
            words = kind.queue.label_words if question == kind.label_question else None
            on_scale = scale_value(question.scale, line.value, words)
        question_id = question_number(connection, question.name)
        judged = kind.record.judged_columns
        if question.of_responses and response_ref_id is None and judged:
            entry = load_item(connection, scope, kind, number)
            if kind.record.judged_column(entry.fields) is None:
                raise JudgmentRefused(
                    "Nothing to judge",
                    f"{shown} has no response yet, and no replacement for one.",
                    f"Import responses, or write one: workbench revise ... --part {judged[0]}",
                )
    cited = NONE
    if evidence:
        from workbench.citations import evidence_of

        cited = evidence_of(opened, scope, number, list(evidence))
    judgment = new_record(
        Judgment,
        opened.ids,
        item_id=number,
        question_id=question_id,
        response_ref_id=response_ref_id,
        rater_id=scope.rater_id,
        assignment_id=access.assignment_id,
        phase=access.phase,
        value=on_scale,
        origin="independent",
        reason=reason,
        shown_as=shown_as,
        blind=access.blind and access.assignment_id is not None,
        shown_execution=execution,
        comment=line.comment,
        evidence=cited,
    )
    word = BOTH_BAD_WORD if reason == BOTH_BAD else question.scale.word(judgment.value)
    return _Judged(judgment, shown, item_kind, name, word)


def _facts(scope: Scope, judged: _Judged, written: Action) -> dict[str, Any]:
    """Return what was recorded, for programs."""
    from store.tables.record import Judgment

    judgment = next(one for one in written.records if isinstance(one, Judgment))
    return {
        "judgment": judgment.id,
        "item": judged.item,
        "number": _shown_number(scope, judged.kind, judgment.item_id),
        "question": judged.question,
        "value": judgment.value,
        "word": judged.word,
        "rater": scope.rater.name if scope.rater else "",
        "comment": judgment.comment,
        "reason": judgment.reason,
        "evidence": json.loads(judgment.evidence),
        "supersedes": judgment.supersedes,
        "created_at": judgment.created_at,
    }


def _question(questions: Sequence[str], asked: str | None, *, hidden: bool) -> str:
    """Return the readable name of the question that is answered.

    Args:
        questions: The readable names of the questions that the item is asked.
        asked: The name that was given, with or without the kind; None where none was.
        hidden: Whether the names of models stay hidden from the rater.

    Raises:
        UnknownName: None of them is called so, or none was named and there are several.
    """
    known = ", ".join(questions)
    wanted = (
        questions
        if asked is None
        else [name for name in questions if asked in (name, name.partition(".")[2])]
    )
    if hidden and any("@" in name for name in questions):
        raise UnknownName(
            "Models are hidden",
            "The questions of this item name the models that they are about, which are hidden from you.",
            "Score its answers in the app, where they are called A, B and so on.",
        )
    if not wanted and asked is not None:
        # Without the name of a response, where there is only one.
        wanted = [
            one for one in questions if asked in (plain := one.partition("@")[0], plain.partition(".")[2])
        ]
        known = ", ".join(wanted) or known
    if len(wanted) != 1:
        what = "This item is asked several questions." if asked is None else f"It is not asked {asked!r}."
        what = f"{asked!r} is asked of {len(wanted)} responses." if asked is not None and wanted else what
        raise UnknownName("Which question?", what, f"Name one with --question: {known}.")
    return wanted[0]
