"""A question's labels of people by the condition under which they were judged in a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Float, Subquery, cast, func, select

from store.analysis.labels import RaterLabels, question_labels
from store.measures.table_agreement import table_agreement
from store.policy.rows import words_of
from store.policy.scope import LABEL
from store.queries.current import first_values
from store.tables.columns import table_of
from store.tables.people import Assignment, Study
from store.tables.runs import ExecutionRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """The labels of people under one condition.

    Attributes:
        condition: The condition.
        raters: People with a label under it.
        labels: Their labels.
        shared: Units with labels of two of them or more, on which agreement rests.
        alpha: Krippendorff's alpha of these; None without them.
        percent: Their percent agreement.
        true_labels: Labels of units with a true label, where there is a truth.
        accuracy: The share of these that are right.
        median_seconds: The median of the active seconds of a label.
        mean_seconds: Their mean.
        own_tests: Labels beside a run of a test that the rater wrote.
        mean_editing_seconds: For how long these raters edited tests, a label beside such a run.
    """

    condition: str
    raters: int
    labels: int
    shared: int
    alpha: float | None
    percent: float | None
    true_labels: int
    accuracy: float | None
    median_seconds: float | None
    mean_seconds: float | None
    own_tests: int
    mean_editing_seconds: float | None


def conditions_of(connection: Connection, study: str) -> list[str]:
    """Return the conditions of a study's labels, in order."""
    assignment, named = table_of(Assignment), table_of(Study)
    condition = words_of(sides=False)
    found = (
        select(condition)
        .distinct()
        .join(named, named.c.id == assignment.c.study_id)
        .where(named.c.name == study, assignment.c.phase == LABEL)
        .order_by(condition)
    )
    return list(connection.execute(found).scalars())


def by_condition(
    connection: Connection,
    question: str,
    study: str,
    right: Callable[[RaterLabels], tuple[int, int]] | None = None,
) -> list[ConditionRow]:
    """Compare people's labels of a question under each condition of a study.

    Args:
        connection: A reading connection.
        question: The question's name.
        study: The study's name.
        right: Returns of a rater's labels those that are right, and those with a true label; None where
            there is no truth.
    """
    import numpy

    rows = []
    for condition in conditions_of(connection, study):
        found = question_labels(
            connection, question, phases=[LABEL], study=study, condition=condition, people_only=True
        )
        places = [place for place, one in enumerate(found.raters) if one.kind == "human"]
        people = [found.raters[place] for place in places]
        figures = table_agreement(found.table().only(places), level=found.level, pairs=False)
        counts = [right(one) for one in people] if right is not None else []
        hits, known = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0)
        seconds = numpy.array(_seconds(connection, question, condition, study))
        tests, editing = _own_tests(connection, question, condition, study)
        rows.append(
            ConditionRow(
                condition,
                len(people),
                sum(one.labelled for one in people),
                figures.units - figures.dropped_units,
                figures.alpha[figures.level],
                figures.percent,
                known,
                hits / known if known else None,
                float(numpy.median(seconds)) if len(seconds) else None,
                float(seconds.mean()) if len(seconds) else None,
                tests,
                editing,
            )
        )
    return rows


def _seconds(connection: Connection, question: str, condition: str, study: str) -> list[float]:
    """Return the active seconds of every label under a condition."""
    labels = _labels(connection, question, condition, study)
    seconds = cast(func.coalesce(labels.c.active_ms, labels.c.elapsed_ms), Float) / 1000
    found = connection.execute(select(seconds).where(labels.c.origin != "ruling")).scalars()
    return [float(each) for each in found if each is not None]


def _own_tests(connection: Connection, question: str, condition: str, study: str) -> tuple[int, float | None]:
    """Return how many labels have a run of an own test, and the mean seconds of editing of these."""
    labels, execution = _labels(connection, question, condition, study), table_of(ExecutionRow)
    runs = (
        select(execution.c.assignment_id, func.sum(execution.c.editing_ms).label("editing_ms"))
        .where(execution.c.assignment_id.is_not(None))
        .group_by(execution.c.assignment_id)
        .subquery("own_run")
    )
    joined = labels.join(runs, runs.c.assignment_id == labels.c.assignment_id)
    found = select(func.count(), func.avg(cast(runs.c.editing_ms, Float)) / 1000).select_from(joined)
    number, mean = connection.execute(found).one()
    return int(number), None if mean is None else float(mean)


def _labels(connection: Connection, question: str, condition: str, study: str) -> Subquery:
    named = table_of(Study)
    number = connection.execute(select(named.c.id).where(named.c.name == study)).scalar()
    name = question.partition("@")[0]
    return first_values(None, [name], phases=[LABEL], study=number, condition=condition)
