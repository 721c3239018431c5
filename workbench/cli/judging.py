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
    AsJson,
    ConfigFile,
    RaterName,
    RunName,
    Workspace,
    command,
    given_rater,
    settings,
)
from workbench.judgment_lines import FORM, JudgmentLine, read_lines, refused_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from store.record.actions import Action
    from store.record.rater_ref import RaterRef
    from store.record.scope import Scope
    from store.tables.record import Judgment
    from store.workspace.duckdb import Workspace as OpenWorkspace


@command
def judge_command(
    workspace: Workspace,
    item: Annotated[
        str | None, typer.Argument(help="The item: its id in the imported file, or its number.")
    ] = None,
    value: Annotated[
        str | None, typer.Argument(help="The label: a value of the scale, its word or its sign.")
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
    question: Annotated[
        str | None,
        typer.Option(help="The question, where an item is asked several; its kind can be left out."),
    ] = None,
    rater: RaterName = None,
    comment: Annotated[str, typer.Option(help="A comment that stays with the judgment.")] = "",
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="PART:LINES", help="Lines to cite: code:3-5, test:2, log:7; can be repeated."),
    ] = None,
    run: RunName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Record a judgment: `workbench judge study.duckdb q-0042 match --rater dana`."""
    from store.record.actions import Action, Recorder
    from store.record.raters import ensure_rater, register_kinds
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json, say
    from workbench.rater import rater_name_in
    from workbench.run_option import refuse_blind
    from workbench.study_session import open_session

    lines = _given(item, value, question, comment, from_stdin=from_stdin, cites=bool(evidence))
    loaded = settings(config)
    refuse_blind(run, blind=loaded.screens.blind)
    with Workspace.open(workspace) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            session = open_session(connection, loaded, given_rater(rater), run)
            if session.study is not None and session.study.needs_consent:
                raise JudgmentRefused(
                    "Consent first",
                    f"{session.study.study.name} asks its raters to agree to take part before they judge.",
                    "Read it in the app: workbench "
                    + shlex.join([str(workspace), "--rater", session.study.rater.name]),
                )
            numbers = _numbers(connection, session.scope, lines, from_stdin=from_stdin)
        rater_ref = ensure_rater(opened, rater_name_in(opened, given_rater(rater), loaded) or "")
        scope = replace(session.scope, rater=rater_ref)
        judgments = _judgments(opened, scope, lines, numbers, evidence, from_stdin=from_stdin)
        actions = [Action(one.judgment.action, (one.judgment,)) for one in judgments]
        written = Recorder(opened, rater_ref).submit_all(actions).result()
        recorded = [_facts(one, action, rater_ref) for one, action in zip(judgments, written, strict=True)]
    if as_json:
        print_json({"judgments": recorded} if from_stdin else recorded[0])
    elif from_stdin:
        say(f"● {pluralize(len(recorded), 'judgment')} recorded · rater {recorded[0]['rater']}")
    else:
        (facts,) = recorded
        say(f"● {facts['item']}: {facts['word']} · {facts['question']} · rater {facts['rater']}")


def _given(
    item: str | None,
    value: str | None,
    question: str | None,
    comment: str,
    *,
    from_stdin: bool,
    cites: bool,
) -> list[JudgmentLine]:
    """Return the judgments that a command line gives, or those on standard input, which is read to its end.

    Raises:
        JudgmentRefused: Both are given or none, or the input holds what is no judgment.
    """
    if not from_stdin:
        if item is None or value is None:
            raise JudgmentRefused(
                "Item and value", "Name the item and its label.", "Or give them as JSON with --from-stdin."
            )
        return [JudgmentLine("", item, value, question, comment)]
    if item is not None or cites:
        raise JudgmentRefused(
            "Items come from standard input",
            "With --from-stdin neither an item nor lines to cite are named.",
            FORM,
        )
    return [
        replace(line, question=line.question or question, comment=line.comment or comment)
        for line in read_lines(sys.stdin.read())
    ]


def _numbers(
    connection: Connection, scope: Scope, lines: Sequence[JudgmentLine], *, from_stdin: bool
) -> list[int]:
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
            if not from_stdin:
                raise
            problems.append(f"{line.place}: {error.message}")
    if problems:
        raise refused_lines(problems)
    return [known[line.item] for line in lines]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A judgment with the names of what it is about."""

    judgment: Judgment
    item: str
    question: str
    word: str


def _judgments(
    opened: OpenWorkspace,
    scope: Scope,
    lines: Sequence[JudgmentLine],
    numbers: Sequence[int],
    evidence: list[str] | None,
    *,
    from_stdin: bool,
) -> list[_Judged]:
    """Return the judgments of some lines.

    Raises:
        JudgmentRefused: Some of the lines on standard input cannot be recorded.
        WorkbenchError: The one judgment of a command line cannot be.
    """
    found: list[_Judged] = []
    problems: list[str] = []
    places: dict[tuple[Any, ...], str] = {}
    with opened.reading() as connection:
        for line, number in zip(lines, numbers, strict=True):
            try:
                judged = _judgment(opened, connection, scope, number, line, evidence=evidence)
            except (JudgmentRefused, UnknownName) as error:
                if not from_stdin:
                    raise
                problems.append(f"{line.place}: {error.message} {error.hint}")
                continue
            earlier = places.setdefault((number, judged.judgment.target), line.place)
            if earlier != line.place:
                problems.append(f"{line.place}: it answers the same question of the same item as {earlier}")
            found.append(judged)
    if problems:
        raise refused_lines(problems)
    return found


def _judgment(
    opened: OpenWorkspace,
    connection: Connection,
    scope: Scope,
    number: int,
    line: JudgmentLine,
    *,
    evidence: list[str] | None,
) -> _Judged:
    from sqlalchemy import select

    from store.kinds.spec import task_kinds
    from store.queries.item import item_access, load_item
    from store.queries.questions import item_questions
    from store.record.evidence import NONE
    from store.record.ids import now
    from store.record.raters import question_number
    from store.record.response_names import question_name
    from store.record.scales import scale_value
    from store.tables.columns import table_of
    from store.tables.imported import Item
    from store.tables.record import Judgment

    item = table_of(Item)
    row = connection.execute(select(item.c.kind, item.c.external_id).where(item.c.id == number)).one()
    kind = task_kinds().get(row.kind)
    if kind is None:
        raise UnknownName(
            "Unknown task kind",
            f"No installed package adds the kind {row.kind!r}.",
            "Install the package that adds it; `workbench doctor` lists the kinds.",
        )
    access = item_access(connection, scope, number)
    questions = {
        question_name(spec.name, response): (spec, ref)
        for spec, ref, response in item_questions(connection, kind, number, scope)
    }
    name = _question(list(questions), line.question, hidden=access.hides_models)
    question, response_ref_id = questions[name]
    question_id = question_number(connection, question.name)
    judged = kind.record.judged_columns
    if question.of_responses and response_ref_id is None and judged:
        entry = load_item(connection, scope, kind, number)
        if kind.record.judged_column(entry.fields) is None:
            raise JudgmentRefused(
                "Nothing to judge",
                f"{row.external_id} has no response yet, and no replacement for one.",
                f"Import responses, or write one: workbench revise ... --part {judged[0]}",
            )
    cited = NONE
    if evidence:
        from workbench.citations import evidence_of

        cited = evidence_of(opened, scope, number, evidence)
    words = kind.queue.label_words if question == kind.label_question else None
    action = opened.ids.next()
    judgment = Judgment(
        id=opened.ids.next(),
        action=action,
        item_id=number,
        question_id=question_id,
        response_ref_id=response_ref_id,
        rater_id=scope.rater_id,
        assignment_id=access.assignment_id,
        phase=access.phase,
        value=scale_value(question.scale, line.value, words),
        origin="independent",
        blind=access.blind and access.assignment_id is not None,
        comment=line.comment,
        evidence=cited,
        created_at=now(),
    )
    return _Judged(judgment, row.external_id, name, question.scale.word(judgment.value))


def _facts(judged: _Judged, written: Action, rater: RaterRef) -> dict[str, Any]:
    """Return what was recorded, for programs."""
    judgment = next(one for one in written.records if one.id == judged.judgment.id)
    assert not hasattr(judgment, "kind")
    return {
        "judgment": judgment.id,
        "item": judged.item,
        "number": judgment.item_id,
        "question": judged.question,
        "value": judgment.value,
        "word": judged.word,
        "rater": rater.name,
        "comment": judgment.comment,
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
    if len(wanted) != 1:
        what = "This item is asked several questions." if asked is None else f"It is not asked {asked!r}."
        raise UnknownName("Which question?", what, f"Name one with --question: {known}.")
    return wanted[0]
