"""Questions about repositories as models get them, with their context and their answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.record.response_names import ResponseName
from store.record.revisions import current_texts
from store.tables.columns import among, table_of
from store.tables.imported import Item, RepositoryQuestion
from store.tables.responses import ContextChunk, Response, ResponseRef, Score


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
class AskedQuestion:
    """A question, with its current texts.

    Attributes:
        about: The repository and its language, as prompts call them.
        pieces: By setting, the pieces of its repository as path and text, best first.
        answers: Its answers, by model, setting and trial.
    """

    item_id: int
    external_id: str
    about: str
    question: str
    reference: str
    pieces: Mapping[str, Sequence[tuple[str, str]]]
    answers: Sequence[GivenAnswer]

    @property
    def repository(self) -> str:
        """The repository and its language, as prompts call them."""
        return self.about


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
    columns = (item.c.id, item.c.external_id, question.c.repository, question.c.language)
    rows = connection.execute(
        select(*columns, question.c.question, question.c.reference)
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
        )
    return [found[number] for number in wanted if number in found]


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
    """Return the questions that have context under a setting, by key; None for all of them."""
    question, chunk = table_of(RepositoryQuestion), table_of(ContextChunk)
    asked = select(question.c.item_id)
    if setting is not None:
        asked = asked.where(question.c.item_id.in_(select(chunk.c.item_id).where(chunk.c.setting == setting)))
    return list(connection.execute(asked.order_by(question.c.item_id)).scalars())


def answered_questions(connection: Connection) -> list[int]:
    """Return the questions that have a reference answer, and an answer to compare with it, by key."""
    question, ref, response = table_of(RepositoryQuestion), table_of(ResponseRef), table_of(Response)
    with_answer = select(ref.c.item_id).join(response, response.c.id == ref.c.id)
    asked = select(question.c.item_id, question.c.reference).where(question.c.item_id.in_(with_answer))
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
