"""`workbench report`: progress, agreement and the figures of the agents' runs."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import UnknownName, WorkbenchError
from workbench.cli.items import check_view, reader
from workbench.cli.options import AsJson, ConfigFile, RaterName, Workspace, command, given_rater, settings
from workbench.cli.pipeline import report_pipeline
from workbench.cli.report_figures import report_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.queries.agreement import AgreementReport
    from store.queries.progress import Progress


class Report(StrEnum):
    """The reports there are."""

    progress = "progress"
    agreement = "agreement"
    pipeline = "pipeline"
    figures = "figures"


@command
def report_command(
    workspace: Workspace,
    report: Annotated[
        Report,
        typer.Argument(metavar="REPORT", help="Which report: progress, agreement, pipeline or figures."),
    ] = Report.progress,
    *,
    rater: RaterName = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="This run of the agents: its name, how that begins or ends, or its id.",
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which question, such as completion.keep or answer.accuracy; for agreement."
        ),
    ] = None,
    raters: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Only these raters, two or more; for agreement."),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a report.

    progress: items judged and left, and the agents' labels, of the newest of the fullest runs or of --run.
    agreement: of every two raters on a question, including the agents' runs, judges of responses and imported
    raters; with --rater NAME only the pairs with that rater, with --raters A,B,C only these raters, also in
    the coefficients of all, with --run NAME without the other runs. pipeline: figures of each run of the
    agents: paths, tests, repairs, tokens, cost, seconds; with --run NAME only of that run. figures: of
    query-code pairs, as in CoSQA+: queries by matching codes, matches by rank, codes by the queries that they
    answer, by the agents' labels or, with --rater NAME, by those of one rater.
    """
    from store.queries.progress import progress
    from store.queries.runs import shown_by_kind
    from store.record.scope import Scope, Visibility
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.rater import rater_name
    from workbench.run_option import chosen_run

    loaded = settings(config)
    if raters is not None and report is not Report.agreement:
        raise WorkbenchError(
            "Not in this report",
            f"--raters names the raters to compare, and the report {report} compares none.",
            f"workbench report {workspace} agreement --raters {raters}",
        )
    if report is Report.pipeline:
        report_pipeline(workspace, run, blind=loaded.screens.blind, as_json=as_json)
        return
    if report is Report.agreement:
        _agreement(
            workspace,
            given_rater(rater),
            run,
            question,
            None if raters is None else _several(raters),
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    if question is not None:
        raise WorkbenchError(
            "Not in this report",
            f"--question names a question, and the report {report} is about all of them.",
            f"workbench report {workspace} agreement --question {question}",
        )
    if report is Report.figures:
        report_figures(workspace, given_rater(rater), run, blind=loaded.screens.blind, as_json=as_json)
        return
    check_view(given_rater(rater), loaded)
    blind = loaded.screens.blind
    with Workspace.open(workspace) as opened, opened.reading() as connection:
        who = reader(connection, given_rater(rater), rater_name(None, loaded))
        scope = Scope(who, visibility=Visibility(blind), run=chosen_run(connection, run, blind=blind))
        found = progress(connection, scope)
        shown = {} if blind else shown_by_kind(connection, scope)
    runs = {kind: each.name for kind, each in shown.items()}
    if as_json:
        print_json({"report": "progress", "blind": blind, "runs": runs, **found.to_dict()})
    else:
        _print_progress(workspace.name, found, tuple(runs.values()))


def _print_progress(name: str, found: Progress, runs: Sequence[str]) -> None:
    from agents.pipelines.registry import kinds_with_agents
    from store.kinds.counting import counted_kinds, unknown_kinds_note
    from store.kinds.spec import task_kinds
    from workbench.output import cost, print_facts, print_table, say, share

    for_agents = found.only(kinds_with_agents())
    print_facts(
        name,
        [
            ("items", counted_kinds(found.items)),
            ("sources", ", ".join(found.sources)),
            ("rater", found.rater or "nobody"),
            ("judged", share(found.judged, found.total)),
            ("today", found.today),
            ("cannot decide", found.cannot_decide),
            ("skipped", found.skipped),
            ("flagged", found.flagged),
            ("left", found.left),
            (
                "agents' labels",
                None
                if for_agents.agent_labelled is None or not for_agents.total
                else share(for_agents.agent_labelled, for_agents.total),
            ),
            ("of the run", ", ".join(runs) or None),
            (
                "agreement with them",
                None if not found.compared or found.agreed is None else share(found.agreed, found.compared),
            ),
            ("responses scored by judges", found.scored or None),
            ("tokens", f"{found.tokens:,}"),
            ("cost", cost(found.money, found.unpriced)),
        ],
    )
    if len(found.kinds) > 1:
        known = task_kinds()
        print_table(
            ("kind", "items", "judged", "left"),
            [
                (known[one.kind].plural if one.kind in known else one.kind, one.items, one.judged, one.left)
                for one in found.kinds
            ],
        )
    if found.raters:
        print_table(("rater", "kind", "labels"), [(one.name, one.kind, one.labelled) for one in found.raters])
    if unknown := unknown_kinds_note(found.items):
        say(unknown)


def _several(raters: str) -> list[str]:
    """Return the names in a list apart by commas.

    Raises:
        WorkbenchError: They are less than two.
    """
    names = [name.strip() for name in raters.split(",") if name.strip()]
    if len(set(names)) < 2:
        raise WorkbenchError(
            "Raters missing", "Agreement is that of two raters or more.", "Name them: --raters dana,eli"
        )
    return names


def _agreement(
    path: Path,
    rater: str | None,
    run: str | None,
    question: str | None,
    raters: list[str] | None,
    *,
    blind: bool,
    as_json: bool,
) -> None:
    from store.queries.agreement import agreement, question_of_items
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise WorkbenchError(
            "Blind review",
            "Agreement rests on the labels of others, which a blind review keeps out of sight.",
            "When the review is over, set screens.blind = false.",
        )
    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            asked = question or question_of_items(connection)
            chosen = chosen_run(connection, run, blind=blind)
            found = agreement(connection, asked, raters=raters, run=chosen)
    if rater is not None:
        found = _with_one(found, rater.strip())
    if as_json:
        print_json({"report": "agreement", **found.to_dict()})
    else:
        _print_agreement(path.name, found)


def _with_one(found: AgreementReport, rater: str) -> AgreementReport:
    """Leave only the pairs with one rater.

    Raises:
        UnknownName: Nobody of that name has a label.
    """
    names = [one.name for one in found.raters]
    if rater not in names:
        raise UnknownName(
            "No labels",
            f"No rater called {rater!r} has a current label.",
            f"Those with labels: {', '.join(names) or 'nobody yet'}.",
        )
    return replace(found, pairs=tuple(pair for pair in found.pairs if rater in pair.raters))


def _print_agreement(name: str, found: AgreementReport) -> None:
    from store.formatting import pluralize
    from store.measures.registry import measures
    from workbench.output import print_facts, print_table, say

    unit = "item" if found.responses is None else "response"
    print_facts(
        name,
        [
            ("question", found.question),
            ("phase", found.phase),
            ("items", f"{found.items:,}"),
            ("responses", None if found.responses is None else f"{found.responses:,}"),
        ],
    )
    say("")
    print_table(
        ("rater", "kind", "labels", "blind", "revealed"),
        [(one.name, one.kind, one.labelled, one.blind, one.revealed) for one in found.raters],
        wide=("rater",),
    )
    say(
        *(
            f"{one.name}: the mean of several scores of {pluralize(one.repeated, 'response')}; "
            f"SD of one response's scores: {one.deviation:.2f}."
            for one in found.raters
            if one.repeated and one.deviation is not None
        )
    )
    say("")
    compared = [measure for measure in measures() if measure.pairwise]
    titles = [measure.title for measure in compared]
    print_table(
        ("rater", "and", unit + "s", "agree", "percent", *titles, "left out", "blind", "revealed"),
        [
            (
                *pair.raters,
                pair.n,
                pair.agreed,
                None if pair.share is None else f"{100 * pair.share:.1f} %",
                *(
                    one.why_none if one.value is None else f"{one.value:.3f}"
                    for one in (pair.coefficients[measure] for measure in compared)
                ),
                pair.dropped,
                pair.blind,
                pair.revealed,
            )
            for pair in found.pairs
        ],
        wide=("rater", "and"),
    )
    for measure, one in found.coefficients.items():
        value = f"none: {one.why_none}" if one.value is None else f"{one.value:.3f}"
        ground = f"{pluralize(one.values, 'label')} of {pluralize(one.units, unit)}"
        say(
            "",
            f"{measure.title} ({found.level}) over {pluralize(len(found.raters), 'rater')}: {value}; "
            f"from {ground}, left out: {pluralize(one.dropped, unit)} with one label.",
        )
