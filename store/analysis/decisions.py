"""The decisions of a study's raters: what was answered at each presentation of an item, and in which time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from store.measures.rater_quality import Decision
from store.policy.scope import GOLD, LABEL, REPEAT, TRAIN
from store.queries.current import all_values
from store.record.response_names import ResponseName, question_name, split_question
from store.tables.columns import table_of
from store.tables.people import Assignment, Question
from store.tables.responses import ResponseRef

PHASES = (TRAIN, LABEL, GOLD, REPEAT)
"""The phases in which raters judge an item as at first."""


def study_decisions(
    connection: Connection, study_id: int, phases: Collection[str] = PHASES
) -> dict[int, list[Decision]]:
    """Return the decisions of each rater in the order of the list, of raters who did not withdraw."""
    assignment, asked, ref = table_of(Assignment), table_of(Question), table_of(ResponseRef)
    labels = all_values(phases)
    rows = connection.execute(
        select(
            *(assignment.c[name] for name in ("id", "rater_id", "phase", "position", "item_id")),
            *(labels.c[name] for name in ("value", "active_ms", "elapsed_ms", "response_ref_id")),
            asked.c.name.label("question"),
            *(ref.c[name] for name in ("model", "setting", "trial")),
        )
        .join(labels, labels.c.assignment_id == assignment.c.id)
        .join(asked, asked.c.id == labels.c.question_id)
        .outerjoin(ref, ref.c.id == labels.c.response_ref_id)
        .where(assignment.c.study_id == study_id, labels.c.origin != "ruling")
        .order_by(assignment.c.rater_id, assignment.c.position, labels.c.id)
    )
    of_assignment: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        of_assignment[row.id].append(row)
    found: dict[int, list[Decision]] = defaultdict(list)
    for answers in of_assignment.values():
        one = answers[0]
        times = (_together(getattr(each, name) for each in answers) for name in ("active_ms", "elapsed_ms"))
        values = {_name(each): each.value for each in answers}
        found[one.rater_id].append(Decision(one.phase, one.position, one.item_id, values, *times))
    return found


def known_answer(gold: Mapping[str, float] | None, name: str) -> float | None:
    """Return the known answer to a question; one to a question on responses is that on each of them.

    Args:
        gold: The known answers of the item, by readable names of questions.
        name: The readable name of the question, with the response that it is about.
    """
    known = gold or {}
    return known.get(name, known.get(split_question(name)[0]))


def _name(answer: Any) -> str:
    """Return the readable name of what an answer is about."""
    response = answer.response_ref_id
    named = None if response is None else ResponseName(answer.model, answer.setting, answer.trial)
    return question_name(answer.question, named)


def _together(milliseconds: Iterable[int | None]) -> float | None:
    """Return the sum of known times in seconds; None where none is known."""
    known = [each for each in milliseconds if each is not None]
    return sum(known) / 1000 if known else None
