"""Saved views: a filter, an order and the grouping of the queue under a name, for everybody in the workspace.

Which items a view holds is asked anew for whoever uses it: "judged" are those that they judged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, select

from store.errors import UnknownName
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter, ViewQuery
from store.tables.columns import table_of
from store.tables.people import Rater
from store.tables.views import SavedView

if TYPE_CHECKING:
    from store.policy.scope import Scope
    from store.queries.rows import Ids
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class ViewDetails:
    """A saved view.

    Attributes:
        id: Its key.
        name: Its name.
        rater: Who made it.
        query: What it lists.
        made_at: When it was made.
    """

    id: UUID
    name: str
    rater: str
    query: ViewQuery
    made_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return {
            "name": self.name,
            "rater": self.rater,
            "made_at": self.made_at,
            "sentence": self.query.wanted.sentence(),
            **self.query.to_dict(),
        }


def list_views(connection: Connection, scope: Scope) -> list[ViewDetails]:
    """Return the saved views by name.

    In a study a rater sees their own alone: a name could tell of the work of others.

    Args:
        connection: A reading connection.
        scope: Who looks.
    """
    view, rater = table_of(SavedView), table_of(Rater)
    found = select(view, rater.c.name.label("rater")).join(rater, rater.c.id == view.c.rater_id)
    if not scope.may(Shows.SURROUNDINGS):
        found = found.where(view.c.rater_id == scope.rater_id)
    return [
        ViewDetails(row.id, row.name, row.rater, _stored(row.query), row.created_at)
        for row in connection.execute(found.order_by(view.c.name, view.c.rater_id != scope.rater_id))
    ]


def _stored(text: str) -> ViewQuery:
    """Return a stored query; one that another program wrote and nobody can read lists nothing."""
    try:
        query = ViewQuery.from_dict(json.loads(text))
        query.wanted.sentence()
        json.dumps(query.to_dict(), allow_nan=False)
    except (ValueError, TypeError, AttributeError):
        return ViewQuery(QueueFilter(items=(), named="cannot be read"))
    return query


def find_view(connection: Connection, scope: Scope, name: str) -> ViewDetails:
    """Return the view of that name; the rater's own where several have made one.

    Raises:
        UnknownName: There is none.
    """
    there = list_views(connection, scope)
    for view in there:
        if view.name == name:
            return view
    known = ", ".join(view.name for view in there) or "none yet"
    raise UnknownName("Unknown view", f"No saved view is called {name!r}.", f"Views: {known}.")


def view_ids(workspace: Workspace, scope: Scope, query: ViewQuery) -> Ids:
    """Return the items of a view for whoever asks, in its order.

    Raises:
        HiddenData: It rests on the agents' labels, and the session does not show them in lists.
    """
    refuse_hidden_view(scope, query)
    return queue_ids(workspace, scope, query.wanted, query.sort)


def refuse_hidden_view(scope: Scope, query: ViewQuery) -> None:
    """Refuse a view that rests on the agents' labels where lists do not tell of them.

    Raises:
        HiddenData: It does.
    """
    if query.by_agents:
        refuse(None, scope, Shows.LISTS, "This view uses")
