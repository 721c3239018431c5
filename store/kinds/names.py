"""What a task kind may be called, its table and its columns."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

_RECORDS = frozenset({"query", "code", "label", "judgment", "chunk", "response", "score", "item_id", "extra"})
"""Names of other sorts of records, and of columns that every item has."""

_PLACES = frozenset({"external_id", "file", "line", "number", "position"})
"""Columns of the staging tables that say which record it is, and where in its file it stands."""

_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case
    cast check collate collation column concurrently constraint create cross default deferrable desc
    describe distinct do else end except false fetch for foreign freeze from full glob group having
    ilike in initially inner intersect into is isnull join lambda lateral leading left like limit
    natural not notnull null offset on only or order outer overlaps pivot pivot_longer pivot_wider
    placing positional primary qualify references returning right select semi show similar some
    summarize symmetric table tablesample then to trailing true union unique unpack unpivot using
    variadic verbose when where window with
    """
SQL_WORDS = frozenset(_WORDS.split())
"""Words that DuckDB takes for no table's or column's name unless they are quoted."""

_TABLES = """
    assignment code completion context_chunk execution guideline item judgment mark pair query question
    rater reply repository_question response response_aside response_ref run schema_version score sessionstate
    similarity source step study test_outcome verdict workspace_fact
    """
OWN_TABLES = frozenset(_TABLES.split())
"""The tables of every workspace."""


def refuse_names(kind: str, table: str, columns: list[str], *, foreign: bool) -> None:
    """Refuse names that no kind, table, column or sort of record can have.

    Args:
        kind: The kind's name.
        table: The name of its table; empty for none.
        columns: The names of its columns.
        foreign: Whether the table is made by the kind, which may then be none of a workspace's own.

    Raises:
        ValueError: One cannot be taken, and which can.
    """
    of_table = _RECORDS | SQL_WORDS | (OWN_TABLES if foreign else frozenset())
    named = {
        "kind": ([kind], _RECORDS),
        "table": ([table] if table else [], of_table),
        "column": (columns, _RECORDS | _PLACES | SQL_WORDS),
    }
    for what, (names, taken) in named.items():
        for name in names:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a {what}: lower-case letters, digits and _ can")
            if name in taken:
                why = "a word of SQL" if name in SQL_WORDS else "a name of the workspace's own"
                raise ValueError(f"{name!r} cannot name a {what}: it is {why}")
