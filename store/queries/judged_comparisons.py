"""Comparisons that models judge: the texts that they read, and their verdicts in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.kinds.comparison import AS_LISTED, COMPARISON, SWAPPED
from store.kinds.listing import relation
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.responses import ResponseRef
from store.tables.runs import VerdictRow


@dataclass(frozen=True, slots=True)
class CandidateTexts:
    """The texts of a comparison that a judge reads; names of sets and models are not among them."""

    item_id: int
    external_id: str
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
        select(found.item_id, item.c.external_id, *texts)
        .select_from(found.source.join(item, item.c.id == found.item_id))
        .where(among(found.item_id, item_ids))
    ).mappings()
    of_item = {row["item_id"]: CandidateTexts(**row) for row in rows}
    return [of_item[number] for number in item_ids if number in of_item]


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
