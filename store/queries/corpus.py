"""The texts of a retrieval corpus: all queries and all codes of a workspace, with items or without."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from sqlalchemy import Connection, func, select

from store.errors import WorkspaceError
from store.tables.columns import table_of
from store.tables.imported import Code, Query
from store.workspace.duckdb import Workspace

_ROWS_AT_ONCE = 4096


def corpus_size(connection: Connection) -> tuple[int, int]:
    """Return how many queries and codes a workspace has, those of pairs among them."""
    queries, codes = (
        select(func.count()).select_from(table_of(table)).scalar_subquery() for table in (Query, Code)
    )
    row = connection.execute(select(queries, codes)).one()
    return int(row[0]), int(row[1])


def corpus_texts(workspace: Workspace, table: Literal["query", "code"]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts of a table with their ids, in the order of the ids, a block at a time.

    A text that is there more than once, such as a code of two repositories, is given once.
    """
    cursor = workspace.native()
    try:
        cursor.execute(
            f"SELECT id, text FROM {table} "
            f"SEMI JOIN (SELECT min(id) AS id FROM {table} GROUP BY text_hash) USING (id) ORDER BY id"
        )
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield rows
    finally:
        cursor.close()


def ids_by_hash(
    workspace: Workspace, table: Literal["query", "code"], hashes: Collection[str]
) -> dict[str, int]:
    """Return the ids of texts by their MD5; of a repeated text the one that `corpus_texts` gives.

    Raises:
        WorkspaceError: One of them is not there.
    """
    cursor = workspace.native()
    try:
        found = cursor.execute(
            f"SELECT text_hash, min(id) FROM {table} "
            "WHERE text_hash IN (SELECT unnest(?::VARCHAR[])) GROUP BY text_hash",
            [list(hashes)],
        )
        ids = dict(found.fetchall())
    finally:
        cursor.close()
    if len(ids) < len(hashes):
        raise corpus_replaced()
    return ids


def corpus_replaced() -> WorkspaceError:
    """Return the error that a workspace, which was closed meanwhile, lacks texts that were compared."""
    return WorkspaceError(
        "Another workspace",
        "The file was replaced while texts were compared: it has other queries or codes. Nothing was added.",
        "Run it again.",
    )
