"""How pairs are listed, sorted and searched: the selects of the task kind `pair`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from store.tables.columns import among, table_of
from store.tables.imported import Code, Pair, Query, Similarity


def summary(item_ids: Collection[int] | None) -> Select[Any]:
    """Return the summary of some pairs, of all of them with None (see TaskKind.summary)."""
    pair, query, code, similarity = (table_of(model) for model in (Pair, Query, Code, Similarity))
    means = select(similarity.c.item_id, func.avg(similarity.c.value).label("similarity"))
    if item_ids is not None:
        # Said twice, since an aggregate hides the condition from the join.
        means = means.where(among(similarity.c.item_id, item_ids))
    mean = means.group_by(similarity.c.item_id).subquery("mean_similarity")
    listed = (
        select(
            pair.c.item_id,
            query.c.text.label("title"),
            code.c.name.label("detail"),
            pair.c.rank,
            mean.c.similarity,
        )
        .select_from(pair)
        .join(query, query.c.id == pair.c.query_id)
        .join(code, code.c.id == pair.c.code_id)
        .outerjoin(mean, mean.c.item_id == pair.c.item_id)
    )
    return listed if item_ids is None else listed.where(among(pair.c.item_id, item_ids))


def texts(item_ids: Collection[int]) -> Select[Any]:
    """Return the query and the code of some pairs, with what is known of the code (see TaskKind.texts)."""
    pair, query, code = (table_of(model) for model in (Pair, Query, Code))
    return (
        select(
            pair.c.item_id,
            query.c.text.label("query"),
            code.c.text.label("code"),
            code.c.language,
            code.c.name,
            code.c.repository,
            code.c.path,
            code.c.licence,
        )
        .select_from(pair)
        .join(query, query.c.id == pair.c.query_id)
        .join(code, code.c.id == pair.c.code_id)
        .where(among(pair.c.item_id, item_ids))
    )


def containing(text: str) -> Select[Any]:
    """Return the ids of the pairs whose query, code or name contains a text, in any case."""
    pair, query, code = (table_of(model) for model in (Pair, Query, Code))

    def holds(column: ColumnElement[str]) -> ColumnElement[bool]:
        # Three times as quick as ILIKE, and nothing in the text is a wildcard.
        return func.strpos(func.lower(column), func.lower(text)) > 0

    # Texts are searched once each, not once a pair: a query has 20 pairs.
    queries = select(query.c.id).where(holds(query.c.text))
    codes = select(code.c.id).where(holds(code.c.text) | holds(code.c.name))
    return select(pair.c.item_id).where(pair.c.query_id.in_(queries) | pair.c.code_id.in_(codes))
