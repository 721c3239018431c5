"""Rankings of the codes of a workspace by methods of retrieval."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import big, datetime, moment, real, string


class Retrieval(SQLModel, table=True):
    """The ranking of a method.

    `settings` is JSON that says which models it is of, `depth` how many codes of each query are kept at most,
    `codes` how many were searched.
    """

    id: int = big(primary_key=True)
    method: str = string()
    settings: str = string()
    depth: int = big()
    codes: int = big()
    made_at: datetime = moment()


class RetrievalQuery(SQLModel, table=True):
    """A query that a method ranked codes for, whether it found any or not."""

    __tablename__ = "retrieval_query"

    retrieval_id: int = big(primary_key=True)
    query_id: int = big(primary_key=True)


class RetrievalHit(SQLModel, table=True):
    """A code that a method found for a query; of equal texts the query and the code with the lowest ids."""

    __tablename__ = "retrieval_hit"

    retrieval_id: int = big(primary_key=True)
    query_id: int = big(primary_key=True)
    rank: int = big(primary_key=True)
    code_id: int = big()
    score: float = real()
