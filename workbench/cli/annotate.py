"""`workbench annotate`: the agents work through a workspace without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import AsJson, ConfigFile, Workspace, command, settings

if TYPE_CHECKING:
    from agents.events import JobEvent
    from agents.report import AnnotationReport
    from agents.settings import AnnotationSettings
    from store.workspace import Workspace as OpenWorkspace


@command
def annotate_command(
    workspace: Workspace,
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="openai:NAME, anthropic:NAME or scripted:FILE."),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which agents take part; see: workbench agents"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many items.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=256, help="Items worked on at the same time.")
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="bubblewrap, docker, or process, which runs generated programs without isolating them.",
        ),
    ] = None,
    repairs: Annotated[
        bool | None,
        typer.Option(
            "--repairs/--no-repairs",
            help="Whether the bug fixer repairs programs that miss something; it reaches the package index.",
            show_default=False,
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Let the agents annotate every item that the run has no verdict on.

    Ctrl-C stops it; the same command goes on where it stopped.
    """
    from store.raters import register_kinds
    from store.workspace import Workspace
    from workbench.jobs import annotation_settings
    from workbench.output import print_json

    job = annotation_settings(
        settings(config),
        model=model,
        agents=agents,
        limit=limit,
        concurrency=concurrency,
        sandbox=sandbox,
        repairs=repairs,
    )
    with Workspace.open(workspace) as opened:
        register_kinds(opened)
        report = annotate(opened, job)
    if as_json:
        print_json(report.as_json())
    else:
        print_report(report)
    tell_the_end(report)


def annotate(opened: OpenWorkspace, job: AnnotationSettings) -> AnnotationReport:
    """Run a job with a progress bar, its warnings on stderr, and return what it came to."""
    from agents.events import JobLog, JobProgressed
    from agents.jobs import run_annotation
    from workbench.output import Bar, note

    with Bar("annotating") as bar:

        def tell(event: JobEvent) -> None:
            if isinstance(event, JobProgressed):
                failed = f" · {event.failed:,} failed" if event.failed else ""
                waiting = f" · {event.waiting:,} waiting" if event.waiting else ""
                detail = f"{event.ended:,}/{event.total:,}{failed}{waiting} · {event.per_minute:,.0f}/min"
                bar.show(event.ended, event.total, detail)
            elif isinstance(event, JobLog) and event.level != "info":
                note(f"{event.level}: {event.text}")

        return run_annotation(opened, job, tell)


def tell_the_end(report: AnnotationReport) -> None:
    """Say why a job did not end by itself, and end the command accordingly."""
    from agents.sandbox.errors import INSTALL_HINT
    from workbench.output import note, show_error

    if report.state == "stopped":
        note("Stopped. What was recorded is kept; the same command goes on from there.")
        raise typer.Exit(130)
    if report.error is not None:
        show_error(report.error, as_json=False)
        raise typer.Exit(report.error.exit_code)
    if report.waiting:
        note(
            f"Unclear items that wait, since their tests need a sandbox: {report.waiting:,}. {INSTALL_HINT} "
            "Then the same command takes them up."
        )
    if report.failed:
        note(f"{report.failed} of the items have no label; the same command tries them again.")
    if report.failed or report.waiting:
        raise typer.Exit(1)


def print_report(report: AnnotationReport) -> None:
    """Print what a job came to."""
    from workbench.output import print_facts

    print_facts(f"{report.run_name}: {report.state}", report_facts(report))


def report_facts(report: AnnotationReport) -> list[tuple[str, Any]]:
    """Return the facts of a job and its run, for people."""
    from workbench.output import share

    counts = report.counts
    labels = ", ".join(f"{count:,} × {value:g}" for value, count in counts.labels.items())
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.reasons.items())
    ended = [f"{report.done:,} done", f"{report.failed:,} failed"]
    ended += [f"{report.waiting:,} waiting for a sandbox"] if report.waiting else []
    return [
        ("model", report.model),
        ("sandbox", report.sandbox),
        ("this job", ", ".join((*ended, f"{report.seconds:.1f} s"))),
        ("items of the run", f"{counts.items:,}"),
        ("clear match", f"{counts.clear_match:,}"),
        ("clear non-match", f"{counts.clear_nonmatch:,}"),
        ("unclear", f"{counts.unclear:,}"),
        ("executed", f"{counts.executed:,}"),
        ("executable", share(counts.executable, counts.executed)),
        ("needs a sandbox", f"{counts.needs_sandbox:,}" if counts.needs_sandbox else None),
        ("labels", f"{counts.labelled:,}" + (f" ({labels})" if labels else "")),
        ("failed", f"{counts.failed:,}" + (f" ({reasons})" if reasons else "")),
        ("tokens", f"{counts.tokens_in:,} in, {counts.tokens_out:,} out"),
        ("cost", "unknown" if counts.money is None else f"${counts.money:,.4f}"),
    ]
