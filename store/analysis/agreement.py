"""Agreement of people, imported raters, agents' runs and judges, over their current labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from store.analysis.conditions import ConditionRow, by_condition
from store.analysis.labels import QuestionLabels, RaterLabels, question_labels
from store.json_fields import fields_of, json_fields
from store.kinds.spec import task_kinds
from store.measures.agreement import Agreement, cohen_kappa
from store.measures.intervals import INTERVALS, Bootstrap
from store.measures.rating_table import RatingTable
from store.measures.registry import Measure, extra_measures
from store.measures.table_agreement import RaterPair, TableAgreement, rater_pairs, table_agreement
from store.policy.scope import FIRST_PHASES, REPEAT, RunRef
from store.tables.columns import table_of
from store.tables.imported import Item

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]

BESIDE = ("import", "agent", "judge")
"""The kinds of raters whose agreement stands beside that of people, each for itself."""


@dataclass(frozen=True, slots=True)
class IntraRater:
    """The agreement of a rater with their own earlier labels, on units that they met twice.

    Attributes:
        units: Units with both labels.
        percent: The share of these with equal labels, times 100.
        cohen: Cohen's kappa of both.
        why: Why there is no kappa; empty where there is one.
    """

    units: int
    percent: float | None
    cohen: float | None
    why: str


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One rater of the report.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent` or `judge`.
        labelled: Units with a current label.
        blind: Those that were judged in a blind review.
        revealed: Those that were judged with a label of agents or a judge on the screen.
        accepted: Those of these that were accepted from them.
        median_seconds: The median of the seconds of a label; None where none is known.
        percent: The mean over units of the share of other compared raters with the same label, times 100;
            None for a rater who is not compared.
        alpha_without: Krippendorff's alpha of the compared raters without this one.
        repeat: The agreement with the rater's own labels of repeats; None without any.
        repeated: Responses that a judge scored several times; its value is the mean of these scores.
        deviation: The standard deviation of a judge's scores of one response; None without any.
    """

    name: str
    kind: str
    labelled: int
    blind: int
    revealed: int
    accepted: int
    median_seconds: float | None
    percent: float | None
    alpha_without: float | None
    repeat: IntraRater | None
    repeated: int
    deviation: float | None


@dataclass(frozen=True, slots=True)
class PairRow:
    """How far two raters agree.

    Attributes:
        figures: Percent agreement, Cohen's kappa and others.
        blind: Units of both that one of them, or both, judged in a blind review.
        revealed: Those that one of them, or both, judged with a label of agents or a judge in sight.
        measures: Measures of other packages, by measure.
    """

    figures: RaterPair
    blind: int
    revealed: int
    measures: Mapping[Measure, Agreement]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        fields = {**asdict(self.figures), "blind": self.blind, "revealed": self.revealed}
        for measure, found in self.measures.items():
            fields |= {measure.name: found.value, measure.reason_field: found.why_none}
        return fields


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """The agreement on one unit.

    Attributes:
        item: The item's id in its file.
        judgments: The number of compared raters who labelled it.
        percent: The share of pairs of their labels that are equal, times 100; None with one label.
        values: The labels, by rater.
    """

    item: str
    judgments: int
    percent: float | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The agreement on a question.

    Attributes:
        compared: The names of the raters that `figures` is about: people, or those that were named.
        places: Their places among those with labels.
        figures: The agreement of these.
        beside: The agreement of imported raters, of agents' runs and of judges, each for itself, by kind.
        by_rater: Everybody with a label: humans, imported raters, runs, judges.
        by_pair: Every two of them.
        by_item: Every unit with a label of a compared rater; None where it was not asked for.
        measures: Measures of other packages over the compared raters, by measure.
        by_condition: People's labels under each condition of the study; none without a study.
    """

    labels: QuestionLabels
    compared: tuple[str, ...]
    places: tuple[int, ...]
    figures: TableAgreement
    beside: Mapping[str, TableAgreement]
    by_rater: tuple[RaterRow, ...]
    by_pair: tuple[PairRow, ...]
    by_item: tuple[ItemAgreement, ...] | None
    measures: Mapping[Measure, Agreement]
    by_condition: tuple[ConditionRow, ...] = ()

    def shared(self, *, differing: bool = False) -> Array:
        """Return which units two or more of the compared raters labelled (see `QuestionLabels.shared`)."""
        return self.labels.shared(self.places, differing=differing)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        labels = self.labels
        return {
            **fields_of(labels, "question", "phases", "study", "items", "responses", "equal_texts"),
            "compared": self.compared,
            **_figures(self.figures),
            "differing": int(self.shared(differing=True).sum()),
            "raters": len(self.compared),
            "cluster": labels.cluster if self.figures.clustered else None,
            "beside": {
                kind: {"compared": [one.name for one in self.by_rater if one.kind == kind], **_figures(found)}
                for kind, found in self.beside.items()
            },
            "by_rater": [asdict(one) for one in self.by_rater],
            "by_pair": [pair.to_dict() for pair in self.by_pair],
            "by_condition": [asdict(one) for one in self.by_condition],
            **({} if self.by_item is None else {"by_item": [asdict(one) for one in self.by_item]}),
            **{measure.name: json_fields(found) for measure, found in self.measures.items()},
        }


def agreement(
    connection: Connection,
    question: str,
    *,
    phases: Collection[str] = FIRST_PHASES,
    study: str | None = None,
    raters: Sequence[str] | None = None,
    run: RunRef | None = None,
    bootstrap: Bootstrap = INTERVALS,
    block: int | None = None,
    by_item: bool = False,
    items: Array | None = None,
) -> AgreementReport:
    """Compute the agreement on a question: of people, of every two raters, of each with the others.

    Args:
        connection: A reading connection.
        question: The question's name. One that is asked of responses is compared over all of them; with the
            name of one response after it, over the items that have that one.
        phases: The phases whose labels count.
        study: The study whose assignments count; None for all labels of the phases.
        raters: The raters to compare, by name, or by how a name begins or ends; people by default, and
            agents, judges and imported raters beside them.
        run: The only run of the agents that counts; None for all of them.
        bootstrap: How intervals are drawn; 1,000 resamples of groups by default, no intervals with 0.
        block: Units of a block, for the mean of alpha over blocks; None for none.
        by_item: Whether the agreement on each unit is given, too.
        items: The only items whose labels count, of shape (k,); None for all.

    Raises:
        UnknownName: No registered kind asks it, no item has the response that it names, a rater is not among
            those with labels, or no study is called so.
    """
    labels = question_labels(connection, question, phases=phases, study=study, run=run)
    if items is not None:
        labels = labels.only(items)
    table = labels.table()
    if raters is None:
        compared = [place for place, one in enumerate(labels.raters) if one.kind == "human"]
        shown = list(range(len(labels.raters)))
    else:
        compared = shown = labels.places(raters)

    def together(places: Sequence[int]) -> TableAgreement:
        return table_agreement(
            table.only(places), level=labels.level, bootstrap=bootstrap, block=block, pairs=False
        )

    beside = {}
    for kind in BESIDE if raters is None else ():
        places = [place for place, one in enumerate(labels.raters) if one.kind == kind]
        if len(places) > 1:
            beside[kind] = together(places)
    extra = [measure for measure in extra_measures() if not measure.pairwise]
    return AgreementReport(
        labels=labels,
        compared=tuple(labels.raters[place].name for place in compared),
        places=tuple(compared),
        figures=together(compared),
        beside=beside,
        by_rater=tuple(_rater_rows(connection, labels, table, shown, compared)),
        by_pair=tuple(compare_pairs(labels, table.only(shown), shown, bootstrap)),
        by_item=tuple(_items(connection, labels, table, compared)) if by_item else None,
        measures={
            measure: measure.compute([labels.raters[place].values for place in compared], labels.level)
            for measure in extra
        },
        by_condition=() if study is None else tuple(by_condition(connection, question, study)),
    )


def agreement_by_question(
    connection: Connection,
    *,
    phases: Collection[str] = FIRST_PHASES,
    study: str | None = None,
    run: RunRef | None = None,
    bootstrap: Bootstrap = INTERVALS,
) -> list[AgreementReport]:
    """Compute the agreement of people on every question that two of them answered.

    Args:
        connection: A reading connection.
        phases: The phases whose labels count.
        study: The study whose assignments count; None for all labels.
        run: The only run of the agents that counts; None for all of them.
        bootstrap: How intervals are drawn.

    Raises:
        UnknownName: No study is called so.
    """
    found = []
    for kind in task_kinds().values():
        for spec in kind.every_question:
            report = agreement(
                connection, spec.name, phases=phases, study=study, run=run, bootstrap=bootstrap
            )
            if len(report.compared) > 1:
                found.append(report)
    return found


def _figures(found: TableAgreement) -> dict[str, Any]:
    """Return the figures of some raters as JSON-able fields."""
    fields = json_fields(found)
    for name in ("form", "by_pair"):
        del fields[name]
    return fields


def _rater_rows(
    connection: Connection,
    labels: QuestionLabels,
    table: RatingTable,
    shown: Sequence[int],
    compared: Sequence[int],
) -> list[RaterRow]:
    repeats = {
        one.name: one
        for one in question_labels(
            connection, labels.question, phases=[REPEAT], study=labels.study, people_only=True
        ).raters
    }
    rows = []
    for place in shown:
        one = labels.raters[place]
        others = [each for each in compared if each != place]
        rows.append(
            RaterRow(
                one.name,
                one.kind,
                one.labelled,
                int(one.blind.sum()),
                int(one.revealed.sum()),
                int(one.accepted.sum()),
                one.median_seconds,
                _with_others(table, place, others) if place in compared else None,
                table_agreement(table.only(others), level=labels.level, pairs=False).alpha[labels.level]
                if place in compared and len(others) > 1
                else None,
                _repeat(labels, one, repeats[one.name]) if one.name in repeats else None,
                one.repeated,
                one.deviation,
            )
        )
    return rows


def _with_others(table: RatingTable, place: int, others: Sequence[int]) -> float | None:
    """Return the mean over units of the share of others with the same label as a rater, times 100."""
    import numpy

    codes = table.patterns.codes
    assert codes is not None
    own, other = codes[place], codes[list(others)]
    number = (other >= 0).sum(axis=0)
    both = (own >= 0) & (number > 0)
    if not both.any():
        return None
    same = (other[:, both] == own[both]).sum(axis=0) / number[both]
    return float(100 * numpy.average(same, weights=table.patterns.times[both]))


def _repeat(labels: QuestionLabels, one: RaterLabels, again: RaterLabels) -> IntraRater:
    """Compare a rater's labels with those that the same rater gave when the unit came again."""
    import numpy

    again = again.over(labels.units)
    both = ~numpy.isnan(one.values) & ~numpy.isnan(again.values)
    first, second = one.values[both], again.values[both]
    kappa = cohen_kappa(first, second)
    percent = 100 * float((first == second).mean()) if len(first) else None
    return IntraRater(len(first), percent, kappa.value, kappa.why_none)


def compare_pairs(
    labels: QuestionLabels, table: RatingTable, shown: Sequence[int], bootstrap: Bootstrap
) -> list[PairRow]:
    """Compare every two of some raters.

    Args:
        labels: Everybody's labels.
        table: Those of the raters to compare alone.
        shown: The places of these raters.
        bootstrap: How intervals are drawn.
    """
    import numpy

    extra = [measure for measure in extra_measures() if measure.pairwise]
    places = {labels.raters[place].name: place for place in shown}
    rows = []
    for figures in rater_pairs(table, labels.level, bootstrap):
        one, other = (labels.raters[places[name]] for name in figures.raters)
        both = ~numpy.isnan(one.values) & ~numpy.isnan(other.values)
        rows.append(
            PairRow(
                figures,
                int(((one.blind | other.blind) & both).sum()),
                int(((one.revealed | other.revealed) & both).sum()),
                {
                    measure: measure.compute([one.values[both], other.values[both]], labels.level)
                    for measure in extra
                },
            )
        )
    return rows


def _items(
    connection: Connection, labels: QuestionLabels, table: RatingTable, compared: Sequence[int]
) -> list[ItemAgreement]:
    """Return the agreement on each unit with a label of a compared rater, the least first."""
    item = table_of(Item)
    named = connection.execute(select(item.c.id, item.c.external_id))
    names: dict[int, str] = dict(named.all())
    patterns, there = table.patterns.only(compared)
    assert patterns.codes is not None
    number = patterns.rows.sum(axis=1)
    equal = (patterns.rows * (patterns.rows - 1)).sum(axis=1)
    percent = [100 * float(e / (n * (n - 1))) if n > 1 else None for e, n in zip(equal, number, strict=True)]
    values = [
        {
            table.raters[place]: float(patterns.domain[code])
            for place, code in zip(compared, own, strict=True)
            if code >= 0
        }
        for own in patterns.codes.T
    ]
    found = [
        ItemAgreement(names[int(item_id)], int(number[place]), percent[place], values[place])
        for item_id, place in zip(labels.item_ids[there], patterns.pattern_of, strict=True)
    ]
    return sorted(found, key=lambda one: 101 if one.percent is None else one.percent)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two raters on a question.

    Attributes:
        figures: What the report on agreement has of the two.
        differing: The items on which their labels differ.
    """

    figures: RaterPair
    differing: tuple[int, ...]


def rater_agreement(
    connection: Connection, question: str, phases: Collection[str] = FIRST_PHASES
) -> list[PairAgreement]:
    """Return the agreement of every two people and imported raters on a question, most shared units first."""
    labels = question_labels(connection, question, phases=phases, people_only=True)
    found = []
    for pair in rater_pairs(labels.table(), labels.level):
        if pair.units:
            differ = labels.shared(labels.places(pair.raters), differing=True)
            found.append(PairAgreement(pair, tuple(labels.items_of(differ))))
    return sorted(found, key=lambda pair: -pair.figures.units)
