"""How far the work is: what Home shows and `workbench report progress` prints, from one place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, func, select

from store.kinds.counting import in_order
from store.queries.current import all_values, current_verdicts, on_label, own_labels, own_marks, status_of
from store.queries.due import answered_count, required_count
from store.queries.run_figures import known_cost, unpriced
from store.queries.scoped import hides_agents
from store.record.ids import now
from store.record.rater_ref import RaterRef
from store.record.scope import Scope
from store.tables.columns import table_of
from store.tables.imported import Item, Source
from store.tables.people import Rater
from store.tables.record import JudgmentRow
from store.tables.responses import ResponseRef, Score
from store.tables.runs import StepRow, VerdictRow


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """One rater's work: the items of which a question has a value of theirs."""

    name: str
    kind: str
    labelled: int


@dataclass(frozen=True, slots=True)
class KindProgress:
    """How far a rater and the agents are with the items of one kind.

    Attributes:
        kind: The task kind.
        items: How many items there are.
        judged: Those of which every question has a value of the rater.
        cannot_decide: Those that the rater cannot decide.
        skipped: Those that the rater put off.
        agent_labelled: Those with a verdict of the agents; None in a blind review.
    """

    kind: str
    items: int
    judged: int
    cannot_decide: int
    skipped: int
    agent_labelled: int | None

    @property
    def left(self) -> int:
        """Items that the rater has neither judged nor said to be undecidable."""
        return self.items - self.judged - self.cannot_decide

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with what is derived from them."""
        told = asdict(self)
        del told["kind"]
        return {**told, "left": self.left}


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a workspace, with one rater's part in it.

    Attributes:
        kinds: How far the work is for each kind of which there are items, in the order of the kinds.
        sources: The imported files.
        flagged: Items that the rater flagged.
        today: Judged items that were given their latest value since midnight, local time.
        scored: Responses of which a judge's score is a number; None in a blind review.
        compared: Items with a label of the rater and one of the agents; None in a blind review.
        agreed: Those of them where both are the same; None in a blind review.
        raters: The raters with standing labels.
        tokens: Tokens that the agents used, in and out.
        money: What they cost in dollars; see `store.queries.run_figures.known_cost`.
        unpriced: Steps that asked a model and of which it is not known.
    """

    rater: str
    kinds: tuple[KindProgress, ...]
    sources: tuple[str, ...]
    flagged: int
    today: int
    scored: int | None
    compared: int | None
    agreed: int | None
    raters: tuple[RaterProgress, ...]
    tokens: int
    money: float | None
    unpriced: int = 0

    @property
    def items(self) -> dict[str, int]:
        """How many items of each kind."""
        return {one.kind: one.items for one in self.kinds}

    @property
    def total(self) -> int:
        """All items, of every kind."""
        return sum(one.items for one in self.kinds)

    @property
    def judged(self) -> int:
        """Items of which every question has a value of the rater."""
        return sum(one.judged for one in self.kinds)

    @property
    def cannot_decide(self) -> int:
        """Items that the rater cannot decide."""
        return sum(one.cannot_decide for one in self.kinds)

    @property
    def skipped(self) -> int:
        """Items that the rater put off."""
        return sum(one.skipped for one in self.kinds)

    @property
    def left(self) -> int:
        """Items that the rater has neither judged nor said to be undecidable."""
        return sum(one.left for one in self.kinds)

    @property
    def agent_labelled(self) -> int | None:
        """Items with a verdict of the agents; None in a blind review."""
        # Nothing is kept out of sight where there is nothing.
        return None if self.scored is None else sum(one.agent_labelled or 0 for one in self.kinds)

    def only(self, kinds: Collection[str]) -> Progress:
        """Return what it says of some kinds; what is not counted by kind stays as it is."""
        return replace(self, kinds=tuple(one for one in self.kinds if one.kind in kinds))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, with what is derived from them."""
        told = asdict(self)
        told |= {
            "items": self.total,
            "items_by_kind": self.items,
            "kinds": {one.kind: one.to_dict() for one in self.kinds},
            **{name: getattr(self, name) for name in _SUMS},
            "cost": told.pop("money"),
            "cost_unknown_steps": told.pop("unpriced"),
        }
        return told


_SUMS = ("judged", "cannot_decide", "skipped", "left", "agent_labelled")


def progress(connection: Connection, scope: Scope) -> Progress:
    """Count how far a rater and the agents are.

    Whatever rests on the agents' labels, on judges' scores and on other raters leaves out the items that
    hide it, and is None where all do.

    Args:
        connection: A reading connection.
        scope: Whose progress, in which study and phase.
    """
    rater = scope.rater or RaterRef(0, "human", "")
    item, source, step, people = (table_of(model) for model in (Item, Source, StepRow, Rater))
    labels, marks = own_labels(scope), own_marks(scope)
    given, (due, responses) = answered_count(scope), required_count(item)
    status = status_of(func.coalesce(given.c.given, 0), due, marks)
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    statement = (
        select(
            item.c.kind,
            func.count().label("items"),
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
        .group_by(item.c.kind)
    )
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    found = {row.kind: row for row in connection.execute(statement)}
    begun = sum(row.begun for row in found.values())
    scored = compared = agreed = None
    ruled: dict[str, int] = {}
    raters: tuple[RaterProgress, ...] = (RaterProgress(rater.name, rater.kind, begun),)
    if not scope.blind:
        verdict, verdicts, score = table_of(VerdictRow), current_verdicts(), table_of(Score)
        ref, everybody = table_of(ResponseRef), all_values()
        by_kind = (
            select(item.c.kind, func.count(verdict.c.item_id.distinct()))
            .join(verdict, verdict.c.item_id == item.c.id)
            .where(on_label(verdict), ~hides_agents(scope, item.c.id))
            .group_by(item.c.kind)
        )
        ruled = dict(connection.execute(by_kind).all())
        scored = connection.execute(
            select(func.count(score.c.response_ref_id.distinct()))
            .join(ref, ref.c.id == score.c.response_ref_id)
            .where(score.c.value.is_not(None), ~hides_agents(scope, ref.c.item_id))
        ).scalar_one()
        compared, agreed = connection.execute(
            select(func.count(), func.count(case((labels.c.value == verdicts.c.value, 1))))
            .select_from(labels)
            .join(verdicts, verdicts.c.item_id == labels.c.item_id)
            .where(~hides_agents(scope, labels.c.item_id))
        ).one()
        raters = tuple(
            RaterProgress(*row)
            for row in connection.execute(
                select(people.c.name, people.c.kind, func.count(everybody.c.item_id.distinct()))
                .join(everybody, everybody.c.rater_id == people.c.id)
                .where((people.c.id == rater.id) | ~hides_agents(scope, everybody.c.item_id))
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
    return Progress(
        rater=rater.name,
        kinds=tuple(
            KindProgress(
                kind=kind,
                items=found[kind].items,
                judged=found[kind].judged,
                cannot_decide=found[kind].cannot_decide,
                skipped=found[kind].skipped,
                agent_labelled=None if scope.blind else ruled.get(kind, 0),
            )
            for kind in in_order(found)
        ),
        sources=tuple(connection.execute(select(source.c.name).order_by(source.c.id)).scalars()),
        flagged=sum(row.flagged for row in found.values()),
        today=sum(row.today for row in found.values()),
        scored=scored,
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
