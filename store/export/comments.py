"""Comments that are exported: those that hold a name or an address are shown before they are written."""

from __future__ import annotations

import re

import duckdb

from store.errors import ExportFailed
from store.export.labels import CURRENT_LABEL, EXPORTED, create_current_labels
from store.export.pseudonyms import Pseudonyms
from store.formatting import pluralize
from store.policy.scope import ADJUDICATE

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[A-Za-z]{2}")
_SHOWN, _CELLS = 8, 60


def create_said(cursor: duckdb.DuckDBPyConnection, rater_id: int | None, *, with_marks: bool) -> None:
    """Create the temporary table said (item_id, id, comment) with the current comments.

    Args:
        cursor: A cursor of the workspace, with the views of `create_exported_records`.
        rater_id: Whose; None for everybody's.
        with_marks: Whether those on items, on what could not be decided, and on rulings are among them, not
            only those on labels.
    """
    create_current_labels(cursor, rater_id)
    own = "true" if rater_id is None else f"rater_id = {rater_id}"
    further = f"""
        UNION ALL SELECT item_id, max(id), arg_max(comment, id) FROM exported_judgment
        WHERE (origin = 'ruling' OR phase = '{ADJUDICATE}') AND {own}
        GROUP BY item_id, rater_id, assignment_id, phase, question_id, response_ref_id
        HAVING arg_max_null(value, id) IS NOT NULL
        UNION ALL SELECT item_id, max(id), arg_max(text, id) FROM exported_mark
        WHERE kind NOT LIKE 'revision.%' AND {own}
        GROUP BY item_id, rater_id, assignment_id, phase, kind HAVING arg_max(active, id)"""
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE said AS SELECT DISTINCT * FROM (
            SELECT s.item_id, s.id, c.comment FROM {CURRENT_LABEL} s JOIN exported_comment c ON c.id = s.id
            {further if with_marks else ""}
        ) WHERE comment <> '' AND item_id IN {EXPORTED}
        """
    )


def refuse_names(cursor: duckdb.DuckDBPyConnection, *, shown: bool) -> None:
    """Refuse comments with a rater's name or an e-mail address in them, with what they say.

    Args:
        cursor: A cursor of the workspace, with the table said.
        shown: Whether they are shown; a blind review hides what others say.

    Raises:
        ExportFailed: There are some.
    """
    people = Pseudonyms.of(cursor)
    rows = cursor.execute(
        "SELECT i.external_id, comment FROM said JOIN item i ON i.id = said.item_id ORDER BY said.id"
    ).fetchall()
    named = [
        (item, comment)
        for item, comment in rows
        if ("@" in comment and _ADDRESS.search(comment)) or people.in_words(comment) != comment
    ]
    if named:
        lines = [f"  {item}: {' '.join(comment.split())[:_CELLS]}" for item, comment in named[:_SHOWN]]
        more = [f"  and {len(named) - _SHOWN:,} more"] if len(named) > _SHOWN else []
        number = pluralize(len(named), "comment")
        holds = "holds" if len(named) == 1 else "hold"
        what = f"{number} {holds} a rater's name or an e-mail address"
        raise ExportFailed(
            "Names in comments",
            "\n".join((f"{what}:", *lines, *more))
            if shown
            else f"{what}; a blind review does not show them.",
            "Leave --comments out; --comments --names writes them, and raters' names, as they are. "
            "Nothing was written.",
        )
