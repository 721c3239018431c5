"""The report on time: how long raters took for an item, and how that changes in a session."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from store.analysis.labels import kinds_of_items
from store.analysis.times import PAUSE, TimeBin, TimesReport, times_report
from store.formatting import pluralize
from store.kinds.spec import task_kinds
from store.reports.labels import names_of, seen
from store.reports.options import Options
from store.reports.value import Cell, Report, Row, Table, counted, interval, number, share

if TYPE_CHECKING:
    from sqlalchemy import Connection


def read_times(connection: Connection, options: Options) -> TimesReport:
    """Read the times of the raters of a kind.

    Raises:
        UnknownName: There is no such kind, study or rater.
    """
    here = kinds_of_items(connection) or list(task_kinds().values())
    return times_report(
        connection,
        options.kind or here[0].name,
        raters=options.raters or None,
        study=options.study,
        own=options.own,
    )


def times_of(found: TimesReport, options: Options) -> Report:
    """Return the times as a histogram, and by the place in a session."""
    kind = task_kinds()[found.kind]
    command = ("time", *options.arguments(kind=found.kind))
    if not found.times:
        why = "No times yet: they are measured when items are judged in the app."
        return Report((f"{kind.plural}: seconds for each item",), command, empty=why)
    longest = max(one.n for one in found.histogram)
    ends = [end for bin_ in found.by_place for end in (bin_.three_quarters, bin_.median) if end is not None]
    return Report(
        caption=(
            *([f"study: {found.study}"] if found.study else []),
            f"{kind.plural}: {names_of(found.raters)} · median "
            f"{number(found.median, 1).text} s · mean {number(found.mean, 1).text} s",
            seen(
                len(found.times),
                "item",
                sum(one.blind for one in found.times),
                sum(one.revealed for one in found.times),
            ),
            f"Seconds of activity for each item; {pluralize(found.sessions, 'session')}, each ended by a "
            f"pause of {PAUSE.seconds // 60} minutes",
        ),
        command=command,
        tables=(
            Table(
                ("seconds", "n", "share"),
                tuple(_bin_row(one, len(found.times), longest) for one in found.histogram),
                title="Time for each item",
                drawn="items",
                ordered=True,
                scale=(0.0, float(longest)),
            ),
            Table(
                ("place in session", "n", "median s", "half of them"),
                tuple(_place_row(one) for one in found.by_place),
                title="Time by place in the session",
                drawn="seconds for each item",
                ordered=True,
                scale=(0.0, float(ceil(max(ends)))),
                notes=("Plot: the median, with the first and third quartile.",),
            ),
        ),
    )


def _bin_row(one: TimeBin, whole: int, longest: int) -> Row:
    named = one.span()
    return Row((named, _items(one, f"{named} seconds"), share(one.n / whole)), one.n / longest)


def _place_row(one: TimeBin) -> Row:
    named = one.span(places=True)
    drawn = (one.quarter, one.median, one.three_quarters)
    half = interval(one.quarter, one.three_quarters, places=1)
    return Row((named, _items(one, f"place {named} in a session"), number(one.median, 1), half), drawn)


def _items(one: TimeBin, named: str) -> Cell:
    return counted(one.n, lambda _: sorted(set(one.items)), named)
