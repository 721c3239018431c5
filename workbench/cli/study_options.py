"""Options that `study`, `compare`, `packet`, `split` and `evaluate` share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

StudyName = Annotated[str, typer.Argument(help="The study's name.", show_default=False)]
Overlap = Annotated[int | None, typer.Option(min=1, metavar="N", help="Raters of each item; all by default.")]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Items with known answers, mixed in: lines `item,value` or `item,question,value`.",
    ),
]
Repeats = Annotated[
    int, typer.Option(min=0, metavar="N", help="Items that each rater meets again, unannounced.")
]
Coordinators = Annotated[
    str | None, typer.Option(metavar="A,B", help="Who coordinates the study; you by default.")
]
TrueRater = Annotated[
    str | None, typer.Option("--rater", metavar="NAME", help="Whose labels are true: a person or a run.")
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="P",
        help="What makes one label of several: majority, unanimous, adjudicated, dawid-skene, ...",
    ),
]


class ScaleName(StrEnum):
    """The scales of comparisons."""

    forced = "forced"
    tie = "tie"
    five = "five"


MaskNames = Annotated[
    bool, typer.Option("--mask-names", help="Raters see no names of the sets and of models in the texts.")
]
StripDocstrings = Annotated[
    bool, typer.Option("--strip-docstrings", help="Raters see Python code without its docstrings.")
]
FormatAlike = Annotated[
    bool, typer.Option("--format-alike", help="Raters see both sides in one format, without comments.")
]


def text_changes(*, mask_names: bool, strip_docstrings: bool, format_alike: bool) -> tuple[str, ...]:
    """Return the changes of the texts of comparisons that were asked for."""
    from store.kinds.comparison_texts import FORMATTED, MASKED_NAMES, NO_DOCSTRINGS

    changes = {MASKED_NAMES: mask_names, NO_DOCSTRINGS: strip_docstrings, FORMATTED: format_alike}
    return tuple(change for change, wanted in changes.items() if wanted)
