"""`workbench study`: studies are made, shown, frozen and closed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from store.json_fields import json_fields
from store.policy.refusal import refuse
from store.policy.scope import Shows
from workbench.cli.options import (
    Answer,
    ConfigFile,
    RaterName,
    Workspace,
    command,
    given_rater,
    in_shell,
    reading_session,
    session,
    settings,
)
from workbench.cli.sampling import SamplePairs, Seed, Stratify
from workbench.cli.study_options import (
    Coordinators,
    FormatAlike,
    Gold,
    MaskNames,
    Overlap,
    Repeats,
    ScaleName,
    StripDocstrings,
    StudyName,
    text_changes,
)

if TYPE_CHECKING:
    from store.queries.studies import StudyDetails
    from store.studies.dashboard import Dashboard, Done
    from store.studies.plan import PlanPreview

study_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@study_commands.callback()
def study_command() -> None:
    """Studies: several experts judge the same items independently, under random conditions."""


@study_commands.command("new")
@command
def study_new(
    workspace: Workspace,
    name: StudyName,
    *,
    raters: Annotated[
        str, typer.Option(metavar="A,B,C", help="The raters' names; a single one with blanks as 'Ana Lee,'.")
    ],
    kind: Annotated[str, typer.Option(metavar="KIND", help="The kind of the items.")] = "pair",
    questions: Annotated[
        str | None, typer.Option(metavar="Q,Q", help="The questions that are compared; all by default.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only the items of the query with this text.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only these items: an id a line.")
    ] = None,
    sample_pairs: SamplePairs = None,
    stratify: Stratify = None,
    seed: Seed = None,
    overlap: Overlap = None,
    conditions: Annotated[
        str,
        typer.Option(
            metavar="C,C",
            help="The conditions, drawn at random for each item: blind, blind+tests, revealed, "
            "revealed+tests, own-test; +hidden-models to each.",
        ),
    ] = "blind",
    block: Annotated[
        int | None,
        typer.Option(metavar="N", help="Items of a block in which each condition is equally frequent."),
    ] = None,
    repeats: Repeats = 0,
    gold: Gold = None,
    training: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Items to practise on, in the form of --gold.")
    ] = None,
    reveal: Annotated[
        str | None,
        typer.Option(
            metavar="C", help="After all of it, the items come again in this condition: revealed+tests."
        ),
    ] = None,
    guideline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The guide that raters read.")
    ] = None,
    consent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The text that raters agree to at first.")
    ] = None,
    coordinators: Coordinators = None,
    half_width: Annotated[
        float | None,
        typer.Option(metavar="W", help="Stop where the interval of alpha is this narrow at a look."),
    ] = None,
    looks: Annotated[
        str | None, typer.Option(metavar="N,N", help="The numbers of judgments at which to look.")
    ] = None,
    idle_minutes: Annotated[
        float, typer.Option(min=0.1, metavar="M", help="Minutes without a key that count as away.")
    ] = 5.0,
    fast_seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="Seconds under which a decision is too fast.")
    ] = 2.0,
    scale: Annotated[
        ScaleName | None,
        typer.Option(help="Of comparisons: forced, tie (or the same), five (or much better), the default."),
    ] = None,
    mask_names: MaskNames = False,
    strip_docstrings: StripDocstrings = False,
    format_alike: FormatAlike = False,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Make a study as a draft.

    For example `workbench study new WS rq2 --raters ana,ben,chi --sample-pairs 400`. It can be made again
    until it is frozen.
    """
    from store.queries.studies import list_studies
    from store.record.protocol import StudyProtocol
    from store.record.raters import register_kinds
    from store.studies.choosing import ItemChoice
    from store.studies.plan import StudyPlan, names, numbers, people, preview_draft, save_plan
    from workbench.cli.items import find_kind
    from workbench.cli.sampling import SampleChoice
    from workbench.output import note
    from workbench.rater import rater_name
    from workbench.study_session import configured_viewer

    loaded = settings(config)
    kind = find_kind(kind)
    SampleChoice(sample_pairs, None, stratify).check(configured_viewer(loaded))
    own = rater_name(given_rater(rater), loaded)
    plan = StudyPlan(
        name=name,
        raters=tuple(people(raters)),
        choice=ItemChoice(kind, query, None, sample_pairs, stratify, seed or 0),
        protocol=StudyProtocol(
            kind=kind,
            questions=tuple(names(questions)),
            overlap=overlap,
            conditions=tuple(names(conditions)),
            block_size=block,
            repeats=repeats,
            reveal=reveal,
            seed=seed or 0,
            coordinators=tuple(people(coordinators) or ([own] if own else [])),
            half_width=half_width,
            looks=numbers(looks),
            idle_minutes=idle_minutes,
            fast_seconds=fast_seconds,
            scale=scale.value if scale else "",
            texts=text_changes(
                mask_names=mask_names, strip_docstrings=strip_docstrings, format_alike=format_alike
            ),
        ),
        items=items,
        gold=gold,
        training=training,
        guideline=guideline,
        consent=consent,
    )
    with session(workspace, loaded, Shows.WHOLE, "Making a study uses", rater) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            replaced = any(one.name == name.strip() for one in list_studies(connection))
        found = save_plan(opened, plan)
        with opened.reading() as connection:
            preview = preview_draft(connection, found)
    freeze = f"Freeze it when it is right: {in_shell('study', 'freeze', workspace, found.name)}"
    shown = _answer(found, preview, freeze)
    earlier = f"The earlier draft of {found.name} is replaced, with all of its options."
    return Answer(shown.fields, *([partial(note, earlier)] if replaced else []), *shown.text)


@study_commands.command("list")
@command
def study_list(workspace: Workspace, *, rater: RaterName = None, config: ConfigFile = None) -> Answer:
    """List the studies; a rater of an open study sees their own."""
    from store.policy.sealing import open_studies
    from store.queries.studies import list_studies
    from workbench.output import print_table
    from workbench.study_session import session_rater

    with reading_session(workspace, settings(config)) as (opened, loaded), opened.reading() as connection:
        own = session_rater(connection, loaded, given_rater(rater))
        mine = open_studies(connection, own.id)
        found = [one for one in list_studies(connection) if not mine or one.name in mine]
    fields = {"studies": [one.to_dict(sealed=bool(mine)) for one in found]}
    if not found:
        return Answer(fields, "No study yet. Make one: workbench study new WORKSPACE NAME --raters A,B,C")
    hidden = ("items", "raters", "sample")
    rows = [
        (
            one.name,
            one.state,
            *(() if mine else (one.items.get("item", 0), len(one.members), one.protocol.sample)),
        )
        for one in found
    ]
    return Answer(fields, partial(print_table, ("study", "state", *(() if mine else hidden)), rows))


@study_commands.command("show")
@command
def study_show(
    workspace: Workspace,
    name: StudyName,
    *,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Show a study: its protocol, and what is asked of each rater."""
    from store.queries.studies import find_study
    from store.studies.plan import preview_draft

    needs = (Shows.WHOLE, "The study's details show", rater)
    with (
        reading_session(workspace, settings(config), *needs) as (opened, _),
        opened.reading() as connection,
    ):
        found = find_study(connection, name)
        preview = preview_draft(connection, found) if found.frozen_at is None else None
    return _answer(found, preview)


@study_commands.command("status")
@command
def study_status(
    workspace: Workspace,
    name: StudyName,
    *,
    look: Annotated[
        bool, typer.Option("--look", help="Look at the agreement; the look and its result are logged.")
    ] = False,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Show the progress of each rater, gold scores, and looks."""
    from store.studies import dashboard
    from workbench.study_session import session_rater

    needs = (Shows.WHOLE, "The progress of a study shows", rater)
    with reading_session(workspace, settings(config), *needs) as (opened, loaded):
        with opened.reading() as connection:
            own = session_rater(connection, loaded, given_rater(rater))
            found = dashboard.dashboard(connection, name, own)
        if look:
            found = dashboard.look(opened, name, own)
    advised = not look and found.study.state == "open"
    by_look = in_shell("study", "status", workspace, name, "--look") if advised else ""
    return Answer(found.to_dict(), partial(_print_status, found, by_look))


@study_commands.command("freeze")
@command
def study_freeze(
    workspace: Workspace,
    name: StudyName,
    *,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Make the assignments of a draft; the study is fixed then."""
    from store.studies.studies import freeze_study

    with session(workspace, settings(config), Shows.WHOLE, "Making a study uses", rater) as opened:
        found = freeze_study(opened, name)
    return _answer(found)


@study_commands.command("delete")
@command
def study_delete(
    workspace: Workspace,
    name: StudyName,
    *,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Delete a draft; a frozen study is kept."""
    from store.studies.studies import delete_draft

    with session(workspace, settings(config), Shows.WHOLE, "Making a study uses", rater) as opened:
        delete_draft(opened, name)
    return Answer({"study": name, "deleted": True}, f"The draft {name} is deleted.")


@study_commands.command("close")
@command
def study_close(
    workspace: Workspace,
    name: StudyName,
    *,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Close an open study: nothing more is judged in it.

    Its raters see others' work again.
    """
    from store.studies.studies import close_study

    with session(workspace, settings(config), Shows.WHOLE, "Closing a study uses", rater) as opened:
        found = close_study(opened, name)
    return _answer(found)


@study_commands.command("withdraw")
@command
def study_withdraw(
    workspace: Workspace,
    name: StudyName,
    whose: Annotated[str, typer.Argument(metavar="RATER", help="The rater who withdraws.")],
    *,
    config: ConfigFile = None,
) -> Answer:
    """Exclude a rater's records from measures and exports.

    Those under the study are meant. They stay in the workspace, and nobody else's assignments change.
    """
    from store.policy.sealing import open_studies
    from store.studies.studies import withdraw
    from workbench.study_session import session_rater, viewer

    loaded = settings(config)
    with session(workspace, loaded) as opened:
        with opened.reading() as connection:
            own = session_rater(connection, loaded, given_rater(None))
            by_rater = own.name == whose and name in open_studies(connection, own.id)
            if not by_rater:
                asking = viewer(connection, loaded, given_rater(None))
                refuse(connection, asking, Shows.WHOLE, "The list of raters shows")
        found = withdraw(opened, name, whose)
    if not by_rater:
        return _answer(found)
    return Answer(
        {"study": found.name, "withdrawn": whose},
        f"{whose} has withdrawn from {found.name}; the records stay, and count in nothing.",
    )


@study_commands.command("manifest")
@command
def study_manifest(
    workspace: Workspace,
    name: StudyName,
    out: Annotated[
        Path | None, typer.Argument(help="The file to write: Markdown, or .tex or .csv; printed without one.")
    ] = None,
    *,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> None:
    """Print the methods table of a frozen study.

    For example `workbench study manifest WS rq2 methods.md`.
    """
    from store.queries.studies import find_study
    from store.reports.paper import methods
    from workbench.output import say

    needs = (Shows.WHOLE, "The study's details show", rater)
    with (
        reading_session(workspace, settings(config), *needs) as (opened, _),
        opened.reading() as connection,
    ):
        text = methods(connection, find_study(connection, name), "" if out is None else out.suffix.lower())
    if out is None:
        say(text.rstrip("\n"))
        return
    try:
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise WorkbenchError("Already there", f"{out} exists.", "Choose another name.") from None
    except OSError as error:
        raise WorkbenchError(
            "Cannot write", f"{out}: {error.strerror or error}.", "Choose another place."
        ) from error
    say(f"{out}: the methods of {name}.")


def _print_status(found: Dashboard, command: str) -> None:
    """Print how far a study is; `command` takes a look, and is empty where none is advised."""
    from store.queries.sources import rejected_sentence
    from store.record.protocol import condition_words
    from store.studies.dashboard_text import ended, looked, progress_words, stopping_words
    from workbench.output import print_facts, print_table, say

    study = found.study
    print_facts(
        study.name,
        [
            ("state", study.state),
            ("items", study.items.get("item", 0)),
            ("left", found.left),
            ("ends", ended(found.ends_at)),
            ("stops", study.protocol.stops),
        ],
    )
    parts = list(dict.fromkeys(part for one in found.raters for part in one.parts))
    print_table(
        (
            "rater",
            "done",
            *map(condition_words, parts),
            "left",
            "per hour",
            "ends",
            "gold",
            "too fast",
            "state",
        ),
        [
            (
                one.member.rater.name,
                _of(one.whole),
                *(_of(one.parts.get(part)) for part in parts),
                one.left,
                None if one.per_hour is None else f"{one.per_hour:.0f}",
                ended(one.ends_at),
                f"{one.gold.right} of {one.gold.given}" if one.gold.given else None,
                f"{one.too_fast} of {one.decisions}" if one.decisions else None,
                progress_words(one, study.protocol),
            )
            for one in found.raters
        ],
    )
    if found.looks:
        print_table(
            ("look", "question", "labels", "items", "alpha", "interval", "half-width", "kind"),
            [looked(one) for one in found.looks],
        )
    say(stopping_words(found))
    if found.rejected:
        say(rejected_sentence(found.rejected))
    if command:
        say(f"Agreement is shown by a look, which is logged: {command}")


def _of(part: Done | None) -> str | None:
    return None if part is None else f"{part.done:,} of {part.total:,}"


def _answer(found: StudyDetails, preview: PlanPreview | None = None, *further: str) -> Answer:
    """Return a study, with what a freeze of a draft makes and further lines for people."""
    planned = {} if preview is None else {"plan": json_fields(preview)}
    return Answer(found.to_dict() | planned, partial(_print, found, preview), *further)


def _print(found: StudyDetails, preview: PlanPreview | None) -> None:
    """Print a study; `preview` is what a freeze of a draft makes."""
    from store.record.protocol import condition_words
    from store.studies.dashboard_text import plan_words
    from workbench.output import print_facts, print_table, say

    protocol = found.protocol
    print_facts(
        found.name,
        [
            ("state", found.state),
            ("items", f"{found.items.get('item', 0):,} · {protocol.sample}"),
            ("gold, training", f"{found.items.get('gold', 0):,}, {found.items.get('training', 0):,}"),
            ("raters of each item", protocol.overlap or len(found.members)),
            ("conditions", ", ".join(map(condition_words, protocol.conditions))),
            ("guide", protocol.guideline or "that of the kind"),
            ("consent", protocol.consent_version or "not asked"),
            ("repeats for each rater", protocol.repeats),
            ("revealed at the end", condition_words(protocol.reveal or "no")),
            ("stops", protocol.stops),
            ("coordinators", ", ".join(protocol.coordinators)),
        ],
    )
    last: tuple[str, ...]
    ends: list[tuple[object, ...]]
    if preview is None:
        rows, last = found.manifest.get("balance", {}).get("raters", ()), ("consent",)
        ends = [("withdrawn" if one.withdrawn_at else one.consent_version,) for one in found.members]
    else:
        rows, last = json_fields(preview)["raters"], ("assignments", "sittings", "hours")
        ends = [(one.assignments, one.sittings, f"{one.hours:,.1f}") for one in preview.raters]
    by_name = {row["rater"]: row for row in rows}
    own = [by_name.get(one.rater.name, {}) for one in found.members]
    print_table(
        ("rater", "pseudonym", "items", *map(condition_words, protocol.conditions), "repeats", *last),
        [
            (
                one.rater.name,
                one.pseudonym,
                row.get("items"),
                *(row.get("by_condition", {}).get(condition) for condition in protocol.conditions),
                row.get("repeats"),
                *end,
            )
            for one, row, end in zip(found.members, own, ends, strict=True)
        ],
    )
    if preview is not None:
        say("\n".join(plan_words(preview)))
