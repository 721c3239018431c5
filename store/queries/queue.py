"""The queue: which items, in which order, and the rows of a page. Made for 400,000 items.

The order is taken once, as an array of ids, and stays as it is while an expert judges; a page's rows are
fetched by their ids when they come into view.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, case, func, literal, null, select, union_all

from store.kinds.listing import containing, summary
from store.kinds.spec import TaskKind, task_kinds
from store.policy.rows import in_scope, may, positions, refuse_hidden
from store.policy.scope import EVERYTHING, Scope, Shows
from store.queries.current import (
    current_verdicts,
    frozen_at,
    items_that_need_a_sandbox,
    own_labels,
    own_marks,
    status_of,
    texts_until,
)
from store.queries.questions import answered_count, required_count
from store.queries.rows import (
    WAITING_PATH,
    QueueFilter,
    QueueRow,
    QueueSort,
    titled_kinds,
    with_revised_titles,
)
from store.queries.shown_ids import shown_id
from store.record.revisions import current_texts, ever_containing
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    from store.queries.rows import Ids

FEW = 1_000
"""Up to so many ids are read without numpy, whose import a start would have to wait for."""


def summaries(item_ids: Sequence[int] | None) -> Select[Any]:
    """Return the summary of the items of every kind in one select (see store.kinds.listing.summary)."""
    parts = [summary(kind, item_ids) for kind in task_kinds().values()]
    together = (parts[0] if len(parts) == 1 else union_all(*parts)).subquery("summaries")
    return select(together)


def queue_ids(
    workspace: Workspace,
    scope: Scope,
    wanted: QueueFilter | None = None,
    sort: QueueSort | None = None,
    *,
    limit: int | None = None,
) -> Ids:
    """Return the ids of the items of a queue, in its order.

    Args:
        workspace: The open workspace.
        scope: Whose labels and marks count, and on which items the agents' labels are hidden.
        wanted: Which items; all by default.
        sort: The order; by default that of the import, with the items that the rater skipped at the end.
        limit: How many at most.

    Returns:
        An array of shape (n,) of item ids.

    Raises:
        HiddenData: It was to be filtered or sorted by the agents' labels, which one of the items hides.
    """
    wanted, sort = wanted or QueueFilter(), sort or QueueSort()
    if wanted.by_agents or sort.key == "agent":
        listed = select_ids(scope, wanted.without_agents(), QueueSort())
        with workspace.reading() as connection:
            refuse_hidden(connection, scope, listed)
    statement = select_ids(scope, wanted, sort)
    if limit is not None and limit <= FEW:
        with workspace.reading() as connection:
            return array("q", connection.execute(statement.limit(limit)).scalars())
    return workspace.column(statement if limit is None else statement.limit(limit))


def items_by_kind(workspace: Workspace, scope: Scope = EVERYTHING) -> dict[str, int]:
    """Return how many items of each kind there are in a scope, by default in the workspace."""
    item = table_of(Item)
    counts = select(item.c.kind, func.count().label("number")).group_by(item.c.kind)
    counts = counts.where(in_scope(scope, item.c.id))
    with workspace.reading() as connection:
        return {row.kind: row.number for row in connection.execute(counts)}


def select_ids(scope: Scope, wanted: QueueFilter, sort: QueueSort) -> Select[Any]:
    """Join only the tables that the filter and the order need, so that the plain queue stays a plain scan."""
    item = table_of(Item)
    statement = select(item.c.id)
    order: Any = item.c.id
    if (place := positions(scope)) is not None:
        statement = statement.join(place, place.c.item_id == item.c.id)
        order = place.c.position
    in_order = order
    if wanted.items is not None:
        statement = statement.where(among(item.c.id, wanted.items))
    if wanted.kind:
        statement = statement.where(item.c.kind == wanted.kind)
    if wanted.text:
        imported = (_containing(scope, kind, wanted.text) for kind in task_kinds().values())
        named = func.strpos(func.lower(shown_id()), func.lower(wanted.text)) > 0
        of_name = select(item.c.id).where(named)
        found = union_all(*imported, ever_containing(wanted.text, frozen_at(scope)), of_name).subquery()
        statement = statement.where(item.c.id.in_(select(found.c[0])))
    if wanted.label is not None or wanted.agreement or sort.key == "label":
        labels = own_labels(scope)
        statement = statement.outerjoin(labels, labels.c.item_id == item.c.id)
        if sort.key == "label":
            order = labels.c.value
        if wanted.label is not None:
            statement = statement.where(labels.c.value == wanted.label)
    by_status = wanted.status is not None or sort.key == "status"
    if by_status or wanted.flagged is not None:
        marks = own_marks(scope)
        statement = statement.outerjoin(marks, marks.c.item_id == item.c.id)
        if wanted.flagged is not None:
            statement = statement.where(func.coalesce(marks.c.flagged, literal(False)) == wanted.flagged)
        if by_status:
            answers = answered_count(scope)
            statement = statement.outerjoin(answers, answers.c.item_id == item.c.id)
            required, responses = required_count(item, scope=scope, answers=answers)
            if responses is not None:
                statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
            status = status_of(func.coalesce(answers.c.answered, 0), required, marks)
            if wanted.status:
                statement = statement.where(status == wanted.status)
            if sort.key == "status":
                order = status
    if wanted.path == WAITING_PATH:
        statement = statement.where(item.c.id.in_(items_that_need_a_sandbox(scope)))
    if wanted.agent or wanted.agreement or wanted.path or sort.key == "agent":
        verdicts = current_verdicts(scope)
        statement = statement.outerjoin(verdicts, verdicts.c.item_id == item.c.id)
        if wanted.agent == "none":
            statement = statement.where(verdicts.c.value.is_(None))
        elif wanted.agent:
            statement = statement.where(verdicts.c.value == float(wanted.agent))
        if wanted.path not in (None, WAITING_PATH):
            statement = statement.where(verdicts.c.path == wanted.path)
        if wanted.agreement == "agree":
            statement = statement.where(labels.c.value == verdicts.c.value)
        elif wanted.agreement == "disagree":
            statement = statement.where(labels.c.value != verdicts.c.value)
        if sort.key == "agent":
            order = verdicts.c.value
    if sort.key in ("title", "similarity", "rank"):
        listed = summaries(None).subquery("listed")
        statement = statement.outerjoin(listed, listed.c.item_id == item.c.id)
        order = listed.c[sort.key]
    direction = order.desc() if sort.descending else order.asc()
    if sort == QueueSort():
        # Skipped items are put off to the end, the one that was skipped first first.
        put_off = own_marks(scope).alias("put_off")
        skipped = select(put_off.c.item_id, put_off.c.skipped_by).where(put_off.c.skipped).subquery("skipped")
        statement = statement.outerjoin(skipped, skipped.c.item_id == item.c.id)
        return statement.order_by(skipped.c.skipped_by.asc().nulls_first(), direction)
    if sort.key == "position":
        return statement.order_by(direction)
    return statement.order_by(direction.nulls_last(), in_order)


def queue_rows(workspace: Workspace, scope: Scope, item_ids: Sequence[int]) -> list[QueueRow]:
    """Return the rows of some items, in the order given; ids that are not in the scope are left out.

    Agents' labels that an item hides are not in what the database returns.
    """
    ids = [int(number) for number in item_ids]
    if not ids:
        return []
    statement = select_rows(scope, ids)
    with workspace.reading() as connection:
        rows = {row["item_id"]: QueueRow(**row) for row in connection.execute(statement).mappings()}
        may_be = [number for number, row in rows.items() if row.kind in titled_kinds()]
        if may_be:
            current = current_texts(connection, may_be, until=texts_until(connection, scope))
            rows |= with_revised_titles(rows, current)
    return [rows[number] for number in ids if number in rows]


def _containing(scope: Scope, kind: TaskKind, text: str) -> Select[Any]:
    """Return a select of the items that contain a text; of comparisons in a study those with such a prompt.

    The names that a study masks would be found in the texts behind what is shown.
    """
    if kind.record.hidden and not scope.may(Shows.SURROUNDINGS):
        return containing(kind, text, (kind.queue.title,))
    return containing(kind, text)


def select_rows(scope: Scope, ids: Sequence[int] | None) -> Select[Any]:
    """Return the select of the rows of some items, its columns named as the parts of `QueueRow`.

    Args:
        scope: Whose labels and marks count, and on which items the agents' labels are hidden.
        ids: Of which items; None for all of the scope.
    """
    item = table_of(Item)
    listed = summaries(ids).subquery("listed")
    marks = own_marks(scope, ids)
    columns: list[Any] = [null().label("agent_label"), null().label("agent_path")]
    answers = answered_count(scope, ids)
    required, responses = required_count(item, ids, scope, answers)
    number = func.coalesce(answers.c.answered, 0)
    verdicts, hidden = (
        current_verdicts(scope, ids) if scope.may(Shows.AGENTS) else None,
        ~may(scope, Shows.AGENTS, item.c.id),
    )
    if verdicts is not None:
        waits = item.c.id.in_(items_that_need_a_sandbox(scope, ids))
        columns = [
            case((hidden, null()), else_=verdicts.c.value).label("agent_label"),
            case((hidden, null()), (waits, WAITING_PATH), else_=verdicts.c.path).label("agent_path"),
        ]
    statement = (
        select(
            item.c.id.label("item_id"),
            shown_id().label("external_id"),
            item.c.kind,
            func.coalesce(listed.c.title, "").label("title"),
            func.coalesce(listed.c.detail, "").label("detail"),
            listed.c.rank,
            listed.c.similarity,
            status_of(number, required, marks).label("status"),
            answers.c.value.label("label"),
            *columns,
            func.coalesce(marks.c.flagged, literal(False)).label("flagged"),
            func.coalesce(marks.c.commented, literal(False)).label("commented"),
            number.label("answered"),
            required.label("required"),
            hidden.label("blind"),
            *(func.coalesce(answers.c[name], "").label(name) for name in ("reason", "shown_as")),
        )
        .select_from(item)
        .outerjoin(listed, listed.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
        .outerjoin(answers, answers.c.item_id == item.c.id)
        .where(in_scope(scope, item.c.id), *([] if ids is None else [among(item.c.id, ids)]))
    )
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    if verdicts is not None:
        statement = statement.outerjoin(verdicts, verdicts.c.item_id == item.c.id)
    return statement
