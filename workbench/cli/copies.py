"""`workbench copy` and `workbench merge`: copies of a workspace in which agents work elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.formatting import pluralize
from store.json_fields import json_fields
from store.policy.scope import Shows
from workbench.cli.exchange import DryRun, progress_callback
from workbench.cli.options import (
    Answer,
    ConfigFile,
    Workspace,
    command,
    in_shell,
    session,
    settings,
)

if TYPE_CHECKING:
    from store.workspace.copy_merge import MergeReport


@command
def copy_command(
    workspace: Workspace,
    copy: Annotated[Path, typer.Argument(help="Where the copy is made.")],
    *,
    config: ConfigFile = None,
) -> Answer:
    """Copy a workspace, for agents to work in the copy while experts judge here; see merge.

    Nobody else may have it open. The journal stays where it is; the copy begins its own.
    """
    from store.workspace.copy_merge import copy_workspace

    loaded = settings(config)
    with session(workspace, loaded, Shows.WHOLE, "A copy contains"):
        pass
    size = copy_workspace(workspace, copy)
    return Answer(
        {"workspace": workspace, "copy": copy, "bytes": size},
        f"{copy}: a copy of {workspace}, {size:,} bytes.",
        f"What agents do in it comes back by: {in_shell('merge', workspace, copy)}",
    )


@command
def merge_command(
    workspace: Workspace,
    copy: Annotated[Path, typer.Argument(help="A copy of it, in which agents have worked since.")],
    *,
    dry_run: DryRun = False,
    config: ConfigFile = None,
) -> Answer:
    """Merge what agents recorded in a copy of the workspace into it.

    All or nothing; merging again adds nothing. The copy is only read. Judgments come by export and import.
    """
    from store.workspace.copy_merge import merge
    from workbench.output import Bar

    loaded = settings(config)
    with session(workspace, loaded, Shows.WHOLE, "A merge uses") as opened, Bar("merging") as bar:
        report = merge(opened, copy, dry_run=dry_run, progress=progress_callback(bar))
    return Answer({"workspace": workspace, **json_fields(report)}, *_printed(workspace, report))


def _printed(workspace: Path, report: MergeReport) -> list[str]:
    would = "would be " if report.dry_run else ""
    lines = []
    for run in report.runs:
        gain = f"{pluralize(run.steps, 'step')} and {pluralize(run.verdicts, 'verdict')} {would}added"
        lines.append(f"{run.name}: {'a new run, ' if run.fresh else ''}{gain}.")
    if report.verdicts_left:
        differing = f", {report.verdicts_differing:,} of them other ones" if report.verdicts_differing else ""
        lines.append(
            f"Left: {pluralize(report.verdicts_left, 'verdict')} on what the same run has labelled "
            f"here{differing}; the record here is kept."
        )
    if report.experts_runs:
        lines.append(f"Among the executions: {pluralize(report.experts_runs, 'test')} that experts ran.")
    if left := report.judgments_left + report.marks_left:
        lines += [
            f"Left: {pluralize(left, 'judgment or mark', 'judgments and marks')} made in the copy. To bring "
            "them too:",
            "  " + in_shell("export", report.copy, "judgments.jsonl", "--format", "jsonl"),
            "  " + in_shell("import", workspace, "judgments.jsonl"),
        ]
    if report.imported_left:
        beside = pluralize(
            report.imported_left,
            "response, score or piece of context",
            "responses, scores and pieces of context",
        )
        lines.append(f"Left: {beside} that came into the copy. To have them here: import their files.")
    if report.rankings_left:
        lines.append(
            f"Left: the rankings of {', '.join(report.rankings_left)}, made in the copy. To have them here: "
            "rank again by workbench evaluate retrieval."
        )
    if report.dry_run:
        lines.append("This was a dry run: nothing was merged.")
    elif report.adds:
        lines.append(f"Merged into {workspace}.")
    else:
        left = report.judgments_left + report.marks_left + report.imported_left + len(report.rankings_left)
        what = "what agents did in " if left else ""
        lines.append(f"Nothing of {what}{report.copy} is new in {workspace}.")
    return lines
