"""`workbench report`: progress, agreement and the figures of the agents' runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from workbench.cli.items import check_view, reader
from workbench.cli.options import AsJson, ConfigFile, RaterName, Workspace, command, given_rater, settings
from workbench.cli.pipeline import report_pipeline
from workbench.cli.report_agreement import report_agreement, several
from workbench.cli.report_figures import report_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.queries.progress import Progress


class Report(StrEnum):
    """The reports there are."""

    progress = "progress"
    agreement = "agreement"
    pipeline = "pipeline"
    figures = "figures"


_REPORTS_OF = {
    "question": (Report.agreement,),
    "raters": (Report.agreement,),
    "study": (Report.agreement,),
    "by_item": (Report.agreement,),
    "blocks": (Report.agreement,),
}
"""The reports that an option belongs to; the others belong to all."""


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
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only labels under the assignments of this study; for agreement."),
    ] = None,
    by_item: Annotated[
        bool, typer.Option("--by-item", help="Also each item, the least agreed first; for agreement.")
    ] = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            "--bootstrap", min=0, max=100_000, metavar="N", help="Resamples for intervals; 0 for none."
        ),
    ] = 1000,
    by_unit: Annotated[
        bool,
        typer.Option(
            "--bootstrap-units", help="Draw single items, not whole queries: intervals are then too narrow."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="The seed of the resamples.")] = 0,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Also the mean of alpha over blocks of N items, as CoSQA+ does; for agreement.",
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a report.

    progress: items judged and left, and the agents' labels, of the newest of the fullest runs or of --run.
    agreement: of people on a question, with intervals, and of every two raters, including the agents' runs,
    judges of responses and imported raters; with --rater NAME only the pairs with that rater, with --raters
    A,B,C of these raters instead of people, with --run NAME without the other runs. pipeline: figures of each
    run of the agents: paths, tests, repairs, tokens, cost, seconds; with --run NAME only of that run.
    figures: of query-code pairs, as in CoSQA+: queries by matching codes, matches by rank, codes by the
    queries that they answer, by the agents' labels or, with --rater NAME, by those of one rater.
    """
    from store.measures.intervals import Bootstrap
    from store.queries.progress import progress
    from store.queries.runs import shown_by_kind
    from store.record.scope import Scope, Visibility
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.rater import rater_name
    from workbench.run_option import chosen_run

    loaded = settings(config)
    _check_options(
        report, workspace, question=question, raters=raters, study=study, by_item=by_item, blocks=blocks
    )
    if report is Report.pipeline:
        report_pipeline(workspace, run, blind=loaded.screens.blind, as_json=as_json)
        return
    if report is Report.agreement:
        report_agreement(
            workspace,
            question,
            rater=given_rater(rater),
            run=run,
            raters=None if raters is None else several(raters),
            study=study,
            by_item=by_item,
            bootstrap=Bootstrap(bootstrap, seed, by_unit),
            block=blocks,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
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


def _check_options(report: Report, workspace: Path, **options: object) -> None:
    """Refuse the options of one report with another one.

    Raises:
        WorkbenchError: One is given with another report than its own.
    """
    for name, value in options.items():
        if value not in (None, False) and report not in _REPORTS_OF[name]:
            option = "--" + name.replace("_", "-")
            raise WorkbenchError(
                "Not in this report",
                f"{option} belongs to the report {_REPORTS_OF[name][0]}, not to {report}.",
                f"workbench report {workspace} {_REPORTS_OF[name][0]} {option}"
                + ("" if value is True else f" {value}"),
            )


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
