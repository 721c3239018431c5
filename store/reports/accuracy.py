"""The report on accuracy: raters and runs against the labels of one, or of a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.analysis.accuracy import AccuracyReport, RaterAccuracy, accuracy_report
from store.analysis.labels import QuestionLabels, question_of_items
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.measures.intervals import LEAST_CLUSTERS
from store.reports.labels import conditions_table, limits, names_of, of_units, seen, unit_word
from store.reports.options import Options
from store.reports.value import (
    Cell,
    Report,
    Row,
    Table,
    counted,
    even_scale,
    filled,
    number,
    probability,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.accuracy import Accuracy
    from store.measures.sample_estimates import Estimate

POLICY = "majority"
"""The labels that count as true where nothing else is chosen."""

OTHERS = {"precision": "precision", "recall": "recall", "f1": "F1", "kappa": "kappa"}
"""Columns beside accuracy, of questions that have them."""


def read_accuracy(connection: Connection, options: Options) -> AccuracyReport:
    """Read the accuracy of everybody, or of the raters that are named.

    Raises:
        WorkbenchError: A name is unknown, or nobody's labels can count as true.
    """
    if options.rater is not None and options.raters:
        raise WorkbenchError(
            "Two options", "--rater and --raters both say whose accuracy it is.", "Leave one of them out."
        )
    raters = options.raters if options.rater is None else (options.rater,)
    strata = None
    if options.population is not None:
        strata = [] if options.population == "all" else options.population.split(",")
    return accuracy_report(
        connection,
        options.question or question_of_items(connection),
        options.policy or POLICY,
        study=options.study,
        panel=options.panel or None,
        raters=raters or None,
        compared=options.compare,
        run=options.run_of(connection),
        with_revealed=options.with_revealed,
        population=strata,
        bootstrap=options.resampling,
    )


def accuracy_of(found: AccuracyReport, options: Options) -> Report:
    """Return the accuracy of each rater and run."""
    labels, true = found.labels, found.truth
    unit = unit_word(labels)
    ends = [one.figures.intervals.get("accuracy") for one in found.raters]
    drawn = [one for one in ends if one is not None and one.low is not None]
    whose = true.against if true.panel == (true.against,) else f"{true.against} of {names_of(true.panel)}"
    left_out = "counted" if true.with_revealed else "left out"
    few = [one.clusters for one in ends if one is not None and one.warning and one.low is not None]
    groups = f"{min(few)} to {max(few)}" if len(set(few)) > 1 else str(max(few, default=0))
    narrow = f"Intervals draw from {groups} groups ({labels.cluster}): under 30 they are too narrow."
    caption = [
        f"{labels.question}: true labels are those of {whose}: {pluralize(true.units, unit)}",
        seen(true.blind + true.revealed + true.other, "label", true.blind, true.revealed)
        + (f" (of these {true.accepted:,} accepted; {left_out})" if true.revealed else ""),
    ]
    caption += limits(labels)
    if true.undecided:
        caption.append(f"undecided, without a true label: {pluralize(true.undecided, unit)}")
    if true.single and len(true.panel) > 1:
        caption.append(f"by one rater alone: {pluralize(true.single, unit)}")
    if true.rulings or true.rulings_revealed:
        beside = f"; {true.rulings_revealed:,} more beside the agents' label, left out"
        more = beside if true.rulings_revealed and not true.with_revealed else ""
        caption.append(f"rulings: {true.rulings:,}{more}")
    if drawn:
        caption.append(f"{100 * drawn[0].share:g} % intervals: {_methods(found, unit, options)}")
    return Report(
        caption=tuple(caption),
        command=("accuracy", *options.arguments(question=labels.question, policy=true.against)),
        tables=filled(
            _accuracies(found, unit),
            _not_decided(found, unit),
            _moved(found, unit),
            _replacing(found),
            _estimated(found, unit),
            _comparisons(found, unit),
            conditions_table(found.by_condition),
        ),
        warnings=(*true.warnings, *([narrow] if few else [])),
    )


def _methods(found: AccuracyReport, unit: str, options: Options) -> str:
    """Return how the intervals of accuracy were made, as a phrase."""
    cluster = found.labels.cluster
    ends = [(one.figures.n, one.figures.intervals.get("accuracy")) for one in found.raters]
    drawn = [(n, one) for n, one in ends if one is not None and one.low is not None]
    if all(n == one.clusters for n, one in drawn):
        return f"over {unit}s, of accuracy Wilson's; raters fixed"
    wilson = (
        f"; Wilson's, each {cluster} as one {unit}, where all resamples agree or of under {LEAST_CLUSTERS}"
    )
    some = wilson if any(not one.resamples for _, one in drawn) else ""
    way = "one by one" if options.bootstrap_units else f"{cluster} by {cluster}"
    return f"bootstrap over {unit}s, {way}; raters fixed{some}"


def _accuracies(found: AccuracyReport, unit: str) -> Table:
    raters = found.raters
    others = [name for name in OTHERS if any(getattr(one.figures, name) is not None for one in raters)]
    covered = any(one.figures.coverage is not None for one in raters)
    executed = any(one.executable_rate is not None for one in raters)
    notes = []
    if any(one.left_out for one in raters):
        notes.append("A rater of those with true labels is compared with the others of them.")
    if covered:
        notes.append(
            f"coverage: of the {unit}s with a true label that a person labelled or could not decide, "
            "or on which a run worked, those labelled."
        )
    if any(_lacks_interval(one.figures, name) for one in raters for name in others):
        notes.append("A figure without an interval, where accuracy has one, is the same in all resamples.")
    if executed:
        notes.append("executable: of the test programs that were run, those that could be executed.")
    return Table(
        (
            *("rater", "kind", "accuracy", f"{unit}s", "wrong"),
            *(OTHERS[name] for name in others),
            *(["coverage"] if covered else []),
            *(["executable"] if executed else []),
        ),
        tuple(
            Row(
                (
                    *(one.name, one.kind),
                    _figure("accuracy", one.figures),
                    *_counts(found.labels, one),
                    *(_figure(name, one.figures) for name in others),
                    *([share(one.figures.coverage)] if covered else []),
                    *([share(one.executable_rate)] if executed else []),
                ),
                (one.figures.ci_low, one.figures.accuracy, one.figures.ci_high),
            )
            for one in raters
        ),
        names=2,
        drawn="accuracy",
        notes=tuple(notes),
    )


def _lacks_interval(figures: Accuracy, name: str) -> bool:
    ends, whole = figures.intervals.get(name), figures.intervals.get("accuracy")
    drawn = whole is not None and whole.low is not None
    return drawn and getattr(figures, name) is not None and (ends is None or ends.low is None)


def _counts(labels: QuestionLabels, one: RaterAccuracy) -> tuple[Cell, Cell]:
    return (
        counted(one.figures.n, of_units(labels, one.known), f"{one.name}: with a true label"),
        counted(int(one.wrong.sum()), of_units(labels, one.wrong), f"{one.name}: wrong"),
    )


def _figure(name: str, figures: Accuracy) -> Cell:
    """Return a figure with its interval."""
    value: float | None = getattr(figures, name)
    ends = figures.intervals.get(name)
    low, high = (None, None) if ends is None else (ends.low, ends.high)
    return number(value, 3, low, high) if name == "kappa" else share(value, low, high)


def _not_decided(found: AccuracyReport, unit: str) -> Table:
    """Return what raters did not decide, and what has no true label since they are left out of the truth."""

    def listless(one: RaterAccuracy) -> bool:
        return one.kind in ("import", "judge") and one.figures.n < one.true_units

    def undecided(one: RaterAccuracy) -> bool:
        return one.figures.given > one.figures.n and one.figures.accuracy_undecided_wrong is not None

    rows = [one for one in found.raters if undecided(one) or one.tied or one.alone or listless(one)]
    notes = []
    if any(map(undecided, rows)):
        notes.append("with these wrong: the accuracy where what is not decided counts as wrong.")
    if any(one.tied or one.alone for one in rows):
        notes.append(
            f"tied: labelled {unit}s without a true label, as the others are not decided; alone: as nobody "
            "else labelled them."
        )
    if any(map(listless, rows)):
        notes.append(
            f"An imported rater or a judge has no list of {unit}s, so that only labelled ones count."
        )
    return Table(
        ("rater", f"{unit}s", "with a true label", "not decided", "with these wrong", "tied", "alone"),
        tuple(
            Row(
                (
                    one.name,
                    counted(one.figures.n),
                    counted(one.true_units),
                    counted(one.figures.given - one.figures.n if undecided(one) else 0),
                    share(one.figures.accuracy_undecided_wrong if undecided(one) else None),
                    counted(one.tied),
                    counted(one.alone),
                )
            )
            for one in rows
        ),
        "Not decided, or without a true label",
        notes=tuple(notes),
    )


def _moved(found: AccuracyReport, unit: str) -> Table:
    rows = [(one.name, one.anchoring) for one in found.raters if one.anchoring is not None]
    lines = tuple(
        Row(
            (
                name,
                *(counted(each) for each in (one.n, one.differed)),
                *(counted(each) for each in (one.switched_to_right, one.switched_to_wrong)),
                counted(one.switched_away),
                *(share(one.blind_accuracy), share(one.revealed_accuracy)),
                points(one.difference, one.ci_low, one.ci_high),
            ),
            (one.ci_low, one.difference, one.ci_high),
        )
        for name, one in rows
    )
    return Table(
        (
            *("rater", f"{unit}s", "differed", "to right", "to wrong", "away"),
            *("blind", "revealed", "difference"),
        ),
        lines,
        f"{unit.capitalize()}s labelled blind, and again beside the agents' label",
        scale=even_scale(lines),
        middle=0.0,
        drawn="difference in accuracy",
        notes=(
            "differed: the first label was not the agents'; to right, to wrong: of these, switched to it "
            "where it is right or wrong; away: had it at first.",
            "blind, revealed: the accuracy of the first and of the last labels; difference: in points.",
        ),
    )


def points(difference: float | None, low: float | None, high: float | None) -> Cell:
    """Return a difference of two shares, shown in points of percent, with its interval."""
    scaled = [None if each is None else 100 * each for each in (difference, low, high)]
    cell = number(scaled[0], 1, *scaled[1:], sign=True)
    if difference is None:
        return cell
    ends = None if low is None or high is None else (low, high)
    return Cell(cell.text, difference, ends=ends)


def _replacing(found: AccuracyReport) -> Table:
    """Return whether agents may replace a rater, by the alternative annotator test."""
    tests = [(one.name, one.replaces) for one in found.raters if one.replaces is not None]
    notes = []
    for name, test in tests:
        if test.winning_rate is None:
            notes.append(f"{name}: no test, {test.why_none}.")
        elif test.warning:
            notes.append(f"{name}: beware, {test.warning}.")
    answers = {None: "no test", True: "may replace", False: "may not replace"}
    return Table(
        ("rater", "an annotator", "winning rate", "advantage", "epsilon"),
        tuple(
            Row(
                (
                    *(name, answers[test.passed]),
                    *(number(test.winning_rate), number(test.advantage), number(test.epsilon)),
                )
            )
            for name, test in tests
        ),
        "Alternative annotator test",
        names=2,
        notes=tuple(notes),
    )


def _estimated(found: AccuracyReport, unit: str) -> Table:
    """Return estimates over all that a run labelled."""
    rows = [(one.name, one.population) for one in found.raters if one.population is not None]
    names = ("accuracy", "precision", "recall", "prevalence", "prevalence_with_agent")
    return Table(
        ("run", f"all {unit}s", "from", "accuracy", "precision", "recall", "matches", "with the agents'"),
        tuple(
            Row(
                (
                    name,
                    counted(one.units),
                    counted(one.sampled),
                    *(_estimate(getattr(one, each)) for each in names),
                ),
                (one.accuracy.low, one.accuracy.value, one.accuracy.high),
            )
            for name, one in rows
        ),
        f"Estimated over all {unit}s that a run labelled",
        drawn="accuracy",
        notes=(
            "from: labelled by an expert, a sample; intervals are of the sample.",
            "matches: their share by the experts; with the agents': with the help of the agents' labels.",
        ),
    )


def _estimate(estimate: Estimate) -> Cell:
    if estimate.value is None:
        return Cell(f"none: {estimate.why_none}")
    return share(estimate.value, estimate.low, estimate.high)


def _comparisons(found: AccuracyReport, unit: str) -> Table:
    rows = tuple(
        Row(
            (
                *one.raters,
                *(counted(each) for each in (one.n, one.only_first, one.only_second)),
                points(one.difference, one.ci_low, one.ci_high),
                one.test,
                *(probability(one.p_value), probability(one.adjusted)),
            ),
            (one.ci_low, one.difference, one.ci_high),
        )
        for one in found.comparisons
    )
    notes = [
        "only 1st, only 2nd: right by that rater alone; difference: of their accuracies, in points.",
        "Holm: p corrected for all of these pairs.",
    ]
    if any(one.test == "sign-flip" for one in found.comparisons):
        notes.append(f"sign-flip: the differences of a whole {found.labels.cluster} change sign together.")
    return Table(
        ("rater", "and", f"{unit}s", "only 1st", "only 2nd", "difference", "test", "p", "Holm"),
        rows,
        "Every two of the compared",
        names=2,
        scale=even_scale(rows),
        middle=0.0,
        drawn="difference in accuracy",
        notes=tuple(notes),
    )
