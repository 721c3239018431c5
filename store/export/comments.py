"""Comments that are exported: those that hold a name or an address are shown before they are written."""

from __future__ import annotations

import re

import duckdb

from store.errors import ExportFailed
from store.export.labels import EXPORTED
from store.export.pseudonyms import Pseudonyms
from store.formatting import pluralize

_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_SHOWN, _CELLS = 8, 60


def refuse_names(cursor: duckdb.DuckDBPyConnection) -> None:
    """Refuse comments with a rater's name or an e-mail address in them, with what they say.

    Args:
        cursor: A cursor of the workspace, with the views of `create_exported_records`.

    Raises:
        ExportFailed: There are some.
    """
    people = Pseudonyms.of(cursor)
    rows = cursor.execute(
        f"""
        SELECT i.external_id, said.comment FROM exported_comment said JOIN exported_judgment j USING (id)
        JOIN item i ON i.id = j.item_id WHERE i.id IN {EXPORTED}
        UNION ALL SELECT i.external_id, m.text FROM exported_mark m JOIN item i ON i.id = m.item_id
        WHERE m.kind = 'comment' AND m.active AND m.text <> '' AND i.id IN {EXPORTED}
        """
    ).fetchall()
    named = [
        (item, comment)
        for item, comment in rows
        if _ADDRESS.search(comment) or people.in_words(comment) != comment
    ]
    if named:
        lines = [f"  {item}: {' '.join(comment.split())[:_CELLS]}" for item, comment in named[:_SHOWN]]
        more = [f"  and {len(named) - _SHOWN:,} more"] if len(named) > _SHOWN else []
        number = pluralize(len(named), "comment")
        holds = "holds" if len(named) == 1 else "hold"
        raise ExportFailed(
            "Names in comments",
            "\n".join((f"{number} {holds} a rater's name or an e-mail address:", *lines, *more)),
            "Leave --comments out; --comments --names writes them, and raters' names, as they are. "
            "Nothing was written.",
        )
