"""What imports write, and nothing changes afterwards: sources, queries, codes, items, pairs, similarities."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import big, datetime, moment, real, string


class Source(SQLModel, table=True):
    """One imported file."""

    id: int = big(primary_key=True)
    sha256: str = string()
    name: str = string()
    format: str = string()
    licence: str = string(default="")
    url: str = string(default="")
    records: int = big(default=0)
    imported_at: datetime = moment()


class Query(SQLModel, table=True):
    """A query text; pairs with the same query form one group."""

    id: int = big(primary_key=True)
    text: str = string()
    text_hash: str = string()


class Code(SQLModel, table=True):
    """A code snippet and where it comes from."""

    id: int = big(primary_key=True)
    text: str = string()
    text_hash: str = string()
    language: str = string(default="python")
    name: str = string(default="")
    repository: str = string(default="")
    path: str = string(default="")
    licence: str = string(default="")


class Item(SQLModel, table=True):
    """One unit to judge, of any task kind; `external_id` is its name in the imported file."""

    id: int = big(primary_key=True)
    kind: str = string()
    external_id: str = string()
    group_id: int = big()
    source_id: int = big()
    content_hash: str = string()
    extra: str = string(default="{}")


class Pair(SQLModel, table=True):
    """A query and a candidate code (CoSQA+, section IV.B)."""

    item_id: int = big(primary_key=True)
    query_id: int = big()
    code_id: int = big()
    rank: int | None = big(default=None)


class Similarity(SQLModel, table=True):
    """One embedding model's cosine similarity of a pair."""

    item_id: int = big(primary_key=True)
    model: str = string(primary_key=True)
    value: float = real()
