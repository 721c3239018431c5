"""Comparisons that models judge: the texts that they read, and their verdicts in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.kinds.comparison import AS_LISTED, COMPARISON, ORDERS, PREFERENCE, SWAPPED
from store.kinds.listing import relation
from store.queries.current import all_values
from store.queries.shown_ids import shown_id
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Rater
from store.tables.responses import ResponseRef
from store.tables.runs import VerdictRow


@dataclass(frozen=True, slots=True)
class CandidateTexts:
    """The texts of a comparison that a judge reads; names of sets and models are not among them."""

    item_id: int
    external_id: str
    shown_id: str
    prompt: str
    first: str
    second: str
    reference: str
    about: str

    @property
    def candidate_a(self) -> str:
        """The candidate that a judge reads first in the order in which they are listed."""
        return self.first

    @property
    def candidate_b(self) -> str:
        """The other one."""
        return self.second


def candidate_texts(connection: Connection, item_ids: Sequence[int]) -> list[CandidateTexts]:
    """Return the texts of some comparisons that judges read, in the order given."""
    item, found = table_of(Item), relation(COMPARISON)
    names = ("prompt", "first", "second", "reference", "about")
    texts = (func.coalesce(found.columns[name], "").label(name) for name in names)
    rows = connection.execute(
        select(found.item_id, item.c.external_id, shown_id().label("shown_id"), *texts)
        .select_from(found.source.join(item, item.c.id == found.item_id))
        .where(among(found.item_id, item_ids))
    ).mappings()
    of_item = {row["item_id"]: CandidateTexts(**row) for row in rows}
    return [of_item[number] for number in item_ids if number in of_item]


@dataclass(frozen=True, slots=True)
class ImportedVerdict:
    """The verdict of a judge on a comparison that a file brought.

    Attributes:
        value: The verdict, from the view of the first candidate; None where one of both orders has none.
        orders: The verdicts in one order alone, with what the judge said, by the phase (`ORDERS`).
    """

    id: UUID | None
    judge: str
    value: float | None
    orders: Mapping[str, tuple[float, str]]


def imported_verdicts(connection: Connection, item_id: int) -> list[ImportedVerdict]:
    """Return the verdicts of imported judges on a comparison, by their names."""
    rater = table_of(Rater)
    values = all_values(item_ids=[item_id], questions=[PREFERENCE.name])
    rows = connection.execute(
        select(values.c.id, values.c.value, values.c.phase, values.c.comment, rater.c.name)
        .join(rater, rater.c.id == values.c.rater_id)
        .where(rater.c.kind == "import")
        .order_by(rater.c.name, values.c.id)
    )
    found: list[ImportedVerdict] = []
    for judge, given in groupby(rows, key=lambda row: row.name):
        of_phase = {row.phase: row for row in given}
        orders = {
            phase: (of_phase[phase].value, of_phase[phase].comment) for phase in ORDERS if phase in of_phase
        }
        # Whoever has none in one order is a person.
        if orders:
            whole = next((row for phase, row in of_phase.items() if phase not in ORDERS), None)
            found.append(
                ImportedVerdict(
                    None if whole is None else whole.id, judge, None if whole is None else whole.value, orders
                )
            )
    return found


def both_orders(connection: Connection, run_id: UUID) -> dict[tuple[float, float], int]:
    """Count the comparisons of a run by its verdicts as listed and swapped, of the first candidate."""
    verdict, ref = table_of(VerdictRow), table_of(ResponseRef)
    of_order = [
        select(verdict.c.item_id, verdict.c.value)
        .join(ref, ref.c.id == verdict.c.response_ref_id)
        .where(verdict.c.run_id == run_id, ref.c.model == order)
        .subquery()
        for order in (AS_LISTED, SWAPPED)
    ]
    listed, swapped = of_order
    found = (
        select(listed.c.value, swapped.c.value, func.count())
        .join(swapped, swapped.c.item_id == listed.c.item_id)
        .group_by(listed.c.value, swapped.c.value)
    )
    return {(one, other): int(count) for one, other, count in connection.execute(found)}
