"""The views that SQL is asked over, each with its columns in words and the select behind it.

A select takes the `Scope` of the session, so that a view holds what the session may see and nothing else. The
documents, `workbench sql --views` and the completion of the app are made from the same words.

A new view is a function that returns its select, and a `View` in `_COMMON` with a column for each of the
select's, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    FromClause,
    Select,
    String,
    Subquery,
    and_,
    case,
    cast,
    column,
    false,
    func,
    literal,
    null,
    or_,
    select,
    true,
    union_all,
    values,
)

from store.kinds.listing import relation
from store.kinds.spec import TaskKind, task_kinds
from store.policy.rows import in_scope, in_sitting, may, may_read, may_read_run, of_scope, words_of
from store.policy.scope import FIRST_PHASES, Shows
from store.queries.current import all_values, first_values, own_values, shown_runs, texts_until
from store.queries.questions import refs_with_text
from store.queries.queue import select_rows
from store.queries.rows import titled_kinds
from store.queries.shown_ids import shown_id
from store.queries.shown_texts import protocol_of, shown_candidates
from store.record.revisions import current_texts
from store.tables.columns import table_of
from store.tables.imported import Code, Item, Query, Similarity
from store.tables.people import Assignment, Question, Rater, Study
from store.tables.record import JudgmentRow, MarkRow
from store.tables.responses import ContextChunk, Response, ResponseRef, Score
from store.tables.retrieval import Retrieval, RetrievalHit
from store.tables.runs import ExecutionRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.tables.splits import Split, SplitLabel

if TYPE_CHECKING:
    from store.policy.scope import Scope


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view.

    Attributes:
        type: Its type in DuckDB.
        about: What it holds, in one line.
    """

    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class View:
    """A view.

    Attributes:
        about: What a row is, in one line.
        columns: Its columns, in order.
        select: Makes its select, with these columns, for a session.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    select: Callable[[Connection, Scope], Select[Any]]


@cache
def views() -> dict[str, View]:
    """Return every view by its name, those of the kinds of items after `items`."""
    items, *others = _COMMON
    taken = {view.name for view in _COMMON}
    of_kinds = [_kind_view(kind, taken) for kind in task_kinds().values()]
    return {view.name: view for view in (items, *of_kinds, *others)}


# -- shared parts -------------------------------------------------------------------------------------

_ITEM = (
    Column("item", "VARCHAR", "The item's id: that of the imported file, of a comparison one of its own."),
    Column("number", "BIGINT", "Its number here, which is unique; null for comparisons in a sealed session."),
)
_RESPONSE = (
    Column(
        "letter", "VARCHAR", "The response that it is about, by its letter in `responses`; null for none."
    ),
    Column("model", "VARCHAR", "The model of that response; null where the names of models are hidden."),
    Column("setting", "VARCHAR", "The setting under which it responded; null likewise."),
    Column("trial", "BIGINT", "Which of several responses under the setting, from 0; null likewise."),
)
_HIDDEN_IN_STUDY = "null in a sealed session."


def _item(scope: Scope) -> tuple[Any, list[ColumnElement[Any]]]:
    """Return the table of items, and the two columns that name an item."""
    item = table_of(Item)
    return item, [shown_id().label("item"), _number(scope, item.c.kind, item.c.id).label("number")]


def _number(scope: Scope, kind: ColumnElement[str], number: ColumnElement[int]) -> ColumnElement[Any]:
    """Return an item's number where it may be shown: it follows the order of import, which can tell texts."""
    hidden = [one.name for one in task_kinds().values() if one.record.hidden]
    return number if scope.may(Shows.SURROUNDINGS) else case((kind.in_(hidden), null()), else_=number)


def _order(scope: Scope, item: FromClause) -> list[ColumnElement[Any]]:
    """Return the order of items; in a study it is not that of the import, either."""
    return [item.c.id] if scope.may(Shows.SURROUNDINGS) else [shown_id(), item.c.id]


def _responses(scope: Scope) -> Subquery:
    """Return (id, item_id, letter, model, setting, trial) of the responses, as a session sees their names.

    Where the names of models are hidden, letters are in the random order of the item's screen.
    """
    refs = refs_with_text(None).subquery("with_text")
    key = func.concat(scope.rater_id, "/", refs.c.item_id, "/", refs.c.id)
    hidden = ~may(scope, Shows.MODELS, refs.c.item_id)
    names = ("model", "setting", "trial")
    place = func.row_number().over(
        partition_by=refs.c.item_id,
        order_by=[
            case((hidden, func.sha256(key)), else_=""),
            *(refs.c[name] for name in names),
        ],
    )
    placed = select(refs.c.id, (place - 1).label("place")).subquery("placed")
    ref = table_of(ResponseRef)
    letter = func.chr(cast(65 + placed.c.place % 26, BigInteger).op("::")(column("INTEGER")))
    tens = cast(func.floor(placed.c.place / 26), BigInteger)
    long = case((tens > 0, func.chr((64 + tens).op("::")(column("INTEGER")))), else_="")
    hides = ~may(scope, Shows.MODELS, ref.c.item_id)
    shown = [case((hides, null()), else_=ref.c[name]).label(name) for name in names]
    return (
        select(ref.c.id, ref.c.item_id, (long + letter).label("letter"), *shown)
        .select_from(ref.outerjoin(placed, placed.c.id == ref.c.id))
        .where(in_scope(scope, ref.c.item_id))
        .subquery("response_name")
    )


def _names(refs: FromClause) -> list[ColumnElement[Any]]:
    return [refs.c[column.name] for column in _RESPONSE]


def _in_study(scope: Scope, shown: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column that a sealed session does not see."""
    return shown if scope.may(Shows.SURROUNDINGS) else cast(null(), shown.type)


def _text(key: ColumnElement[Any]) -> ColumnElement[str]:
    return cast(key, String)


def _revised(connection: Connection, scope: Scope, part: str) -> Subquery | None:
    """Return (item_id, text) of the items of which a text was rewritten; None where nobody rewrote any."""
    current = current_texts(connection, until=texts_until(connection, scope))
    rows = [(number, texts[part]) for number, texts in current.items() if part in texts]
    if not rows:
        return None
    found = values(column("item_id", BigInteger), column("text", String), name=f"revised_{part}")
    return select(found.data(rows)).subquery(f"new_{part}")


def _changed(connection: Connection, scope: Scope, kind: TaskKind) -> Subquery | None:
    """Return (item_id, first, second) of the candidates whose texts a study changes; None without any."""
    if not kind.two_sided or protocol_of(connection, scope) is None:
        return None
    found = relation(kind)
    texts = [found.columns[name].label(name) for name in ("first", "second", "language", "about")]
    rows = connection.execute(
        select(found.item_id, *texts).select_from(found.source).where(in_scope(scope, found.item_id))
    ).mappings()
    changed = shown_candidates(connection, scope, {row["item_id"]: dict(row) for row in rows})
    if not changed:
        return None
    parts = (column("item_id", BigInteger), column("first", String), column("second", String))
    shown = [(number, one["first"], one["second"]) for number, (one, _) in changed.items()]
    return select(values(*parts, name="changed_texts").data(shown)).subquery("shown_texts")


# -- items --------------------------------------------------------------------------------------------


def _items(connection: Connection, scope: Scope) -> Select[Any]:
    rows = select_rows(scope, None).subquery("listed_item")
    title: ColumnElement[Any] = rows.c.title
    source: FromClause = rows
    for kind, part in titled_kinds().items():
        if (revised := _revised(connection, scope, part)) is not None:
            source = source.outerjoin(revised, and_(revised.c.item_id == rows.c.item_id, rows.c.kind == kind))
            title = func.coalesce(revised.c.text, title)
    found: dict[str, ColumnElement[Any]] = dict(rows.c.items())
    number = _number(scope, rows.c.kind, rows.c.item_id)
    found |= {"item": rows.c.external_id, "number": number, "title": title}
    found |= {name: cast(rows.c[name], BigInteger) for name in ("answered", "required")}
    return (
        select(*(found[one.name].label(one.name) for one in _ITEMS.columns))
        .select_from(source)
        .order_by(*([] if scope.may(Shows.SURROUNDINGS) else [rows.c.external_id]), rows.c.item_id)
    )


_ITEMS = View(
    "items",
    "An item, with your label and the agents'.",
    (
        *_ITEM,
        Column("kind", "VARCHAR", "Its kind: pair, completion, answer, comparison."),
        Column("title", "VARCHAR", "What lists show of it: a query, a question."),
        Column("detail", "VARCHAR", "What they show beside that: the name of the code, the file."),
        Column("rank", "BIGINT", "Its rank among the candidates of its query; null for kinds without ranks."),
        Column("similarity", "DOUBLE", "The mean of its similarities."),
        Column("status", "VARCHAR", "How far you are: judged, open, skipped, cannot_decide."),
        Column("answered", "BIGINT", "How many of its questions you answered."),
        Column("required", "BIGINT", "How many questions it is asked."),
        Column("label", "DOUBLE", "Your label; null where you gave none."),
        Column("agent_label", "DOUBLE", "The agents' label; null where there is none or it is hidden."),
        Column("agent_path", "VARCHAR", "How the agents came to it: screened, tested, repaired and so on."),
        Column("flagged", "BOOLEAN", "Whether you flagged it."),
        Column("commented", "BOOLEAN", "Whether you wrote a comment on it."),
    ),
    _items,
)

_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "list": "VARCHAR", "object": "VARCHAR"}

_TEXTS: Mapping[str, str] = {
    "query": "The query.",
    "code": "The code.",
    "name": "The name of the function or class.",
    "language": "The programming language.",
    "repository": "The repository.",
    "path": "The file in it.",
    "licence": "The licence of the code.",
    "rank": "The rank among the candidates of the query.",
    "prompt": "The text before the cursor; of a comparison what both candidates respond to.",
    "reference": "The reference answer or completion.",
    "right_context": "The text after the reference.",
    "prompt_line": "The line of the file at which the prompt begins, from 0.",
    "reference_line": "The line at which the reference begins.",
    "right_context_line": "The line at which the text after it begins.",
    "revision": "The revision of the repository.",
    "url": "The address of the issue.",
    "question": "The question.",
    "issue_number": "The number of the issue.",
    "issue_title": "The title of the issue.",
    "issue_body": "The text of the issue.",
    "comments": "The comments of the issue, as JSON.",
    "labels": "The labels of the issue, as JSON.",
    "created_at": "When the issue was opened.",
    "closed_at": "When it was closed.",
    "first": "The first candidate.",
    "second": "The second candidate.",
    "first_name": "The set or model of the first candidate; null where the names of models are hidden.",
    "second_name": "The set or model of the second candidate; null likewise.",
    "first_ref": "The item or response that the first candidate is; null likewise.",
    "second_ref": "The item or response that the second candidate is; null likewise.",
    "about": "What the candidates are: codes, answers, completions.",
    "made_from": "How the comparison was made; null where the names of models are hidden.",
    "file_order": "`as-listed` where its file lists the first candidate first, `swapped` where the second; "
    "empty where that is not known, null likewise.",
}
"""What the columns of our own kinds hold."""

_NAMING = ("made_from",)
"""Columns that tell of models or sets without being names."""


def _kind_view(kind: TaskKind, taken: set[str]) -> View:
    """Return the view of the texts of a kind's items."""
    name = re.sub(r"\W+", "_", kind.plural.lower())
    columns = [
        Column(one, _TYPES.get(type_, "VARCHAR"), _TEXTS.get(one, f"The {one.replace('_', ' ')}."))
        for one, type_ in kind.record.columns.items()
    ]

    def make(connection: Connection, scope: Scope) -> Select[Any]:
        found, (item, names) = relation(kind), _item(scope)
        source = found.source.join(item, item.c.id == found.item_id)
        shown = dict(found.columns)
        for part in kind.editing.columns:
            if (revised := _revised(connection, scope, part)) is not None:
                source = source.outerjoin(revised, revised.c.item_id == found.item_id)
                shown[part] = func.coalesce(revised.c.text, shown[part])
        if (changed := _changed(connection, scope, kind)) is not None:
            source = source.outerjoin(changed, changed.c.item_id == found.item_id)
            for part in ("first", "second"):
                shown[part] = func.coalesce(changed.c[part], shown[part])
        for part in (*kind.record.hidden, *_NAMING):
            if part in shown:
                shown[part] = case((~may(scope, Shows.MODELS, item.c.id), null()), else_=shown[part])
        return (
            select(*names, *(shown[one.name].label(one.name) for one in columns))
            .select_from(source)
            .where(in_scope(scope, item.c.id))
            .order_by(*_order(scope, item))
        )

    about = f"A {kind.singular}: its texts, with experts' revisions."
    return View(
        kind.name if name in taken else name,
        about if kind.editing.columns else f"A {kind.singular}: its texts.",
        (*_ITEM, *columns),
        make,
    )


def _similarities(connection: Connection, scope: Scope) -> Select[Any]:
    similarity, (item, names) = table_of(Similarity), _item(scope)
    return (
        select(*names, similarity.c.model, similarity.c.value)
        .select_from(similarity.join(item, item.c.id == similarity.c.item_id))
        .where(in_scope(scope, item.c.id))
        .order_by(*_order(scope, item), similarity.c.model)
    )


def _response_texts(connection: Connection, scope: Scope) -> Select[Any]:
    refs, response, (item, names) = _responses(scope), table_of(Response), _item(scope)
    return (
        select(*names, *_names(refs), response.c.text)
        .select_from(refs.join(response, response.c.id == refs.c.id).join(item, item.c.id == refs.c.item_id))
        .order_by(*_order(scope, item), refs.c.letter)
    )


def _chunks(connection: Connection, scope: Scope) -> Select[Any]:
    chunk, (item, names) = table_of(ContextChunk), _item(scope)
    return (
        select(*names, *(chunk.c[name] for name in ("setting", "rank", "path", "text", "score")))
        .select_from(chunk.join(item, item.c.id == chunk.c.item_id))
        .where(in_scope(scope, item.c.id))
        .order_by(*_order(scope, item), chunk.c.setting, chunk.c.rank)
    )


def _scores(connection: Connection, scope: Scope) -> Select[Any]:
    score, refs, (item, names) = table_of(Score), _responses(scope), _item(scope)
    return (
        select(
            *names,
            *_names(refs),
            *(score.c[name] for name in ("judge", "measure", "value", "raw", "reason", "created_at")),
        )
        .select_from(
            score.join(refs, refs.c.id == score.c.response_ref_id).join(item, item.c.id == refs.c.item_id)
        )
        .where(may(scope, Shows.AGENTS, item.c.id), may(scope, Shows.MODELS, item.c.id))
        .order_by(*_order(scope, item), refs.c.letter, score.c.judge, score.c.measure, score.c.sequence)
    )


# -- what raters did ----------------------------------------------------------------------------------


def _records(
    records: FromClause, scope: Scope, *columns: ColumnElement[Any], of_responses: bool = True
) -> Select[Any]:
    """Return a select of records with what names their item, question, response, rater and study."""
    item, names = _item(scope)
    rater, study, assignment = table_of(Rater), table_of(Study), table_of(Assignment)
    source = (
        records.join(item, item.c.id == records.c.item_id)
        .outerjoin(rater, rater.c.id == records.c.rater_id)
        .outerjoin(assignment, assignment.c.id == records.c.assignment_id)
        .outerjoin(study, study.c.id == assignment.c.study_id)
    )
    shown: list[ColumnElement[Any]] = [*names]
    if of_responses:
        refs, question = _responses(scope), table_of(Question)
        source = source.outerjoin(refs, refs.c.id == records.c.response_ref_id)
        source = source.outerjoin(question, question.c.id == records.c.question_id)
        shown += [question.c.name.label("question"), *_names(refs)]
    shown += [rater.c.name.label("rater"), study.c.name.label("study"), *columns]
    return select(*shown).select_from(source).order_by(records.c.id)


_RECORD = (
    Column("rater", "VARCHAR", "Who gave it."),
    Column("study", "VARCHAR", "The study under whose assignment it was given; null outside one."),
)
_QUESTION = Column("question", "VARCHAR", "The question that it answers, by its name in `questions`.")
_VALUE = Column(
    "value", "DOUBLE", "The value, on the question's scale; of a comparison from the view of `first`."
)
_PHASE = Column("phase", "VARCHAR", f"The phase: review, label, gold, repeat and so on; {_HIDDEN_IN_STUDY}")
_REASON = Column("reason", "VARCHAR", "The reason that was given with it.")
_COMMENT = Column("comment", "VARCHAR", "The comment that was given with it.")
_CREATED = Column("created_at", "TIMESTAMP WITH TIME ZONE", "When it was recorded.")
_HOW = (
    Column(
        "origin", "VARCHAR", "How it came about: independent, accept, override, import, ruling and so on."
    ),
    Column("blind", "BOOLEAN", "Whether the agents' label was hidden when it was given."),
    Column("shown_as", "VARCHAR", "How the item was shown, such as the sides of a comparison."),
)


def _how(records: FromClause) -> list[ColumnElement[Any]]:
    return [records.c[name] for name in ("reason", "comment", "origin", "blind", "shown_as", "created_at")]


def _labels(connection: Connection, scope: Scope) -> Select[Any]:
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    # Without assignments every label is of a first presentation, and nothing need be ranked.
    assigned = connection.execute(select(assignment.c.id).limit(1)).first() is not None
    counted = first_values() if assigned else all_values(FIRST_PHASES)
    columns = [counted.c[column.name] for column in judgment.c]
    own = counted.c.rater_id == scope.rater_id
    shown, no_ruling = may(scope, Shows.AGENTS, counted.c.item_id), counted.c.origin != "ruling"
    if scope.may(Shows.SURROUNDINGS):
        current = select(*columns).where(or_(own, shown), no_ruling).subquery("label_shown")
    else:
        # Which of the own labels count would tell the phases of the items.
        mine = own_values(scope)
        theirs = select(*columns).where(~own, shown, no_ruling, in_scope(scope, counted.c.item_id))
        current = union_all(select(*(mine.c[column.name] for column in judgment.c)), theirs).subquery(
            "label_shown"
        )
    return _records(current, scope, current.c.value, *_how(current))


def _judgments(connection: Connection, scope: Scope) -> Select[Any]:
    judgment = table_of(JudgmentRow)
    return _records(
        judgment,
        scope,
        _text(judgment.c.id).label("id"),
        judgment.c.value,
        _in_study(scope, judgment.c.phase).label("phase"),
        *_how(judgment),
        judgment.c.elapsed_ms,
        judgment.c.active_ms,
        _text(judgment.c.supersedes).label("supersedes"),
    ).where(may_read(scope, judgment))


def _marks(connection: Connection, scope: Scope) -> Select[Any]:
    mark = table_of(MarkRow)
    return _records(
        mark,
        scope,
        mark.c.kind,
        mark.c.active,
        mark.c.text,
        _in_study(scope, mark.c.phase).label("phase"),
        mark.c.origin,
        mark.c.created_at,
        of_responses=False,
    ).where(may_read(scope, mark))


def _questions(connection: Connection, scope: Scope) -> Select[Any]:
    found = values(
        *(column(one.name, Double if one.type == "DOUBLE" else String) for one in _QUESTIONS.columns),
        name="question_value",
    )
    rows = [
        (kind.name, spec.name, spec.text, spec.scale.level, float(known.value), known.word)
        for kind in task_kinds().values()
        for spec in kind.every_question
        for known in spec.scale.values
    ]
    return select(found.data(rows))


_QUESTIONS = View(
    "questions",
    "A value of a question.",
    (
        Column("kind", "VARCHAR", "The kind of the items that it is asked of."),
        Column("question", "VARCHAR", "The name of the question."),
        Column("text", "VARCHAR", "The question."),
        Column("level", "VARCHAR", "The level of its scale: nominal, ordinal, interval."),
        Column("value", "DOUBLE", "A value of the scale."),
        Column("word", "VARCHAR", "The word for the value."),
    ),
    _questions,
)


# -- what agents did ----------------------------------------------------------------------------------


def _run_name(scope: Scope) -> ColumnElement[Any]:
    name = table_of(Run).c.name
    return name if scope.may(Shows.LISTS) else cast(null(), String)


def _verdicts(connection: Connection, scope: Scope) -> Select[Any]:
    verdict, run, question = table_of(VerdictRow), table_of(Run), table_of(Question)
    refs, (item, names) = _responses(scope), _item(scope)
    shown = verdict.c.run_id.in_(shown_runs(scope))
    return (
        select(
            *names,
            question.c.name.label("question"),
            *_names(refs),
            _run_name(scope).label("run"),
            shown.label("shown"),
            *(verdict.c[name] for name in ("value", "path", "reason")),
            _text(verdict.c.execution_id).label("execution"),
            verdict.c.created_at,
        )
        .select_from(
            verdict.join(item, item.c.id == verdict.c.item_id)
            .join(run, run.c.id == verdict.c.run_id)
            .outerjoin(question, question.c.id == verdict.c.question_id)
            .outerjoin(refs, refs.c.id == verdict.c.response_ref_id)
        )
        .where(
            in_scope(scope, item.c.id),
            may(scope, Shows.AGENTS, item.c.id),
            true() if scope.may(Shows.LISTS) else shown,
        )
        .order_by(verdict.c.id)
    )


def _runs(connection: Connection, scope: Scope) -> Select[Any]:
    run = table_of(Run)
    names = ("name", "kind", "configuration", "model", "state", "total", "started_at", "ended_at")
    return (
        select(*(run.c[name] for name in names), run.c.id.in_(shown_runs(scope)).label("shown"))
        .where(true() if scope.may(Shows.LISTS) else false())
        .order_by(run.c.started_at, run.c.id)
    )


def _rankings(connection: Connection, scope: Scope) -> Select[Any]:
    hit, retrieval, query, code = (table_of(one) for one in (RetrievalHit, Retrieval, Query, Code))
    return (
        select(
            retrieval.c.method,
            query.c.text.label("query"),
            hit.c.rank,
            code.c.name,
            code.c.text.label("code"),
            hit.c.score,
            retrieval.c.made_at,
        )
        .select_from(
            hit.join(retrieval, retrieval.c.id == hit.c.retrieval_id)
            .join(query, query.c.id == hit.c.query_id)
            .join(code, code.c.id == hit.c.code_id)
        )
        .where(true() if scope.may(Shows.LISTS) else false())
        .order_by(retrieval.c.id, hit.c.query_id, hit.c.rank)
    )


_STEP = ("role", "attempt", "outcome", "cause", "error", "model", "reply")
_SPENT = ("tokens_in", "tokens_out", "tokens_cached", "money", "requests", "seconds", "from_cache")


def _steps(connection: Connection, scope: Scope) -> Select[Any]:
    step, run, (item, names) = table_of(StepRow), table_of(Run), _item(scope)
    return (
        select(*names, run.c.name.label("run"), *(step.c[name] for name in (*_STEP, *_SPENT, "created_at")))
        .select_from(step.join(item, item.c.id == step.c.item_id).join(run, run.c.id == step.c.run_id))
        .where(may(scope, Shows.AGENTS, item.c.id) if scope.may(Shows.LISTS) else false())
        .order_by(step.c.id)
    )


_EXECUTION = ("sandbox", "exit_reason", "exit_code", "executable", "error", "program", "stdout", "stderr")


def _executions(connection: Connection, scope: Scope) -> Select[Any]:
    execution, rater, step, run = (table_of(model) for model in (ExecutionRow, Rater, StepRow, Run))
    item, names = _item(scope)
    return (
        select(
            *names,
            _text(execution.c.id).label("execution"),
            rater.c.name.label("rater"),
            run.c.name.label("run"),
            *(execution.c[name] for name in (*_EXECUTION, "seconds", "created_at")),
        )
        .select_from(
            execution.join(item, item.c.id == execution.c.item_id)
            .outerjoin(rater, rater.c.id == execution.c.rater_id)
            .outerjoin(step, step.c.id == execution.c.step_id)
            .outerjoin(run, run.c.id == step.c.run_id)
        )
        .where(may_read_run(scope, execution))
        .order_by(execution.c.id)
    )


_TEST = ("name", "outcome", "message", "seconds", "discriminates", "flaky")


def _tests(connection: Connection, scope: Scope) -> Select[Any]:
    test, execution, (item, names) = table_of(TestOutcomeRow), table_of(ExecutionRow), _item(scope)
    return (
        select(
            *names, _text(execution.c.id).label("execution"), test.c.position, *(test.c[one] for one in _TEST)
        )
        .select_from(
            test.join(execution, execution.c.id == test.c.execution_id).join(
                item, item.c.id == execution.c.item_id
            )
        )
        .where(may_read_run(scope, execution))
        .order_by(execution.c.id, test.c.position)
    )


# -- people and studies -------------------------------------------------------------------------------


def _raters(connection: Connection, scope: Scope) -> Select[Any]:
    rater = table_of(Rater)
    return (
        select(rater.c.name, rater.c.kind, rater.c.created_at)
        .where(true() if scope.may(Shows.LISTS) else rater.c.id == scope.rater_id)
        .order_by(rater.c.id)
    )


def _studies(connection: Connection, scope: Scope) -> Select[Any]:
    study = table_of(Study)
    state = case(
        (study.c.frozen_at.is_(None), literal("draft")),
        (study.c.closed_at.is_(None), literal("open")),
        else_=literal("closed"),
    )
    dates = ("created_at", "frozen_at", "closed_at")
    found = select(
        study.c.name,
        state.label("state"),
        *(study.c[name] for name in dates),
        _in_study(scope, study.c.protocol).label("protocol"),
    ).order_by(study.c.id)
    return found if scope.may(Shows.SURROUNDINGS) else found.where(of_scope(scope, study.c.id))


def _assignments(connection: Connection, scope: Scope) -> Select[Any]:
    assignment, study, rater = table_of(Assignment), table_of(Study), table_of(Rater)
    item, names = _item(scope)
    found = (
        select(
            *names,
            study.c.name.label("study"),
            rater.c.name.label("rater"),
            assignment.c.sitting,
            assignment.c.position,
            words_of().label("condition"),
            _in_study(scope, assignment.c.phase).label("phase"),
            _in_study(scope, assignment.c.block).label("block"),
        )
        .select_from(
            assignment.join(item, item.c.id == assignment.c.item_id)
            .join(study, study.c.id == assignment.c.study_id)
            .join(rater, rater.c.id == assignment.c.rater_id)
        )
        .order_by(study.c.id, rater.c.id, assignment.c.sitting, assignment.c.position)
    )
    if not scope.may(Shows.LISTS):
        found = found.where(assignment.c.rater_id == scope.rater_id)
    return found if scope.may(Shows.SURROUNDINGS) else found.where(in_sitting(scope))


def _splits(connection: Connection, scope: Scope) -> Select[Any]:
    split = table_of(Split)
    names = ("name", "question", "kind", "created_at", "digest", "plan", "report")
    return (
        select(*(split.c[name] for name in names))
        .where(true() if scope.may(Shows.LISTS) else false())
        .order_by(split.c.id)
    )


def _split_labels(connection: Connection, scope: Scope) -> Select[Any]:
    split, label, refs = table_of(Split), table_of(SplitLabel), _responses(scope)
    item, names = _item(scope)
    return (
        select(*names, split.c.name.label("split"), label.c.part, *_names(refs), label.c.value)
        .select_from(
            label.join(split, split.c.id == label.c.split_id)
            .join(item, item.c.id == label.c.item_id)
            .outerjoin(refs, refs.c.id == label.c.response_ref_id)
        )
        .where(may(scope, Shows.AGENTS, item.c.id) if scope.may(Shows.LISTS) else false())
        .order_by(split.c.id, item.c.id, refs.c.letter)
    )


_RUN = Column("run", "VARCHAR", "The agents' run; null in a sealed session.")

_COMMON: tuple[View, ...] = (
    _ITEMS,
    View(
        "similarities",
        "The similarity of a pair under one model.",
        (
            *_ITEM,
            Column("model", "VARCHAR", "The embedding model."),
            Column("value", "DOUBLE", "The cosine similarity."),
        ),
        _similarities,
    ),
    View(
        "context_chunks",
        "A piece of another file that goes with an item.",
        (
            *_ITEM,
            Column("setting", "VARCHAR", "The setting under which it was retrieved."),
            Column("rank", "BIGINT", "Its rank under the setting."),
            Column("path", "VARCHAR", "The file."),
            Column("text", "VARCHAR", "The piece."),
            Column("score", "DOUBLE", "How well it fits, where that is known."),
        ),
        _chunks,
    ),
    View(
        "responses",
        "A model's response to an item.",
        (
            *_ITEM,
            Column("letter", "VARCHAR", "Its letter: A, B, and so on within the item."),
            *_RESPONSE[1:],
            Column("text", "VARCHAR", "The response."),
        ),
        _response_texts,
    ),
    View(
        "scores",
        "A judge's score of a response; none where the agents' work or the names of models are hidden.",
        (
            *_ITEM,
            *_RESPONSE,
            Column("judge", "VARCHAR", "The judge."),
            Column("measure", "VARCHAR", "The measure."),
            Column("value", "DOUBLE", "The score; null where the reply was no number."),
            Column("raw", "VARCHAR", "The judge's reply."),
            Column("reason", "VARCHAR", "The judge's reason."),
            Column("created_at", "TIMESTAMP WITH TIME ZONE", "When it was imported or made."),
        ),
        _scores,
    ),
    _QUESTIONS,
    View(
        "labels",
        "A current label that counts: of each rater, that of an item's first presentation.",
        (*_ITEM, _QUESTION, *_RESPONSE, *_RECORD, _VALUE, _REASON, _COMMENT, *_HOW, _CREATED),
        _labels,
    ),
    View(
        "judgments",
        "A judgment in the record, current or not.",
        (
            *_ITEM,
            _QUESTION,
            *_RESPONSE,
            *_RECORD,
            Column("id", "VARCHAR", "Its id; ids are in the order of the record."),
            Column("value", "DOUBLE", "The value; null where a label was taken back."),
            _PHASE,
            _REASON,
            _COMMENT,
            *_HOW,
            _CREATED,
            Column("elapsed_ms", "BIGINT", "Milliseconds since the item was shown."),
            Column("active_ms", "BIGINT", "Those of them in which the rater was at work."),
            Column("supersedes", "VARCHAR", "The id of the judgment in whose place it is."),
        ),
        _judgments,
    ),
    View(
        "marks",
        "A mark in the record: cannot_decide, skip, flag, comment, a rewritten text.",
        (
            *_ITEM,
            *_RECORD,
            Column("kind", "VARCHAR", "What it is."),
            Column("active", "BOOLEAN", "False where it takes the mark away."),
            Column("text", "VARCHAR", "Its text."),
            _PHASE,
            _HOW[0],
            _CREATED,
        ),
        _marks,
    ),
    View(
        "verdicts",
        "A label by agents; none of items on which the agents' work is hidden.",
        (
            *_ITEM,
            _QUESTION,
            *_RESPONSE,
            _RUN,
            Column("shown", "BOOLEAN", "Whether lists show the labels of this run."),
            _VALUE,
            Column("path", "VARCHAR", "How the agents came to it."),
            Column("reason", "VARCHAR", "The agents' reason."),
            Column("execution", "VARCHAR", "The execution that it rests on, by its id in `executions`."),
            _CREATED,
        ),
        _verdicts,
    ),
    View(
        "runs",
        "A run of the agents; none in a sealed session and in a blind review.",
        (
            Column("name", "VARCHAR", "Its name."),
            Column("kind", "VARCHAR", "The kind of the items that it is over."),
            Column("configuration", "VARCHAR", "Its configuration, as JSON."),
            Column("model", "VARCHAR", "Its model."),
            Column("state", "VARCHAR", "running, paused, stopped, done or failed."),
            Column("total", "BIGINT", "How many items it is over."),
            Column("started_at", "TIMESTAMP WITH TIME ZONE", "When it began."),
            Column("ended_at", "TIMESTAMP WITH TIME ZONE", "When it ended."),
            Column("shown", "BOOLEAN", "Whether lists show its labels."),
        ),
        _runs,
    ),
    View(
        "rankings",
        "A code that a method ranked for a query; none in a sealed session and in a blind review.",
        (
            Column("method", "VARCHAR", "The method, such as bm25."),
            Column("query", "VARCHAR", "The text of the query."),
            Column("rank", "BIGINT", "The rank of the code, from 1."),
            Column("name", "VARCHAR", "The name of the code."),
            Column("code", "VARCHAR", "Its text."),
            Column("score", "DOUBLE", "What the method gave it."),
            Column("made_at", "TIMESTAMP WITH TIME ZONE", "When the ranking was made."),
        ),
        _rankings,
    ),
    View(
        "steps",
        "A turn of an agent; none in a sealed session and in a blind review.",
        (
            *_ITEM,
            Column("run", "VARCHAR", "The agents' run."),
            Column("role", "VARCHAR", "The agent's role."),
            Column("attempt", "BIGINT", "Which attempt of the role at the item, from 0."),
            Column("outcome", "VARCHAR", "ok or failed."),
            Column("cause", "VARCHAR", "Why it failed, in a word."),
            Column("error", "VARCHAR", "The error."),
            Column("model", "VARCHAR", "The model."),
            Column("reply", "VARCHAR", "The reply, as JSON."),
            Column("tokens_in", "BIGINT", "Tokens read."),
            Column("tokens_out", "BIGINT", "Tokens written."),
            Column("tokens_cached", "BIGINT", "Those of the tokens read that the service had cached."),
            Column("money", "DOUBLE", "What it cost in US dollars; null where that is not known."),
            Column("requests", "BIGINT", "Requests to the service."),
            Column("seconds", "DOUBLE", "How long it took."),
            Column("from_cache", "BOOLEAN", "Whether the reply was there before."),
            _CREATED,
        ),
        _steps,
    ),
    View(
        "executions",
        "A run of a test program; in a sealed session and in a blind review your own ones.",
        (
            *_ITEM,
            Column("execution", "VARCHAR", "Its id."),
            Column("rater", "VARCHAR", "The expert who had it run; null for the agents'."),
            Column("run", "VARCHAR", "The agents' run; null for an expert's."),
            Column("sandbox", "VARCHAR", "Where it ran."),
            Column("exit_reason", "VARCHAR", "Why it ended: ok, assertion, error, timeout and so on."),
            Column("exit_code", "BIGINT", "Its exit status."),
            Column("executable", "BOOLEAN", "Whether at least one of its tests came to a result."),
            Column("error", "VARCHAR", "Why none did."),
            Column("program", "VARCHAR", "The test program."),
            Column("stdout", "VARCHAR", "Its standard output."),
            Column("stderr", "VARCHAR", "Its standard error."),
            Column("seconds", "DOUBLE", "How long it ran."),
            _CREATED,
        ),
        _executions,
    ),
    View(
        "tests",
        "A test of an execution.",
        (
            *_ITEM,
            Column("execution", "VARCHAR", "The execution."),
            Column("position", "BIGINT", "Its place among the tests."),
            Column("name", "VARCHAR", "Its name."),
            Column("outcome", "VARCHAR", "passed, failed or error."),
            Column("message", "VARCHAR", "The error, in one line."),
            Column("seconds", "DOUBLE", "How long it ran."),
            Column("discriminates", "BOOLEAN", "False where it passes against a stub of the code as well."),
            Column("flaky", "BOOLEAN", "Whether it came out otherwise under another hash seed."),
        ),
        _tests,
    ),
    View(
        "raters",
        "A person, an imported rater, an agents' run; in a sealed session and in a blind review you alone.",
        (
            Column("name", "VARCHAR", "The name."),
            Column("kind", "VARCHAR", "human, import or agent."),
            Column("created_at", "TIMESTAMP WITH TIME ZONE", "When the rater was added."),
        ),
        _raters,
    ),
    View(
        "studies",
        "A study; in a sealed session the one that you are in.",
        (
            Column("name", "VARCHAR", "Its name."),
            Column("state", "VARCHAR", "draft, open or closed."),
            Column("created_at", "TIMESTAMP WITH TIME ZONE", "When it was made."),
            Column("frozen_at", "TIMESTAMP WITH TIME ZONE", "When it was frozen."),
            Column("closed_at", "TIMESTAMP WITH TIME ZONE", "When it was closed."),
            Column("protocol", "VARCHAR", f"Its protocol, as JSON; {_HIDDEN_IN_STUDY}"),
        ),
        _studies,
    ),
    View(
        "assignments",
        "An item in a rater's list of a study; in a sealed session those of the sitting.",
        (
            *_ITEM,
            Column("study", "VARCHAR", "The study."),
            Column("rater", "VARCHAR", "The rater."),
            Column("sitting", "BIGINT", "The sitting, from 1; 0 for an adjudicator's rulings."),
            Column("position", "BIGINT", "The place in the rater's list."),
            Column("condition", "VARCHAR", "The words that say what the rater sees."),
            _PHASE,
            Column("block", "BIGINT", f"The block; {_HIDDEN_IN_STUDY}"),
        ),
        _assignments,
    ),
    View(
        "splits",
        "A split of the ground truth; none in a sealed session and in a blind review.",
        (
            Column("name", "VARCHAR", "Its name."),
            Column("question", "VARCHAR", "The question whose labels it holds."),
            Column("kind", "VARCHAR", "The kind of its items."),
            Column("created_at", "TIMESTAMP WITH TIME ZONE", "When it was made."),
            Column("digest", "VARCHAR", "The digest of its labels."),
            Column("plan", "VARCHAR", "How it was made, as JSON."),
            Column("report", "VARCHAR", "Sizes, balance, agreement and leakage of then, as JSON."),
        ),
        _splits,
    ),
    View(
        "split_labels",
        "A true label in a split; none in a sealed session and in a blind review.",
        (
            *_ITEM,
            Column("split", "VARCHAR", "The split."),
            Column("part", "VARCHAR", "The part that the item is in: train, dev, test."),
            *_RESPONSE,
            _VALUE,
        ),
        _split_labels,
    ),
)
