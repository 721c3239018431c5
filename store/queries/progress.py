"""How far the work is: what Home shows and `workbench report progress` prints, from one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, func, select

from store.ids import now
from store.queries.current import (
    REVIEW,
    current_labels,
    current_marks,
    current_values,
    current_verdicts,
    status_of,
)
from store.queries.due import due_of, given_by
from store.queries.run_counts import known_cost, unpriced
from store.tables.columns import table_of
from store.tables.imported import Item, Source
from store.tables.people import Rater
from store.tables.record import JudgmentRow
from store.tables.runs import StepRow, VerdictRow
from store.who import AnyRater


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """One rater's work: the items of which a question has a value of theirs."""

    name: str
    kind: str
    labelled: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a workspace, with one rater's part in it.

    Attributes:
        items: How many items of each kind.
        sources: The imported files.
        judged: Items of which every question has a value of the rater.
        cannot_decide: Items that the rater cannot decide.
        skipped: Items that the rater put off.
        flagged: Items that the rater flagged.
        today: Those of the judged ones that were given their latest value since midnight, local time.
        agent_labelled: Items with a verdict of the agents; None in a blind review.
        compared: Items with a label of the rater and one of the agents; None in a blind review.
        agreed: Those of them where both are the same; None in a blind review.
        raters: The raters with standing labels.
        tokens: Tokens that the agents used, in and out.
        money: What they cost in dollars; see `store.queries.run_counts.known_cost`.
        unpriced: Steps that asked a model and of which it is not known.
    """

    rater: str
    items: Mapping[str, int]
    sources: tuple[str, ...]
    judged: int
    cannot_decide: int
    skipped: int
    flagged: int
    today: int
    agent_labelled: int | None
    compared: int | None
    agreed: int | None
    raters: tuple[RaterProgress, ...]
    tokens: int
    money: float | None
    unpriced: int = 0

    @property
    def total(self) -> int:
        """All items, of every kind."""
        return sum(self.items.values())

    @property
    def left(self) -> int:
        """Items that the rater has neither judged nor said to be undecidable."""
        return self.total - self.judged - self.cannot_decide

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with what is derived from them."""
        told = asdict(self)
        told |= {
            "items": self.total,
            "items_by_kind": told["items"],
            "left": self.left,
            "cost": told.pop("money"),
            "cost_unknown_steps": told.pop("unpriced"),
        }
        return told


def progress(
    connection: Connection, rater: AnyRater, *, blind: bool = False, phase: str = REVIEW
) -> Progress:
    """Count how far a rater and the agents are.

    Args:
        connection: A reading connection.
        rater: Whose progress.
        blind: Leave out whatever rests on the agents' labels and on other raters.
        phase: The phase in which the rater judges.
    """
    item, source, step, people = (table_of(model) for model in (Item, Source, StepRow, Rater))
    labels, marks = current_labels(rater.id, phase), current_marks(rater.id, phase)
    given, (due, responses) = given_by(rater.id, phase), due_of(item)
    status = status_of(func.coalesce(given.c.given, 0), due, marks)
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    statement = (
        select(
            func.count(case((status == "judged", 1))).label("judged"),
            func.count(case((status == "cannot_decide", 1))).label("cannot_decide"),
            func.count(case((status == "skipped", 1))).label("skipped"),
            func.count(case((marks.c.flagged, 1))).label("flagged"),
            func.count(case(((status == "judged") & (given.c.latest >= midnight), 1))).label("today"),
            func.count(given.c.given).label("begun"),
        )
        .select_from(item)
        .outerjoin(given, given.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
    )
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    counts = connection.execute(statement).one()
    agent_labelled = compared = agreed = None
    raters: tuple[RaterProgress, ...] = (RaterProgress(rater.name, rater.kind, counts.begun),)
    if not blind:
        verdict, verdicts = table_of(VerdictRow), current_verdicts()
        agent_labelled = connection.execute(select(func.count(verdict.c.item_id.distinct()))).scalar_one()
        compared, agreed = connection.execute(
            select(func.count(), func.count(case((labels.c.value == verdicts.c.value, 1))))
            .select_from(labels)
            .join(verdicts, verdicts.c.item_id == labels.c.item_id)
        ).one()
        everybody = current_values(None, None)
        raters = tuple(
            RaterProgress(*row)
            for row in connection.execute(
                select(people.c.name, people.c.kind, func.count(everybody.c.item_id.distinct()))
                .join(everybody, everybody.c.rater_id == people.c.id)
                .group_by(people.c.name, people.c.kind)
                .order_by(people.c.name)
            )
        )
    spent = connection.execute(
        select(
            func.sum(step.c.tokens_in + step.c.tokens_out),
            func.sum(step.c.money),
            func.count(case((step.c.requests > 0, 1))),
            func.count(case((unpriced(step), 1))),
        )
    ).one()
    kinds = select(item.c.kind, func.count()).group_by(item.c.kind).order_by(item.c.kind)
    return Progress(
        rater=rater.name,
        items=dict(connection.execute(kinds).all()),
        sources=tuple(connection.execute(select(source.c.name).order_by(source.c.id)).scalars()),
        judged=counts.judged,
        cannot_decide=counts.cannot_decide,
        skipped=counts.skipped,
        flagged=counts.flagged,
        today=counts.today,
        agent_labelled=agent_labelled,
        compared=compared,
        agreed=agreed,
        raters=raters,
        tokens=int(spent[0] or 0),
        money=known_cost(*spent[1:]),
        unpriced=int(spent[3]),
    )


def pace(connection: Connection, rater_id: int, minutes: float = 60.0) -> float | None:
    """Return how many judgments an hour the rater gave in the last `minutes`, None when fewer than two.

    Only judgments made on a screen count: they carry the time that they took, those of scripts do not. The
    rate is taken from the first to the last of them, so that a pause before the first does not count.
    """
    judgment = table_of(JudgmentRow)
    first, last, number = connection.execute(
        select(func.min(judgment.c.created_at), func.max(judgment.c.created_at), func.count()).where(
            judgment.c.rater_id == rater_id,
            judgment.c.value.is_not(None),
            judgment.c.elapsed_ms.is_not(None),
            judgment.c.origin.in_(("independent", "accept", "override")),
            judgment.c.created_at >= now() - timedelta(minutes=minutes),
        )
    ).one()
    seconds: float = (last - first).total_seconds() if number > 1 else 0.0
    return (number - 1) / seconds * 3600 if seconds else None
