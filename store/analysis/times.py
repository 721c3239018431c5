"""How long raters took for an item, and how that changes in a session of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import func, select

from store.errors import UnknownName
from store.json_fields import NOT_IN_JSON, json_fields
from store.kinds.spec import task_kinds
from store.policy.scope import FIRST_PHASES
from store.queries.current import all_values
from store.queries.studies import find_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Rater

if TYPE_CHECKING:
    from sqlalchemy import Connection

PAUSE = timedelta(minutes=30)
"""The time between two labels after which a new session begins."""

ENDS = (2, 5, 10, 20, 30, 60, 120, 300, 600)
"""Seconds at which a bin of the histogram ends and the next one begins."""

PLACES = (5, 10, 20, 50, 100, 200)
"""The last place in a session of each part but the last one."""


@dataclass(frozen=True, slots=True)
class ItemTime:
    """The time that a rater took for an item.

    Attributes:
        seconds: Seconds of activity; those from the item's coming onto the screen to the label where
            activity was not measured. Those of several answers are added up.
        at: When the last answer was given.
        blind: Whether it was judged in a blind review.
        revealed: Whether it was judged with a label of agents or a judge on the screen.
    """

    rater: str
    item_id: int
    seconds: float
    at: datetime
    blind: bool
    revealed: bool


@dataclass(frozen=True, slots=True)
class TimeBin:
    """Times of some items.

    Attributes:
        low: The lowest: seconds, or the place in the session.
        high: Below which they are, or the last place; None for no end.
        median: The median of the seconds; None without times.
        quarter: A quarter of the times are below; None with fewer than two.
        three_quarters: Three quarters of them are below.
        items: The items, one for each time.
    """

    JSON_ALSO: ClassVar = ("n",)

    low: float
    high: float | None
    median: float | None
    quarter: float | None
    three_quarters: float | None
    items: tuple[int, ...] = field(repr=False, metadata=NOT_IN_JSON)

    @property
    def n(self) -> int:
        """The number of times."""
        return len(self.items)

    def span(self, *, places: bool = False) -> str:
        """Return its ends in words: "under 2", "5 to 10", "600 and more".

        Args:
            places: Whether they are places in a session, which have no "under".
        """
        if self.high is None:
            return f"{self.low:g} and more"
        return f"{self.low:g} to {self.high:g}" if self.low or places else f"under {self.high:g}"


@dataclass(frozen=True, slots=True)
class TimesReport:
    """The times of the items of a kind.

    Attributes:
        study: The study whose assignments count; None for all labels.
        times: The times in the order of the labels.
        sessions: Sessions of work of all raters.
        histogram: The times by their length.
        by_place: The times by their place in the session.
    """

    kind: str
    study: str | None
    raters: tuple[str, ...]
    times: tuple[ItemTime, ...]
    sessions: int
    histogram: tuple[TimeBin, ...]
    by_place: tuple[TimeBin, ...]

    @property
    def median(self) -> float | None:
        """The median of the seconds; None without times."""
        return median(one.seconds for one in self.times) if self.times else None

    @property
    def mean(self) -> float | None:
        """Their mean."""
        return fmean(one.seconds for one in self.times) if self.times else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "kind": self.kind,
            "study": self.study,
            "raters": list(self.raters),
            "n": len(self.times),
            "blind": sum(one.blind for one in self.times),
            "revealed": sum(one.revealed for one in self.times),
            "median_seconds": self.median,
            "mean_seconds": self.mean,
            "sessions": self.sessions,
            "histogram": [json_fields(one) for one in self.histogram],
            "by_place": [json_fields(one) for one in self.by_place],
        }


def times_report(
    connection: Connection,
    kind: str,
    *,
    raters: Sequence[str] | None = None,
    study: str | None = None,
    own: str | None = None,
) -> TimesReport:
    """Report how long raters took for the items of a kind; each first presentation of an item counts.

    Args:
        connection: A reading connection.
        kind: The kind of the items.
        raters: The only raters, by name; None for all.
        study: The study whose assignments count; None for all labels.
        own: The person whose times alone are read, who may have none; None for everybody's.

    Raises:
        UnknownName: No kind or study is called so, or a rater has no time.
    """
    if kind not in task_kinds():
        raise UnknownName(
            "Unknown kind", f"No kind is called {kind!r}.", f"Kinds: {', '.join(task_kinds())}."
        )
    times = _times(connection, kind, None if study is None else find_study(connection, study).id)
    times = [one for one in times if own in (None, one.rater)]
    names = sorted({one.rater for one in times})
    if raters is not None:
        for name in raters:
            if name not in names:
                known = ", ".join(names) or "nobody yet"
                raise UnknownName("No times", f"No time of {name!r} is known.", f"Known: those of {known}.")
        names = list(dict.fromkeys(raters))
        times = [one for one in times if one.rater in names]
    places, sessions = in_sessions(times)
    return TimesReport(
        kind,
        study,
        tuple(names),
        tuple(times),
        sessions,
        histogram(times),
        by_place(times, places),
    )


def _times(connection: Connection, kind: str, study: int | None) -> list[ItemTime]:
    """Return the times of the items of a kind, in the order of the labels."""
    item, rater, assignment = table_of(Item), table_of(Rater), table_of(Assignment)
    labels = all_values(FIRST_PHASES)
    key = (rater.c.name, labels.c.item_id, labels.c.assignment_id)
    at = func.max(labels.c.created_at).label("at")
    known = func.coalesce(func.sum(labels.c.active_ms), func.sum(labels.c.elapsed_ms))
    found = (
        select(
            rater.c.name,
            labels.c.item_id,
            known.label("known"),
            at,
            func.bool_or(labels.c.blind).label("blind"),
            func.bool_or(labels.c.shown_verdict.is_not(None)).label("revealed"),
        )
        .join(rater, rater.c.id == labels.c.rater_id)
        .join(item, item.c.id == labels.c.item_id)
        .where(item.c.kind == kind, rater.c.kind == "human", labels.c.origin != "ruling")
        .group_by(*key)
        .having(known.is_not(None))
        .order_by(at, rater.c.name, labels.c.item_id)
    )
    if study is not None:
        found = found.join(assignment, assignment.c.id == labels.c.assignment_id)
        found = found.where(assignment.c.study_id == study)
    return [
        ItemTime(row.name, row.item_id, row.known / 1000, row.at, row.blind, row.revealed)
        for row in connection.execute(found)
    ]


def in_sessions(times: Sequence[ItemTime]) -> tuple[list[int], int]:
    """Return the place of each time in its rater's session, from 1, and how many sessions there are.

    Args:
        times: The times in the order of the labels. After a pause of `PAUSE` a new session begins.
    """
    last: dict[str, tuple[datetime, int]] = {}
    places, sessions = [], 0
    for one in times:
        before = last.get(one.rater)
        goes_on = before is not None and one.at - before[0] < PAUSE
        place = before[1] + 1 if before is not None and goes_on else 1
        sessions += place == 1
        last[one.rater] = one.at, place
        places.append(place)
    return places, sessions


def histogram(times: Sequence[ItemTime]) -> tuple[TimeBin, ...]:
    """Return times by their length, up to the last bin that has one."""
    bins = list(zip((0, *ENDS), (*ENDS, None), strict=True))
    return _binned(bins, times, lambda place, low, high: low <= times[place].seconds < high)


def by_place(times: Sequence[ItemTime], places: Sequence[int]) -> tuple[TimeBin, ...]:
    """Return times by their place in the session, up to the last part that has one."""
    bins = list(zip((1, *(last + 1 for last in PLACES)), (*PLACES, None), strict=True))
    return _binned(bins, times, lambda place, low, high: low <= places[place] <= high)


def _binned(
    bins: Sequence[tuple[float, float | None]],
    times: Sequence[ItemTime],
    holds: Callable[[int, float, float], bool],
) -> tuple[TimeBin, ...]:
    found = []
    for low, high in bins:
        end = float("inf") if high is None else high
        inside = [one for place, one in enumerate(times) if holds(place, low, end)]
        seconds = [one.seconds for one in inside]
        quarter, _, three_quarters = (
            quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else (None, None, None)
        )
        items = tuple(one.item_id for one in inside)
        middle = median(seconds) if seconds else None
        found.append(TimeBin(low, high, middle, quarter, three_quarters, items))
    while found and not found[-1].items:
        found.pop()
    return tuple(found)
