"""Items, and the queries and prompts that they share, found by a few words. Made for 400,000 items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    String,
    and_,
    case,
    column,
    func,
    or_,
    select,
    table,
    union_all,
)

from store.kinds.listing import containing
from store.kinds.spec import SharedText, TaskKind, task_kinds
from store.policy.rows import in_scope, positions
from store.policy.scope import Scope, Shows
from store.queries.current import frozen_at, texts_until
from store.queries.queue import summaries
from store.queries.rows import titled_kinds
from store.queries.shown_ids import shown_id
from store.record.revisions import current_texts, ever_containing
from store.tables.columns import table_of
from store.tables.imported import Item

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item, as lists name it.

    Attributes:
        title: What a list shows of it, as experts rewrote it.
    """

    item_id: int
    external_id: str
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """A text that items share, such as the query of pairs.

    Attributes:
        kind: The kind of the items.
        word: What the text is: "query", "prompt".
        text: The text.
        items: The items that share it, in the order of their ids.
    """

    kind: str
    word: str
    text: str
    items: tuple[int, ...]


def find_items(workspace: Workspace, scope: Scope, text: str, limit: int) -> list[FoundItem]:
    """Return items whose id contains a text, then those whose title or detail contains all of its words.

    A title that a group shares is left to `find_groups`.

    Args:
        workspace: The open workspace.
        scope: The viewer, who finds only the items of the scope, by what lists show of them.
        text: The text, in any case; nothing in it is a wildcard.
        limit: How many items at most.
    """
    item, name, typed = table_of(Item), func.lower(shown_id()), text.strip().lower()
    words = typed.split()
    if not words:
        return []
    place = positions(scope)
    order: ColumnElement[int] = item.c.id
    # An id that is the text comes first, then one that begins with it.
    rank = case(
        (name == typed, 0), (func.starts_with(name, typed), 1), (func.strpos(name, typed) > 0, 2), else_=3
    )
    of_words = and_(*(item.c.id.in_(_listed_with(scope, word)) for word in words))
    found = select(item.c.id).where(or_(func.strpos(name, typed) > 0, of_words))
    if place is not None:
        found = found.join(place, place.c.item_id == item.c.id)
        order = place.c.position
    with workspace.reading() as connection:
        ids = connection.execute(found.order_by(rank, order).limit(limit)).scalars().all()
        return _named(connection, scope, ids)


def _named(connection: Connection, scope: Scope, ids: Sequence[int]) -> list[FoundItem]:
    """Return items of a scope by their ids, in the order given."""
    if not ids:
        return []
    item, listed = table_of(Item), summaries(ids).subquery("listed")
    named = select(item.c.id, shown_id().label("name"), item.c.kind, listed.c.title)
    named = named.join(listed, listed.c.item_id == item.c.id)
    rows = {row.id: row for row in connection.execute(named)}
    titled = titled_kinds()
    rewritable = [number for number, row in rows.items() if row.kind in titled]
    rewritten = (
        current_texts(connection, rewritable, until=texts_until(connection, scope)) if rewritable else {}
    )

    def title_of(row: Row[Any]) -> str:
        return rewritten.get(row.id, {}).get(titled.get(row.kind, ""), row.title or "")

    shown = [rows[number] for number in ids if number in rows]
    return [FoundItem(row.id, row.name, row.kind, title_of(row)) for row in shown]


def find_groups(workspace: Workspace, scope: Scope, text: str, limit: int) -> list[FoundGroup]:
    """Return texts shared by items of a scope that contain all words of a text, the shortest first.

    Args:
        workspace: The open workspace.
        scope: The viewer, who finds only what items of the scope share.
        text: The words, in any case; nothing in them is a wildcard.
        limit: How many of each kind at most.
    """
    words = text.lower().split()
    kinds = [kind for kind in task_kinds().values() if kind.record.group and words]
    with workspace.reading() as connection:
        return [
            FoundGroup(kind.name, kind.record.group, row.text, tuple(row.items))
            for kind in kinds
            for row in connection.execute(_groups(kind, scope, words, limit))
        ]


def _groups(kind: TaskKind, scope: Scope, words: list[str], limit: int) -> Select[Any]:
    one = _group_of(kind)
    shared = table(one.table, column("id", BigInteger), column("text", String))
    own = table(kind.record.table, column("item_id", BigInteger), column(f"{one.table}_id", BigInteger))
    of_group = own.c[f"{one.table}_id"]
    holds = and_(*(func.strpos(func.lower(shared.c.text), word) > 0 for word in words))
    # The few that are shown are chosen before their items are collected.
    listed = select(of_group).where(in_scope(scope, own.c.item_id))
    chosen = select(shared.c.id, shared.c.text).where(holds, shared.c.id.in_(listed))
    few = chosen.order_by(func.length(shared.c.text), shared.c.id).limit(limit).subquery("few")
    items = func.list(own.c.item_id.op("ORDER BY")(own.c.item_id)).label("items")
    found = select(few.c.text, items).join(own, of_group == few.c.id).where(in_scope(scope, own.c.item_id))
    return found.group_by(few.c.id, few.c.text).order_by(func.length(few.c.text), few.c.id)


def _group_of(kind: TaskKind) -> SharedText:
    return next(one for one in kind.record.shared if one.column == kind.record.group)


def _listed_with(scope: Scope, word: str) -> CompoundSelect[Any]:
    """Return a select of the ids of the items of which a list shows a word, but for the titles of groups.

    Those that an expert wrote in place of them are found as well.
    """
    found = [ever_containing(word, frozen_at(scope))]
    for kind in task_kinds().values():
        masked = bool(kind.record.hidden) and not scope.may(Shows.SURROUNDINGS)
        columns = {kind.queue.title, *(() if masked else (kind.queue.detail,))} - {kind.record.group}
        if columns:
            found.append(containing(kind, word, sorted(columns)))
    return union_all(*found)
