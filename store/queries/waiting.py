"""Items that wait for something that a run had not: a sandbox to run their test programs in."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, exists, func, select

from store.queries.rows import NEEDS_SANDBOX
from store.tables.columns import among, table_of
from store.tables.runs import StepRow, VerdictRow


def items_that_need_a_sandbox(item_ids: Collection[int] | None = None) -> Select[Any]:
    """Return the select of the items without a verdict whose last step was refused for want of a sandbox.

    Args:
        item_ids: Of which items; None for all.
    """
    step, verdict = table_of(StepRow), table_of(VerdictRow)
    later = step.alias("later")

    def asked(table: FromClause) -> list[ColumnElement[bool]]:
        # Said of each table, since neither an aggregate nor a negation takes it over from its neighbour.
        return [] if item_ids is None else [among(table.c.item_id, item_ids)]

    refused = (
        select(step.c.item_id, func.max(step.c.id).label("id"))
        .where(
            step.c.outcome == "failed",
            step.c.error.startswith(NEEDS_SANDBOX + ": ", autoescape=True),
            *asked(step),
        )
        .group_by(step.c.item_id)
        .subquery("refused")
    )
    return select(refused.c.item_id).where(
        ~exists().where(later.c.item_id == refused.c.item_id, later.c.id > refused.c.id, *asked(later)),
        ~exists().where(verdict.c.item_id == refused.c.item_id, *asked(verdict)),
    )
