"""The figures of Home beside the progress: activity, labels against the agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, extract, func, select

from store.policy.rows import may
from store.policy.scope import Scope, Shows
from store.queries.current import current_verdicts, own_labels
from store.queries.progress import PACE_SECONDS
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.record import JudgmentRow

DAYS = 14
"""The days of the activity, today among them."""

_ON_SCREEN = ("independent", "accept", "override")


@dataclass(frozen=True, slots=True)
class Activity:
    """What a rater judged lately, on screens and by command.

    Attributes:
        days: How many items they judged on each of the last days, today last.
        seconds: The median of the seconds that an item took; None before `PACE_SECONDS` of work.
    """

    days: tuple[int, ...]
    seconds: float | None


def activity(connection: Connection, scope: Scope, days: int = DAYS) -> Activity:
    """Return what a rater judged in the last days, outside of studies.

    The last of the days is today, by local time.
    """
    judgment = table_of(JudgmentRow)
    tomorrow = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow += timedelta(days=1)
    age = func.floor((tomorrow.timestamp() - extract("epoch", judgment.c.created_at)) / 86_400)
    judged = (
        judgment.c.rater_id == scope.rater_id,
        judgment.c.assignment_id.is_(None),
        judgment.c.value.is_not(None),
        judgment.c.origin.in_(_ON_SCREEN),
        judgment.c.created_at >= tomorrow - timedelta(days=days),
    )
    found = select(age.label("age"), func.count(judgment.c.item_id.distinct())).where(*judged).group_by("age")
    counts = {int(row[0]): int(row[1]) for row in connection.execute(found)}
    spent = (
        select(func.sum(judgment.c.active_ms).label("ms"))
        .where(*judged, judgment.c.active_ms.is_not(None))
        .group_by(judgment.c.item_id)
        .subquery()
    )
    median, whole = connection.execute(
        select(func.percentile_cont(0.5).within_group(spent.c.ms), func.coalesce(func.sum(spent.c.ms), 0))
    ).one()
    by_day = tuple(counts.get(back, 0) for back in reversed(range(days)))
    return Activity(by_day, float(median) / 1000 if float(whole) >= PACE_SECONDS * 1000 else None)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """How often each label of a rater meets each label of the agents.

    Attributes:
        counts: The items by (own label, agents' label).
        kappa: Cohen's kappa; None where it is not defined.
    """

    kind: str
    counts: Mapping[tuple[float, float], int]
    kappa: float | None

    @property
    def items(self) -> int:
        """Items with both labels."""
        return sum(self.counts.values())

    @property
    def agreed(self) -> int:
        """Those of them where both are the same."""
        return sum(number for (own, theirs), number in self.counts.items() if own == theirs)

    @property
    def values(self) -> list[float]:
        """The labels, the highest first."""
        return sorted({value for pair in self.counts for value in pair}, reverse=True)


def label_table(connection: Connection, scope: Scope) -> LabelTable | None:
    """Return how a rater's labels meet the agents', of the kind that has most of both; None without any.

    Items that hide the agents' labels are left out.
    """
    item, labels, verdicts = table_of(Item), own_labels(scope), current_verdicts(scope)
    found = (
        select(item.c.kind, labels.c.value, verdicts.c.value, func.count())
        .join(labels, labels.c.item_id == item.c.id)
        .join(verdicts, verdicts.c.item_id == item.c.id)
        .where(may(scope, Shows.AGENTS, item.c.id), verdicts.c.value.is_not(None))
        .group_by(item.c.kind, labels.c.value, verdicts.c.value)
    )
    tables: dict[str, dict[tuple[float, float], int]] = {}
    for kind, own, theirs, number in connection.execute(found):
        tables.setdefault(kind, {})[own, theirs] = int(number)
    if not tables:
        return None
    kind, counts = max(tables.items(), key=lambda entry: sum(entry[1].values()))
    return LabelTable(kind, counts, _kappa(counts))


def _kappa(counts: Mapping[tuple[float, float], int]) -> float | None:
    import numpy

    from store.measures.agreement import cohen_kappa

    pairs, times = numpy.array(list(counts)), list(counts.values())
    return cohen_kappa(numpy.repeat(pairs[:, 0], times), numpy.repeat(pairs[:, 1], times)).value
