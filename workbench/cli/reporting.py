"""`workbench report`: progress, agreement and the figures of the agents' runs."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from workbench.cli.items import check_view, viewed_session
from workbench.cli.options import AsJson, ConfigFile, RaterName, Workspace, command, given_rater, settings
from workbench.cli.pipeline import report_pipeline
from workbench.cli.ranking import PresetName
from workbench.cli.rejected import says_rejected
from workbench.cli.report_accuracy import Strata, report_accuracy
from workbench.cli.report_agreement import named, report_agreement, several
from workbench.cli.report_counts import report_confusion, report_labels, report_time
from workbench.cli.report_figures import report_figures
from workbench.cli.report_plan import MOST_COMPARED, MOST_PER_QUERY, GivenNumbers, report_plan
from workbench.cli.report_preference import (
    Baseline,
    EloK,
    GroupBy,
    Judges,
    Prior,
    preference_options,
    report_preference,
)
from workbench.cli.report_raters import report_raters
from workbench.cli.report_retrieval import report_retrieval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.queries.progress import Progress


class Report(StrEnum):
    """The reports there are."""

    progress = "progress"
    agreement = "agreement"
    pipeline = "pipeline"
    accuracy = "accuracy"
    figures = "figures"
    plan = "plan"
    preference = "preference"
    raters = "raters"
    confusion = "confusion"
    labels = "labels"
    time = "time"
    retrieval = "retrieval"


_OF_RATERS = (Report.agreement, Report.accuracy)
_MEASURED = (*_OF_RATERS, Report.preference)
_COUNTED = (Report.confusion, Report.labels, Report.time)
_REPORTS_OF = {
    "question": (*_OF_RATERS, Report.confusion, Report.labels, Report.plan, Report.raters),
    "raters": (*_MEASURED, *_COUNTED, Report.plan),
    "study": (*_MEASURED, *_COUNTED, Report.raters),
    "bootstrap": (*_MEASURED, Report.confusion, Report.retrieval),
    "seed": (*_MEASURED, Report.confusion, Report.plan, Report.retrieval),
    "kind": (Report.time,),
    "bootstrap_units": _OF_RATERS,
    "split": (Report.agreement, Report.retrieval),
    "part": (Report.agreement, Report.retrieval),
    "policy": (Report.retrieval,),
    "preset": (Report.retrieval,),
    "by_item": (Report.agreement,),
    "blocks": (Report.agreement,),
    "against": (Report.accuracy,),
    "panel": (Report.accuracy,),
    "with_revealed": (Report.accuracy,),
    "compare": (Report.accuracy, Report.retrieval),
    "population": (Report.accuracy,),
    **dict.fromkeys(("elo_k", "prior", "baseline", "judges", "group_by"), (Report.preference,)),
    **{each.name: (Report.plan,) for each in fields(GivenNumbers)},
}
"""The reports that an option belongs to; the others belong to all."""


@command
@says_rejected
def report_command(
    workspace: Workspace,
    report: Annotated[
        Report,
        typer.Argument(
            metavar="REPORT",
            help="Which report: progress, agreement, confusion, accuracy, labels, time, raters, "
            "preference, pipeline, figures, retrieval or plan.",
        ),
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
            metavar="NAME",
            help="Which question, such as completion.keep; for agreement, confusion, accuracy, labels, "
            "plan, raters.",
        ),
    ] = None,
    raters: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Only these raters, two or more (accuracy, labels, preference, time: one); for agreement, "
            "confusion, accuracy, labels, time, preference, plan.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only labels under the assignments of this study; for agreement, confusion, accuracy, "
            "labels, time, raters, preference.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only items of this kind, such as pair; for time.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the items of this split; for agreement, retrieval."),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --split: only this part of it; for agreement, retrieval."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="P", help="What makes one label of several: majority, unanimous, ...; for retrieval."
        ),
    ] = None,
    preset: Annotated[
        PresetName | None,
        typer.Option("--preset", help="The measures and rules of a benchmark; for retrieval."),
    ] = None,
    by_item: Annotated[
        bool, typer.Option("--by-item", help="Also each item, the least agreed first; for agreement.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="RATER|POLICY",
            help="Whose labels are true: a rater, or majority, unanimous, adjudicated, mean, median, "
            "dawid-skene of a panel; for accuracy.",
        ),
    ] = None,
    panel: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The raters of the panel; default: people; for accuracy."),
    ] = None,
    with_revealed: Annotated[
        bool,
        typer.Option(
            "--with-revealed",
            help="Labels judged with those of agents or judges on the screen count as true; for accuracy.",
        ),
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Test every two of these raters, with Holm's correction; for accuracy. Two methods, query "
            "by query; for retrieval.",
        ),
    ] = None,
    population: Annotated[
        Strata | None,
        typer.Option(
            metavar="STRATA",
            help="Estimate each run over all items that it labelled: true labels are a random sample of them "
            "(all), or of each label, path or label,path; for accuracy.",
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            "--bootstrap",
            min=0,
            max=100_000,
            metavar="N",
            help="Resamples for intervals, 0 for none; default 1,000; for agreement, confusion, accuracy, "
            "preference, retrieval.",
        ),
    ] = None,
    by_unit: Annotated[
        bool,
        typer.Option(
            "--bootstrap-units",
            help="Draw single items, not whole queries: too narrow; for agreement, accuracy.",
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="S",
            help="The seed; default 0; for agreement, confusion, accuracy, preference, plan, retrieval.",
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Also the mean of alpha over blocks of N items, as CoSQA+ does; for agreement.",
        ),
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(metavar="W", help="Half of the width of a 95 % interval; for plan.")
    ] = None,
    per_query: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_PER_QUERY, metavar="N", help="Items of each query; for plan."),
    ] = None,
    rater_count: Annotated[
        int | None, typer.Option(min=2, max=100, metavar="N", help="Raters of each item; for plan.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="The expected alpha of Krippendorff; for plan.")
    ] = None,
    prevalence: Annotated[
        float | None, typer.Option(metavar="P", help="The expected share of matches; for plan.")
    ] = None,
    accuracy: Annotated[float | None, typer.Option(metavar="A", help="The expected one; for plan.")] = None,
    correlation: Annotated[
        float | None, typer.Option(metavar="R", help="That of the items of a query; for plan.")
    ] = None,
    items: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_COMPARED, metavar="N", help="Items for two methods; for plan."),
    ] = None,
    p10: Annotated[
        float | None,
        typer.Option(
            "--p10", metavar="P", help="The share of items that only the first has right; for plan."
        ),
    ] = None,
    p01: Annotated[
        float | None,
        typer.Option("--p01", metavar="P", help="The share that only the second has right; for plan."),
    ] = None,
    power: Annotated[
        float | None, typer.Option(metavar="P", help="The wanted power, 0.8 by default; for plan.")
    ] = None,
    significance: Annotated[
        float | None, typer.Option(metavar="S", help="That of the test, 0.05 by default; for plan.")
    ] = None,
    elo_k: EloK = None,
    prior: Prior = None,
    baseline: Baseline = None,
    judges: Judges = None,
    group_by: GroupBy = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a report.

    progress: items judged and left, and the agents' labels, of the newest of the fullest runs or of --run.
    agreement: of people on a question, with intervals, and of every two raters, including the agents' runs,
    judges of responses and imported raters; with --rater NAME only the pairs with that rater, with --raters
    A,B,C of these raters instead of people, with --run NAME without the other runs. accuracy: of each rater
    against the labels of one (--against NAME) or of a panel's policy (majority by default). pipeline: figures
    of each run of the agents: paths, tests, repairs, tokens, cost, seconds; with --run NAME only of that run.
    preference: ratings, win rates and biases of side and length, of the votes on comparisons.
    figures: of query-code pairs, as in CoSQA+: queries by matching codes, matches by rank, codes by the
    queries that they answer, by the agents' labels or, with --rater NAME, by those of one rater. retrieval:
    methods whose rankings `evaluate retrieval` stored, by the labels of --rater, --policy or --split; with
    --compare A,B two of them query by query. raters: of
    each rater of a study (--study NAME) time, gold and training score, repeats, drift. confusion: how often
    each label of one rater goes with each of another (--raters A,B). labels: how often each was given. time:
    seconds for each item, and by place in a session. plan: how many queries a study needs; numbers that are
    not given are estimated from the labels, or are defaults.
    """
    # Before NumPy is imported: the products of a bootstrap are too small to be worth threads, which wait for
    # each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from store.measures.intervals import Bootstrap
    from store.queries.home import activity
    from store.queries.progress import progress
    from store.queries.runs import shown_by_kind
    from store.retrieval.labels import LabelSource
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.rater import rater_name
    from workbench.study_session import refuse_in_study

    loaded = settings(config)
    numbers = GivenNumbers(
        half_width, per_query, rater_count, alpha, prevalence, accuracy, correlation,
        items, p10, p01, power, significance,
    )  # fmt: skip
    _check_options(
        report,
        workspace,
        {
            "question": question,
            "raters": raters,
            "study": study,
            "kind": kind,
            "split": split,
            "part": part,
            "bootstrap": bootstrap,
            "seed": seed,
            "bootstrap_units": by_unit,
            "by_item": by_item,
            "blocks": blocks,
            "against": against,
            "panel": panel,
            "with_revealed": with_revealed,
            "compare": compare,
            "policy": policy,
            "preset": preset,
            "population": population,
            "elo_k": elo_k,
            "prior": prior,
            "baseline": baseline,
            "judges": judges,
            "group_by": group_by,
            **asdict(numbers),
        },
    )
    if report is not Report.progress:
        with Workspace.open(workspace) as opened, opened.reading() as connection:
            # Elsewhere --rater names whose labels a report is about.
            own = given_rater(rater if report is Report.raters else None)
            refuse_in_study(connection, loaded, f"The report {report} uses", own)
    if report is Report.pipeline:
        report_pipeline(workspace, run, blind=loaded.screens.blind, as_json=as_json)
        return
    drawn = Bootstrap(1000 if bootstrap is None else bootstrap, seed or 0, by_unit)
    if report is Report.agreement:
        report_agreement(
            workspace,
            question,
            rater=given_rater(rater),
            run=run,
            raters=None if raters is None else several(raters),
            study=study,
            split=split,
            part=part,
            by_item=by_item,
            bootstrap=drawn,
            block=blocks,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    blind, given = loaded.screens.blind, None if raters is None else named(raters)
    if report is Report.confusion:
        pair = None if raters is None else several(raters)
        report_confusion(
            workspace,
            question,
            raters=pair,
            study=study,
            run=run,
            bootstrap=drawn,
            blind=blind,
            as_json=as_json,
        )
        return
    if report in (Report.labels, Report.time):
        check_view(given_rater(rater), loaded)
        own = (rater_name(None, loaded) or "") if blind else None
        if report is Report.labels:
            report_labels(workspace, question, raters=given, study=study, run=run, own=own, as_json=as_json)
        else:
            report_time(workspace, kind, raters=given, study=study, own=own, as_json=as_json)
        return
    if report is Report.accuracy:
        report_accuracy(
            workspace,
            question,
            against,
            rater=given_rater(rater),
            run=run,
            raters=None if raters is None else named(raters),
            study=study,
            panel=None if panel is None else named(panel),
            compared=[] if compare is None else several(compare),
            with_revealed=with_revealed,
            population=None if population is None else population.strata,
            bootstrap=drawn,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    if report is Report.preference:
        report_preference(
            workspace,
            preference_options(
                elo_k=elo_k,
                prior=prior,
                baseline=baseline,
                raters=raters,
                judges=judges,
                group_by=group_by,
                bootstrap=bootstrap,
                seed=seed,
            ),
            study=study,
            run=run,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    if report is Report.raters:
        report_raters(workspace, study, question, blind=loaded.screens.blind, as_json=as_json)
        return
    if report is Report.figures:
        report_figures(workspace, given_rater(rater), run, blind=loaded.screens.blind, as_json=as_json)
        return
    if report is Report.retrieval:
        report_retrieval(
            workspace,
            LabelSource(given_rater(rater), policy, split, part),
            preset=(preset or PresetName.cosqa_plus).value,
            compared=[] if compare is None else named(compare),
            bootstrap=drawn,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    if report is Report.plan:
        report_plan(
            workspace,
            numbers,
            question,
            raters=None if raters is None else several(raters),
            run=run,
            seed=seed or 0,
            blind=loaded.screens.blind,
            as_json=as_json,
        )
        return
    check_view(given_rater(rater), loaded)
    with Workspace.open(workspace) as opened, opened.reading() as connection:
        scope = viewed_session(connection, loaded, given_rater(rater), run).scope
        found, lately = progress(connection, scope), activity(connection, scope)
        shown = {} if scope.hides_lists else shown_by_kind(connection, scope)
    runs = {kind: each.name for kind, each in shown.items()}
    if as_json:
        print_json(
            {
                "report": "progress",
                "blind": blind,
                "runs": runs,
                **found.to_dict(),
                "activity": asdict(lately),
            }
        )
    else:
        _print_progress(workspace.name, found, tuple(runs.values()))


def _check_options(report: Report, workspace: Path, options: Mapping[str, object]) -> None:
    """Refuse the options of one report with another one.

    Raises:
        WorkbenchError: One is given with another report than its own.
    """
    for name, value in options.items():
        if value not in (None, False) and report not in _REPORTS_OF[name]:
            option = "--" + name.replace("_", "-")
            *first, last = _REPORTS_OF[name]
            reports = f"reports {', '.join(first)} and {last}" if first else f"report {last}"
            raise WorkbenchError(
                "Not in this report",
                f"{option} belongs to the {reports}, not to {report}.",
                f"workbench report {workspace} {_REPORTS_OF[name][0]} {option}"
                + ("" if value is True else f" {value}"),
            )


def _print_progress(name: str, found: Progress, runs: Sequence[str]) -> None:
    from agents.pipelines.registry import kinds_with_agents
    from store.kinds.counting import counted_kinds, unknown_kinds_note
    from store.kinds.spec import task_kinds
    from workbench.output import cost, print_facts, print_table, say, share

    for_agents = found.only(kinds_with_agents())
    if for_agents.agent_labelled:
        # Of other kinds the runs that are named have not labelled anything.
        for_agents = found.only([one.kind for one in for_agents.kinds if one.agent_labelled])
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
