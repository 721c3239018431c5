"""What each role of a run's agents has done: turns, failures, seconds, tokens, money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, case, func, select

from store.tables.columns import table_of
from store.tables.runs import StepRow

LATELY = timedelta(seconds=60)
"""How far back turns count for a rate."""


@dataclass(frozen=True, slots=True)
class StageCounts:
    """One role's turns in a run, over every job that worked on it.

    Attributes:
        role: The role, as its steps say it.
        turns: Steps recorded, failed ones included.
        items: Items that it worked on.
        failed: Turns that failed, those that were made good by a later one included.
        lately: Turns recorded in the last `LATELY` before the moment that was given.
        requests: Requests sent to models.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        money: US dollars, None where no step knows.
        unpriced: Turns that sent requests and of which it is not known what they cost.
        from_cache: Turns that were answered from the workspace, at no cost.
        seconds: Seconds of all turns.
    """

    role: str
    turns: int
    items: int
    failed: int
    lately: int
    requests: int
    tokens_in: int
    tokens_out: int
    money: float | None
    unpriced: int
    from_cache: int
    seconds: float

    @classmethod
    def together(cls, stages: Sequence[StageCounts]) -> StageCounts:
        """Return the turns of all roles as one: which of them took part tells what was found of an item."""
        known = [stage.money for stage in stages if stage.money is not None]
        summed = (
            "turns",
            "failed",
            "lately",
            "requests",
            "tokens_in",
            "tokens_out",
            "unpriced",
            "from_cache",
        )
        sums = {name: sum(getattr(stage, name) for stage in stages) for name in summed}
        return cls(
            role="all",
            items=max((stage.items for stage in stages), default=0),
            money=sum(known) if known else None,
            seconds=sum(stage.seconds for stage in stages),
            **sums,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON knows, with the mean of a turn's seconds."""
        return {
            "role": self.role,
            "turns": self.turns,
            "items": self.items,
            "failed": self.failed,
            "last_minute": self.lately,
            "requests": self.requests,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost": self.money,
            "unpriced": self.unpriced,
            "from_cache": self.from_cache,
            "seconds": round(self.seconds, 3),
            "seconds_a_turn": round(self.seconds / self.turns, 3) if self.turns else None,
        }


def stage_counts(connection: Connection, run_id: UUID, now: datetime) -> tuple[StageCounts, ...]:
    """Add up what each role of a run has done.

    Args:
        connection: An open connection.
        run_id: The run.
        now: The moment that `lately` looks back from.

    Returns:
        The roles that the run's steps name, in the order in which they first came.
    """
    step = table_of(StepRow)
    sums = [
        func.coalesce(func.sum(step.c[name]), 0).label(name)
        for name in ("requests", "tokens_in", "tokens_out", "seconds")
    ]
    found = (
        select(
            step.c.role,
            func.count().label("turns"),
            # A role counts its turns on an item from 0.
            func.count(case((step.c.attempt == 0, 1))).label("items"),
            func.count(case((step.c.outcome == "failed", 1))).label("failed"),
            func.count(case((step.c.created_at > now - LATELY, 1))).label("lately"),
            *sums,
            func.sum(step.c.money).label("money"),
            func.count(case(((step.c.requests > 0) & step.c.money.is_(None), 1))).label("unpriced"),
            func.count(case((step.c.from_cache, 1))).label("from_cache"),
        )
        .where(step.c.run_id == run_id)
        .group_by(step.c.role)
        .order_by(func.min(step.c.id))
    )
    return tuple(StageCounts(**row) for row in connection.execute(found).mappings())
