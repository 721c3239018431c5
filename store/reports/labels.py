"""Reports on labels: agreement by question, confusion of two raters, accuracy, labels by question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from store.formatting import Drawn, pluralize
from store.kinds.spec import question_named
from store.queries.accuracy import AccuracyReport, RaterAccuracy, accuracy_report
from store.queries.agreement import AgreementReport, agreement_by_question
from store.queries.confusion import Confusion, confusion
from store.queries.label_counts import LabelCounts, label_counts
from store.queries.labels import QuestionLabels, RaterLabels, question_of_items, questions_of_items
from store.reports.value import (
    Cell,
    Choice,
    ItemsOf,
    Options,
    Page,
    Row,
    Table,
    counted,
    interval,
    number,
    share,
)
from store.studies.studies import open_studies_note

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.labels import Array

NAMED = 6
"""Raters that a caption names; of more it says how many there are."""

AGAINST = "majority"
"""The labels that count as true on the screen."""


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


# -- agreement ------------------------------------------------------------------------------------------


def read_agreement(connection: Connection, choice: Choice) -> tuple[list[AgreementReport], str]:
    """Read the agreement of people on every question, and whether open studies count."""
    return agreement_by_question(connection), open_studies_note(connection)


def agreement_page(read: tuple[list[AgreementReport], str], choice: Choice) -> Page:
    """Return the agreement of people by question."""
    found, open_studies = read
    raters = list(dict.fromkeys(name for one in found for name in one.compared))
    people = [one for each in found for one in each.by_rater if one.name in each.compared]
    intervals = [one.figures.interval for one in found if one.figures.interval is not None]
    clusters = ", ".join(dict.fromkeys(one.labels.cluster for one in found))
    how = f"bootstrap over items, by {clusters}; raters fixed"
    command = ("agreement", "--question", "all")
    if not found:
        why = "No question has labels of two people yet. Confusion compares any two raters, agents too."
        return Page(("Agreement of people on each question",), command, empty=why)
    lows = [one.figures.ci_low for one in found if one.figures.ci_low is not None]
    lowest = min((*lows, *(_alpha(one) or 0.0 for one in found), 0.0))
    return Page(
        caption=(
            f"Krippendorff's alpha of {names_of(raters)}",
            seen(
                sum(one.labelled for one in people),
                "label",
                sum(one.blind for one in people),
                sum(one.revealed for one in people),
            ),
            *([f"labels {open_studies}"] if open_studies else []),
            *([f"{100 * intervals[0].share:g} % intervals: {how}"] if intervals else []),
        ),
        command=command,
        tables=(
            Table(
                ("question", "n", "differ", "equal", "alpha"),
                tuple(_agreement_row(one) for one in found),
                scale=(lowest, 1.0),
                drawn="Krippendorff's alpha",
                notes=(
                    "n: units with labels of two people or more; differ: not all labels are equal.",
                    "equal: the share of the pairs of labels of a unit that are equal.",
                ),
            ),
        ),
    )


def _alpha(one: AgreementReport) -> float | None:
    return one.figures.alpha[one.figures.level]


def _agreement_row(one: AgreementReport) -> Row:
    labels, figures = one.labels, one.figures
    shared, differing = one.shared(), one.shared(differing=True)
    name = labels.question
    return Row(
        (
            name,
            counted(int(shared.sum()), of_units(labels, shared), f"{name}: labels of two people or more"),
            counted(int(differing.sum()), of_units(labels, differing), f"{name}: on which people differ"),
            share(None if figures.percent is None else figures.percent / 100),
            number(_alpha(one)),
        ),
        (figures.ci_low, _alpha(one), figures.ci_high),
    )


# -- confusion ------------------------------------------------------------------------------------------


def read_confusion(
    connection: Connection, choice: Choice
) -> tuple[Confusion | WorkbenchError, str, tuple[str, ...]]:
    """Read the confusion of two raters, or why there is none; the question, and all there are."""
    question = choice.subject or question_of_items(connection)
    raters = None if choice.first is None or choice.second is None else (choice.first, choice.second)
    found: Confusion | WorkbenchError
    try:
        found = confusion(connection, question, raters=raters)
    except WorkbenchError as error:
        found = error
    return found, question, questions_of_items(connection)


def _nothing(error: WorkbenchError, question: str, questions: tuple[str, ...]) -> Page:
    """Return the report on a question about which there is nothing to report, with the reason."""
    return Page(
        (question,),
        (),
        empty=f"{error.message} {error.hint}",
        options={"subject": Options("question", questions, question)},
    )


def confusion_page(read: tuple[Confusion | WorkbenchError, str, tuple[str, ...]], choice: Choice) -> Page:
    """Return how often each label of one rater goes with each of the other."""
    found, question, questions = read
    if isinstance(found, WorkbenchError):
        return _nothing(found, question, questions)
    labels, (first, second), pair = found.labels, found.raters, found.pair
    equal = share(None if pair.figures.percent is None else pair.figures.percent / 100).text
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
    names = tuple(one.name for one in labels.raters)
    figures = pair.figures
    kappa = f"kappa {number(figures.cohen).text}"
    if figures.ci_low is not None:
        kappa += f" ({interval(figures.ci_low, figures.ci_high)})"
    if figures.cohen is None:
        kappa = f"no kappa: {figures.why}"
    notes = ["Labels are rounded to whole numbers here, not in kappa."] if found.rounded else []
    return Page(
        caption=(
            f"{question}: ↓ {first} · → {second}",
            f"equal {equal} · {kappa}",
            seen(figures.units, "unit", pair.blind, pair.revealed) + " by one of them or both",
            f"Cohen's kappa; 95 % interval: bootstrap over items, {labels.cluster} by {labels.cluster}",
        ),
        command=("confusion", "--question", question, "--raters", f"{first},{second}"),
        tables=(
            Table(
                ("↓ \\ →", *(f"{value:g}" for value in found.values), "all"),
                tuple(rows),
                axes=(first, second),
                notes=tuple(notes),
            ),
        )
        if figures.units
        else (),
        empty="" if figures.units else "No item has a label of both. Choose other raters.",
        options={
            "subject": Options("question", questions, question),
            "first": Options("rater", names, first),
            "second": Options("other rater", names, second),
        },
    )


def _confused(found: Confusion, row: float | None, column: float | None, _: Connection) -> list[int]:
    return found.items(row, column)


# -- accuracy -------------------------------------------------------------------------------------------


def read_accuracy(
    connection: Connection, choice: Choice
) -> tuple[AccuracyReport | WorkbenchError, str, tuple[str, ...]]:
    """Read the accuracy of everybody against people, or why there is none; and the questions."""
    question = choice.subject or question_of_items(connection)
    found: AccuracyReport | WorkbenchError
    try:
        found = accuracy_report(connection, question, AGAINST)
    except WorkbenchError as error:
        found = error
    return found, question, questions_of_items(connection)


def accuracy_page(read: tuple[AccuracyReport | WorkbenchError, str, tuple[str, ...]], choice: Choice) -> Page:
    """Return the accuracy of each rater and run against the majority of people."""
    found, question, questions = read
    if isinstance(found, WorkbenchError):
        return _nothing(found, question, questions)
    labels, true = found.labels, found.truth
    ends = [one.figures.intervals.get("accuracy") for one in found.raters]
    drawn = [one for one in ends if one is not None and one.low is not None]
    return Page(
        caption=(
            f"{question}: true labels are the {true.against} of {names_of(true.panel)}, n {true.units:,}",
            seen(true.blind + true.revealed + true.other, "label", true.blind, true.revealed)
            + ("; revealed ones left out" if true.revealed and not true.with_revealed else ""),
            *(
                [f"{100 * drawn[0].share:g} % intervals: {drawn[0].method('item', labels.cluster)}"]
                if drawn
                else []
            ),
        ),
        command=("accuracy", "--question", question, "--against", AGAINST),
        tables=(
            Table(
                ("rater", "kind", "n", "wrong", "accuracy"),
                tuple(_accuracy_row(labels, one) for one in found.raters),
                names=2,
                drawn="accuracy",
                notes=("A rater of the majority is compared with the majority of the others.",)
                if any(one.left_out for one in found.raters)
                else (),
            ),
        ),
        options={"subject": Options("question", questions, question)},
    )


def _accuracy_row(labels: QuestionLabels, one: RaterAccuracy) -> Row:
    figures = one.figures
    whole: Drawn = (figures.ci_low, figures.accuracy, figures.ci_high)
    return Row(
        (
            one.name,
            one.kind,
            counted(figures.n, of_units(labels, one.known), f"{one.name}: with a true label"),
            counted(int(one.wrong.sum()), of_units(labels, one.wrong), f"{one.name}: wrong"),
            share(figures.accuracy),
        ),
        whole,
    )


# -- labels ---------------------------------------------------------------------------------------------


def read_labels(connection: Connection, choice: Choice) -> tuple[LabelCounts, tuple[str, ...]]:
    """Read how often each label was given, and the questions that there are."""
    question = choice.subject or question_of_items(connection)
    return label_counts(connection, question, own=choice.own), questions_of_items(connection)


def labels_page(read: tuple[LabelCounts, tuple[str, ...]], choice: Choice) -> Page:
    """Return how often each rater gave each label of a question."""
    found, questions = read
    labels = found.labels
    question = labels.question
    tables = tuple(_labels_table(found, one) for one in found.raters)
    of = f"{labels.items:,} {labels.kind.plural}"
    if labels.responses is not None:
        of += f" with {pluralize(labels.responses, 'response')}"
    return Page(
        caption=(
            f"{question}: labels of {names_of([one.name for one in found.raters])}, of {of}",
            seen(
                sum(one.labelled for one in found.raters),
                "label",
                sum(int(one.blind.sum()) for one in found.raters),
                sum(int(one.revealed.sum()) for one in found.raters),
            ),
        ),
        command=("labels", "--question", question),
        tables=tables,
        empty="" if tables else "This question has no label yet.",
        options={"subject": Options("question", questions, question)},
    )


def _labels_table(found: LabelCounts, one: RaterLabels) -> Table:
    counts = {value: found.count(one, value) for value in found.values}
    most = max(*counts.values(), 1)
    kind = "" if one.kind == "human" else f" ({one.kind})"
    return Table(
        ("label", "n", "share"),
        tuple(_label_row(found, one, value, counts[value], most) for value in found.values),
        title=f"{one.name}{kind} · {pluralize(one.labelled, 'label')}",
        drawn="labels",
    )


def _label_row(found: LabelCounts, one: RaterLabels, value: float, count: int, most: int) -> Row:
    said = word(found.labels.question, value)
    cell = counted(count, lambda _: found.items(one, value), f"{one.name}: {said}")
    return Row((said, cell, share(count / one.labelled if one.labelled else None)), count / most)
