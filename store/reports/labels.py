"""Reports on labels: the agreement of raters, the confusion of two of them, labels by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from store.analysis.agreement import AgreementReport, ItemAgreement, PairRow, agreement, agreement_by_question
from store.analysis.confusion import Confusion, confusion
from store.analysis.label_counts import LabelCounts, label_counts
from store.analysis.labels import QuestionLabels, RaterLabels, question_of_items
from store.errors import UnknownName, WorkbenchError
from store.formatting import pluralize
from store.kinds.spec import question_named
from store.queries.studies import open_studies_note
from store.reports.options import Options
from store.reports.value import (
    CORNER,
    NONE,
    Cell,
    ItemsOf,
    Report,
    Row,
    Table,
    counted,
    ends_of,
    facts,
    filled,
    interval,
    number,
    of_percent,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.analysis.conditions import ConditionRow
    from store.analysis.labels import Array
    from store.measures.table_agreement import TableAgreement

NAMED = 6
"""Raters that a caption names; of more it says how many there are."""

ALL = "all"
"""The name that stands for every question."""

BESIDE = {"import": "imported raters", "agent": "agents' runs", "judge": "judges"}
"""The words for raters beside people, by their kind."""

LABELS_NAMED = 5
"""Labels whose own agreement is given; of more it is left to JSON."""


def names_of(raters: Sequence[str]) -> str:
    """Return raters as a phrase for a caption."""
    return ", ".join(raters) if 0 < len(raters) <= NAMED else pluralize(len(raters), "rater")


def seen(number_of: int, thing: str, blind: int, revealed: int) -> str:
    """Return how labels were judged, as a phrase for a caption.

    Args:
        number_of: How many there are.
        thing: The word for one of them.
        blind: Those that were judged in a blind review.
        revealed: Those that were judged with a label of agents or a judge on the screen.
    """
    return f"{pluralize(number_of, thing)}: {blind:,} judged blind, {revealed:,} revealed"


def of_units(labels: QuestionLabels, there: Array) -> ItemsOf:
    """Return what gives the items of some units."""
    return lambda _: labels.items_of(there)


def word(question: str, value: float) -> str:
    """Return a label with its word."""
    spec = question_named(question.partition("@")[0])
    return f"{value:g}" if spec is None else spec.scale.word(value)


def unit_word(labels: QuestionLabels) -> str:
    """Return the word for what is labelled."""
    return "item" if labels.responses is None else "response"


def levels_note(labels: QuestionLabels) -> list[str]:
    """Return what is compared of votes on comparisons, whose figures differ from those of winners."""
    if not labels.kind.two_sided:
        return []
    return [
        "levels: better and much better differ here; the report votes compares winners, of which both are one"
    ]


def limits(labels: QuestionLabels) -> list[str]:
    """Return what labels are limited to, and what is compared of them, as phrases for a caption."""
    said = [f"study: {labels.study}{', which is open' if labels.is_open else ''}"] if labels.study else []
    said += [f"equal texts: {labels.ties}"] if labels.ties else []
    return said + levels_note(labels)


def about(labels: QuestionLabels, open_studies: str = "") -> Table:
    """Return what labels are of, as facts."""
    return facts(
        [
            ("question", labels.question),
            ("phases", ", ".join(labels.phases)),
            ("study", labels.study),
            ("labels", open_studies),
            ("items", labels.items),
            ("responses", labels.responses),
            ("equal texts", labels.ties),
            *(("compared", said) for said in levels_note(labels)),
        ]
    )


# -- agreement ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreements:
    """The agreement on a question, or of people on every question.

    Attributes:
        found: The agreement on each question.
        every: Whether it is of people on every question.
        open_studies: What is said of the labels of studies that are open; empty without any.
    """

    found: Sequence[AgreementReport]
    every: bool
    open_studies: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        if self.every:
            return {"questions": [one.to_dict() for one in self.found]}
        return self.found[0].to_dict()


def read_agreement(connection: Connection, options: Options) -> Agreements:
    """Read the agreement on a question, or of people on every question.

    Raises:
        WorkbenchError: A name is unknown, or options do not go together.
    """
    from numpy import array

    from store.measures.truth import POLICIES
    from store.splits.splits import find_split, items_behind, split_parts

    question, study, raters, items = options.question, options.study, options.raters or None, None
    if options.part is not None and options.split is None:
        raise WorkbenchError("Which split?", "--part belongs to a split.", "Name it: --split NAME")
    every = question == ALL
    of_one = (options.rater, options.split, options.blocks, raters, options.by_item or None)
    if every and any(each is not None for each in of_one):
        raise WorkbenchError(
            "One question",
            "--question all gives a line of people's agreement for each question.",
            "Name one question for --raters, --rater, --split, --blocks and --by-item.",
        )
    run = options.run_of(connection)
    if options.split is not None:
        chosen = find_split(connection, options.split)
        split_parts(chosen, options.part)
        items = array([*items_behind(connection, chosen, options.part)])
        if raters is None and chosen.plan.against in POLICIES:
            raters = tuple(chosen.report.truth.panel)
        question = question or chosen.plan.question
        study = study or chosen.plan.study
    open_studies = "" if study is not None else open_studies_note(connection)
    drawn = options.resampling
    if every:
        each_one = agreement_by_question(
            connection, phases=options.phases, study=study, run=run, bootstrap=drawn
        )
        return Agreements(each_one, every, open_studies)
    found = agreement(
        connection,
        question or question_of_items(connection),
        raters=raters,
        study=study,
        run=run,
        bootstrap=drawn,
        block=options.blocks,
        by_item=options.by_item,
        items=items,
        phases=options.phases,
    )
    if options.rater is not None:
        found = _with_one(found, options.rater.strip())
    return Agreements((found,), every, open_studies)


def _with_one(found: AgreementReport, rater: str) -> AgreementReport:
    """Leave only the pairs with one rater.

    Raises:
        UnknownName: Nobody of that name has a label.
    """
    names = [one.name for one in found.by_rater]
    if rater not in names:
        raise UnknownName(
            "No labels",
            f"No rater called {rater!r} has a current label.",
            f"Those with labels: {', '.join(names) or 'nobody yet'}.",
        )
    return replace(found, by_pair=tuple(pair for pair in found.by_pair if rater in pair.figures.raters))


def agreement_report(found: Agreements, options: Options) -> Report:
    """Return the agreement on a question, or of people by question."""
    if found.every:
        return _by_question(found, options)
    (one,) = found.found
    labels, figures = one.labels, one.figures
    unit = unit_word(labels)
    caption, tables = [], []
    if len(one.compared) > 1:
        caption.append(
            f"Agreement of {names_of(one.compared)}: {figures.units - figures.dropped_units:,} {unit}s with "
            f"two labels or more; left out with one: {figures.dropped_units:,}"
        )
        tables.append(
            _coefficients(figures, labels, options.blocks, f"Agreement of {names_of(one.compared)}")
        )
    elif all(each.kind == "human" for each in one.by_rater if each.name in one.compared):
        count = "No person has" if not one.compared else "One person alone has"
        others = " Compare others with --raters A,B: their names are below." if one.by_rater else ""
        caption.append(f"{count} labels of this question.{others}")
    for kind, group in one.beside.items():
        tables.append(_coefficients(group, labels, options.blocks, f"Beside them, {BESIDE[kind]}"))
    shown = [each for each in (figures, *one.beside.values()) if not each.why]
    warnings = dict.fromkeys(each.interval.warning for each in shown if each.interval is not None)
    return Report(
        caption=tuple(caption),
        command=("agreement", *options.arguments(question=labels.question)),
        tables=filled(
            about(labels, found.open_studies),
            *tables,
            _raters(one),
            _sights(one),
            _repeats(one),
            _pairs(one, unit),
            conditions_table(one.by_condition),
            _measures(one),
            _items(one),
        ),
        warnings=tuple(f"The interval: {warning}." for warning in warnings if warning),
    )


def fleiss_title(figures: TableAgreement) -> str:
    """Return the name of Fleiss' kappa, with unequal numbers of labels that of its generalisation."""
    return "Fleiss' kappa, Gwet's" if figures.fleiss_generalised else "Fleiss' kappa"


def _coefficients(figures: TableAgreement, labels: QuestionLabels, block: int | None, title: str) -> Table:
    """Return the coefficients of some raters, each with its interval."""

    def cell(name: str, value: float | None) -> Cell:
        drawn = figures.intervals.get(name)
        ends = (None, None) if drawn is None else (drawn.low, drawn.high)
        return of_percent(value, *ends) if name == "percent" else number(value, 3, *ends, end_places=3)

    named = [
        (f"alpha, {figures.level}", cell("alpha", figures.alpha[figures.level])),
        (f"alpha, mean of blocks of {block}", cell("blocks", figures.blocks)),
        ("percent agreement", cell("percent", figures.percent)),
        ("Cohen's kappa", cell("cohen", figures.cohen)),
        (fleiss_title(figures), cell("fleiss", figures.fleiss)),
        ("Gwet's AC1", cell("ac1", figures.ac1)),
    ]
    rows = tuple(Row((name, value), value.drawn) for name, value in named if value.value is not None)
    notes = [f"No alpha: {figures.why}."] if figures.why else []
    by_label = [
        f"{each['value']:g}: {each['specific_agreement']:.3f} ({each['share']:.0%} of labels)"
        for each in figures.values
        if each["specific_agreement"] is not None
    ]
    if 0 < len(by_label) <= LABELS_NAMED:
        notes.append(f"Agreement by label: {', '.join(by_label)}.")
    drawn = figures.interval
    if drawn is not None and drawn.low is not None:
        how = drawn.method("item", labels.cluster if figures.clustered else "item")
        notes.append(f"{drawn.share:.0%} intervals: {how}.")
    return Table(
        ("coefficient", "value"),
        rows or (Row(("alpha", Cell(NONE))),),
        title=title,
        scale=(min([0.0, *ends_of(rows)]), 1.0),
        drawn="coefficient",
        notes=tuple(notes),
    )


def _raters(one: AgreementReport) -> Table:
    labels = one.labels
    of = {each.name: each for each in labels.raters}
    notes = [
        f"{each.name}: the mean of several scores of {pluralize(each.repeated, 'response')}; "
        f"SD of one response's scores: {each.deviation:.2f}."
        for each in one.by_rater
        if each.repeated and each.deviation is not None
    ]
    rows = [
        Row(
            (
                each.name,
                each.kind,
                counted(each.labelled, _labelled(labels, of[each.name]), f"{each.name}: labelled"),
                of_percent(each.percent),
                number(each.alpha_without, 3),
                number(each.median_seconds, 1),
            )
        )
        for each in one.by_rater
    ]
    columns = ("rater", "kind", "labels", "agrees", "alpha without", "median s")
    return Table(columns, tuple(rows), "Raters", names=2, notes=tuple(notes))


def _labelled(labels: QuestionLabels, one: RaterLabels) -> ItemsOf:
    import numpy

    return lambda _: labels.items_of(~numpy.isnan(one.values))


def _sights(one: AgreementReport) -> Table:
    """Return what raters had on the screen when they judged."""
    rows = [
        Row((each.name, *map(counted, (each.blind, each.revealed, each.accepted))))
        for each in one.by_rater
        if each.blind or each.revealed
    ]
    return Table(
        ("rater", "blind", "revealed", "accepted"),
        tuple(rows),
        "How labels were judged",
        notes=("revealed: with a label of agents or a judge on the screen; accepted: of these, taken over.",),
    )


def _repeats(one: AgreementReport) -> Table:
    """Return how far raters agree with their own labels of items that came again."""
    rows = [
        Row(
            (
                each.name,
                counted(each.repeat.units),
                of_percent(each.repeat.percent),
                number(each.repeat.cohen, 3) if each.repeat.cohen is not None else each.repeat.why,
            )
        )
        for each in one.by_rater
        if each.repeat is not None and each.repeat.percent is not None
    ]
    return Table(("rater", "met twice", "equal", "Cohen's kappa"), tuple(rows), "Items that came again")


def _pairs(one: AgreementReport, unit: str) -> Table:
    from store.measures.registry import extra_measures

    measures = [measure for measure in extra_measures() if measure.pairwise]
    weighted = one.labels.level != "nominal"
    correlations = [
        name
        for name in ("pearson", "spearman", "kendall")
        if any(getattr(pair.figures, name) is not None for pair in one.by_pair)
    ]
    blind, revealed = (any(getattr(pair, name) for pair in one.by_pair) for name in ("blind", "revealed"))

    def row(pair: PairRow) -> Row:
        figures = pair.figures
        kappa = number(figures.cohen, 3, figures.ci_low, figures.ci_high)
        found = [
            pair.measures[measure].why_none
            if pair.measures[measure].value is None
            else number(pair.measures[measure].value, 3)
            for measure in measures
        ]
        return Row(
            (
                *figures.raters,
                counted(figures.units),
                of_percent(figures.percent),
                replace(kappa, text=figures.why) if figures.cohen is None else kappa,
                *([number(figures.cohen_quadratic, 3)] if weighted else []),
                *(number(getattr(figures, name), 3) for name in correlations),
                *found,
                *([counted(pair.blind)] if blind else []),
                *([counted(pair.revealed)] if revealed else []),
            ),
            kappa.drawn,
        )

    columns = (
        *("rater", "and", f"{unit}s", "percent", "Cohen's kappa"),
        *(["weighted"] if weighted else []),
        *(name.capitalize() for name in correlations),
        *(measure.title for measure in measures),
        *(["blind"] if blind else []),
        *(["revealed"] if revealed else []),
    )
    rows = tuple(map(row, one.by_pair))
    notes = ["weighted: Cohen's kappa with quadratic weights, for which near values agree in part."]
    return Table(
        columns,
        rows,
        "Every two raters",
        names=2,
        scale=(min([0.0, *ends_of(rows)]), 1.0),
        drawn="Cohen's kappa",
        notes=tuple(notes if weighted else ()),
    )


def conditions_table(rows: Sequence[ConditionRow]) -> Table:
    """Return people's labels under each condition of a study; without rows where there is none."""
    from store.record.protocol import condition_words

    has_truth = any(one.true_labels for one in rows)
    notes = ["shared: units with labels of two people or more under the condition, as in alpha and percent."]
    for one in rows:
        if one.own_tests:
            tests = pluralize(one.own_tests, "label")
            edited = one.mean_editing_seconds or 0.0
            notes.append(
                f"{one.condition}: {tests} beside an own test, edited for {edited:.1f} s on average."
            )
    return Table(
        (
            *("condition", "labels", "shared", "alpha", "percent"),
            *(["with a true label", "accuracy"] if has_truth else []),
            *("median s", "mean s"),
        ),
        tuple(
            Row(
                (
                    condition_words(one.condition),
                    *(counted(one.labels), counted(one.shared)),
                    *(number(one.alpha, 3), of_percent(one.percent)),
                    *([counted(one.true_labels), share(one.accuracy)] if has_truth else []),
                    *(number(one.median_seconds, 1), number(one.mean_seconds, 1)),
                )
            )
            for one in rows
        ),
        "By condition",
        notes=tuple(notes),
    )


def _measures(one: AgreementReport) -> Table:
    """Return the measures of other packages over the compared raters."""
    level, over = one.labels.level, pluralize(len(one.compared), "rater")
    return Table(
        ("measure", f"over {over}"),
        tuple(
            Row((f"{measure.title} ({level})", _value_or_why(found.value, found.why_none)))
            for measure, found in one.measures.items()
        ),
        "Measures of other packages",
    )


def _value_or_why(value: float | None, why: str) -> Cell:
    return number(value, 3) if value is not None else Cell(f"none: {why}")


def _items(one: AgreementReport) -> Table:
    """Return the items that raters agree on least."""
    items: Sequence[ItemAgreement] = one.by_item or ()
    return Table(
        ("item", "by rater", "labels", "percent"),
        tuple(
            Row(
                (
                    each.item,
                    ", ".join(f"{name} {value:g}" for name, value in each.values.items()),
                    counted(each.judgments),
                    of_percent(each.percent),
                )
            )
            for each in items
        ),
        "Items, the least agreed first",
        names=2,
    )


def _by_question(read: Agreements, options: Options) -> Report:
    """Return the agreement of people by question."""
    found = read.found
    raters = list(dict.fromkeys(name for one in found for name in one.compared))
    people = [one for each in found for one in each.by_rater if one.name in each.compared]
    intervals = [one.figures.interval for one in found if one.figures.interval is not None]
    clusters = ", ".join(dict.fromkeys(one.labels.cluster for one in found))
    how = f"bootstrap over items, by {clusters}; raters fixed"
    command = ("agreement", *options.arguments(question=ALL))
    if not found:
        why = "No question has labels of two people yet. Confusion compares any two raters, agents too."
        return Report(("Agreement of people on each question",), command, empty=why)
    rows = tuple(map(_question_row, found))
    return Report(
        caption=(
            f"Krippendorff's alpha of {names_of(raters)}",
            seen(
                sum(one.labelled for one in people),
                "label",
                sum(one.blind for one in people),
                sum(one.revealed for one in people),
            ),
            *([f"labels {read.open_studies}"] if read.open_studies else []),
            *(said for one in found for said in levels_note(one.labels)),
            *([f"{100 * intervals[0].share:g} % intervals: {how}"] if intervals else []),
        ),
        command=command,
        tables=(
            Table(
                ("question", "people", "n", "differ", "equal", "alpha"),
                rows,
                scale=(min([0.0, *ends_of(rows)]), 1.0),
                drawn="Krippendorff's alpha",
                notes=(
                    "n: units with labels of two people or more; differ: not all labels are equal.",
                    "equal: the share of equal pairs of labels of a unit, on average over units.",
                    f"alpha: {_levels(found)}.",
                ),
            ),
        ),
    )


def _levels(found: Sequence[AgreementReport]) -> str:
    """Return the levels of measurement, each with the questions that have it."""
    questions: dict[str, list[str]] = {}
    for one in found:
        questions.setdefault(one.figures.level, []).append(one.labels.question)
    return "; ".join(f"{level} of {', '.join(names)}" for level, names in questions.items())


def _alpha(one: AgreementReport) -> float | None:
    return one.figures.alpha[one.figures.level]


def _question_row(one: AgreementReport) -> Row:
    labels, figures = one.labels, one.figures
    shared, differing = one.shared(), one.shared(differing=True)
    name = labels.question
    alpha = number(_alpha(one), 3, figures.ci_low, figures.ci_high)
    return Row(
        (
            name,
            counted(len(one.compared)),
            counted(int(shared.sum()), of_units(labels, shared), f"{name}: labels of two people or more"),
            counted(int(differing.sum()), of_units(labels, differing), f"{name}: on which people differ"),
            of_percent(figures.percent),
            replace(alpha, text=figures.why) if alpha.value is None and figures.why else alpha,
        ),
        alpha.drawn,
    )


# -- confusion ------------------------------------------------------------------------------------------


def read_confusion(connection: Connection, options: Options) -> Confusion:
    """Read the confusion of two raters.

    Raises:
        WorkbenchError: A name is unknown, or there are not two raters.
    """
    return confusion(
        connection,
        options.question or question_of_items(connection),
        raters=options.raters or None,
        study=options.study,
        run=options.run_of(connection),
        bootstrap=options.resampling,
    )


def confusion_report(found: Confusion, options: Options) -> Report:
    """Return how often each label of one rater goes with each of the other."""
    labels, (first, second), pair = found.labels, found.raters, found.pair
    question = labels.question
    figures = pair.figures
    most = max(1, int(found.counts.max(initial=0)))

    def cell(row: float | None, column: float | None, count: int, level: float | None = None) -> Cell:
        said = [f"{first} {word(question, row)}"] if row is not None else [first]
        said += [f"{second} {word(question, column)}"] if column is not None else [second]
        return counted(count, partial(_confused, found, row, column), " · ".join(said), level)

    rows = [
        Row(
            (
                word(question, row),
                *(
                    cell(row, column, int(found.counts[y, x]), found.counts[y, x] / most)
                    for x, column in enumerate(found.values)
                ),
                cell(row, None, int(found.counts[y].sum())),
            )
        )
        for y, row in enumerate(found.values)
    ]
    sums = [cell(None, column, int(found.counts[:, x].sum())) for x, column in enumerate(found.values)]
    rows.append(Row(("all", *sums, cell(None, None, int(found.counts.sum())))))
    kappa = f"kappa {number(figures.cohen).text}"
    if figures.ci_low is not None:
        kappa += f" ({interval(figures.ci_low, figures.ci_high)})"
    if figures.cohen is None:
        kappa = f"no kappa: {figures.why}"
    notes = ["Labels are rounded to whole numbers here, not in kappa."] if found.rounded else []
    return Report(
        caption=(
            f"{question}: ↓ {first} · → {second}",
            *limits(labels),
            f"equal {of_percent(figures.percent).text} · {kappa}",
            seen(figures.units, "unit", pair.blind, pair.revealed) + " by one of them or both",
            *(
                [f"95 % interval of kappa: bootstrap over items, {labels.cluster} by {labels.cluster}"]
                if figures.ci_low is not None
                else []
            ),
        ),
        command=("confusion", *options.arguments(question=question, raters=(first, second))),
        tables=(
            Table(
                (CORNER, *(f"{value:g}" for value in found.values), "all"),
                tuple(rows),
                axes=(first, second),
                notes=tuple(notes),
            ),
        )
        if figures.units
        else (),
        empty="" if figures.units else "No item has a label of both. Choose other raters.",
    )


def _confused(found: Confusion, row: float | None, column: float | None, _: Connection) -> list[int]:
    return found.items(row, column)


# -- labels ---------------------------------------------------------------------------------------------


def read_labels(connection: Connection, options: Options) -> LabelCounts:
    """Read how often each label was given.

    Raises:
        WorkbenchError: A name is unknown.
    """
    return label_counts(
        connection,
        options.question or question_of_items(connection),
        raters=options.raters or None,
        study=options.study,
        run=options.run_of(connection),
        own=options.own,
    )


def labels_report(found: LabelCounts, options: Options) -> Report:
    """Return how often each rater gave each label of a question."""
    labels = found.labels
    question = labels.question
    counts = {one.name: {value: found.count(one, value) for value in found.values} for one in found.raters}
    most = max([1, *(count for one in counts.values() for count in one.values())])
    tables = tuple(_labels_table(found, one, counts[one.name], most) for one in found.raters)
    tables += (_people_table(found),) if len(found.people) > 1 else ()
    of = f"{labels.items:,} {labels.kind.plural}"
    if labels.responses is not None:
        of += f" with {pluralize(labels.responses, 'response')}"
    return Report(
        caption=(
            f"{question}: labels of {names_of([one.name for one in found.raters])}, of {of}",
            *limits(labels),
            seen(
                sum(one.labelled for one in found.raters),
                "label",
                sum(int(one.blind.sum()) for one in found.raters),
                sum(int(one.revealed.sum()) for one in found.raters),
            ),
        ),
        command=("labels", *options.arguments(question=question)),
        tables=tables,
        empty="" if tables else "This question has no label yet.",
    )


def _people_table(found: LabelCounts) -> Table:
    """Return how often all people together gave each label (Table 6 of CrossCodeEval)."""
    total, most = sum(found.of_people), max(1, *found.of_people)
    return Table(
        ("label", "n", "share"),
        tuple(
            Row(
                (word(found.labels.question, value), counted(count), share(count / total if total else None)),
                count / most,
            )
            for value, count in zip(found.values, found.of_people, strict=True)
        ),
        title=f"All people · {pluralize(total, 'label')}",
        drawn="labels",
        scale=(0.0, float(most)),
    )


def _labels_table(found: LabelCounts, one: RaterLabels, counts: Mapping[float, int], most: int) -> Table:
    kind = "" if one.kind == "human" else f" ({one.kind})"
    return Table(
        ("label", "n", "share"),
        tuple(_label_row(found, one, value, counts[value], most) for value in found.values),
        title=f"{one.name}{kind} · {pluralize(one.labelled, 'label')}",
        drawn="labels",
        scale=(0.0, float(most)),
    )


def _label_row(found: LabelCounts, one: RaterLabels, value: float, count: int, most: int) -> Row:
    said = word(found.labels.question, value)
    cell = counted(count, lambda _: found.items(one, value), f"{one.name}: {said}")
    return Row((said, cell, share(count / one.labelled if one.labelled else None)), count / most)
