"""Saved views are stored, renamed and deleted; store.queries.saved_views reads them."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, update

from store.errors import WorkbenchError
from store.queries.rows import ViewQuery
from store.queries.saved_views import ViewDetails, list_views, refuse_hidden_view
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.views import SavedView

if TYPE_CHECKING:
    from store.policy.scope import Scope
    from store.workspace.duckdb import Workspace

LONGEST_NAME = 60


def save_view(workspace: Workspace, scope: Scope, name: str, query: ViewQuery) -> ViewDetails:
    """Store a view under a new name.

    Raises:
        WorkbenchError: Nobody is known to have made it, it is no name, another view has it, it is a list
            of single items, or its label is no number.
        HiddenData: It rests on labels that the session does not show.
    """
    refuse_hidden_view(scope, query)
    refuse_single_items(query)
    rater = scope.rater
    if rater is None or not rater.id:
        raise WorkbenchError("No rater", "A view is saved by a rater.", "Name yourself: --rater NAME")
    if query.wanted.label is not None and not isfinite(query.wanted.label):
        raise WorkbenchError("Not a label", f"No item has the label {query.wanted.label}.")
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


def refuse_single_items(query: ViewQuery) -> None:
    """Refuse a list of single items, which no filter finds again.

    Raises:
        WorkbenchError: It is one.
    """
    if query.wanted.items is not None:
        raise WorkbenchError(
            "A list of items", "These are the items behind a figure, which no filter finds again.",
            "Save a filter as a view.",
        )  # fmt: skip


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
