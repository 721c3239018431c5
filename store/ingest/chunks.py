"""From staged pieces of context to their items: what is there under a setting, and what is new."""

from __future__ import annotations

import duckdb

from store.ingest.problems import Problem, problems_of
from store.ingest.stages import NEW_CHUNK


def resolve_chunks(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Compare the pieces of each item and setting as a whole: they are there, or not, or are others.

    Returns:
        Those that are others under a setting that the item has.
    """
    one = "concat_ws(chr(31), rank, path, md5(text), coalesce(score, -1))"
    digest = f"md5(string_agg({one}, chr(30) ORDER BY rank))"
    NEW_CHUNK.fill(
        cursor,
        f"""
        WITH given AS (
            SELECT s.file, s.position, s.number, s.line, i.id AS item_id, coalesce(s.setting, '') AS setting,
                s.rank, coalesce(s.path, '') AS path, coalesce(s.text, '') AS text, s.score, s.extra
            FROM stage_chunk s JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
        ), whole AS (
            SELECT file, position, item_id, setting, {digest} AS digest FROM given GROUP BY ALL
        ), firsts AS (
            SELECT item_id, setting, arg_min(digest, position) AS first_digest, min(position) AS first
            FROM whole GROUP BY ALL
        ), stored AS (
            SELECT item_id, setting, {digest} AS stored_digest FROM context_chunk
            WHERE item_id IN (SELECT item_id FROM given) GROUP BY ALL
        )
        SELECT g.*, w.digest, f.first_digest, f.first, k.stored_digest,
            k.stored_digest IS NULL AND f.first = g.position AS fresh
        FROM given g JOIN whole w USING (file, position, item_id, setting)
        JOIN firsts f USING (item_id, setting)
        LEFT JOIN stored k USING (item_id, setting)
        """,
    )
    return problems_of(
        cursor,
        """
        SELECT DISTINCT file, number, line, 'other context than ' ||
            CASE WHEN stored_digest IS NULL THEN 'came before' ELSE 'the workspace has' END ||
            ' for this item under the setting ''' || setting || '''; give it another one: --setting NAME'
        FROM new_chunk WHERE digest <> coalesce(stored_digest, first_digest)
        """,
    )


def publish_chunks(cursor: duckdb.DuckDBPyConnection) -> None:
    """Append the new pieces; inside the publishing transaction."""
    cursor.execute(
        "INSERT INTO context_chunk SELECT item_id, setting, rank, path, text, score, extra FROM new_chunk "
        "WHERE fresh ORDER BY item_id, setting, rank"
    )
