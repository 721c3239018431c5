"""The raters' names that files bring: those that nobody could read are refused."""

from __future__ import annotations

import duckdb

from store.ingest.problems import Problem
from store.record.rater_ref import name_fault


def unfit_names(cursor: duckdb.DuckDBPyConnection, table: str) -> list[Problem]:
    """Return the records of a table whose rater has no name that can be taken.

    Args:
        cursor: The cursor that holds the staging tables.
        table: A table with the columns file, number, line and rater.
    """
    names = [name for (name,) in cursor.execute(f"SELECT DISTINCT trim(rater) FROM {table}").fetchall()]
    faults = {name: fault for name in names if (fault := name_fault(name))}
    if not faults:
        return []
    rows = cursor.execute(
        f"SELECT file, number, line, trim(rater) FROM {table} WHERE list_contains(?::VARCHAR[], trim(rater))",
        [list(faults)],
    ).fetchall()
    return [
        Problem(
            file,
            number,
            line,
            f"{rater!a} is no rater's name: it {faults[rater]}; name another: --label-as"
            if rater.strip()
            else "the record has no rater: the name is blank",
        )
        for file, number, line, rater in rows
    ]
