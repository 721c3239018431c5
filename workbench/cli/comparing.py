"""`workbench compare`: comparisons of two candidates, with a study of them where raters are named."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from workbench.cli.options import AsJson, ConfigFile, RaterName, Workspace, command, given_rater, settings
from workbench.cli.report_agreement import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from store.ingest.report import ImportReport
    from store.studies.comparing import Made
    from store.studies.studies import StudyDetails
    from store.workspace.duckdb import Workspace as OpenWorkspace


class ScaleName(StrEnum):
    """The scales of comparisons."""

    forced = "forced"
    tie = "tie"
    five = "five"


compare_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@compare_commands.callback()
def compare_command() -> None:
    """Comparisons: which of two candidates is better?"""


@compare_commands.command("new")
@command
def compare_new(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(help="The name of the comparisons, and of their study.")],
    *,
    codes_from: Annotated[
        str | None,
        typer.Option(
            metavar="A:B",
            help="Two sets of codes: imported files, or FIELD=VALUE of the pairs' extra fields.",
        ),
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            metavar="RATER|POLICY",
            help="Whose labels say which codes match: a rater, a run, or majority, unanimous, adjudicated.",
        ),
    ] = "majority",
    models: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Models whose responses are compared.")
    ] = None,
    setting: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only responses under this setting.")
    ] = None,
    from_scores: Annotated[
        bool,
        typer.Option(
            "--from-scores", help="Compare responses that a judge scored, with verdicts by these scores."
        ),
    ] = False,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="Only scores of this judge.")] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="The seed of all that is random.")] = 0,
    items: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only N comparisons, at random.")
    ] = None,
    raters: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Make a study of them for these raters.")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Raters of each comparison; all by default.")
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Comparisons with known answers, mixed in: lines `item,value`."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=0, metavar="N", help="Comparisons that each rater meets again, unannounced.")
    ] = 0,
    scale: Annotated[
        ScaleName,
        typer.Option(help="forced: one is better; tie: or the same; five: or much better."),
    ] = ScaleName.tie,
    coordinators: Annotated[
        str | None, typer.Option(metavar="A,B", help="Who coordinates the study; you by default.")
    ] = None,
    rater: RaterName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make comparisons, and a draft of a study of them: `workbench compare new WS rq1 --codes-from A:B`.

    Of two sets of codes that share queries, one pair of codes labelled 1 is drawn for each query. Comparisons
    that are there already are not added again. Sides are drawn when the study is frozen: workbench study
    freeze WS NAME.
    """
    from store.record.raters import register_kinds
    from store.studies.comparing import store_comparisons
    from store.studies.plan import people
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.rater import rater_name
    from workbench.study_session import refuse_in_study

    loaded = settings(config)
    if sum((codes_from is not None, models is not None and not from_scores, from_scores)) != 1:
        raise WorkbenchError(
            "Compare what?",
            "Comparisons are made of two sets of codes, of models' responses, or of scores of these.",
            "Give one: --codes-from A:B, --models A,B or --from-scores.",
        )
    with Workspace.open(workspace) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            refuse_in_study(connection, loaded, "What is compared rests", given_rater(rater))
            made = _made(
                connection,
                codes_from=codes_from,
                labels=labels,
                models=models,
                setting=setting,
                judge=judge,
                seed=seed,
                scores=from_scores,
            )
        report, ids = store_comparisons(opened, name, made, seed=seed, most=items)
        study = None
        if raters is not None:
            own = rater_name(given_rater(rater), loaded)
            study = _study(
                opened,
                name,
                ids,
                raters=people(raters),
                overlap=overlap,
                gold=gold,
                repeats=repeats,
                scale=scale.value,
                coordinators=people(coordinators) or ([own] if own else []),
                seed=seed,
            )
    if as_json:
        print_json(
            {
                "comparisons": name,
                "made": len(ids),
                "added": sum(one.items_added for one in report.files),
                "seed": seed,
                "study": None if study is None else study.to_dict(),
            }
        )
    else:
        _print(workspace, name, report, len(ids), study)


def _made(
    connection: Connection,
    *,
    codes_from: str | None,
    labels: str,
    models: str | None,
    setting: str | None,
    judge: str | None,
    seed: int,
    scores: bool,
) -> Sequence[Made]:
    from store.studies.comparing import codes_of_sets, responses_of_models, single_scores

    wanted = None if models is None else several(models)
    if scores:
        return single_scores(connection, wanted, judge=judge)
    if wanted is not None:
        return responses_of_models(connection, wanted, setting=setting)
    first, colon, second = (codes_from or "").partition(":")
    if not (first and colon and second):
        raise WorkbenchError(
            "Two sets", f"{codes_from!r} does not name two sets.", "Name them: --codes-from cosqa:cosqa-plus"
        )
    return codes_of_sets(connection, first, second, labels=labels, seed=seed)


def _study(
    opened: OpenWorkspace,
    name: str,
    ids: Sequence[str],
    *,
    raters: Sequence[str],
    overlap: int | None,
    gold: Path | None,
    repeats: int,
    scale: str,
    coordinators: Sequence[str],
    seed: int,
) -> StudyDetails:
    """Make a draft of a study of some comparisons."""
    from store.kinds.comparison import COMPARISON
    from store.studies.choosing import read_answers
    from store.studies.comparing import chosen_comparisons
    from store.studies.protocol import StudyProtocol
    from store.studies.studies import new_study

    with opened.reading() as connection:
        apart = [] if gold is None else list(read_answers(connection, COMPARISON.name, gold, "gold"))
        taken = {one.item_id for one in apart}
        chosen = [one for one in chosen_comparisons(connection, ids) if one.item_id not in taken]
    protocol = StudyProtocol(
        kind=COMPARISON.name,
        sample=f"comparisons {name}, seed {seed}",
        overlap=overlap,
        repeats=repeats,
        seed=seed,
        coordinators=tuple(coordinators),
        scale=scale,
    )
    return new_study(opened, name, protocol, [*chosen, *apart], raters)


def _print(workspace: Path, name: str, report: ImportReport, number: int, study: StudyDetails | None) -> None:
    from store.formatting import pluralize
    from workbench.output import say

    added = sum(one.items_added for one in report.files)
    say(f"{name}: {pluralize(number, 'comparison')}, {added:,} of them new.")
    if study is None:
        say(f"A study of them: workbench compare new {workspace} {name} ... --raters A,B,C")
    else:
        raters = ", ".join(one.rater.name for one in study.members)
        say(f"A draft of a study for {raters}. Freeze it: workbench study freeze {workspace} {name}")
