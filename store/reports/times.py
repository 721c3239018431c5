"""The report on time: how long raters took for an item, and how that changes in a session."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from store.formatting import pluralize
from store.kinds.spec import task_kinds
from store.queries.labels import kinds_of_items
from store.queries.times import PAUSE, TimeBin, TimesReport, times_report
from store.reports.labels import names_of, seen
from store.reports.value import Cell, Choice, Options, Page, Row, Table, counted, number, share

if TYPE_CHECKING:
    from sqlalchemy import Connection

ALL = "all"
"""The choice of all raters together."""


def read_times(
    connection: Connection, choice: Choice
) -> tuple[TimesReport, tuple[str, ...], tuple[str, ...]]:
    """Read the times of one rater or of all, the kinds that there are, and the raters with times."""
    kinds = tuple(kind.name for kind in kinds_of_items(connection)) or tuple(task_kinds())
    kind = choice.subject or kinds[0]
    everybody = times_report(connection, kind, own=choice.own)
    one = choice.first
    found = everybody if one not in everybody.raters else times_report(connection, kind, raters=[one])
    return found, kinds, everybody.raters


def times_page(read: tuple[TimesReport, tuple[str, ...], tuple[str, ...]], choice: Choice) -> Page:
    """Return the times as a histogram, and by the place in a session."""
    found, kinds, raters = read
    kind = task_kinds()[found.kind]
    one = choice.first if choice.first in raters else None
    command = ("time", "--kind", found.kind, *(("--raters", one) if one else ()))
    options: dict[str, Options] = {"subject": Options("kind", kinds, found.kind)}
    if choice.own is None:
        options["first"] = Options("rater", (ALL, *raters), one or ALL)
    if not found.times:
        why = "No times yet: they are measured when items are judged in the app."
        return Page((f"{kind.plural}: seconds for each item",), command, empty=why, options=options)
    longest = max(one.n for one in found.histogram)
    ends = [end for bin_ in found.by_place for end in (bin_.three_quarters, bin_.median) if end is not None]
    return Page(
        caption=(
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
            ),
            Table(
                ("place in session", "n", "median s"),
                tuple(_place_row(one) for one in found.by_place),
                title="Time by place in the session",
                drawn="seconds for each item",
                ordered=True,
                scale=(0.0, float(ceil(max(ends)))),
                notes=("Plot: the median, with the first and third quartile.",),
            ),
        ),
        options=options,
    )


def _bin_row(one: TimeBin, whole: int, longest: int) -> Row:
    named = one.span()
    return Row((named, _items(one, f"{named} seconds"), share(one.n / whole)), one.n / longest)


def _place_row(one: TimeBin) -> Row:
    named = one.span(places=True)
    drawn = (one.quarter, one.median, one.three_quarters)
    return Row((named, _items(one, f"place {named} in a session"), number(one.median, 1)), drawn)


def _items(one: TimeBin, named: str) -> Cell:
    return counted(one.n, lambda _: sorted(set(one.items)), named)
