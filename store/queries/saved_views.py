"""Saved views: a filter, an order and the grouping of the queue under a name, for everybody in the workspace.

Which items a view holds is asked anew for whoever uses it: "judged" are those that they judged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, delete, insert, select, update

from store.errors import HiddenData, UnknownName, WorkbenchError
from store.queries.queue import queue_ids
from store.queries.rows import ViewQuery
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.people import Rater
from store.tables.views import SavedView

if TYPE_CHECKING:
    from store.queries.rows import Ids
    from store.record.scope import Scope
    from store.workspace.duckdb import Workspace

LONGEST_NAME = 60


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
    if scope.sitting is not None:
        found = found.where(view.c.rater_id == scope.rater_id)
    return [
        ViewDetails(row.id, row.name, row.rater, ViewQuery.from_dict(json.loads(row.query)), row.created_at)
        for row in connection.execute(found.order_by(view.c.name, view.c.rater_id != scope.rater_id))
    ]


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
    if query.by_agents and scope.hides_lists:
        raise HiddenData(
            "Hidden labels",
            "This view rests on the agents' labels, which a blind review and a study keep out of lists.",
            "Choose another view.",
        )


def save_view(workspace: Workspace, scope: Scope, name: str, query: ViewQuery) -> ViewDetails:
    """Store a view under a new name.

    Raises:
        WorkbenchError: Nobody is known to have made it, it is no name, another view has it, or it is a list
            of single items.
        HiddenData: It rests on labels that the session does not show.
    """
    refuse_hidden_view(scope, query)
    rater = scope.rater
    if rater is None or not rater.id:
        raise WorkbenchError("No rater", "A view is saved by a rater.", "Name yourself: --rater NAME")
    if query.wanted.items is not None:
        raise WorkbenchError(
            "A list of items", "These are the items behind a figure, which no filter finds again.",
            "Save a filter as a view.",
        )  # fmt: skip
    made = ViewDetails(uuid4(), name.strip(), rater.name, query, now())

    def write(connection: Connection) -> None:
        _check_name(connection, scope, made.name)
        connection.execute(
            insert(table_of(SavedView)).values(
                id=made.id,
                name=made.name,
                rater_id=rater.id,
                query=json.dumps(query.to_dict(), ensure_ascii=False),
                created_at=made.made_at,
            )
        )

    workspace.lane.submit(write).result()
    return made


def rename_view(workspace: Workspace, scope: Scope, view: ViewDetails, name: str) -> None:
    """Give a view another name.

    Raises:
        WorkbenchError: It is no name, or another view has it.
    """
    table = table_of(SavedView)

    def write(connection: Connection) -> None:
        _check_name(connection, scope, name.strip())
        connection.execute(update(table).where(table.c.id == view.id).values(name=name.strip()))

    if name.strip() != view.name:
        workspace.lane.submit(write).result()


def delete_view(workspace: Workspace, view: ViewDetails) -> None:
    """Remove a view; its items stay."""
    table = table_of(SavedView)
    workspace.lane.submit(
        lambda connection: connection.execute(delete(table).where(table.c.id == view.id))
    ).result()


def _check_name(connection: Connection, scope: Scope, name: str) -> None:
    """Refuse what cannot name a new view.

    Raises:
        WorkbenchError: It is no name, or another view that the rater sees has it.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise WorkbenchError(
            "Not a name", f"{name[:80]!r} cannot name a view.", f"Use 1 to {LONGEST_NAME} letters or digits."
        )
    if any(view.name == name for view in list_views(connection, scope)):
        raise WorkbenchError(
            "Name taken",
            f"There is a view {name} already.",
            "Choose another name, or delete that view first.",
        )
