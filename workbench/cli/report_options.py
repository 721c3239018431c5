"""The options of reports, by their names in `store.reports.options.Options`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from workbench.cli.options import RaterName
from workbench.cli.ranking import PresetName

MOST_COMPARED, MOST_PER_QUERY = 100_000, 1_000
"""The most items of a comparison of two methods, and of a query, that a plan is made for."""


class Strata(StrEnum):
    """What a sample was stratified by."""

    all = "all"
    label = "label"
    path = "path"
    label_path = "label,path"


class Phase(StrEnum):
    """The phases in which labels are first given."""

    review = "review"
    label = "label"


def _text(metavar: str, help_: str, *names: str) -> Any:
    return Annotated[str | None, typer.Option(*names, metavar=metavar, help=help_, show_default=False)]


def _number(
    metavar: str, help_: str, *names: str, low: float | None = None, high: float | None = None
) -> Any:
    return Annotated[
        float | None,
        typer.Option(*names, metavar=metavar, help=help_, min=low, max=high, show_default=False),
    ]


def _count(metavar: str, help_: str, *names: str, low: int = 1, high: int | None = None) -> Any:
    return Annotated[
        int | None, typer.Option(*names, metavar=metavar, help=help_, min=low, max=high, show_default=False)
    ]


def _flag(name: str, help_: str) -> Any:
    return Annotated[bool, typer.Option(name, help=help_)]


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

OPTIONS: dict[str, Any] = {
    "rater": RaterName,
    "run": _text("NAME", "This run of the agents: its name, how that begins or ends, or its id.", "--run"),
    "question": _text("NAME", "Which question, such as completion.keep; of agreement also: all."),
    "raters": _text("A,B,...", "Only these raters."),
    "study": _text("NAME", "Only labels under the assignments of this study."),
    "phase": Annotated[
        Phase | None,
        typer.Option(help="Only labels of this phase; default: both.", show_default=False),
    ],
    "kind": _text("KIND", "Only items of this kind, such as pair."),
    "split": _text("NAME", "Only the items of this split."),
    "part": _text("NAME", "With --split: only this part of it."),
    "policy": _text(
        "P",
        "What makes one label of several: majority, unanimous, adjudicated, dawid-skene, ...; for accuracy "
        "(default majority) also a rater, whose labels are true then.",
    ),
    "preset": Annotated[
        PresetName | None,
        typer.Option("--preset", help="The measures and rules of a benchmark.", show_default=False),
    ],
    "by_item": _flag("--by-item", "Also each item, the least agreed first."),
    "panel": _text("A,B,...", "The raters of the panel; default: people."),
    "with_revealed": _flag(
        "--with-revealed", "Labels judged with those of agents or judges on the screen count as true."
    ),
    "compare": _text(
        "A,B,...",
        "Test every two of these raters, with Holm's correction; of retrieval two methods, by query.",
    ),
    "population": Annotated[
        Strata | None,
        typer.Option(
            metavar="STRATA",
            help="Estimate each run over all items that it labelled: true labels are a random sample of them "
            "(all), or of each label, path or label,path.",
            show_default=False,
        ),
    ],
    "bootstrap": _count(
        "N", "Resamples for intervals, 0 for none; default 1,000.", "--bootstrap", low=0, high=100_000
    ),
    "bootstrap_units": _flag("--bootstrap-units", "Draw single items, not whole queries: too narrow."),
    "seed": _count("S", "The seed; default 0.", low=0),
    "blocks": _count("N", "Also the mean of alpha over blocks of N items, as CoSQA+ does."),
    "elo_k": EloK,
    "prior": Prior,
    "baseline": Baseline,
    "judges": Judges,
    "group_by": GroupBy,
    "half_width": _number("W", "Half of the width of a 95 % interval."),
    "per_query": _count("N", "Items of each query.", high=MOST_PER_QUERY),
    "rater_count": _count("N", "Raters of each item.", low=2, high=100),
    "alpha": _number("A", "The expected alpha of Krippendorff."),
    "prevalence": _number("P", "The expected share of matches."),
    "accuracy": _number("A", "The expected accuracy."),
    "correlation": _number("R", "The expected correlation of the items of a query."),
    "items": _count("N", "Items for two methods.", high=MOST_COMPARED),
    "p10": _number("P", "The share of items that only the first has right.", "--p10"),
    "p01": _number("P", "The share that only the second has right.", "--p01"),
    "power": _number("P", "The wanted power, 0.8 by default."),
    "significance": _number("S", "That of the test, 0.05 by default."),
}
"""The options, each as Typer reads it."""

SEVERAL = ("raters", "panel", "compare", "judges")
"""Those that take several names."""

TWO_OR_MORE = {"raters": ("agreement", "confusion", "plan"), "compare": ("accuracy",)}
"""Of these, the reports for which one name is not enough."""
