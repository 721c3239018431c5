"""An item as one JSON object, which the full record carries where it has no columns for it.

The object holds `fields` (the kind's columns), `chunks`, and `responses` with their `scores`;
store.ingest.contents reads it back.
"""

from __future__ import annotations

import duckdb

from store.kinds.spec import task_kinds


def content_table(cursor: duckdb.DuckDBPyConnection) -> str:
    """Put the content of the items that something was recorded of into a table (item_id, first, content).

    `first` is the first record of the item, the one that carries the content.

    Args:
        cursor: The cursor that is to hold it.

    Returns:
        Its name.
    """
    kinds = {name: kind for name, kind in task_kinds().items() if not kind.record.flat}
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE recorded_item AS
        SELECT item_id, min(r.id) AS first FROM (
            SELECT item_id, id FROM judgment UNION ALL SELECT item_id, id FROM mark
        ) r JOIN item i ON i.id = r.item_id WHERE list_contains($kinds, i.kind) GROUP BY item_id
        """,
        {"kinds": list(kinds)},
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE belonging AS
        WITH scored AS (
            SELECT response_ref_id, list({'id': id::VARCHAR, 'judge': judge, 'measure': measure,
                'value': value, 'raw': raw, 'reason': reason, 'extra': extra::JSON}
                ORDER BY judge, measure, sequence) AS scores
            FROM score GROUP BY response_ref_id
        ), answered AS (
            SELECT item_id, list({'model': model, 'setting': setting, 'trial': trial, 'text': text,
                'extra': extra::JSON, 'scores': coalesce(scores, [])}
                ORDER BY model, setting, trial) AS responses
            FROM response JOIN response_ref USING (id) LEFT JOIN scored ON response_ref_id = id
            GROUP BY item_id
        ), chunked AS (
            SELECT item_id, list(
                {'setting': setting, 'rank': rank, 'path': path, 'text': text, 'score': score,
                    'extra': extra::JSON}
                ORDER BY setting, rank) AS chunks
            FROM context_chunk GROUP BY item_id
        )
        SELECT item_id, first, coalesce(to_json(responses), '[]') AS responses,
            coalesce(to_json(chunks), '[]') AS chunks
        FROM recorded_item LEFT JOIN answered USING (item_id) LEFT JOIN chunked USING (item_id)
        """
    )
    cursor.execute("CREATE OR REPLACE TEMP TABLE item_content (item_id BIGINT, first UUID, content VARCHAR)")
    for kind in kinds.values():
        fields = ", ".join(
            f"'{column}': t.{column}{'' if type_ not in ('list', 'object') else '::JSON'}"
            for column, type_ in kind.record.columns.items()
        )
        cursor.execute(
            "INSERT INTO item_content SELECT t.item_id, b.first, json_object('fields', "
            f"{{{fields}}}, 'chunks', b.chunks, 'responses', b.responses)::VARCHAR "
            f"FROM ({kind.record.select}) t JOIN belonging b ON b.item_id = t.item_id"
        )
    return "item_content"
