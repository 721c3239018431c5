"""`workbench report WORKSPACE preference` and `workbench measure preference FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import blind_review
from workbench.cli.report_agreement import named

if TYPE_CHECKING:
    from store.measures.preference_report import Options

EloK = Annotated[
    float | None,
    typer.Option(
        "--elo-k", min=0.001, max=1000, metavar="K", help="How far a battle moves an Elo rating; default 4."
    ),
]
Prior = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1000,
        metavar="T",
        help="Rate by a regularised fit: every two candidates are taken to have tied T times besides.",
    ),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="Score the others against this candidate (PCE of CoReQA).")
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD",
        help="Win rates and scores by the values of this field of the comparisons, such as language.",
    ),
]
Judges = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Raters that are models, where the files do not show it."),
]


def preference_options(
    *,
    elo_k: float | None,
    prior: float | None,
    baseline: str | None,
    raters: str | None,
    judges: str | None,
    bootstrap: int | None,
    seed: int | None,
    group_by: str | None,
) -> Options:
    """Return the options of a report as they are given on the command line."""
    from store.measures.preference_report import Options

    return Options(
        raters=None if raters is None else named(raters),
        judges=() if judges is None else named(judges),
        baseline=baseline,
        elo_k=4.0 if elo_k is None else elo_k,
        prior=prior or 0.0,
        resamples=1000 if bootstrap is None else bootstrap,
        seed=seed or 0,
        group_by=group_by,
    )


def report_preference(
    path: Path,
    options: Options,
    *,
    study: str | None,
    run: str | None,
    blind: bool,
    as_json: bool,
) -> None:
    """Print ratings, win rates and biases of the votes on the comparisons of a workspace.

    Args:
        path: The workspace.
        options: How they are computed.
        study: The study whose assignments count; None for all labels.
        run: The run of the agents that alone counts; None for all.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, or a name is unknown.
    """
    from store.measures.preference_report import preference_report
    from store.queries.preferences import preference_votes
    from store.workspace.duckdb import Workspace
    from workbench.cli.preference_text import print_preference
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("The report on preference uses")
    with Workspace.open(path) as opened, opened.reading() as connection:
        votes = preference_votes(
            connection,
            study=study,
            run=chosen_run(connection, run, blind=blind),
            group_by=options.group_by,
        )
    found = preference_report(votes, options)
    if as_json:
        print_json({"report": "preference", "study": study, **found.to_dict()})
    else:
        print_preference(path.name, found)


def measure_preference(
    files: Sequence[Path], format_: str | None, options: Options, *, as_json: bool
) -> None:
    """Print the same of files of comparisons."""
    from store.ingest.votes import read_votes
    from store.measures.preference_report import preference_report
    from workbench.cli.preference_text import print_preference
    from workbench.output import print_json

    votes = read_votes(files, format_, group_by=options.group_by)
    found = preference_report(votes, options)
    if as_json:
        names = [str(one) for one in files]
        print_json({"measure": "preference", "files": names, "notes": votes.notes, **found.to_dict()})
    else:
        print_preference(", ".join(one.name for one in files), found, votes.notes)
