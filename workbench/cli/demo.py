"""`workbench demo`: the sample data, with the agents at work."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import Answer, ConfigFile, RaterName, command, given_rater, settings
from workbench.start import in_terminal

if TYPE_CHECKING:
    from workbench.demo_report import DemoReport


@command
def demo_command(
    *,
    headless: Annotated[
        bool, typer.Option("--headless", help="Run the agents to the end and print counts, without the app.")
    ] = False,
    at: Annotated[
        Path | None,
        typer.Option("--at", metavar="PATH", help="The demo's workspace file, or a folder for it."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over: delete the existing demo with its judgments.")
    ] = False,
    train: Annotated[
        bool, typer.Option("--train", help="Practise the keys first, on ten items with known answers.")
    ] = False,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer | None:
    """Show everything with sample data: no key, no network.

    It holds items of every kind of work. The agents' replies in it were written by hand and are no model's
    output; test programs are really executed. Without a terminal it does what --headless does.
    """
    from workbench.demo import build_demo, demo_path, open_demo

    loaded = settings(config)
    if not headless and in_terminal():
        from workbench.lazy_config import LazyConfig

        configured, who = LazyConfig(config=loaded), given_rater(rater)
        code = open_demo(configured, who, at=at, fresh=fresh, practice=train)
        if code:
            raise typer.Exit(code)
        return None
    from agents.sandbox.errors import INSTALL_HINT
    from agents.sandbox.registry import RESTRICTED
    from store.policy.scope import Shows
    from workbench.cli.annotate import annotate, job_answer
    from workbench.demo_report import demo_report
    from workbench.job_settings import SAMPLE_KINDS, sample_annotation
    from workbench.output import note
    from workbench.study_session import configured_viewer

    if not headless:
        note("No terminal: the demo runs without the app, as with --headless.")
    jobs = [sample_annotation(loaded, kind) for kind in SAMPLE_KINDS]
    with build_demo(demo_path(at), fresh=fresh, own_place=at is None) as workspace:
        report = demo_report(workspace, *(annotate(workspace, job) for job in jobs))
    blind = not configured_viewer(loaded).may(Shows.OTHERS)
    unrepaired = (
        "Plain processes install nothing, so the programs that lack a package were not repaired. "
        f"{INSTALL_HINT} Then start over with --fresh."
    )
    return job_answer(
        report.to_dict(blind=blind),
        (report.annotation, report.judged, report.written),
        partial(_print, report, blind=blind),
        notes=[unrepaired] if report.annotation.sandbox == RESTRICTED else [],
    )


def _print(report: DemoReport, *, blind: bool) -> None:
    from store.formatting import part_of, pluralize
    from store.kinds.answer import WRITTEN
    from store.kinds.counting import counted_kinds
    from workbench.cli.annotate import report_facts
    from workbench.output import print_facts, say
    from workbench.sample import NOTICE

    against, raters, alpha = report.with_majority, report.among_raters, report.alpha
    issues = pluralize(report.written.counts.items, "issue")
    agreement = [
        (
            "with the raters' majority",
            f"{part_of(against.agreed, against.n)} agree, {pluralize(against.ties, 'tie')} left out",
        ),
        (
            "among the raters",
            None
            if raters.value is None
            else f"{100 * raters.value:.1f} % of pairs of labels agree, "
            f"n = {pluralize(raters.units, 'item')}, {pluralize(len(against.raters), 'rater')}",
        ),
        (
            "Krippendorff's alpha",
            None
            if alpha.value is None
            else f"{alpha.value:.3f} nominal, n = {pluralize(alpha.units, 'item')}",
        ),
    ]
    print_facts(
        f"Demo in {report.workspace}",
        [
            ("items", counted_kinds(report.items)),
            *report_facts(report.annotation, blind=blind),
            ("comparisons judged", f"{report.judged.counts.labelled:,} of {report.judged.counts.items:,}"),
            *(() if blind else report.judged.pipeline.facts),
            ("questions written", f"{report.written.counts.paths.get(WRITTEN, 0):,} of {issues}"),
            *([] if blind else agreement),
        ],
    )
    say("", NOTICE, f"Look at it: workbench {report.workspace}")
