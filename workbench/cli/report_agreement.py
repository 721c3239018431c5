"""`workbench report WORKSPACE agreement`: the agreement of raters on a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import UnknownName, WorkbenchError, blind_review
from workbench.cli.options import names_in

if TYPE_CHECKING:
    from store.measures.intervals import Bootstrap
    from store.measures.table_agreement import TableAgreement
    from store.queries.agreement import AgreementReport, PairRow
    from store.queries.conditions import ConditionRow

_TITLES = {"import": "imported raters", "agent": "agents' runs", "judge": "judges"}
_ITEMS_PRINTED = 20
ALL = "all"
"""The name that stands for every question."""


def named(raters: str) -> list[str]:
    """Return the names in a list apart by commas.

    Raises:
        WorkbenchError: There are none.
    """
    names = list(names_in(raters))
    if not names:
        raise WorkbenchError("Raters missing", "No rater is named.", "Name them: dana,eli")
    return names


def several(raters: str) -> list[str]:
    """Return the two names or more in a list apart by commas.

    Raises:
        WorkbenchError: They are less than two.
    """
    names = named(raters)
    if len(set(names)) < 2:
        raise WorkbenchError(
            "Raters missing", "Two raters or more are compared.", "Name them, apart by commas: dana,eli"
        )
    return names


def report_agreement(
    path: Path,
    question: str | None,
    *,
    rater: str | None,
    run: str | None,
    raters: list[str] | None,
    study: str | None,
    split: str | None,
    part: str | None,
    by_item: bool,
    bootstrap: Bootstrap,
    block: int | None,
    blind: bool,
    as_json: bool,
) -> None:
    """Print the agreement on a question.

    Args:
        path: The workspace.
        question: The question, or `all` for a line for each; None for that of the first kind.
        rater: The rater whose pairs alone are given; None for all pairs.
        run: The run of the agents that alone is compared; None for all.
        raters: The raters to compare; None for people, or those of the split's policy.
        study: The study whose assignments count; None for all labels.
        split: The split whose queries count; None for all items.
        part: The only part of it; None for all.
        by_item: Whether each item is given, too.
        bootstrap: How intervals are drawn.
        block: Items of a block, for the mean of alpha over blocks; None for none.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, or a name is unknown.
    """
    from numpy import array

    from store.measures.truth import POLICIES
    from store.queries.agreement import agreement, agreement_by_question
    from store.queries.labels import question_of_items
    from store.splits.splits import find_split, items_behind, split_parts
    from store.studies.studies import open_studies_note
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("Agreement uses")
    if part is not None and split is None:
        raise WorkbenchError("Which split?", "--part belongs to a split.", "Name it: --split NAME")
    if question == ALL and (raters is not None or rater is not None or by_item or split is not None):
        raise WorkbenchError(
            "One question",
            "--question all gives a line of people's agreement for each question.",
            "Name one question for --raters, --rater, --split and --by-item.",
        )
    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            only = chosen_run(connection, run, blind=blind)
            items = None
            if split is not None:
                chosen = find_split(connection, split)
                split_parts(chosen, part)
                items = array([*items_behind(connection, chosen, part)])
                if raters is None and chosen.plan.against in POLICIES:
                    raters = [*chosen.report.truth.panel]
                question = question or chosen.plan.question
                study = study or chosen.plan.study
            open_studies = "" if study is not None else open_studies_note(connection)
            if question == ALL:
                every = agreement_by_question(connection, study=study, run=only, bootstrap=bootstrap)
                _print_questions(path.name, every, open_studies, as_json=as_json)
                return
            found = agreement(
                connection,
                question or question_of_items(connection),
                raters=raters,
                study=study,
                run=only,
                bootstrap=bootstrap,
                block=block,
                by_item=by_item,
                items=items,
            )
    if rater is not None:
        found = _with_one(found, rater.strip())
    if as_json:
        print_json({"report": "agreement", **found.to_dict()})
    else:
        _print(path.name, found, block, open_studies)


def _print_questions(
    name: str, found: Sequence[AgreementReport], open_studies: str, *, as_json: bool
) -> None:
    from workbench.output import print_facts, print_json, print_table, say

    if as_json:
        print_json({"report": "agreement", "questions": [one.to_dict() for one in found]})
        return
    print_facts(
        name,
        [
            ("questions", f"{len(found)} that two people or more answered"),
            ("labels", open_studies or None),
        ],
    )
    if not found:
        say("Compare others, such as imported raters, on one question: --question NAME --raters A,B")
        return
    say("")

    def alpha(one: AgreementReport) -> str:
        figures = one.figures
        value = figures.alpha[figures.level]
        if value is None:
            return figures.why
        ends = "" if figures.ci_low is None else f" ({figures.ci_low:.2f} to {figures.ci_high:.2f})"
        return f"{value:.3f}{ends}"

    print_table(
        ("question", "people", "units", "percent", "alpha", "level"),
        [
            (
                one.labels.question,
                len(one.compared),
                one.figures.units - one.figures.dropped_units,
                None if one.figures.percent is None else f"{one.figures.percent:.1f} %",
                alpha(one),
                one.figures.level,
            )
            for one in found
        ],
        wide=("question",),
    )


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


def _print(name: str, found: AgreementReport, block: int | None, open_studies: str) -> None:
    from store.formatting import pluralize
    from workbench.output import note, print_facts, say

    labels, figures = found.labels, found.figures
    unit = "item" if labels.responses is None else "response"
    people = all(one.kind == "human" for one in found.by_rater if one.name in found.compared)
    print_facts(
        name,
        [
            ("question", labels.question),
            ("phases", ", ".join(labels.phases)),
            ("study", labels.study),
            ("labels", open_studies or None),
            ("items", f"{labels.items:,}"),
            ("responses", None if labels.responses is None else f"{labels.responses:,}"),
            ("equal texts", labels.ties),
        ],
    )
    say("")
    if len(found.compared) > 1:
        print_facts(
            f"Agreement of {', '.join(found.compared)}",
            [
                (
                    unit + "s",
                    f"{figures.units - figures.dropped_units:,} with two labels or more; "
                    f"left out with one: {figures.dropped_units:,}",
                ),
                *figure_lines(figures, labels.cluster, block),
            ],
        )
        if figures.why:
            say(f"No alpha: {figures.why}.")
    elif people:
        count = "No person has" if not found.compared else "One person alone has"
        others = " Compare others with --raters A,B: their names are below." if found.by_rater else ""
        say(f"{count} labels of this question.{others}")
    for kind, group in found.beside.items():
        say("")
        print_facts(f"Beside them, {_TITLES[kind]}", figure_lines(group, labels.cluster, block))
    say("")
    _print_raters(found)
    say("")
    _print_pairs(found, unit)
    print_conditions(found.by_condition)
    for measure, one in found.measures.items():
        value = f"none: {one.why_none}" if one.value is None else f"{one.value:.3f}"
        over = pluralize(len(found.compared), "rater")
        say("", f"{measure.title} ({labels.level}) over {over}: {value}.")
    if found.by_item is not None:
        say("")
        _print_items(found)
    shown = [one for one in (figures, *found.beside.values()) if not one.why]
    for warning in dict.fromkeys(one.interval.warning for one in shown if one.interval is not None):
        if warning:
            note(f"The interval: {warning}.")


def print_conditions(rows: Sequence[ConditionRow]) -> None:
    """Print people's labels under each condition of a study."""
    from store.formatting import pluralize
    from store.studies.protocol import condition_words
    from workbench.output import print_table, say

    if not rows:
        return
    has_truth = any(one.true_labels for one in rows)

    def share(value: float | None, scale: float = 1) -> str | None:
        return None if value is None else f"{scale * value:.1f} %"

    say("")
    print_table(
        (
            *("condition", "labels", "shared", "alpha", "percent"),
            *(["accuracy"] if has_truth else []),
            *("median s", "mean s"),
        ),
        [
            (
                *(condition_words(one.condition), one.labels, one.shared),
                None if one.alpha is None else f"{one.alpha:.3f}",
                share(one.percent),
                *([share(one.accuracy, 100)] if has_truth else []),
                *(None if each is None else f"{each:.1f}" for each in (one.median_seconds, one.mean_seconds)),
            )
            for one in rows
        ],
        wide=("condition",),
    )
    say("shared: units with labels of two people or more under the condition, as in alpha and percent.")
    for one in rows:
        if one.own_tests:
            edited = one.mean_editing_seconds or 0.0
            tests = pluralize(one.own_tests, "label")
            say(f"{one.condition}: {tests} beside an own test, edited for {edited:.1f} s on average.")


def fleiss_title(figures: TableAgreement) -> str:
    """Return the name of Fleiss' kappa, with unequal numbers of labels that of its generalisation."""
    return "Fleiss' kappa, Gwet's" if figures.fleiss_generalised else "Fleiss' kappa"


def figure_lines(figures: TableAgreement, cluster: str, block: int | None) -> list[tuple[str, str | None]]:
    """Return the coefficients of some raters as facts, each with its interval.

    Args:
        figures: The coefficients.
        cluster: The word for a group of items.
        block: Items of a block; None for none.
    """

    def line(name: str, value: float | None, unit: str = "") -> str | None:
        if value is None:
            return None
        places = 1 if unit else 3
        text = f"{value:.{places}f}{unit}"
        interval = figures.intervals.get(name)
        if interval is not None and interval.low is not None and interval.high is not None:
            text += (
                f"   {interval.share:.0%} interval {interval.low:.{places}f} to {interval.high:.{places}f}"
            )
        return text

    interval = figures.interval
    drawn = None
    if interval is not None and interval.low is not None:
        word = cluster if figures.clustered else "item"
        drawn = interval.method("item", word)
    positive = [
        f"{each['value']:g}: {each['specific_agreement']:.3f} ({each['share']:.0%} of labels)"
        for each in figures.values
        if each["specific_agreement"] is not None
    ]
    return [
        (f"alpha, {figures.level}", line("alpha", figures.alpha[figures.level])),
        (f"alpha, mean of blocks of {block}", line("blocks", figures.blocks)),
        ("percent agreement", line("percent", figures.percent, " %")),
        ("Cohen's kappa", line("cohen", figures.cohen)),
        (fleiss_title(figures), line("fleiss", figures.fleiss)),
        ("Gwet's AC1", line("ac1", figures.ac1)),
        ("agreement by label", ", ".join(positive) if len(positive) <= 5 else None),
        ("intervals", drawn),
    ]


def letters(number: int) -> list[str]:
    """Return short names for so many raters: A to Z, then AA, AB and so on."""
    names = []
    for place in range(number):
        name = ""
        rest = place + 1
        while rest:
            rest, digit = divmod(rest - 1, 26)
            name = chr(ord("A") + digit) + name
        names.append(name)
    return names


def _print_raters(found: AgreementReport) -> None:
    from store.formatting import pluralize
    from workbench.output import print_table, say

    names = letters(len(found.by_rater))
    print_table(
        ("", "rater", "kind", "labels", "agrees", "alpha without", "seconds"),
        [
            (
                *(name, one.name, one.kind, one.labelled),
                None if one.percent is None else f"{one.percent:.1f} %",
                None if one.alpha_without is None else f"{one.alpha_without:.3f}",
                None if one.median_seconds is None else f"{one.median_seconds:.1f}",
            )
            for name, one in zip(names, found.by_rater, strict=True)
        ],
        wide=("rater",),
    )
    seen = [
        f"{name}: {one.blind:,} blind, {one.revealed:,} revealed, {one.accepted:,} of these accepted."
        for name, one in zip(names, found.by_rater, strict=True)
        if one.blind or one.revealed
    ]
    say(*seen)
    for name, one in zip(names, found.by_rater, strict=True):
        if one.repeated and one.deviation is not None:
            say(
                f"{name}: the mean of several scores of {pluralize(one.repeated, 'response')}; "
                f"SD of one response's scores: {one.deviation:.2f}."
            )
        if one.repeat is not None and one.repeat.percent is not None:
            kappa = one.repeat.why if one.repeat.cohen is None else f"{one.repeat.cohen:.3f}"
            say(
                f"{name} met {pluralize(one.repeat.units, 'unit')} twice: "
                f"{one.repeat.percent:.1f} % equal labels, Cohen's kappa {kappa}."
            )


def _print_pairs(found: AgreementReport, unit: str) -> None:
    from store.measures.registry import extra_measures
    from workbench.output import print_table, say

    measures = [measure for measure in extra_measures() if measure.pairwise]
    weighted = found.labels.level != "nominal"
    correlations = [
        name
        for name in ("pearson", "spearman", "kendall")
        if any(getattr(pair.figures, name) is not None for pair in found.by_pair)
    ]
    blind = any(pair.blind for pair in found.by_pair)
    revealed = any(pair.revealed for pair in found.by_pair)
    names = [one.name for one in found.by_rater]
    letter = dict(zip(names, letters(len(names)), strict=True))

    def cells(pair: PairRow) -> Sequence[object]:
        figures = pair.figures
        kappa = figures.why if figures.cohen is None else f"{figures.cohen:.3f}"
        if figures.ci_low is not None:
            kappa += f" ({figures.ci_low:.2f} to {figures.ci_high:.2f})"
        quadratic = figures.cohen_quadratic
        return (
            " ".join(letter[name] for name in figures.raters),
            figures.units,
            None if figures.percent is None else f"{figures.percent:.1f} %",
            kappa,
            *([None if quadratic is None else f"{quadratic:.3f}"] if weighted else []),
            *(None if (value := getattr(figures, name)) is None else f"{value:.3f}" for name in correlations),
            *(
                one.why_none if one.value is None else f"{one.value:.3f}"
                for one in (pair.measures[measure] for measure in measures)
            ),
            *([pair.blind] if blind else []),
            *([pair.revealed] if revealed else []),
        )

    print_table(
        (
            *("pair", unit + "s", "percent", "Cohen's kappa"),
            *(["weighted"] if weighted else []),
            *(name.capitalize() for name in correlations),
            *(measure.title for measure in measures),
            *(["blind"] if blind else []),
            *(["revealed"] if revealed else []),
        ),
        [cells(pair) for pair in found.by_pair],
    )
    if weighted:
        say("weighted: Cohen's kappa with quadratic weights, for which near values agree in part.")


def _print_items(found: AgreementReport) -> None:
    from workbench.output import print_table, say

    items = found.by_item or ()
    print_table(
        ("item", "labels", "percent", "by rater"),
        [
            (
                one.item,
                one.judgments,
                None if one.percent is None else f"{one.percent:.1f} %",
                ", ".join(f"{name} {value:g}" for name, value in one.values.items()),
            )
            for one in items[:_ITEMS_PRINTED]
        ],
        wide=("item", "by rater"),
    )
    if len(items) > _ITEMS_PRINTED:
        say(f"{len(items) - _ITEMS_PRINTED:,} more items: --json gives all of them.")
