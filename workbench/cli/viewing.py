"""`workbench views`: filters of the queue under a name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from store.errors import HiddenData, UnknownName, WorkbenchError
from workbench.cli.items import Status, find_kind
from workbench.cli.options import (
    Answer,
    ConfigFile,
    RaterName,
    Workspace,
    command,
    given_rater,
    names_in,
    reading_session,
    settings,
)

if TYPE_CHECKING:
    from store.policy.scope import Scope
    from store.queries.rows import QueueSort
    from store.queries.saved_views import ViewDetails
    from store.workspace.duckdb import Workspace as OpenWorkspace


class Agreement(StrEnum):
    """Whether the rater's and the agents' labels agree."""

    agree = "agree"
    disagree = "disagree"


@command
def views_command(
    workspace: Workspace,
    *,
    save: Annotated[
        str | None, typer.Option(metavar="NAME", help="Save a view: the filter of the options below.")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Items of this kind.")] = None,
    status: Annotated[
        Status | None, typer.Option(help="Items of this status for the rater who uses the view.")
    ] = None,
    text: Annotated[str, typer.Option(help="Items that contain this text.")] = "",
    label: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="Items with this label by the rater who uses the view."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Items with this label by the agents, or none.")
    ] = None,
    agreement: Annotated[
        Agreement | None, typer.Option(help="Whether the agents and the rater who uses the view agree.")
    ] = None,
    path: Annotated[
        str | None, typer.Option(metavar="PATH", help="How the agents reached their label.")
    ] = None,
    flagged: Annotated[bool | None, typer.Option("--flagged/--not-flagged", help="Flagged, or not.")] = None,
    order: Annotated[str, typer.Option(metavar="KEY", help="The order, such as title or rank.")] = "position",
    descending: Annotated[bool, typer.Option("--descending", help="Highest first.")] = False,
    hide: Annotated[
        str,
        typer.Option("--hide", metavar="COLUMN,...", help="Columns that the queue leaves out: path, ..."),
    ] = "",
    rename: Annotated[
        tuple[str, str] | None, typer.Option(metavar="NAME NEW", help="Give a view another name.")
    ] = None,
    delete: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete a view; its items and labels stay.")
    ] = None,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """List the saved views, or save one: `workbench views WS --save todo --kind pair --status open`.

    Use one: workbench items WS --view NAME; workbench export WS FILE --format F --view NAME.
    """
    from store.queries.rows import QueueFilter, ViewQuery
    from store.queries.saved_views import find_view, list_views
    from store.record.raters import ensure_rater
    from store.saved_views import delete_view, rename_view, save_view
    from workbench.study_session import open_session

    wanted = QueueFilter(
        kind=None if kind is None else find_kind(kind),
        status=None if status is None else status.value,
        label=label,
        agent=_agents_label(agent),
        agreement=None if agreement is None else agreement.value,
        path=path,
        flagged=flagged,
        text=text,
    )
    query = ViewQuery(wanted, _order(order, descending=descending), hidden=_columns(hide))
    if sum(each is not None for each in (save, rename, delete)) > 1:
        raise WorkbenchError("One at a time", "--save, --rename and --delete exclude each other.")
    if save is None and query != ViewQuery():
        raise WorkbenchError("Save it?", "The filter options belong to a new view.", "Name it: --save NAME")
    with reading_session(workspace, settings(config)) as (opened, loaded):
        with opened.reading() as connection:
            scope = open_session(connection, loaded, given_rater(rater)).scope
        if save is not None:
            if scope.rater is not None and not scope.rater.id:
                scope = replace(scope, rater=ensure_rater(opened, scope.rater.name))
            changed, said = save_view(opened, scope, save, query), "was saved"
        elif rename is not None or delete is not None:
            with opened.reading() as connection:
                changed = find_view(connection, scope, delete or (rename or ("", ""))[0])
            if rename is None:
                delete_view(opened, changed)
                said = "was deleted; its items and labels stay"
            else:
                rename_view(opened, scope, changed, rename[1])
                said = f"is called {rename[1].strip()}"
        with opened.reading() as connection:
            every = list_views(connection, scope)
        counts = [_count(opened, scope, one) for one in every]
    rows = [{**one.to_dict(), "items": number} for one, number in zip(every, counts, strict=True)]
    fields = {"workspace": workspace, "views": rows}
    if save or rename or delete:
        return Answer(fields, f"The view {changed.name} {said}.")
    return Answer(fields, partial(_print_views, every, counts))


def _count(workspace: OpenWorkspace, scope: Scope, view: ViewDetails) -> int | None:
    """Return how many items a view holds; None where the session may not know."""
    from store.queries.saved_views import view_ids

    with suppress(HiddenData):
        return len(view_ids(workspace, scope, view.query))
    return None


def _print_views(views: list[ViewDetails], counts: list[int | None]) -> None:
    from screens.queue.fields import order_phrase
    from workbench.output import print_table, say

    if not views:
        say("No view is saved. Save one: workbench views WORKSPACE --save NAME --status open")
        return
    print_table(
        ("view", "items", "filter", "order", "made by"),
        [
            (
                view.name,
                "hidden" if number is None else f"{number:,}",
                view.query.wanted.sentence(),
                order_phrase(view.query.sort),
                view.rater,
            )
            for view, number in zip(views, counts, strict=True)
        ],
        wide=("filter",),
    )


def _agents_label(given: str | None) -> str | None:
    """Return a label of the agents as the filter has it: a number as text, or none."""
    if given in (None, "none"):
        return given
    try:
        return f"{float(given or ''):g}"
    except ValueError:
        raise WorkbenchError("Not a label", f"{given!r} is no number.", "Give a number, or none.") from None


def _columns(given: str) -> tuple[str, ...]:
    """Return the columns that are named.

    Raises:
        UnknownName: There is none of a name.
    """
    from store.queries.rows import COLUMNS

    names = names_in(given)
    for name in names:
        if name not in COLUMNS:
            columns = ", ".join(COLUMNS)
            raise UnknownName("Unknown column", f"No column is called {name!r}.", f"Columns: {columns}.")
    return tuple(name for name in COLUMNS if name in names)


def _order(key: str, *, descending: bool) -> QueueSort:
    """Return the order of a key.

    Raises:
        UnknownName: There is none.
    """
    from store.queries.rows import QueueSort, SortKey

    keys: tuple[SortKey, ...] = get_args(SortKey)
    for known in keys:
        if known == key:
            return QueueSort(known, descending)
    raise UnknownName("Unknown order", f"No order is called {key!r}.", f"Orders: {', '.join(keys)}.")
