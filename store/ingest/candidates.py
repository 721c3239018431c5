"""Candidate pairs that retrieval found: items of the kind `pair`, of queries and codes that are there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow

from store.errors import WorkspaceError
from store.ingest.importing import ONE_AT_A_TIME
from store.ingest.sources import add_source
from store.kinds.pair import PAIR
from store.policy.refusal import refuse_packet
from store.record.ids import now
from store.record.raters import register_kinds
from store.sql import count, transaction
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs to add, best first within a query.

    Attributes:
        query_ids: Of each pair, int64.
        code_ids: Of each pair, int64.
        ranks: From 1, int64.
        similarities: Of each pair by each model, float64, of shape (pairs, models); NaN where there is none.
    """

    query_ids: Array
    code_ids: Array
    ranks: Array
    similarities: Array
    models: Sequence[str]


@dataclass(frozen=True)
class CandidatesAdded:
    """What was added of candidate pairs.

    Attributes:
        added: New pairs.
        known: Pairs of the same texts that were there already; their ranks and similarities stay.
        source: The name of their source; None where nothing was added.
    """

    added: int
    known: int
    source: str | None


def add_candidates(workspace: Workspace, pairs: CandidatePairs, name: str) -> CandidatesAdded:
    """Add candidate pairs as one source, all or none; a pair whose texts are there as one is left out.

    Raises:
        WorkspaceError: The workspace is a packet or could not be written.
    """
    refuse_packet(workspace, "Candidates are added")
    register_kinds(workspace)
    given = pyarrow.table(
        {
            "place": range(len(pairs.ranks)),
            "query_id": pairs.query_ids,
            "code_id": pairs.code_ids,
            "rank": pairs.ranks,
        }
    )
    scored = {f"model_{number}": pairs.similarities[:, number] for number in range(len(pairs.models))}
    similarities = pyarrow.table({"place": range(len(pairs.ranks)), **scored})
    with ONE_AT_A_TIME:
        cursor = workspace.native()
        try:
            cursor.register("given_candidate", given)
            cursor.register("given_similarity", similarities)
            _find_new(cursor)
            added = count(cursor, "SELECT count(*) FROM new_candidate")
            if added:
                _publish(cursor, pairs, name)
            return CandidatesAdded(added, len(pairs.ranks) - added, name if added else None)
        finally:
            cursor.close()


def _find_new(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_candidate AS
        WITH hashed AS (
            SELECT g.*, md5(q.text_hash || c.text_hash) AS content_hash
            FROM given_candidate g JOIN query q ON q.id = g.query_id JOIN code c ON c.id = g.code_id
        )
        SELECT *, (SELECT coalesce(max(id), 0) FROM item) + row_number() OVER (ORDER BY place) AS id
        FROM hashed ANTI JOIN (
            SELECT content_hash FROM item WHERE kind = '{PAIR.name}'
        ) USING (content_hash)
        """
    )


def _publish(cursor: duckdb.DuckDBPyConnection, pairs: CandidatePairs, name: str) -> None:
    """Append the new pairs; beside the write lane, as an import does."""
    digest = hashlib.sha256(name.encode())
    for part in (pairs.query_ids, pairs.code_ids):
        digest.update(part.tobytes())
    try:
        with transaction(cursor):
            source = add_source(
                cursor,
                sha256=digest.hexdigest(),
                name=name,
                format="candidates",
                licence="",
                records=len(pairs.ranks),
                imported_at=now(),
            )
            cursor.execute(
                f"INSERT INTO item SELECT id, '{PAIR.name}', 'candidate-' || content_hash[:16], query_id, "
                f"{source}, content_hash, '{{}}' FROM new_candidate ORDER BY id"
            )
            cursor.execute(
                "INSERT INTO pair (item_id, query_id, code_id, rank) "
                "SELECT id, query_id, code_id, rank FROM new_candidate ORDER BY id"
            )
            for number, model in enumerate(pairs.models):
                cursor.execute(
                    f"INSERT INTO similarity SELECT n.id, ?, s.model_{number} "
                    "FROM new_candidate n JOIN given_similarity s USING (place) "
                    f"WHERE NOT isnan(s.model_{number}) ORDER BY n.id",
                    [model],
                )
    except duckdb.Error as error:
        raise WorkspaceError(
            "Not written",
            f"The workspace could not be written: {error}. No pair was added.",
            "Check the space on the disk, then run it again; the vectors are kept.",
        ) from error
