"""The score of a rater who practises: training items, each right where every known answer is given."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from store.analysis.decisions import known_answer, study_decisions
from store.kinds.spec import question_named
from store.policy.scope import TRAIN
from store.queries.studies import study_items
from store.record.response_names import split_question
from store.studies.dashboard import GoldScore

BAND = 2.0
"""How far a score on an interval scale may be from the known one."""


def is_right(question: str, value: float, known: float) -> bool:
    """Return whether an answer is the known one; a score counts that is near it."""
    spec = question_named(split_question(question)[0])
    return abs(value - known) <= (BAND if spec is not None and spec.scale.level == "interval" else 0)


def practice_score(connection: Connection, study_id: int, rater_id: int) -> GoldScore:
    """Return how many training items a rater answered right, and how many there are."""
    gold = {one.item_id: one.gold or {} for one in study_items(connection, study_id)}
    given = study_decisions(connection, study_id, (TRAIN,)).get(rater_id, [])
    right = sum(_is_item_right(one.values, gold[one.item_id]) for one in given)
    return GoldScore(right, len(gold))


def _is_item_right(values: Mapping[str, float], gold: Mapping[str, float]) -> bool:
    answered = {split_question(name)[0] for name in values}
    judged = [
        is_right(name, value, known)
        for name, value in values.items()
        if (known := known_answer(gold, name)) is not None
    ]
    return gold.keys() <= answered and all(judged)
