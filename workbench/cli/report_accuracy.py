"""`workbench report WORKSPACE accuracy`: the accuracy of raters against the labels of one or of a panel."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import blind_review
from workbench.cli.report_agreement import letters, print_conditions

if TYPE_CHECKING:
    from store.measures.accuracy import Accuracy
    from store.measures.intervals import Bootstrap
    from store.measures.sample_estimates import Estimate
    from store.queries.accuracy import AccuracyReport
    from store.queries.truth_panel import TruthSource


_HEADINGS = {"precision": "precision, %", "recall": "recall, %", "f1": "F1, %", "kappa": "kappa"}


class Strata(StrEnum):
    """What a sample was stratified by."""

    all = "all"
    label = "label"
    path = "path"
    label_path = "label,path"

    @property
    def strata(self) -> list[str]:
        """The columns of the strata; none for a simple random sample."""
        return [] if self is Strata.all else self.value.split(",")


def report_accuracy(
    path: Path,
    question: str | None,
    against: str | None,
    *,
    rater: str | None,
    run: str | None,
    raters: list[str] | None,
    study: str | None,
    panel: list[str] | None,
    compared: list[str],
    with_revealed: bool,
    population: list[str] | None,
    bootstrap: Bootstrap,
    blind: bool,
    as_json: bool,
) -> None:
    """Print the accuracy of raters.

    Args:
        path: The workspace.
        question: The question; None for that of the first kind in the workspace.
        against: A rater or a policy; None for the majority.
        rater: The only rater of the report; None for everybody.
        run: The run of the agents that alone counts; None for all.
        raters: The raters of the report; None for everybody.
        study: The study whose assignments count; None for all labels.
        panel: The raters of the policy; None for people.
        compared: The raters of whom every two are tested.
        with_revealed: Whether labels judged with others in sight count as true.
        population: What the sample of true labels was stratified by; None for no estimates.
        bootstrap: How intervals are drawn.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, a name is unknown, or nobody's labels can count as true.
    """
    from store.queries.accuracy import accuracy_report
    from store.queries.labels import question_of_items
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("Accuracy uses")
    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            found = accuracy_report(
                connection,
                question or question_of_items(connection),
                against or "majority",
                study=study,
                panel=panel,
                raters=raters if rater is None else [rater],
                compared=compared,
                run=chosen_run(connection, run, blind=blind),
                with_revealed=with_revealed,
                population=population,
                bootstrap=bootstrap,
            )
    if as_json:
        print_json({"report": "accuracy", **found.to_dict()})
    else:
        _print(path.name, found, bootstrap)


def _rulings(true: TruthSource) -> str | None:
    """Return how many true labels are rulings; None where there are no rulings."""
    if not true.rulings and not true.rulings_revealed:
        return None
    beside = f"; {true.rulings_revealed:,} more beside the agents' label, left out"
    return f"{true.rulings:,}{beside if true.rulings_revealed and not true.with_revealed else ''}"


def _print(name: str, found: AccuracyReport, bootstrap: Bootstrap) -> None:
    from store.formatting import pluralize
    from workbench.output import note, print_facts, say

    labels, true = found.labels, found.truth
    unit = "item" if labels.responses is None else "response"
    whose = true.against if true.panel == (true.against,) else f"{true.against} of {', '.join(true.panel)}"
    print_facts(
        name,
        [
            ("question", labels.question),
            ("study", labels.study),
            ("true labels", f"{whose}: {pluralize(true.units, unit)}"),
            ("equal texts", labels.ties),
            ("undecided", f"{true.undecided:,}" if true.undecided else None),
            ("by one rater alone", f"{true.single:,}" if true.single and len(true.panel) > 1 else None),
            ("rulings", _rulings(true)),
            (
                "how they were judged",
                f"{true.blind:,} blind, {true.revealed:,} revealed (of these {true.accepted:,} accepted; "
                f"{'counted' if true.with_revealed else 'left out'}), {true.other:,} with nothing to see",
            ),
        ],
    )
    say("")
    _print_raters(found, unit)
    _print_legend(found, bootstrap, unit)
    _print_details(found, unit)
    print_conditions(found.by_condition)
    if found.comparisons:
        say("")
        _print_comparisons(found, unit)
    for warning in true.warnings:
        note(warning)
    few = [one.figures.intervals.get("accuracy") for one in found.raters]
    clusters = [one.clusters for one in few if one is not None and one.warning and one.low is not None]
    if clusters:
        note(f"Intervals draw from {min(clusters)} groups ({labels.cluster}): under 30 they are too narrow.")


def _print_raters(found: AccuracyReport, unit: str) -> None:
    from workbench.output import print_table, say

    executed = any(one.executable_rate is not None for one in found.raters)
    names = letters(len(found.raters))
    print_table(
        ("", "rater", unit + "s", "accuracy", "coverage", *(["executable"] if executed else [])),
        [
            (
                name,
                one.name + (" (left out)" if one.left_out else ""),
                one.figures.n,
                _with_ends("accuracy", one.figures, unit=" %", places=1),
                _percent(one.figures.coverage),
                *([_percent(one.executable_rate)] if executed else []),
            )
            for name, one in zip(names, found.raters, strict=True)
        ],
        wide=("rater",),
    )
    columns = [
        name
        for name in ("precision", "recall", "f1", "kappa")
        if any(getattr(one.figures, name) is not None for one in found.raters)
    ]
    if columns:
        say("")
        print_table(
            ("", *(_HEADINGS[name] for name in columns)),
            [
                (letter, *(_with_ends(name, one.figures) for name in columns))
                for letter, one in zip(names, found.raters, strict=True)
            ],
        )


def _print_legend(found: AccuracyReport, bootstrap: Bootstrap, unit: str) -> None:
    from store.measures.intervals import LEAST_CLUSTERS
    from workbench.output import say

    ends = [one.figures.intervals.get("accuracy") for one in found.raters]
    drawn = [one for one in ends if one is not None and one.low is not None]
    say("")
    if drawn:
        cluster = found.labels.cluster
        way = "drawn one by one" if bootstrap.by_unit else f"drawn {cluster} by {cluster}"
        alone = all(one.figures.n == end.clusters for one, end in zip(found.raters, ends, strict=True) if end)
        wilson = not all(one.resamples for one in drawn)
        way = "of accuracy Wilson's" if wilson and alone else way
        share = f"{100 * bootstrap.share:g} %"
        say(f"{share} intervals in brackets: over {unit}s, {way}, raters fixed.")
        if wilson and not alone:
            few = f"under {LEAST_CLUSTERS}"
            say(f"Where all resamples agree, or of {few}: Wilson's, each {cluster} as one {unit}.")
    say(f"Coverage: of the {unit}s with a true label that a rater was given, those labelled.")
    if any(one.executable_rate is not None for one in found.raters):
        say("Executable: of the test programs that were run, those that could be executed.")


def _print_details(found: AccuracyReport, unit: str) -> None:
    from store.formatting import pluralize
    from workbench.output import say

    for name, one in zip(letters(len(found.raters)), found.raters, strict=True):
        lines = []
        figures = one.figures
        if figures.given > figures.n and figures.accuracy_undecided_wrong is not None:
            undecided = pluralize(figures.given - figures.n, unit)
            counted = _percent(figures.accuracy_undecided_wrong)
            lines.append(f"{undecided} not decided; counted as wrong, accuracy is {counted}.")
        if one.kind in ("import", "judge") and figures.n < one.true_units:
            lines.append(
                f"{pluralize(figures.n, unit)} labelled, of {one.true_units:,} with a true label. "
                "It has no list, so that only these count."
            )
        if one.tied:
            lines.append(f"{pluralize(one.tied, unit)} without a true label, as the others are not decided.")
        if one.alone:
            lines.append(f"{pluralize(one.alone, unit)} without a true label, as nobody else labelled them.")
        if (moved := one.anchoring) is not None:
            lines.append(
                f"{pluralize(moved.n, unit)} labelled blind and again beside the agents' label:\n"
                f"  {moved.differed} differed, of these switched to it where it is right "
                f"{moved.switched_to_right}, wrong {moved.switched_to_wrong};\n"
                f"  switched away {moved.switched_away}."
            )
            if moved.difference is not None:
                ends = "" if moved.ci_low is None else f" ({moved.ci_low:+.1%} to {moved.ci_high:+.1%})"
                lines.append(
                    f"Accuracy blind {_percent(moved.blind_accuracy)}, revealed "
                    f"{_percent(moved.revealed_accuracy)}: {moved.difference:+.1%}{ends}."
                )
        if (test := one.replaces) is not None:
            if test.winning_rate is None:
                lines.append(f"Alternative annotator test: none, {test.why_none}.")
            else:
                may = "may replace an annotator" if test.passed else "may not replace an annotator"
                lines.append(
                    f"Alternative annotator test: {may}.\n"
                    f"  Winning rate {test.winning_rate:.2f}, advantage {test.advantage:.2f}, "
                    f"epsilon {test.epsilon:g}." + (f"\n  Beware: {test.warning}." if test.warning else "")
                )
        if (all_items := one.population) is not None:
            lines.append(
                f"Estimated over all {all_items.units:,} labelled {unit}s from {all_items.sampled:,} "
                f"(intervals: of the sample):\n"
                f"    accuracy {_estimate(all_items.accuracy)},\n"
                f"    precision {_estimate(all_items.precision)},\n"
                f"    recall {_estimate(all_items.recall)},\n"
                f"    matches {_estimate(all_items.prevalence)},\n"
                f"    matches with the help of the agents' labels "
                f"{_estimate(all_items.prevalence_with_agent)}."
            )
        if lines:
            say("", f"{name} {one.name}", *(f"  {line}" for line in lines))


def _print_comparisons(found: AccuracyReport, unit: str) -> None:
    from workbench.output import print_table, say

    names = [one.name for one in found.raters]
    letter = dict(zip(names, letters(len(names)), strict=True))
    print_table(
        ("pair", unit + "s", "only 1st", "only 2nd", "difference, points", "test", "p", "Holm"),
        [
            (
                " ".join(letter[name] for name in one.raters),
                one.n,
                one.only_first,
                one.only_second,
                None if one.difference is None else _points(one.difference, one.ci_low, one.ci_high),
                one.test,
                *(None if value is None else f"{value:.3f}" for value in (one.p_value, one.adjusted)),
            )
            for one in found.comparisons
        ],
    )
    say("only 1st, only 2nd: right by that rater alone.")
    say("Holm: p corrected for all of these pairs.")
    if any(one.test == "sign-flip" for one in found.comparisons):
        cluster = found.labels.cluster
        say(f"sign-flip: the differences of a whole {cluster} change sign together.")


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f} %"


def _points(difference: float, low: float | None, high: float | None) -> str:
    ends = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * difference:+.1f}{ends}"


def _with_ends(name: str, figures: Accuracy, unit: str = "", places: int = 0) -> str | None:
    """Return a figure with its interval: kappa as it is, the others in percent."""
    value: float | None = getattr(figures, name)
    if value is None:
        return None
    interval = figures.intervals.get(name)
    scale, places = (1, 2) if name == "kappa" else (100, places)
    # Three columns of 100.0 would not fit 80 columns.
    text = f"{scale * value:.{3 if name == 'kappa' else 1}f}{unit}"
    if scale * value == 100 and not unit:
        text = "100"
    if interval is not None and interval.low is not None and interval.high is not None:
        text += f" ({scale * interval.low:.{places}f} to {scale * interval.high:.{places}f})"
    return text


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"none ({estimate.why_none})"
    ends = "" if estimate.low is None else f" ({100 * estimate.low:.1f} to {100 * (estimate.high or 0):.1f})"
    return f"{100 * estimate.value:.1f} %{ends}"
