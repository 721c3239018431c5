"""The query of a queue, and its form in a session."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from screens.queue.fields import ORDERS, fields
from store.kinds.spec import task_kinds
from store.policy.scope import Scope, Shows
from store.queries.rows import QueueFilter, QueueSort, ViewQuery, known_columns


@dataclass(frozen=True, slots=True)
class QueueQuery(ViewQuery):
    """The filter, the order, the grouping and the columns of a queue, as a session keeps them."""

    @classmethod
    def of(cls, kept: Any, scope: Scope) -> QueueQuery:
        """Return a stored query, without filters and orders that the lists of a scope must not have."""
        kept, blind = kept if isinstance(kept, dict) else {}, not scope.may(Shows.LISTS)
        return cls(
            _filter_of(kept.get("filter"), blind=blind),
            _sort_of(kept.get("sort"), blind),
            kept.get("grouped") is not False,
            known_columns(kept.get("hidden")),
        )

    @property
    def kept(self) -> dict[str, Any]:
        """The query as a session stores it; the items behind a figure are not kept."""
        wanted = replace(self.wanted, items=None, named="")
        return {
            "filter": asdict(wanted),
            "sort": asdict(self.sort),
            "grouped": self.grouped,
            "hidden": list(self.hidden),
        }

    @property
    def begins_quickly(self) -> bool:
        """Whether the first items are found without looking at all of them."""
        return not self.wanted.text and self.sort.key == "position"


def _filter_of(value: Any, *, blind: bool) -> QueueFilter:
    """Return a kept filter without what this version does not know and what a blind queue must not ask."""
    if not isinstance(value, dict):
        return QueueFilter()
    named = value.get("kind")
    kind = named if isinstance(named, str) and named in task_kinds() else None
    known = {
        field.name: value[field.name]
        for field in fields(blind=blind, kind=kind)
        if any(choice.value == value.get(field.name) for choice in field.choices[1:])
    }
    text = value.get("text")
    return QueueFilter(**known, text=text if isinstance(text, str) else "")


def _sort_of(value: Any, blind: bool) -> QueueSort:
    known = {order.key: order for order in ORDERS}
    if not isinstance(value, dict) or value.get("key") not in known or (blind and known[value["key"]].agents):
        return QueueSort()
    return QueueSort(value["key"], bool(value.get("descending")))
