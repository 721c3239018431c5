"""`workbench packet`: a rater's part of a study as a file of its own, and the merge of what comes back."""

from __future__ import annotations

from functools import partial
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
from workbench.cli.study_options import StudyName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from store.studies.packet_merge import PacketReport

packet_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

_SHOWN = 5


@packet_commands.callback()
def packet_command() -> None:
    """Packets: a rater's part of a study as a file, to judge in on another machine."""


@packet_commands.command("make")
@command
def packet_make(
    workspace: Workspace,
    study: StudyName,
    whose: Annotated[
        str, typer.Argument(metavar="RATER", help="The rater's name or pseudonym.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the packet is made.", show_default=False)],
    *,
    again: Annotated[
        bool, typer.Option("--again", help="Make another one, with what is left, since the first is lost.")
    ] = False,
    config: ConfigFile = None,
) -> Answer:
    """Make a packet: `workbench packet make WS rq2 ana ana.duckdb`.

    It holds what is left for the rater, and only what they may see. The reveal comes in a second packet, once
    the first was merged and all its items are decided.
    """
    from store.record.raters import register_kinds
    from store.studies.packets import make_packet
    from workbench.output import Bar

    loaded = settings(config)
    with session(workspace, loaded, Shows.WHOLE, "A packet contains") as opened, Bar("packet") as bar:
        register_kinds(opened)
        made = make_packet(opened, study, whose, out, again=again, progress=progress_callback(bar))
    part = "the reveal" if made.reveal else pluralize(made.sittings, "sitting")
    return Answer(
        {"workspace": workspace, **json_fields(made)},
        f"{out}: {pluralize(made.items, 'item')} of {made.study} for {made.rater} · {part}.",
        f"{made.rater} opens it by: {in_shell(out.name)}",
        f"What comes back is merged by: {in_shell('packet', 'merge', workspace, out)}",
    )


@packet_commands.command("merge")
@command
def packet_merge(
    workspace: Workspace,
    packets: Annotated[
        list[Path], typer.Argument(metavar="PACKET...", help="Packets that came back.", show_default=False)
    ],
    *,
    dry_run: DryRun = False,
    config: ConfigFile = None,
) -> Answer:
    """Merge what raters recorded in packets; merging again adds nothing, and finishes what was interrupted.

    The packets are only read. One that is not as it was made is refused; of the others all is merged but
    records that cannot be the rater's, which are named.
    """
    from store.errors import WorkbenchError
    from store.studies.packet_merge import merge_packet
    from workbench.output import Bar, show_error

    loaded = settings(config)
    with session(workspace, loaded, Shows.WHOLE, "Merging packets uses") as opened, Bar("merging") as bar:
        reports: list[PacketReport] = []
        refused: dict[str, WorkbenchError] = {}
        for path in packets:
            try:
                reports.append(merge_packet(opened, path, dry_run=dry_run, progress=progress_callback(bar)))
            except WorkbenchError as error:
                if len(packets) == 1:
                    raise
                refused[str(path)] = error
    end = [f"Merged into {workspace}."] if any(report.adds for report in reports) else []
    return Answer(
        {
            "workspace": workspace,
            "dry_run": dry_run,
            "packets": [json_fields(report) for report in reports],
            "refused": {path: refusal.message for path, refusal in refused.items()},
        },
        *(line for report in reports for line in _printed(report)),
        *(partial(show_error, refusal, as_json=False) for refusal in refused.values()),
        *(["This was a dry run: nothing was merged."] if dry_run else end),
        code=2 if refused else 0,
    )


def _printed(report: PacketReport) -> Iterator[str]:
    would = "would be " if report.dry_run else ""
    parts = [pluralize(report.judgments, "judgment")]
    parts += [pluralize(report.marks, "mark")] if report.marks else []
    parts += [pluralize(report.expert_runs, "test that the rater ran", "tests that the rater ran")] * bool(
        report.expert_runs
    )
    what = f"{', '.join(parts)} {would}added" if report.adds else "nothing new"
    known = f"; {report.known:,} known" if report.known else ""
    yield f"{report.packet}: {report.study}, {report.rater}: {what}{known}."
    if report.consent:
        yield f"  Consent or experience {would}taken from the packet."
    if report.also_judged:
        shown = ", ".join(report.also_judged[:_SHOWN])
        more = f" and {len(report.also_judged) - _SHOWN:,} more" if len(report.also_judged) > _SHOWN else ""
        yield f"  Also judged elsewhere: {shown}{more}. Both labels are kept; the later one counts."
    reasons: dict[str, list[str]] = {}
    for number, why in report.left_out.items():
        reasons.setdefault(why, []).append(number)
    for why, numbers in reasons.items():
        more = f" and {len(numbers) - _SHOWN:,} more" if len(numbers) > _SHOWN else ""
        yield f"  Left out, {why}: {', '.join(numbers[:_SHOWN])}{more}."
    if reasons:
        yield f"  {pluralize(len(report.left_out), 'record')} left out; they stay in the packet."
    if report.left is not None:
        yield f"  Left for {report.rater}: {pluralize(report.left, 'item')}."
