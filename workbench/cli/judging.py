"""What scripts and people ask about single items: items, judge."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import JudgmentRefused, UnknownName
from workbench.cli.options import AsJson, ConfigFile, RaterName, Workspace, command, given_rater, settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from store.kinds.protocol import QuestionSpec, TaskKind
    from store.queries.executions import ExecutionSeen
    from store.queries.expert_runs import ExpertRunSeen
    from store.queries.rows import QueueRow
    from store.scales import Scale
    from store.tables.people import Rater
    from store.workspace import Workspace as OpenWorkspace


MOST_FOR_PEOPLE = 500
"""Lines of a list that somebody may want to read; the true count stands below it."""


class Status(StrEnum):
    """How far a rater is with an item."""

    judged = "judged"
    open = "open"
    skipped = "skipped"
    cannot_decide = "cannot_decide"


def reader(connection: Connection, given: str | None, configured: str | None) -> Rater:
    """Return the rater whose view is asked for; one who has judged nothing yet need not be stored.

    Raises:
        UnknownName: The rater was named on the command line and is not in the workspace.
    """
    from store.ids import now
    from store.raters import find_rater
    from store.tables.people import Rater

    if given is not None:
        return find_rater(connection, given)
    try:
        return find_rater(connection, configured or "")
    except UnknownName:
        return Rater(id=0, kind="human", name=configured or "", created_at=now())


@command
def items_command(
    workspace: Workspace,
    *,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only items of this kind, such as pair or completion.")
    ] = None,
    status: Annotated[Status | None, typer.Option(help="Only items of this status.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many items; all of them with --json, else 500.")
    ] = None,
    text: Annotated[str, typer.Option(help="Only items that contain this text.")] = "",
    rater: RaterName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List the items of a workspace with a rater's labels and the agents'."""
    from store.queries.executions import executions_of_verdicts
    from store.queries.expert_runs import expert_runs
    from store.queries.queue import queue_ids, queue_rows
    from store.queries.rows import QueueFilter, phrase_of
    from store.queries.texts import item_texts
    from store.workspace import Workspace
    from workbench.output import harmless, print_json, print_table, say
    from workbench.rater import rater_name

    loaded = settings(config)
    blind = loaded.screens.blind
    wanted = QueueFilter(
        kind=None if kind is None else kind_called(kind), status=status.value if status else None, text=text
    )
    with Workspace.open(workspace) as opened:
        with opened.reading() as connection:
            who = reader(connection, given_rater(rater), rater_name(None, loaded))
        ids = [int(number) for number in queue_ids(opened, who.id, wanted, blind=blind)]
        rows: list[QueueRow] = []
        texts: dict[int, dict[str, Any]] = {}
        executions: dict[int, ExecutionSeen] = {}
        runs: dict[int, tuple[ExpertRunSeen, ...]] = {}
        for start in range(0, len(shown := ids[: limit or (None if as_json else MOST_FOR_PEOPLE)]), 1000):
            page = shown[start : start + 1000]
            rows += queue_rows(opened, who.id, page, blind=blind)
            if as_json:
                with opened.reading() as connection:
                    texts |= item_texts(connection, page)
                    executions |= {} if blind else executions_of_verdicts(connection, page)
                    runs |= {} if blind else expert_runs(connection, page, who.id)
    if as_json:
        print_json(
            {
                "rater": who.name,
                "filter": wanted.sentence(),
                "blind": blind,
                "total": len(ids),
                "items": [
                    {
                        **_row_facts(row),
                        "execution": _execution_facts(executions.get(row.item_id)),
                        "expert_runs": [_run_facts(run) for run in runs.get(row.item_id, ())],
                        **texts.get(row.item_id, {}),
                    }
                    for row in rows
                ],
            }
        )
        return
    print_table(
        ("item", "kind", "status", "label", "agents", "by", "title", "detail"),
        [
            (
                row.external_id,
                row.kind,
                row.status.replace("_", " ") + (" ⚑" if row.flagged else ""),
                _label(row),
                _number(row.agent_label),
                phrase_of("path", row.agent_path),
                row.title.replace("\n", "⏎"),
                row.detail,
            )
            for row in rows
        ],
        wide=("title",),
    )
    say(harmless(f"{len(rows):,} of {len(ids):,} · {wanted.sentence()} · rater {who.name or 'nobody'}"))


def kind_called(name: str) -> str:
    """Return the name of a kind, given by its name or by what its items are called.

    Raises:
        UnknownName: There is no such kind.
    """
    from store.kinds.protocol import task_kinds

    for known in task_kinds().values():
        if name in (known.name, known.singular, known.plural):
            return known.name
    raise UnknownName("Unknown kind", f"No kind is called {name!r}.", f"Kinds: {', '.join(task_kinds())}.")


def _label(row: QueueRow) -> str | None:
    """Return the value that tells of an item; before it is judged, how many of its answers are there."""
    from store.kinds.protocol import task_kinds

    if row.label is not None and row.given >= row.due:
        kind = task_kinds().get(row.kind)
        return (kind.label_words.get(row.label) if kind is not None else None) or _number(row.label)
    return f"{row.given} of {row.due}" if row.given else None


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"


def _execution_facts(execution: ExecutionSeen | None) -> dict[str, Any] | None:
    """Return the execution that the agents' label rests on, in the words of `sandbox run --json`."""
    if execution is None:
        return None
    facts = asdict(execution)
    counts = {"passed": "passed", "failed": "failed", "errors": "error"}
    return {
        "id": facts.pop("id"),
        **{name: execution.count(outcome) for name, outcome in counts.items()},
        "not_discriminating": execution.not_discriminating,
        "flaky": execution.flaky,
        "tests": facts.pop("outcomes"),
        "started_at": facts.pop("created_at"),
        **facts,
    }


def _run_facts(run: ExpertRunSeen) -> dict[str, Any]:
    return {"rater": run.rater, "edited": run.edited, **(_execution_facts(run.execution) or {})}


def _row_facts(row: QueueRow) -> dict[str, Any]:
    return {
        "item": row.external_id,
        "number": row.item_id,
        "kind": row.kind,
        "title": row.title,
        "detail": row.detail,
        "rank": row.rank,
        "similarity": row.similarity,
        "status": row.status,
        "given": row.given,
        "due": row.due,
        "label": row.label,
        "agent_label": row.agent_label,
        "agent_path": row.agent_path,
        "flagged": row.flagged,
        "commented": row.commented,
    }


@command
def judge_command(
    workspace: Workspace,
    item: Annotated[str, typer.Argument(help="The item: its id in the imported file, or its number.")],
    value: Annotated[str, typer.Argument(help="The label: a value of the scale, its word or its sign.")],
    *,
    question: Annotated[
        str | None,
        typer.Option(help="Which question of several: its name, without the kind if you like."),
    ] = None,
    rater: RaterName = None,
    comment: Annotated[str, typer.Option(help="A comment that stays with the judgment.")] = "",
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="PART:LINES", help="Lines to cite: code:3-5, test:2, log:7; can be repeated."),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Record a judgment: `workbench judge study.duckdb q-0042 match --rater dana`."""
    from store.evidence import NONE
    from store.queries.item import find_item
    from store.raters import ensure_rater, register_kinds
    from store.workspace import Workspace
    from workbench.output import print_json, say
    from workbench.rater import rater_name

    loaded = settings(config)
    name = rater_name(given_rater(rater), loaded)
    with Workspace.open(workspace) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            number = find_item(connection, item)
        cited = NONE
        if evidence:
            from workbench.citing import evidence_of

            cited = evidence_of(opened, number, evidence, blind=loaded.screens.blind)
        rated_by = ensure_rater(opened, name or "")
        facts = _judge(
            opened,
            number,
            value,
            rated_by,
            question,
            comment=comment,
            evidence=cited,
            blind=loaded.screens.blind,
        )
    if as_json:
        print_json(facts)
    else:
        say(f"● {facts['item']}: {facts['label']} · {facts['question']} · rater {facts['rater']}")


def _judge(
    opened: OpenWorkspace,
    number: int,
    value: str,
    rater: Rater,
    asked: str | None,
    *,
    comment: str,
    evidence: str,
    blind: bool,
) -> dict[str, Any]:
    from sqlalchemy import select

    from store.ids import now
    from store.kinds.instances import instance_of
    from store.kinds.protocol import task_kinds
    from store.queries.current import REVIEW
    from store.queries.due import due_questions
    from store.queries.entries import hides_models, load_entry
    from store.raters import ensure_questions
    from store.recording import Action, Recorder
    from store.tables.columns import table_of
    from store.tables.imported import Item
    from store.tables.record import Judgment

    item = table_of(Item)
    with opened.reading() as connection:
        row = connection.execute(select(item.c.kind, item.c.external_id).where(item.c.id == number)).one()
        kind = task_kinds().get(row.kind)
        if kind is None:
            raise UnknownName(
                "Unknown task kind",
                f"Nothing installed knows items of the kind {row.kind!r}.",
                "Install the package that adds it; `workbench doctor` lists the kinds.",
            )
        hidden = blind or hides_models(connection, number, rater.id)
        question = _question(kind, due_questions(connection, kind, number), asked, hidden=hidden)
        if question.of_responses and instance_of(question.name) is None and kind.stands_in:
            entry = load_entry(connection, kind, number, rater.id, blind=True)
            if kind.stand_in(entry.fields) is None:
                raise JudgmentRefused(
                    "Nothing to judge",
                    f"{row.external_id} has no response yet, and nothing that stands in for one.",
                    f"Import responses, or write one: workbench revise ... --part {kind.stands_in[0]}",
                )
    question_id = ensure_questions(opened, kind, (question.name,))[question.name]
    action = opened.ids.next()
    record = Judgment(
        id=opened.ids.next(),
        action=action,
        item_id=number,
        question_id=question_id,
        rater_id=rater.id,
        phase=REVIEW,
        value=scale_value(
            question.scale, value, kind.label_words if question == kind.label_question else None
        ),
        origin="independent",
        comment=comment,
        evidence=evidence,
        created_at=now(),
    )
    written = Recorder(opened, rater).submit(Action(action, (record,))).result()
    judgment = next(each for each in written.records if isinstance(each, Judgment))
    return {
        "judgment": judgment.id,
        "item": row.external_id,
        "number": number,
        "question": question.name,
        "value": judgment.value,
        "label": question.scale.word(judgment.value),
        "rater": rater.name,
        "comment": judgment.comment,
        "evidence": json.loads(judgment.evidence),
        "supersedes": judgment.supersedes,
        "created_at": judgment.created_at,
    }


def _question(kind: TaskKind, due: Sequence[str], asked: str | None, *, hidden: bool) -> QuestionSpec:
    """Return the question of an item that is answered.

    Args:
        kind: The item's kind.
        due: The names of the questions that the item is asked.
        asked: The name that was given, with or without the kind; None where none was.
        hidden: Whether the names of models stay hidden from the rater.

    Raises:
        UnknownName: None of them is called so, or none was named and there are several.
    """
    known = ", ".join(due)
    wanted = due if asked is None else [name for name in due if asked in (name, name.partition(".")[2])]
    if hidden and any("@" in name for name in due):
        raise UnknownName(
            "Models are hidden",
            "The questions of this item name the models that they are about, which are hidden from you.",
            "Score its answers in the app, where they are called A, B and so on.",
        )
    if len(wanted) != 1:
        what = "This item is asked several questions." if asked is None else f"It is not asked {asked!r}."
        raise UnknownName("Which question?", what, f"Name one with --question: {known}.")
    question = kind.question(wanted[0])
    assert question is not None
    return question


def scale_value(scale: Scale, text: str, as_listed: Mapping[float, str] | None = None) -> float:
    """Return the value that a number or a word ("match", "no match", "no-match") stands for.

    Args:
        scale: The values.
        text: What was given.
        as_listed: What lists say for some of the values, which is taken as well.

    Raises:
        JudgmentRefused: It is neither a value of the scale nor one of its words.
    """
    plain = text.strip().lower()
    for known in scale.values:
        words = {_spaced(word) for word in (known.word, known.shown, (as_listed or {}).get(known.value, ""))}
        # A hyphen joins words; before a number it is a sign.
        if plain and (plain in (f"{known.value:g}", known.sign.lower()) or _spaced(plain) in words):
            return known.value
    try:
        # Python takes 1_0 for a number; people do not.
        number = float(plain if "_" not in plain else "")
        return next(known.value for known in scale.values if known.value == scale.check(number))
    except ValueError:
        known_values = ", ".join(scale.word(known.value) for known in scale.values)
        raise JudgmentRefused(
            "Value off the scale", f"{text!r} is no value of this question.", f"Use one of: {known_values}."
        ) from None


def _spaced(words: str) -> str:
    return words.lower().replace("-", " ").replace("_", " ")
