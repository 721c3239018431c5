"""The task kind `pair`: does this code do what this web query asks (CoSQA+, section IV)?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from store.kinds.protocol import QuestionSpec, TaskKind
from store.scales import Scale, ScaleValue
from store.tables.columns import among, table_of
from store.tables.imported import Code, Pair, Query, Similarity

MATCH = QuestionSpec(
    name="pair.match",
    text="Does the code do what the query asks?",
    scale=Scale("nominal", (ScaleValue(1, "match", "1"), ScaleValue(0, "no match", "0"))),
)

GUIDELINE = """\
Judge whether the code does what the query asks.

1 match      Somebody who typed this query could use the code as it stands: it does what was asked, perhaps
             more, under at least one plausible reading of the query.
0 no match   It does something else, only a part of it, or does it wrongly.

A vague query is read kindly: one sensible reading that the code meets is enough. Names, style and a missing
import do not count against the code; a wrong result does. When the query cannot be understood, or the code
cannot be judged without what is missing around it, say that you cannot decide, and why.
"""


def _summary(item_ids: Collection[int] | None) -> Select[Any]:
    pair, query, code, similarity = (table_of(model) for model in (Pair, Query, Code, Similarity))
    means = select(similarity.c.item_id, func.avg(similarity.c.value).label("similarity"))
    if item_ids is not None:
        # Said twice, since an aggregate hides the condition from the join.
        means = means.where(among(similarity.c.item_id, item_ids))
    mean = means.group_by(similarity.c.item_id).subquery("mean_similarity")
    summary = (
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
    return summary if item_ids is None else summary.where(among(pair.c.item_id, item_ids))


def _containing(text: str) -> Select[Any]:
    pair, query, code = (table_of(model) for model in (Pair, Query, Code))

    def holds(column: ColumnElement[str]) -> ColumnElement[bool]:
        # Three times as quick as ILIKE, and nothing in the text is a wildcard.
        return func.strpos(func.lower(column), func.lower(text)) > 0

    # Texts are searched once each, not once a pair: a query has 20 pairs.
    queries = select(query.c.id).where(holds(query.c.text))
    codes = select(code.c.id).where(holds(code.c.text) | holds(code.c.name))
    return select(pair.c.item_id).where(pair.c.query_id.in_(queries) | pair.c.code_id.in_(codes))


PAIR = TaskKind(
    name="pair",
    plural="pairs",
    questions=(MATCH,),
    guideline_version="1",
    guideline=GUIDELINE,
    summary=_summary,
    containing=_containing,
)
