"""Current labels of a question as arrays: of people, imported raters, agents' runs and judges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ColumnElement, Float, Select, cast, func, select, text, true

from store.errors import UnknownName
from store.formatting import pluralize
from store.kinds.answer import ANSWER, KEEP
from store.kinds.comparison import (
    COMPARISON,
    MUCH_BETTER,
    listed_second_first_sql,
    scale_values,
)
from store.kinds.counting import in_order
from store.kinds.listing import relation
from store.kinds.spec import NamedQuestion, TaskKind, task_kinds
from store.measures.coefficients import Level, Patterns
from store.measures.rating_table import RatingTable
from store.policy.scope import ADJUDICATE, FIRST_PHASES, REVIEW, RunRef
from store.queries.current import all_values, first_values, on_label, ruling_values
from store.queries.questions import refs_with_text
from store.queries.repository_answers import dropped_questions
from store.queries.studies import find_study
from store.record.response_names import ResponseName
from store.tables.columns import table_of
from store.tables.imported import Comparison, Item
from store.tables.people import Assignment, Question, Rater
from store.tables.record import JudgmentRow
from store.tables.responses import ResponseRef, Score
from store.tables.runs import Run, VerdictRow

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]


_ITEMS_AT_ONCE = 25_000
"""Items whose labels are read together, so that memory does not grow with the workspace."""


@dataclass(frozen=True, slots=True, eq=False)
class RaterLabels:
    """The labels of one rater, of n units.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent`, or `judge` for whom files name as the judge of responses.
        units: The units, each once and in ascending order, of shape (n,): an item's key, or a response's
            below 0.
        values: The values, of shape (n,); NaN for none.
        blind: Which were judged in a blind review, of shape (n,).
        revealed: Which were judged with a label of agents or a judge on the screen, of shape (n,).
        accepted: Which were accepted from the agents or a judge, of shape (n,).
        median_seconds: The median of the seconds of a label; None where none is known.
        repeated: Responses that a judge scored several times; its value is the mean of these scores.
        deviation: The standard deviation of a judge's scores of one response, pooled over these (the root
            of the mean variance, each with n - 1); None without any.
        run_id: The run of the agents whose labels these are; None for others.
    """

    name: str
    kind: str
    units: Array
    values: Array
    blind: Array
    revealed: Array
    accepted: Array
    median_seconds: float | None = field(default=None, kw_only=True)
    repeated: int = field(default=0, kw_only=True)
    deviation: float | None = field(default=None, kw_only=True)
    run_id: UUID | None = field(default=None, kw_only=True)

    @property
    def labelled(self) -> int:
        """The number of units with a value."""
        import numpy

        return int((~numpy.isnan(self.values)).sum())

    def only(self, there: Array, units: Array) -> RaterLabels:
        """Return these labels of some of their units, which `there` says of shape (n,)."""
        names = ("values", "blind", "revealed", "accepted")
        return replace(self, units=units, **{name: getattr(self, name)[there] for name in names})

    def over(self, units: Array) -> RaterLabels:
        """Return these labels over other units, which are in ascending order."""
        import numpy

        if numpy.array_equal(self.units, units):
            return replace(self, units=units)
        place = numpy.searchsorted(units, self.units)
        there = place < len(units)
        there[there] = units[place[there]] == self.units[there]
        found: dict[str, Any] = {}
        for name in ("values", "blind", "revealed", "accepted"):
            found[name] = numpy.full(len(units), numpy.nan if name == "values" else False)
            found[name][place[there]] = getattr(self, name)[there]
        return replace(self, units=units, **found)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionLabels:
    """Everybody's labels of a question.

    Values of comparisons are in the order of their files, since figures depend a little on it (see
    `to_file_order`).

    Attributes:
        kind: The kind of the items that are asked it.
        phases: The phases whose labels these are.
        study: The study under whose assignments they were given; None for all.
        level: The level of measurement of the question's scale.
        items: Items in the workspace, or of the study, that are asked it.
        responses: Their responses, where it is asked of these; None otherwise.
        units: The n units with a label of anybody, in ascending order; see `RaterLabels`.
        item_ids: The item of each unit, of shape (n,).
        groups: The group of each unit's item, such as its query, of shape (n,).
        raters: The labels of each rater, all of them over these units.
        equal_texts: Comparisons of two equal texts among the units: their labels are ties here.
        is_open: Whether the study is open, so that labels are still to come.
    """

    question: str
    kind: TaskKind
    phases: Collection[str]
    study: str | None
    level: Level
    items: int
    responses: int | None
    units: Array
    item_ids: Array
    groups: Array
    raters: tuple[RaterLabels, ...]
    equal_texts: int = 0
    is_open: bool = False

    @property
    def ties(self) -> str | None:
        """Says how many comparisons are of two equal texts; None where none is."""
        number = pluralize(self.equal_texts, "comparison")
        return f"{number}, whose labels count as ties" if self.equal_texts else None

    @property
    def cluster(self) -> str:
        """The word for a group of items, such as "query": that of one item where each is its own."""
        return self.kind.record.group or self.kind.singular

    def table(self) -> RatingTable:
        """Return the labels of all raters as a table of ratings."""
        import numpy

        values = [one.values for one in self.raters]
        ratings = values or numpy.empty((0, len(self.units)))
        names = tuple(one.name for one in self.raters)
        return RatingTable("wide", names, Patterns.of_ratings(ratings), (), self.groups)

    def items_of(self, there: Array) -> list[int]:
        """Return the items of some units, which `there` says of shape (n,), each once and in order."""
        import numpy

        found: list[int] = numpy.unique(self.item_ids[there]).tolist()
        return found

    def shared(self, places: Sequence[int], *, differing: bool = False) -> Array:
        """Return which units two or more of the raters at some places labelled, of shape (n,).

        With `differing` only those that they labelled differently.
        """
        import numpy

        values = numpy.array([self.raters[place].values for place in places])
        values = values.reshape(len(places), len(self.units))
        found: Array = (~numpy.isnan(values)).sum(axis=0) > 1
        if differing and len(places):
            found = found & (numpy.fmin.reduce(values) < numpy.fmax.reduce(values))
        return found

    def only(self, item_ids: Array) -> QuestionLabels:
        """Return the labels of some items and of the responses to them alone."""
        import numpy

        there = numpy.isin(self.item_ids, item_ids)
        units = self.units[there]
        return replace(
            self,
            items=len(item_ids),
            units=units,
            item_ids=self.item_ids[there],
            groups=self.groups[there],
            raters=tuple(one.only(there, units) for one in self.raters),
        )

    def over_units_of(self, other: QuestionLabels) -> QuestionLabels:
        """Return these labels over the units of others, too, which may have none of these."""
        import numpy

        both = numpy.concatenate([self.units, other.units])
        units, first = numpy.unique(both, return_index=True)
        return replace(
            self,
            units=units,
            item_ids=numpy.concatenate([self.item_ids, other.item_ids])[first],
            groups=numpy.concatenate([self.groups, other.groups])[first],
            raters=tuple(one.over(units) for one in self.raters),
        )

    def places(self, names: Sequence[str]) -> list[int]:
        """Return the places of the raters of some names, in the order of the names, each once.

        Args:
            names: Names, or how one begins or ends.

        Raises:
            UnknownName: Nobody or more than one is called so.
        """
        found: dict[int, None] = {}
        for name in names:
            same = [place for place, one in enumerate(self.raters) if one.name == name] or [
                place
                for place, one in enumerate(self.raters)
                if name and (one.name.startswith(name) or one.name.endswith(name))
            ]
            if len(same) != 1:
                known = [one.name for one in self.raters]
                close = get_close_matches(name, known)
                hint = f"Did you mean {', '.join(close)}? " if close else ""
                raise UnknownName(
                    "No labels",
                    f"{'More than one rater' if same else 'No rater'} called {name!r} has a current label of "
                    f"{self.question}.",
                    f"{hint}Those with labels: {', '.join(known) or 'nobody yet'}.",
                )
            found[same[0]] = None
        return list(found)


def question_labels(
    connection: Connection,
    question: str,
    *,
    phases: Collection[str] = FIRST_PHASES,
    study: str | None = None,
    condition: str | None = None,
    run: RunRef | None = None,
    people_only: bool = False,
    rulings: bool = False,
) -> QuestionLabels:
    """Return everybody's current labels of a question.

    Args:
        connection: A reading connection.
        question: The question's name. One that is asked of responses is about all of them; with the name of
            one response after it, about the items that have that one.
        phases: The phases whose labels count.
        study: The name of the study whose assignments count, and on whose items alone labels of runs and
            judges do; None for all labels of the phases.
        condition: The condition of the assignments that count; None for all.
        run: The only run of the agents that counts; None for all of them.
        people_only: Whether runs and judges are left out.
        rulings: Whether the rulings of adjudicators are given in place of labels; with `people_only`.

    Raises:
        UnknownName: No registered kind asks it, no item has the response that it names, or no study is
            called so.
    """
    import numpy

    asked = named_question(question)
    kind, spec, only = asked.kind, asked.spec, asked.response
    if only is not None and connection.execute(_refs(only)).first() is None:
        raise UnknownName(
            "Unknown question",
            f"No item has a response that {question!r} names.",
            f"After @ comes the model, then [its setting] and #its trial. Over all responses: {spec.name}.",
        )
    found = None if study is None else find_study(connection, study)
    study_id = None if found is None else found.id
    counts = partial(_assigned, study_id, phases)
    given = _people(connection, asked, phases, study_id, condition, rulings=rulings)
    if spec == kind.label_question and not people_only:
        of_runs = _runs(connection, kind.name, run, counts)
        if found is not None and kind.two_sided and MUCH_BETTER not in scale_values(found.protocol.scale):
            # A judge always has five levels. Where raters could not say much better, winners are compared.
            of_runs = [replace(one, values=numpy.sign(one.values)) for one in of_runs]
        given += of_runs
    if spec.of_responses and not people_only:
        given += _judges(connection, kind.name, spec.title, only, counts)
    units = numpy.empty(0, numpy.int64)
    for one in given:
        # Most raters labelled the same units.
        if not numpy.array_equal(one.units, units):
            units = numpy.union1d(units, one.units)
    if kind == ANSWER and spec != KEEP and len(units):
        dropped = _columns(connection, dropped_questions())["item_id"]
        units = units[~numpy.isin(_items_of(connection, units), dropped)]
    alike = numpy.empty(0, numpy.int64)
    if kind.two_sided:
        alike = numpy.intersect1d(_columns(connection, equal_texts())["item_id"], units)
    if len(alike):
        given = [
            replace(one, values=numpy.where(numpy.isin(one.units, alike), 0.0, one.values)) for one in given
        ]
    item = table_of(Item)
    of_kind = select(func.count()).select_from(item).where(item.c.kind == kind.name, counts(item.c.id))
    responses = None
    if spec.of_responses and only is None:
        refs = refs_with_text(None).subquery("refs")
        joined = of_kind.join(refs, refs.c.item_id == item.c.id)
        responses = connection.execute(joined).scalar_one()
    item_ids = _items_of(connection, units)
    raters = tuple(given.pop(0).over(units) for _ in range(len(given)))
    if kind.two_sided:
        values = to_file_order(connection, item_ids, [one.values for one in raters])
        raters = tuple(replace(one, values=own) for one, own in zip(raters, values, strict=True))
    groups = _columns(
        connection, select(item.c.id, item.c.group_id).where(item.c.kind == kind.name).order_by(item.c.id)
    )
    return QuestionLabels(
        question=question,
        kind=kind,
        phases=phases,
        study=study,
        level=spec.scale.level,
        items=connection.execute(of_kind).scalar_one(),
        responses=responses,
        units=units,
        item_ids=item_ids,
        groups=groups["group_id"][numpy.searchsorted(groups["id"], item_ids)] if len(units) else item_ids,
        raters=raters,
        equal_texts=len(alike),
        is_open=found is not None and found.closed_at is None,
    )


def equal_texts() -> Select[Any]:
    """Select the comparisons of two equal texts."""
    comparison = table_of(Comparison)
    return select(comparison.c.item_id).where(
        comparison.c.first == comparison.c.second, comparison.c.first != ""
    )


def to_file_order(connection: Connection, item_ids: Array, values: Sequence[Array]) -> list[Array]:
    """Return stored values of comparisons from the view of the candidate that is listed first in their file.

    Done again, it returns them as they were.

    Args:
        connection: A reading connection.
        item_ids: The comparisons, of shape (n,).
        values: Arrays of their values, each of shape (n,).
    """
    import numpy

    found = relation(COMPARISON)
    listed = select(found.item_id).where(text(listed_second_first_sql(COMPARISON.record.table)))
    turned = numpy.isin(item_ids, _columns(connection, listed)["item_id"])
    return [numpy.where(turned, 0.0 - one, one) for one in values]


def kinds_of_items(connection: Connection) -> list[TaskKind]:
    """Return the known kinds of the items of a workspace."""
    item = table_of(Item)
    there = list(connection.execute(select(item.c.kind).distinct()).scalars())
    return [task_kinds()[name] for name in in_order(there) if name in task_kinds()]


def questions_of_items(connection: Connection) -> tuple[str, ...]:
    """Return the questions that the items of a workspace are asked, and imported ones that have labels."""
    question, judgment = table_of(Question), table_of(JudgmentRow)
    labelled = select(question.c.name).where(question.c.id.in_(select(judgment.c.question_id).distinct()))
    there = set(connection.execute(labelled).scalars())
    return tuple(
        spec.name
        for kind in kinds_of_items(connection)
        for spec in kind.every_question
        if spec not in kind.imported or spec.name in there
    )


def question_of_items(connection: Connection) -> str:
    """Return the main question of the items of a workspace: that of their first kind."""
    first = (kinds_of_items(connection) or list(task_kinds().values()))[0]
    return first.main_question.name


def named_question(question: str) -> NamedQuestion:
    """Return the question of a name.

    Raises:
        UnknownName: No registered kind asks it.
    """
    found = NamedQuestion.parse(question)
    if found is not None:
        return found
    known = ", ".join(spec.name for kind in task_kinds().values() for spec in kind.every_question)
    raise UnknownName("Unknown question", f"No question is called {question!r}.", f"Questions: {known}.")


def _items_of(connection: Connection, units: Array) -> Array:
    """Return the item of each unit."""
    import numpy

    if not (units < 0).any():
        return units
    ref = table_of(ResponseRef)
    refs = _columns(connection, select(ref.c.id, ref.c.item_id).order_by(ref.c.id))
    found = units.copy()
    found[units < 0] = refs["item_id"][numpy.searchsorted(refs["id"], -units[units < 0])]
    return found


def _refs(only: ResponseName | None) -> Select[Any]:
    """Select the references of imported responses: of all, or of those of one name."""
    refs = refs_with_text(None)
    if only is not None:
        ref = table_of(ResponseRef)
        refs = refs.where(*(ref.c[name] == value for name, value in asdict(only).items()))
    return refs


def _people(
    connection: Connection,
    asked: NamedQuestion,
    phases: Collection[str],
    study: int | None,
    condition: str | None,
    *,
    rulings: bool = False,
) -> list[RaterLabels]:
    """Return the current labels of humans and imported raters, by name; their rulings, or all others."""
    import numpy

    rater, item = table_of(Rater), table_of(Item)
    found: dict[int, list[Array]] = {}
    judgment = table_of(JudgmentRow)
    if rulings:
        phases = {*phases, ADJUDICATE}
    any_of = select(judgment.c.id).where(judgment.c.phase.in_(phases)).limit(1)
    if connection.execute(any_of).first() is None:
        return []
    # Outside of studies every label is of a first presentation, and nothing need be ranked. Not asked of
    # assignments: records of a study elsewhere are imported without them.
    of_studies = select(judgment.c.id).where(judgment.c.phase != REVIEW).limit(1)
    assigned = connection.execute(of_studies).first() is not None
    last = connection.execute(select(func.coalesce(func.max(item.c.id), 0))).scalar_one()
    for start in range(0, last + 1, _ITEMS_AT_ONCE):
        items = range(start, start + _ITEMS_AT_ONCE)
        names = [asked.spec.name]
        if rulings:
            labels = ruling_values(items, names, study=study)
        elif assigned or study is not None or condition is not None:
            labels = first_values(items, names, phases=phases, study=study, condition=condition)
        else:
            labels = all_values(phases, items, names)
        unit: ColumnElement[int] = labels.c.item_id
        counted: ColumnElement[bool] = labels.c.response_ref_id.is_(None)
        if asked.spec.of_responses:
            # Labels of deleted responses, and of items that got responses since, are left out.
            refs = _refs(asked.response).subquery("refs")
            of_response = labels.c.response_ref_id.in_(select(refs.c.id))
            if asked.response is not None:
                counted = of_response
            else:
                counted = of_response | (counted & labels.c.item_id.not_in(select(refs.c.item_id)))
                unit = func.coalesce(-labels.c.response_ref_id, labels.c.item_id)
        revealed = labels.c.shown_verdict.is_not(None).label("revealed")
        accepted = (labels.c.origin == "accept").label("accepted")
        seconds = cast(func.coalesce(labels.c.active_ms, labels.c.elapsed_ms), Float) / 1000
        rows = _columns(
            connection,
            select(
                *(labels.c.rater_id, unit.label("unit"), labels.c.value),
                *(labels.c.blind, revealed, accepted, seconds.label("seconds")),
            )
            .where(counted, true() if rulings else labels.c.origin != "ruling")
            .order_by(labels.c.id),
        )
        whose = rows.pop("rater_id")
        for number in set(whose.tolist()):
            *fields, taken = _latest(*(column[whose == number] for column in rows.values()))
            fields.append(taken[~numpy.isnan(taken)])
            if number not in found:
                found[number] = [numpy.empty(0, part.dtype) for part in fields]
            # Grown in place: parts that are put together at the end leave holes in the memory of the process.
            for whole, part in zip(found[number], fields, strict=True):
                size = len(whole)
                whole.resize(size + len(part), refcheck=False)
                whole[size:] = part
    people = select(rater.c.id, rater.c.name, rater.c.kind).where(rater.c.kind != "agent")
    raters = []
    for number, name, kind in connection.execute(people.order_by(rater.c.name)):
        if number in found:
            *fields, taken = found[number]
            median = float(numpy.median(taken)) if len(taken) else None
            raters.append(RaterLabels(name, kind, *fields, median_seconds=median))
    return raters


def of_study(
    connection: Connection, labels: QuestionLabels, item_id: ColumnElement[int]
) -> ColumnElement[bool]:
    """Return the condition that an item is one of the study of labels; none without a study."""
    study = None if labels.study is None else find_study(connection, labels.study).id
    return _assigned(study, labels.phases, item_id)


def _assigned(study: int | None, phases: Collection[str], item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that an item is assigned in a study; no condition for None."""
    if study is None:
        return true()
    assigned = table_of(Assignment)
    of_study = select(assigned.c.item_id).where(assigned.c.study_id == study, assigned.c.phase.in_(phases))
    return item_id.in_(of_study)


Counts = Callable[[ColumnElement[int]], ColumnElement[bool]]
"""Returns the condition that an item counts, of the column with its key."""


def _runs(connection: Connection, kind: str, only: RunRef | None, counts: Counts) -> list[RaterLabels]:
    """Return the verdicts of every run over items of a kind, or of one run, in the order of the runs."""
    run, verdict = table_of(Run), table_of(VerdictRow)
    runs = select(run.c.id, run.c.name).where(run.c.kind == kind).order_by(run.c.id)
    if only is not None:
        runs = runs.where(run.c.id == only.id)
    found = []
    for number, name in connection.execute(runs).all():
        of_run = select(verdict.c.item_id, verdict.c.value).where(
            verdict.c.run_id == number, on_label(verdict), counts(verdict.c.item_id)
        )
        rows = _columns(connection, of_run)
        found.append(RaterLabels(name, "agent", *_latest(*rows.values()), run_id=number))
    return [labels for labels in found if len(labels.units)]


def _judges(
    connection: Connection, kind: str, measure: str, only: ResponseName | None, counts: Counts
) -> list[RaterLabels]:
    """Return the means of judges' scores of the responses of a kind under a measure, by the judges' names.

    Args:
        connection: A reading connection.
        kind: The kind of the items.
        measure: The name of the measure.
        only: The response of each item that alone counts; None for all.
        counts: Which items count.
    """
    item, score, refs = table_of(Item), table_of(Score), _refs(only).subquery("refs")
    rows = _columns(
        connection,
        select(
            score.c.judge,
            (-refs.c.id if only is None else refs.c.item_id).label("unit"),
            func.avg(score.c.value).label("value"),
            func.coalesce(func.var_samp(score.c.value), 0.0).label("variance"),
            func.count(score.c.value).label("number"),
        )
        .join(refs, refs.c.id == score.c.response_ref_id)
        .join(item, item.c.id == refs.c.item_id)
        .where(item.c.kind == kind, score.c.measure == measure, counts(item.c.id))
        .group_by(score.c.judge, refs.c.id, refs.c.item_id),
    )
    found = []
    for judge in sorted(set(rows["judge"])):
        own = rows["judge"] == judge
        repeated = rows["number"][own] > 1
        variances = rows["variance"][own][repeated]
        found.append(
            RaterLabels(
                judge,
                "judge",
                *_latest(rows["unit"][own], rows["value"][own]),
                repeated=int(repeated.sum()),
                deviation=float(variances.mean() ** 0.5) if len(variances) else None,
            )
        )
    return [labels for labels in found if len(labels.units)]


def _latest(units: Array, values: Array, *how: Array) -> Iterator[Array]:
    """Keep the last label of each unit, if that has a value.

    Args:
        units: The labelled units, in the order of the record.
        values: The values, NaN for none.
        how: Which were judged blind, with a label in sight, and accepted, and more of each label; nothing
            where that is not known.

    Returns:
        The fields of `RaterLabels`, from `units` on, and what more there is.
    """
    import numpy

    found, place = numpy.unique(units[::-1], return_index=True)
    place = len(units) - 1 - place
    there = ~numpy.isnan(values[place])
    place = place[there]
    yield found[there]
    yield values[place]
    for column in how or [numpy.zeros(len(units), dtype=bool)] * 3:
        yield column[place]


def _columns(connection: Connection, statement: Select[Any]) -> dict[str, Array]:
    """Run a select and return its columns as arrays; NaN for a number that is null."""
    import numpy

    columns = connection.execute(statement).cursor.fetchnumpy()
    return {
        name: column.filled(numpy.nan)
        if numpy.ma.isMaskedArray(column) and column.dtype.kind == "f"
        else column
        for name, column in columns.items()
    }
