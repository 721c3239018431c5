"""The report on the work of each rater of a study."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from store.analysis.rater_quality import RaterRow, RatersReport, raters_report
from store.errors import WorkbenchError
from store.reports.options import Options
from store.reports.value import NONE, Cell, Report, Row, Table, counted, facts, filled, number

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.rater_quality import ListPart, Score


def read_raters(connection: Connection, options: Options) -> RatersReport:
    """Read the work of each rater of a study.

    Raises:
        WorkbenchError: No study is named, or there is no such study.
    """
    if options.study is None:
        raise WorkbenchError(
            "Which study", "This report is about the raters of a study.", "Name it: --study NAME"
        )
    return raters_report(connection, options.study, options.question)


def raters_of(found: RatersReport, options: Options) -> Report:
    """Return time, speed, known answers, repeats and drift of each rater."""
    # In a published bundle raters are called by their pseudonyms.
    named = any(one.rater != one.pseudonym for one in found.raters)
    return Report(
        caption=(f"{found.study}: {found.question}",),
        command=("raters", *options.arguments(question=found.question)),
        tables=filled(
            facts([("withdrawn, left out", found.withdrawn or None)]),
            Table(
                (
                    *("", *(["rater"] if named else []), "items", "of", "median s", "mean s", "away"),
                    *("too fast", "undecided", "skipped"),
                ),
                tuple(_work(one, named=named) for one in found.raters),
                "Work and time",
                names=1 + named,
                notes=(
                    "Seconds are active ones, of gold and repeated items too: "
                    f"pauses over {found.idle_minutes:g} min are time away. "
                    f"Too fast: under {found.fast_seconds:g} s.",
                ),
            ),
            Table(
                (
                    *("", "gold right", "training right", "repeats equal"),
                    *("median s", "agrees, %", "without a test"),
                ),
                tuple(_quality(one) for one in found.raters),
                "Known answers and repeats",
                notes=("median s and agrees: by third of the list, with the other raters.",),
            ),
        ),
        empty="" if found.raters else "Nobody has labelled an item of this study yet.",
    )


def _work(one: RaterRow, *, named: bool) -> Row:
    quality = one.quality
    return Row(
        (
            *((one.pseudonym, one.rater) if named else (one.pseudonym,)),
            *(counted(quality.items), counted(one.assigned)),
            *(number(quality.median_seconds, 1), number(quality.mean_seconds, 1)),
            Cell(_away(quality.idle_seconds), quality.idle_seconds),
            *map(counted, (quality.too_fast, one.cannot_decide, one.skipped)),
        )
    )


def _quality(one: RaterRow) -> Row:
    quality = one.quality
    repeated = quality.repeat_percent
    equal = (
        Cell(NONE) if repeated is None else Cell(f"{repeated:.0f} % of {quality.repeated}", repeated / 100)
    )
    without = Cell(f"{one.without_test:,} of {one.own_test:,}", one.without_test) if one.own_test else NONE
    return Row(
        (
            one.pseudonym,
            _score(quality.gold, one.gold_items),
            _score(quality.training),
            equal,
            _thirds(quality.drift, lambda part: part.median_seconds, 1),
            _thirds(quality.drift, lambda part: part.percent, 0),
            without,
        )
    )


def _away(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _score(score: Score, of: int | None = None) -> Cell:
    if score.accuracy is None:
        return Cell(NONE)
    missing = f", {of - score.labelled} open" if of is not None and of > score.labelled else ""
    return Cell(f"{score.right} of {score.labelled}{missing}", score.accuracy)


def _thirds(parts: tuple[ListPart, ...], value: Callable[[ListPart], float | None], places: int) -> str:
    values = [value(part) for part in parts]
    shown = ("-" if each is None else f"{each:.{places}f}" for each in values)
    return " · ".join(shown) if any(each is not None for each in values) else NONE
