"""Questions about repositories as models get them, with their context and their answers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Subquery, func, or_, select

from store.kinds.answer import ANSWER, DROPPED, KEEP
from store.policy.scope import RunRef
from store.queries.current import first_values, ruling_values
from store.record.response_names import ResponseName
from store.record.revisions import REVISION, current_texts
from store.tables.columns import among, table_of
from store.tables.imported import Item, RepositoryQuestion
from store.tables.people import Question
from store.tables.record import MarkRow
from store.tables.responses import ContextChunk, Response, ResponseRef, Score
from store.tables.runs import Run, VerdictRow


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer to a question.

    Attributes:
        run: The run that made it; None for an imported one.
        judges: The runs that have scored it.
    """

    name: ResponseName
    text: str
    run: UUID | None
    judges: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class GivenIssue:
    """The issue that a question is made of.

    Attributes:
        comments: `by` ("author", "participant 2"), `created_at`, `body` and `reactions` of each, in order.
    """

    title: str
    body: str
    labels: Sequence[str]
    comments: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question, with its current texts.

    Attributes:
        repository: The repository and its language, as prompts call them.
        pieces: By setting, the pieces of its repository as path and text, best first.
        answers: Its answers, by model, setting and trial.
        issue: Its issue; None where it has none.
        writers: The runs that wrote a text of it.
    """

    item_id: int
    external_id: str
    repository: str
    question: str
    reference: str
    pieces: Mapping[str, Sequence[tuple[str, str]]]
    answers: Sequence[GivenAnswer]
    issue: GivenIssue | None = None
    writers: frozenset[UUID] = frozenset()


def asked_questions(connection: Connection, item_ids: Sequence[int]) -> list[AskedQuestion]:
    """Read questions, in the order given; ids of missing items are left out."""
    wanted = list(item_ids)
    item, question, chunk = table_of(Item), table_of(RepositoryQuestion), table_of(ContextChunk)
    pieces = defaultdict[int, dict[str, list[tuple[str, str]]]](dict)
    asked = (
        select(chunk.c.item_id, chunk.c.setting, chunk.c.path, chunk.c.text)
        .where(among(chunk.c.item_id, wanted))
        .order_by(chunk.c.item_id, chunk.c.setting, chunk.c.rank)
    )
    for item_id, setting, path, text in connection.execute(asked):
        pieces[item_id].setdefault(setting, []).append((path, text))
    answers = _answers(connection, wanted)
    revised = current_texts(connection, wanted)
    writers = _writers(connection, wanted)
    columns = (item.c.id, item.c.external_id, question.c.repository, question.c.language)
    texts_of = ("question", "reference", "issue_title", "issue_body", "labels", "comments")
    rows = connection.execute(
        select(*columns, *(question.c[name] for name in texts_of))
        .join(question, question.c.item_id == item.c.id)
        .where(among(item.c.id, wanted))
    )
    found = {}
    for row in rows:
        texts = {"question": row.question, "reference": row.reference, **revised.get(row.id, {})}
        about = ", ".join(filter(None, (row.repository, row.language))) or "not named"
        found[row.id] = AskedQuestion(
            *(row.id, row.external_id, about, texts["question"], texts["reference"]),
            pieces=pieces[row.id],
            answers=answers.get(row.id, ()),
            issue=_issue(row),
            writers=frozenset(writers.get(row.id, ())),
        )
    return [found[number] for number in wanted if number in found]


def _issue(row: Any) -> GivenIssue | None:
    if not (row.issue_title or row.issue_body):
        return None
    return GivenIssue(row.issue_title, row.issue_body, json.loads(row.labels), json.loads(row.comments))


def _writers(connection: Connection, item_ids: Sequence[int]) -> dict[int, set[UUID]]:
    """Return the runs that wrote a text of items, by item."""
    mark, run = table_of(MarkRow), table_of(Run)
    asked = (
        select(mark.c.item_id, run.c.id)
        .join(run, run.c.rater_id == mark.c.rater_id)
        .where(mark.c.kind.startswith(REVISION, autoescape=True), among(mark.c.item_id, list(item_ids)))
        .distinct()
    )
    found = defaultdict[int, set[UUID]](set)
    for item_id, writer in connection.execute(asked):
        found[item_id].add(writer)
    return found


def unwritten_questions(connection: Connection) -> list[int]:
    """Return the questions that have an issue, no imported answer, and no text that a person rewrote."""
    question, mark, run = table_of(RepositoryQuestion), table_of(MarkRow), table_of(Run)
    by_hand = select(mark.c.item_id).where(
        mark.c.kind.startswith(REVISION, autoescape=True), mark.c.rater_id.not_in(select(run.c.rater_id))
    )
    asked = select(question.c.item_id).where(
        or_(question.c.issue_title != "", question.c.issue_body != ""),
        question.c.reference == "",
        question.c.item_id.not_in(by_hand),
    )
    return list(connection.execute(asked.order_by(question.c.item_id)).scalars())


def mean_issue(connection: Connection) -> tuple[int, int]:
    """Return the mean characters of an issue's description, and of its comments."""
    question = table_of(RepositoryQuestion)
    lengths = (func.avg(func.length(question.c[name])) for name in ("issue_body", "comments"))
    body, comments = connection.execute(select(*lengths).where(question.c.reference == "")).one()
    return round(body or 0), round(comments or 0)


def _answers(connection: Connection, item_ids: Sequence[int]) -> dict[int, list[GivenAnswer]]:
    ref, response, score = table_of(ResponseRef), table_of(Response), table_of(Score)
    of_items = among(ref.c.item_id, list(item_ids))
    judges = defaultdict[int, set[UUID]](set)
    judged = (
        select(score.c.response_ref_id, score.c.run_id)
        .join(ref, ref.c.id == score.c.response_ref_id)
        .where(of_items, score.c.run_id.is_not(None))
        .distinct()
    )
    for number, run in connection.execute(judged):
        judges[number].add(run)
    asked = (
        select(
            ref.c.item_id,
            ref.c.id,
            ref.c.model,
            ref.c.setting,
            ref.c.trial,
            response.c.text,
            response.c.run_id,
        )
        .join(response, response.c.id == ref.c.id)
        .where(of_items)
        .order_by(ref.c.item_id, ref.c.model, ref.c.setting, ref.c.trial)
    )
    found = defaultdict[int, list[GivenAnswer]](list)
    for row in connection.execute(asked):
        name = ResponseName(row.model, row.setting, row.trial)
        found[row.item_id].append(GivenAnswer(name, row.text, row.run_id, frozenset(judges[row.id])))
    return found


def questions_with_context(connection: Connection, setting: str | None) -> list[int]:
    """Return the questions that have context under a setting, by key; None for all of them.

    Those that are dropped are left out.
    """
    question, chunk = table_of(RepositoryQuestion), table_of(ContextChunk)
    asked = select(question.c.item_id).where(question.c.item_id.not_in(dropped_questions()))
    if setting is not None:
        asked = asked.where(question.c.item_id.in_(select(chunk.c.item_id).where(chunk.c.setting == setting)))
    return list(connection.execute(asked.order_by(question.c.item_id)).scalars())


def inspections() -> Select[Any]:
    """Select what agents and people say of each question that agents wrote, or could not write.

    The columns are `item_id`, `path`, how the agents came to their verdict, `agents`, which it is, and
    `dropped`: whether the question is dropped: by a ruling, else by one of the people who inspected it, else
    by the agents. Of several runs it is the last one.
    """
    verdict, question = table_of(VerdictRow), table_of(Question)
    key = select(question.c.id).where(question.c.name == KEEP.name).scalar_subquery()
    place = func.row_number().over(partition_by=verdict.c.item_id, order_by=verdict.c.id.desc())
    ranked = select(verdict, place.label("place")).where(verdict.c.question_id == key).subquery()

    def highest(values: Subquery, name: str) -> Subquery:
        found = select(values.c.item_id, func.max(values.c.value).label("value"))
        return found.group_by(values.c.item_id).subquery(name)

    said = highest(first_values(questions=[KEEP.name]), "said")
    ruled = highest(ruling_values(questions=[KEEP.name]), "ruled")
    return (
        select(
            ranked.c.item_id,
            ranked.c.path,
            ranked.c.value.label("agents"),
            (func.coalesce(ruled.c.value, said.c.value, ranked.c.value) == DROPPED).label("dropped"),
        )
        .outerjoin(said, said.c.item_id == ranked.c.item_id)
        .outerjoin(ruled, ruled.c.item_id == ranked.c.item_id)
        .where(ranked.c.place == 1)
    )


def dropped_questions() -> Select[Any]:
    """Select `item_id` of the questions that are dropped."""
    inspected = inspections().subquery("inspected")
    return select(inspected.c.item_id).where(inspected.c.dropped)


def of_no_dropped(question: ColumnElement[str], item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a label is not a score of a question that is dropped."""
    scored = [spec.name for spec in ANSWER.questions if spec != KEEP]
    return or_(question.not_in(scored), item_id.not_in(dropped_questions()))


def writing_run(connection: Connection, item_id: int) -> RunRef | None:
    """Return the last run with a verdict whether to keep a question; None where there is none."""
    verdict, run, question = table_of(VerdictRow), table_of(Run), table_of(Question)
    asked = (
        select(run.c.id, run.c.name)
        .join(verdict, verdict.c.run_id == run.c.id)
        .join(question, question.c.id == verdict.c.question_id)
        .where(verdict.c.item_id == item_id, question.c.name == KEEP.name, run.c.kind != "")
        .order_by(verdict.c.id.desc())
    )
    found = connection.execute(asked.limit(1)).first()
    return None if found is None else RunRef(*found)


def answered_questions(connection: Connection) -> list[int]:
    """Return the questions that have a reference answer, and an answer to compare with it, by key.

    Those that are dropped are left out.
    """
    question, ref, response = table_of(RepositoryQuestion), table_of(ResponseRef), table_of(Response)
    with_answer = select(ref.c.item_id).join(response, response.c.id == ref.c.id)
    asked = select(question.c.item_id, question.c.reference).where(
        question.c.item_id.in_(with_answer), question.c.item_id.not_in(dropped_questions())
    )
    rows = connection.execute(asked.order_by(question.c.item_id)).all()
    revised = current_texts(connection, [row.item_id for row in rows])
    return [row.item_id for row in rows if revised.get(row.item_id, {}).get("reference", row.reference)]


def question_settings(connection: Connection) -> list[str]:
    """Return the settings under which questions have context."""
    question, chunk = table_of(RepositoryQuestion), table_of(ContextChunk)
    asked = select(chunk.c.setting).join(question, question.c.item_id == chunk.c.item_id).distinct()
    return sorted(connection.execute(asked).scalars())


def mean_answers(connection: Connection) -> float:
    """Return how many answers a question has that has any; 1 where there are none."""
    question, ref, response = table_of(RepositoryQuestion), table_of(ResponseRef), table_of(Response)
    asked = (
        select(func.count(), func.count(ref.c.item_id.distinct()))
        .select_from(ref)
        .join(response, response.c.id == ref.c.id)
        .join(question, question.c.item_id == ref.c.item_id)
    )
    answers, questions = connection.execute(asked).one()
    return answers / questions if questions else 1.0
