"""Agreement of people, imported raters, agents' runs and judges, over their current labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, func, select

from store.errors import UnknownName
from store.kinds.counting import in_order
from store.kinds.spec import NamedQuestion, task_kinds
from store.measures.agreement import Agreement
from store.measures.coefficients import Level
from store.measures.registry import Measure, measures
from store.queries.current import all_values, on_label
from store.queries.questions import refs_with_text
from store.record.response_names import ResponseName
from store.record.scope import REVIEW, RunRef
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Rater
from store.tables.responses import ResponseRef, Score
from store.tables.runs import Run, VerdictRow

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]


_ITEMS_AT_ONCE = 25_000
"""Items whose labels are read together, so that memory does not grow with the workspace."""


@dataclass(frozen=True, slots=True)
class RaterLabels:
    """The numbers of labels of one rater.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent`, or `judge` for whom files name as the judge of responses.
        labelled: Units with a current label: items, or responses.
        blind: Those that were judged in a blind review.
        revealed: Those that were judged with a label of agents or a judge on the screen.
        repeated: Responses that a judge scored several times; its value is the mean of these scores.
        deviation: The standard deviation of a judge's scores of one response, pooled over these (the root
            of the mean variance, each with n - 1); None without any.
    """

    name: str
    kind: str
    labelled: int
    blind: int
    revealed: int
    repeated: int = 0
    deviation: float | None = None


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two raters agree.

    Attributes:
        raters: Their names.
        n: Units with a label of both: items, or responses.
        dropped: Units with a label of only one of them.
        agreed: Units of `n` to which both gave the same label.
        blind: Units of `n` that one of them, or both, judged in a blind review.
        revealed: Units of `n` that one of them, or both, judged with a label of agents or a judge in
            sight.
        share: agreed / n; None without units.
        coefficients: By the measure that compares two raters.
    """

    raters: tuple[str, str]
    n: int
    dropped: int
    agreed: int
    blind: int
    revealed: int
    share: float | None
    coefficients: Mapping[Measure, Agreement]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        fields = {
            "raters": self.raters,
            "n": self.n,
            "dropped": self.dropped,
            "agreed": self.agreed,
            "blind": self.blind,
            "revealed": self.revealed,
            "percent_agreement": None if self.share is None else 100 * self.share,
        }
        for measure, found in self.coefficients.items():
            fields |= {measure.name: found.value, measure.reason_field: found.why_none}
        return fields


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The agreement among everybody who labelled.

    Attributes:
        question: The question.
        phase: The phase whose labels these are.
        level: The level of measurement of the question's scale.
        items: Items in the workspace that are asked it.
        responses: Their responses, where it is asked of these; None otherwise.
        raters: Everybody with a label: humans, imported raters, runs, judges.
        pairs: Every two of them.
        coefficients: By the measure that compares all of them.
    """

    question: str
    phase: str
    level: Level
    items: int
    responses: int | None
    raters: tuple[RaterLabels, ...]
    pairs: tuple[PairAgreement, ...]
    coefficients: Mapping[Measure, Agreement]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "question": self.question,
            "phase": self.phase,
            "items": self.items,
            "responses": self.responses,
            "raters": [asdict(rater) for rater in self.raters],
            "pairs": [pair.to_dict() for pair in self.pairs],
            **{
                measure.name: {
                    **found.to_dict(),
                    "level": self.level,
                    "raters": [rater.name for rater in self.raters],
                }
                for measure, found in self.coefficients.items()
            },
        }


def agreement(
    connection: Connection,
    question: str,
    *,
    phase: str = REVIEW,
    raters: Sequence[str] | None = None,
    run: RunRef | None = None,
) -> AgreementReport:
    """Compute the agreement of every two raters on a question, and of all of them.

    Args:
        connection: A reading connection.
        question: The question's name. One that is asked of responses is compared over all of them; with the
            name of one response after it, over the items that have that one.
        phase: The phase whose labels count.
        raters: The raters to compare, by name, or by how a name begins or ends; all by default.
        run: The only run of the agents that counts; None for all of them.

    Raises:
        UnknownName: No registered kind asks it, no item has the response that it names, or a rater is not
            among those with labels.
    """
    import numpy

    asked = _asked(question)
    kind, spec, only = asked.kind, asked.spec, asked.response
    if only is not None and connection.execute(_refs(only)).first() is None:
        raise UnknownName(
            "Unknown question",
            f"No item has a response that {question!r} names.",
            f"After @ comes the model, then [its setting] and #its trial. Over all responses: {spec.name}.",
        )
    over_responses = spec.of_responses and only is None
    given = _people(connection, asked, phase)
    if spec == kind.label_question:
        given += _runs(connection, kind.name, run)
    if spec.of_responses:
        given += _judges(connection, kind.name, spec.title, only)
    if raters is not None:
        given = _named(given, raters)
    everything = numpy.concatenate([numpy.empty(0, numpy.int64), *(one.units for one in given)])
    # Sorted runs are merged a hundred times quicker than `numpy.unique` hashes them.
    everything.sort(kind="stable")
    units = everything[numpy.diff(everything, prepend=everything[:1] - 1) > 0]
    given = [labels.over(units) for labels in given]
    item = table_of(Item)
    of_kind = select(func.count()).select_from(item).where(item.c.kind == kind.name)
    responses = None
    if over_responses:
        refs = refs_with_text(None).subquery("refs")
        joined = of_kind.join(refs, refs.c.item_id == item.c.id)
        responses = connection.execute(joined).scalar_one()
    return AgreementReport(
        question=question,
        phase=phase,
        level=spec.scale.level,
        items=connection.execute(of_kind).scalar_one(),
        responses=responses,
        raters=tuple(
            RaterLabels(
                one.name,
                one.kind,
                one.labelled,
                int(one.blind.sum()),
                int(one.revealed.sum()),
                one.repeated,
                one.deviation,
            )
            for one in given
        ),
        pairs=tuple(_pair(one, other, spec.scale.level) for one, other in combinations(given, 2)),
        coefficients={
            measure: measure.compute([one.values for one in given], spec.scale.level)
            for measure in measures()
            if not measure.pairwise
        },
    )


def _named(given: Sequence[_Labels], raters: Sequence[str]) -> list[_Labels]:
    """Return the labels of the raters of some names, in the order of the names, each once.

    Raises:
        UnknownName: Nobody or more than one is called so.
    """
    found: dict[int, _Labels] = {}
    for name in raters:
        same = [place for place, one in enumerate(given) if one.name == name] or [
            place
            for place, one in enumerate(given)
            if name and (one.name.startswith(name) or one.name.endswith(name))
        ]
        if len(same) != 1:
            names = [one.name for one in given]
            close = get_close_matches(name, names)
            hint = f"Did you mean {', '.join(close)}? " if close else ""
            raise UnknownName(
                "No labels",
                f"{'More than one rater' if same else 'No rater'} called {name!r} has a current label.",
                f"{hint}Those with labels: {', '.join(names) or 'nobody yet'}.",
            )
        found[same[0]] = given[same[0]]
    return list(found.values())


def question_of_items(connection: Connection) -> str:
    """Return the main question of the items of a workspace: that of their first kind."""
    item = table_of(Item)
    there = list(connection.execute(select(item.c.kind).distinct()).scalars())
    known = [task_kinds()[name] for name in in_order(there) if name in task_kinds()]
    first = (known or list(task_kinds().values()))[0]
    return (first.label_question or first.questions[0]).name


def _asked(question: str) -> NamedQuestion:
    found = NamedQuestion.parse(question)
    if found is not None:
        return found
    known = ", ".join(spec.name for kind in task_kinds().values() for spec in kind.questions)
    raise UnknownName("Unknown question", f"No question is called {question!r}.", f"Questions: {known}.")


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of one rater, of n units.

    Attributes:
        name: The rater's name.
        kind: See `RaterLabels`.
        units: The labelled units, each once, of shape (n,): an item's key, or a response's below 0.
        values: The values, of shape (n,); NaN for none.
        blind: Which were judged in a blind review, of shape (n,).
        revealed: Which were judged with what agents or a judge said in sight, of shape (n,).
        repeated: See `RaterLabels`.
        deviation: See `RaterLabels`.
    """

    name: str
    kind: str
    units: Array
    values: Array
    blind: Array
    revealed: Array
    repeated: int = field(default=0, kw_only=True)
    deviation: float | None = field(default=None, kw_only=True)

    @property
    def labelled(self) -> int:
        """The number of units with a value."""
        import numpy

        return int((~numpy.isnan(self.values)).sum())

    def over(self, units: Array) -> _Labels:
        """Return these labels over more units, which are in ascending order."""
        import numpy

        place = numpy.searchsorted(units, self.units)
        values = numpy.full(len(units), numpy.nan)
        blind, revealed = (numpy.zeros(len(units), dtype=bool) for _ in range(2))
        values[place], blind[place], revealed[place] = self.values, self.blind, self.revealed
        return replace(self, units=units, values=values, blind=blind, revealed=revealed)


def _refs(only: ResponseName | None) -> Select[Any]:
    """Select the references of imported responses: of all, or of those of one name."""
    refs = refs_with_text(None)
    if only is not None:
        ref = table_of(ResponseRef)
        refs = refs.where(*(ref.c[name] == value for name, value in asdict(only).items()))
    return refs


def _people(connection: Connection, asked: NamedQuestion, phase: str) -> list[_Labels]:
    """Return the current labels of humans and imported raters, by name."""
    import numpy

    rater, item = table_of(Rater), table_of(Item)
    found: dict[int, list[tuple[Array, ...]]] = defaultdict(list)
    last = connection.execute(select(func.coalesce(func.max(item.c.id), 0))).scalar_one()
    for start in range(0, last + 1, _ITEMS_AT_ONCE):
        labels = all_values(phase, range(start, start + _ITEMS_AT_ONCE), [asked.spec.name])
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
        rows = _columns(
            connection,
            select(labels.c.rater_id, unit.label("unit"), labels.c.value, labels.c.blind, revealed)
            .where(counted)
            # Of several assignments the latest judgment counts.
            .order_by(labels.c.id),
        )
        whose = rows.pop("rater_id")
        for number in set(whose.tolist()):
            found[number].append(tuple(_latest(*(column[whose == number] for column in rows.values()))))
    people = select(rater.c.id, rater.c.name, rater.c.kind).where(rater.c.kind != "agent")
    return [
        _Labels(name, kind, *(numpy.concatenate(parts) for parts in zip(*found[number], strict=True)))
        for number, name, kind in connection.execute(people.order_by(rater.c.name))
        if number in found
    ]


def _runs(connection: Connection, kind: str, only: RunRef | None) -> list[_Labels]:
    """Return the verdicts of every run over items of a kind, or of one run, in the order of the runs."""
    run, verdict = table_of(Run), table_of(VerdictRow)
    runs = select(run.c.id, run.c.name).where(run.c.kind == kind).order_by(run.c.id)
    if only is not None:
        runs = runs.where(run.c.id == only.id)
    found = []
    for number, name in connection.execute(runs).all():
        of_run = select(verdict.c.item_id, verdict.c.value).where(
            verdict.c.run_id == number, on_label(verdict)
        )
        rows = _columns(connection, of_run)
        found.append(_Labels(name, "agent", *_latest(*rows.values())))
    return [labels for labels in found if len(labels.units)]


def _judges(connection: Connection, kind: str, measure: str, only: ResponseName | None) -> list[_Labels]:
    """Return the means of judges' scores of the responses of a kind under a measure, by the judges' names.

    Args:
        connection: A reading connection.
        kind: The kind of the items.
        measure: The name of the measure.
        only: The response of each item that alone counts; None for all.
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
        .where(item.c.kind == kind, score.c.measure == measure)
        .group_by(score.c.judge, refs.c.id, refs.c.item_id),
    )
    found = []
    for judge in sorted(set(rows["judge"])):
        own = rows["judge"] == judge
        repeated = rows["number"][own] > 1
        variances = rows["variance"][own][repeated]
        found.append(
            _Labels(
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
        how: Which were judged blind, and which with a label in sight; no array where none was.

    Returns:
        The fields of `_Labels`, from `units` on.
    """
    import numpy

    found, place = numpy.unique(units[::-1], return_index=True)
    place = len(units) - 1 - place
    there = ~numpy.isnan(values[place])
    place = place[there]
    yield found[there]
    yield values[place]
    for mask in how or [numpy.zeros(len(units), dtype=bool)] * 2:
        yield mask[place].astype(bool)


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


def _pair(one: _Labels, other: _Labels, level: Level) -> PairAgreement:
    """Compare two raters' labels over the same units."""
    import numpy

    both = ~numpy.isnan(one.values) & ~numpy.isnan(other.values)
    either = ~numpy.isnan(one.values) | ~numpy.isnan(other.values)
    n, agreed = int(both.sum()), int((one.values == other.values).sum())
    return PairAgreement(
        raters=(one.name, other.name),
        n=n,
        dropped=int(either.sum()) - n,
        agreed=agreed,
        blind=int(((one.blind | other.blind) & both).sum()),
        revealed=int(((one.revealed | other.revealed) & both).sum()),
        share=agreed / n if n else None,
        coefficients={
            measure: measure.compute([one.values[both], other.values[both]], level)
            for measure in measures()
            if measure.pairwise
        },
    )
