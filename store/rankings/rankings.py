"""Rankings of codes as they are stored: ids and scores, no labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, TableClause, column, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from store.errors import UnknownName, WorkbenchError, WorkspaceError
from store.measures.ranking import JudgedPlaces, Qrels
from store.policy.refusal import refuse_packet
from store.queries.corpus import corpus_replaced
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.imported import Code, Query
from store.tables.retrieval import Retrieval, RetrievalHit, RetrievalQuery

if TYPE_CHECKING:
    import numpy

    from store.workspace.duckdb import Workspace

    Array = numpy.ndarray[Any, Any]

SCORE_DECIMALS = 6
"""Decimals of the scores that are stored: the order is that of the ranks, and more take twice the room."""
_QUERIES_AT_ONCE = 500
_MEMORY = "1GB"
"""What the database holds at most while a ranking is stored."""

MAKE_ONE = "Rank the codes: workbench evaluate retrieval WORKSPACE --methods bm25,bow --rater NAME"
"""What to do where there is no ranking."""


@dataclass(frozen=True, slots=True)
class StoredRanking:
    """The ranking of a method.

    Attributes:
        depth: The codes of each query that are kept at most.
        codes: The different codes that were searched.
        queries: The queries that codes were ranked for.
        made_at: When it was made or added to.
    """

    id: int
    method: str
    depth: int
    codes: int
    queries: int
    made_at: datetime


def count_codes(connection: Connection) -> int:
    """Return how many different codes a workspace has."""
    code = table_of(Code)
    return int(connection.execute(select(func.count(code.c.text_hash.distinct()))).scalar_one())


def list_rankings(connection: Connection) -> list[StoredRanking]:
    """Return the rankings of a workspace, in the order in which they were made."""
    retrieval, query = table_of(Retrieval), table_of(RetrievalQuery)
    queries = (
        select(func.count()).where(query.c.retrieval_id == retrieval.c.id).scalar_subquery().label("queries")
    )
    found = select(
        *(retrieval.c[name] for name in ("id", "method", "depth", "codes")), queries, retrieval.c.made_at
    )
    rows = connection.execute(found.order_by(retrieval.c.made_at, retrieval.c.id)).mappings()
    return [StoredRanking(**row) for row in rows]


def rankings_named(connection: Connection, methods: Sequence[str]) -> list[StoredRanking]:
    """Return the rankings of some methods.

    Raises:
        UnknownName: There is no ranking of one.
    """
    known = {one.method: one for one in list_rankings(connection)}
    if not known:
        raise no_rankings()
    for method in methods:
        if method not in known:
            raise UnknownName(
                "Unknown method",
                f"No ranking of {method!r} is stored.",
                f"Stored: {', '.join(known)}. Another: workbench evaluate retrieval WORKSPACE --methods NAME",
            )
    return [known[method] for method in methods]


def no_rankings() -> WorkbenchError:
    """Return the error that no method has ranked the codes."""
    return WorkbenchError("No rankings", "No method has ranked the codes of this workspace yet.", MAKE_ONE)


def read_judged(
    connection: Connection, rankings: Sequence[StoredRanking], qrels: Qrels
) -> dict[str, dict[str, JudgedPlaces]]:
    """Return where each method has the judged codes of each query that it ranked.

    A ranking of 1,000 codes for 20,604 queries has 20 million; what is judged is found in the database.

    Grades are by the MD5 of the texts of queries and codes.

    Returns:
        By method and the MD5 of the text of the query. A code with the text of its query is there, too,
        whether it is judged or not: some benchmarks leave it out.
    """
    import pyarrow

    pairs = [(query, code) for query, grades in qrels.items() for code in {query: 0.0, **grades}]
    given = {"pair": range(len(pairs)), "query": [one for one, _ in pairs], "code": [one for _, one in pairs]}
    connection.exec_driver_sql("register", ("judged_pair", pyarrow.table(given)))
    judged = TableClause("judged_pair", column("pair"), column("query"), column("code"))
    hit, of, query, code = (table_of(one) for one in (RetrievalHit, RetrievalQuery, Query, Code))
    places = (
        select(judged.c.pair, (hit.c.rank - 1).label("place"))
        .select_from(
            judged.join(query, query.c.text_hash == judged.c.query)
            .join(code, code.c.text_hash == judged.c.code)
            .join(hit, (hit.c.query_id == query.c.id) & (hit.c.code_id == code.c.id))
        )
        .order_by(hit.c.query_id, hit.c.rank)
    )
    number = select(hit.c.query_id, func.count().label("codes")).group_by(hit.c.query_id)
    runs = {}
    for one in rankings:
        numbers = number.where(hit.c.retrieval_id == one.id).subquery()
        lengths = (
            select(query.c.text_hash, func.coalesce(numbers.c.codes, 0))
            .select_from(of.join(query, query.c.id == of.c.query_id))
            .outerjoin(numbers, numbers.c.query_id == of.c.query_id)
            .where(of.c.retrieval_id == one.id)
            .order_by(of.c.query_id)
        )
        found: dict[str, tuple[list[str], list[int]]] = {}
        columns = connection.execute(places.where(hit.c.retrieval_id == one.id)).cursor.fetchnumpy()
        for pair, place in zip(columns["pair"].tolist(), columns["place"].tolist(), strict=True):
            asked, ranked = pairs[pair]
            codes, at = found.setdefault(asked, ([], []))
            codes.append(ranked)
            at.append(place)
        runs[one.method] = {
            name: JudgedPlaces(length, *found.get(name, ((), ())))
            for name, length in connection.execute(lengths)
        }
    return runs


def store_ranking(
    workspace: Workspace,
    method: str,
    settings: Mapping[str, Any],
    *,
    depth: int,
    queries: Sequence[str],
    codes: Sequence[str],
    places: Array,
    scores: Array,
) -> bool:
    """Store the ranking of a method, whole or not at all.

    Of an earlier ranking of the method with the same settings, depth and codes, the queries that were not
    ranked now stay; any other one is replaced.

    Args:
        workspace: The open workspace.
        method: The name of the method.
        settings: What its ranking depends on besides.
        depth: How many codes of each query were asked for.
        queries: The MD5 of the texts of the queries.
        codes: That of all codes.
        places: Which codes were found, best first, of shape (queries, at most depth); -1 for none.
        scores: Their scores, of the same shape.

    Raises:
        WorkspaceError: The workspace is a packet, lacks a text, or cannot be written.
    """
    made = {"settings": json.dumps(settings, sort_keys=True), "depth": depth, "codes": len(codes)}

    def write(connection: Connection) -> bool:
        retrieval = table_of(Retrieval)
        query_ids, code_ids = (
            _ids(connection, one, names) for one, names in ((Query, queries), (Code, codes))
        )
        earlier = connection.execute(select(retrieval).where(retrieval.c.method == method)).mappings().first()
        if earlier is None:
            last = connection.execute(select(func.max(retrieval.c.id))).scalar()
            key = (last or 0) + 1
            row = {"id": key, "method": method, "made_at": now(), **made}
            connection.execute(insert(retrieval).values(**row))
        else:
            key = earlier["id"]
            same = all(earlier[name] == value for name, value in made.items())
            for one in (RetrievalHit, RetrievalQuery):
                _delete(connection, table_of(one), key, query_ids if same else None)
            change = update(retrieval).where(retrieval.c.id == key)
            connection.execute(change.values(made_at=now(), **made))
        _append(connection, key, queries=query_ids, codes=code_ids, places=places, scores=scores)
        return earlier is not None and earlier["settings"] != made["settings"]

    refuse_packet(workspace, "Rankings are stored")
    try:
        with workspace.limited_memory(_MEMORY):
            return workspace.lane.submit(write).result()
    except DBAPIError as error:
        raise WorkspaceError(
            "Ranking not stored",
            f"That of {method} could not be written: {error.orig}.",
            "Make room beside the workspace, then rank again.",
        ) from error


def delete_rankings(workspace: Workspace, methods: Sequence[str]) -> None:
    """Delete the rankings of some methods, all or none; items and labels stay.

    Raises:
        UnknownName: There is no ranking of one.
        WorkbenchError: There is no ranking at all.
        WorkspaceError: The workspace cannot be written.
    """
    with workspace.reading() as connection:
        keys = [one.id for one in rankings_named(connection, methods)]

    def write(connection: Connection) -> None:
        for key in keys:
            for model in (RetrievalHit, RetrievalQuery):
                _delete(connection, table_of(model), key, None)
            retrieval = table_of(Retrieval)
            connection.execute(delete(retrieval).where(retrieval.c.id == key))

    try:
        with workspace.limited_memory(_MEMORY):
            workspace.lane.submit(write).result()
    except DBAPIError as error:
        raise WorkspaceError(
            "Rankings not deleted",
            f"The workspace could not be written: {error.orig}.",
            "Make room beside the workspace, then delete them again.",
        ) from error


def _ids(connection: Connection, model: type[Query] | type[Code], names: Sequence[str]) -> Array:
    """Return the lowest id of each text, by their MD5.

    Raises:
        WorkspaceError: One of them is not there.
    """
    import numpy

    table = table_of(model)
    found = select(table.c.text_hash, func.min(table.c.id)).group_by(table.c.text_hash)
    known = {row[0]: row[1] for row in connection.execute(found)}
    if not known.keys() >= set(names):
        raise corpus_replaced()
    return numpy.array([known[name] for name in names], dtype=numpy.int64)


def _delete(connection: Connection, table: Table, key: int, queries: Array | None) -> None:
    """Delete the rows of a ranking, or those of some of its queries."""
    gone = delete(table).where(table.c.retrieval_id == key)
    if queries is not None:
        connection.exec_driver_sql("register", ("ranked_query", {"id": queries}))
        gone = gone.where(text("query_id IN (SELECT id FROM ranked_query)"))
    connection.execute(gone)


def _append(
    connection: Connection, key: int, *, queries: Array, codes: Array, places: Array, scores: Array
) -> None:
    """Append the rows of a ranking."""
    import numpy
    import pyarrow

    def append(table: str, columns: Mapping[str, Array]) -> None:
        # The arrow types are those of the arrays; the key is the same in all rows.
        arriving = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
        connection.exec_driver_sql("register", ("arriving", arriving))
        connection.exec_driver_sql(
            f"INSERT INTO {table} BY NAME SELECT {key} AS retrieval_id, * FROM arriving"
        )

    append("retrieval_query", {"query_id": queries})
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        row, rank = numpy.nonzero(places[part] >= 0)
        append(
            "retrieval_hit",
            {
                "query_id": queries[part][row],
                "rank": rank + 1,
                "code_id": codes[places[part][row, rank]],
                "score": scores[part][row, rank].astype(float).round(SCORE_DECIMALS),
            },
        )
