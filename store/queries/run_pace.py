"""The pace of a run: what it labelled and spent in the last hour of its work, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, extract, func, select

from store.queries.runs import done_items
from store.tables.columns import table_of
from store.tables.runs import StepRow

LOOK_BACK = timedelta(hours=1)
"""How far before its last turn a run's pace begins."""

PARTS = 24
"""The equal parts into which that time is cut."""


@dataclass(frozen=True, slots=True)
class RunPace:
    """What a run labelled and spent, in equal parts of a time, the first part first.

    Attributes:
        seconds: The whole time: to the last turn, from the first one or from `LOOK_BACK` before the last.
        items: Items that it labelled, in the part of their last turn.
        money: US dollars, as far as they are known.
        tokens: Input and output tokens.
        requests: Requests sent to models.
    """

    seconds: float
    items: tuple[float, ...]
    money: tuple[float, ...]
    tokens: tuple[float, ...]
    requests: tuple[float, ...]

    def for_each_item(self, what: str) -> float | None:
        """Return what an item cost in this time, on average; None where none was labelled.

        Args:
            what: money, tokens or requests.
        """
        items = sum(self.items)
        return sum(getattr(self, what)) / items if items else None


def run_pace(connection: Connection, run_id: UUID) -> RunPace | None:
    """Return the pace of a run; None where all of its turns are of one moment, or there are none."""
    step = table_of(StepRow)
    of_run = step.c.run_id == run_id
    first, last = connection.execute(
        select(func.min(step.c.created_at), func.max(step.c.created_at)).where(of_run)
    ).one()
    if first is None or first == last:
        return None
    since = max(first, last - LOOK_BACK)
    seconds = (last - since).total_seconds()

    def part(moment: Any) -> Any:
        # The last turn ends the last part.
        at = func.floor((extract("epoch", moment) - since.timestamp()) / seconds * PARTS)
        return func.greatest(0, func.least(at, PARTS - 1))

    lately = (of_run, step.c.created_at >= since)
    spent = select(
        part(step.c.created_at).label("part"),
        func.sum(step.c.money),
        func.sum(step.c.tokens_in + step.c.tokens_out),
        func.sum(step.c.requests),
    )
    series = [[0.0] * PARTS for _ in range(4)]
    for place, *sums in connection.execute(spent.where(*lately).group_by("part")):
        for values, number in zip(series[1:], sums, strict=True):
            values[int(place)] = float(number or 0)
    ended = (
        select(step.c.item_id, func.max(step.c.created_at).label("at"))
        .where(*lately, step.c.item_id.in_(done_items(run_id)))
        .group_by(step.c.item_id)
        .subquery()
    )
    labelled = select(part(ended.c.at).label("part"), func.count()).group_by("part")
    for place, number in connection.execute(labelled):
        series[0][int(place)] = float(number)
    return RunPace(seconds, *map(tuple, series))
