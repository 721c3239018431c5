"""`workbench report WORKSPACE raters`: the work of each rater of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError, blind_review

if TYPE_CHECKING:
    from store.measures.rater_quality import ListPart, Score
    from store.queries.rater_quality import RatersReport


def report_raters(path: Path, study: str | None, question: str | None, *, blind: bool, as_json: bool) -> None:
    """Print the work of each rater of a study.

    Args:
        path: The workspace.
        study: The study's name.
        question: The question whose labels are compared; None for the first one of the study.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, or no study is named, or there is no such study.
    """
    from store.queries.rater_quality import raters_report
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json

    if blind:
        raise blind_review("This report uses")
    if study is None:
        raise WorkbenchError(
            "Which study", "This report is about the raters of a study.", "Name it: --study NAME"
        )
    with Workspace.open(path) as opened, opened.reading() as connection:
        found = raters_report(connection, study, question)
    if as_json:
        print_json({"report": "raters", **found.to_dict()})
    else:
        _print(path.name, found)


def _print(name: str, found: RatersReport) -> None:
    from workbench.output import print_facts, print_table, say

    print_facts(
        name,
        [
            ("study", found.study),
            ("question", found.question),
            ("withdrawn, left out", found.withdrawn or None),
        ],
    )
    say("")
    print_table(
        ("", "rater", "items", "median s", "mean s", "away", "too fast", "undecided", "skipped"),
        [
            (
                *(one.pseudonym, one.rater, f"{one.quality.items:,} of {one.assigned:,}"),
                *(_seconds(each) for each in (one.quality.median_seconds, one.quality.mean_seconds)),
                _away(one.quality.idle_seconds),
                *(one.quality.too_fast, one.cannot_decide, one.skipped),
            )
            for one in found.raters
        ],
        wide=("rater",),
    )
    say("", "Known answers, repeats; seconds and agreement with others by third of the list")
    print_table(
        ("", "gold right", "training right", "repeats equal", "median s", "agrees, %", "without a test"),
        [
            (
                one.pseudonym,
                _score(one.quality.gold, one.gold_items),
                _score(one.quality.training),
                None
                if one.quality.repeat_percent is None
                else f"{one.quality.repeat_percent:.0f} % of {one.quality.repeated}",
                _thirds(one.quality.drift, lambda part: _seconds(part.median_seconds)),
                _thirds(
                    one.quality.drift, lambda part: None if part.percent is None else f"{part.percent:.0f}"
                ),
                f"{one.without_test:,} of {one.own_test:,}" if one.own_test else None,
            )
            for one in found.raters
        ],
    )
    say(
        "",
        f"Seconds are active ones: pauses over {found.idle_minutes:g} min are time away. "
        f"Too fast: under {found.fast_seconds:g} s.",
    )


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _away(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _score(score: Score, of: int | None = None) -> str | None:
    if score.accuracy is None:
        return None
    labelled = f"{score.right} of {score.labelled}"
    missing = f", {of - score.labelled} open" if of is not None and of > score.labelled else ""
    return f"{labelled}{missing}"


def _thirds(parts: tuple[ListPart, ...], shown: Callable[[ListPart], str | None]) -> str | None:
    values = [shown(part) for part in parts]
    return " · ".join(each or "-" for each in values) if any(values) else None
