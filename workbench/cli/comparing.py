"""`workbench compare`: comparisons of two candidates, with a study of them where raters are named."""

from __future__ import annotations

from typing import Annotated

import typer

from store.formatting import pluralize
from workbench.cli.options import (
    Answer,
    ConfigFile,
    RaterName,
    Workspace,
    command,
    given_rater,
    session,
    settings,
    several,
)
from workbench.cli.study_options import (
    Coordinators,
    FormatAlike,
    Gold,
    MaskNames,
    Overlap,
    Repeats,
    ScaleName,
    StripDocstrings,
    text_changes,
)

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
    overlap: Overlap = None,
    gold: Gold = None,
    repeats: Repeats = 0,
    scale: Annotated[
        ScaleName,
        typer.Option(help="forced: one is better; tie: or the same; five: or much better."),
    ] = ScaleName.tie,
    mask_names: MaskNames = False,
    strip_docstrings: StripDocstrings = False,
    format_alike: FormatAlike = False,
    coordinators: Coordinators = None,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Make comparisons, and a draft of a study of them: `workbench compare new WS rq1 --codes-from A:B`.

    Of two sets of codes that share queries, one pair of codes labelled 1 is drawn for each query. Comparisons
    that are there already are not added again. Sides are drawn when the study is frozen: workbench study
    freeze WS NAME.
    """
    from store.kinds.comparison import COMPARISON
    from store.policy.scope import Shows
    from store.record.protocol import StudyProtocol
    from store.record.raters import register_kinds
    from store.studies.comparing import ComparisonPlan, carry_out
    from store.studies.plan import people
    from workbench.rater import rater_name

    loaded = settings(config)
    own = rater_name(given_rater(rater), loaded)
    plan = ComparisonPlan(
        name,
        codes_from=codes_from,
        labels=labels,
        models=None if models is None else tuple(several(models)),
        setting=setting,
        from_scores=from_scores,
        judge=judge,
        most=items,
        raters=None if raters is None else tuple(people(raters)),
        gold=gold,
        protocol=StudyProtocol(
            COMPARISON.name,
            overlap=overlap,
            repeats=repeats,
            seed=seed,
            coordinators=tuple(people(coordinators) or ([own] if own else [])),
            scale=scale.value,
            texts=text_changes(
                mask_names=mask_names, strip_docstrings=strip_docstrings, format_alike=format_alike
            ),
        ),
    )
    with session(workspace, loaded, Shows.WHOLE, "A comparison uses", rater) as opened:
        register_kinds(opened)
        report, ids, study = carry_out(opened, plan)
    added = sum(one.items_added for one in report.files)
    further = f"A study of them: workbench compare new {workspace} {name} ... --raters A,B,C"
    if study is not None:
        members = ", ".join(one.rater.name for one in study.members)
        further = f"A draft of a study for {members}. Freeze it: workbench study freeze {workspace} {name}"
    return Answer(
        {
            "comparisons": name,
            "made": len(ids),
            "added": added,
            "seed": seed,
            "study": None if study is None else study.to_dict(),
        },
        f"{name}: {pluralize(len(ids), 'comparison')}, {added:,} of them new.",
        further,
    )
