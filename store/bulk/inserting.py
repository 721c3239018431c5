"""Rows that Python made into a staging table, some thousands at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow

from store.formats.fields import STAGED, FieldType

CHUNK = 5_000
"""Rows that are inserted together."""

_ARROW: dict[FieldType, Any] = {
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "scores": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
}


def inserter(
    cursor: duckdb.DuckDBPyConnection, table: str, columns: dict[str, FieldType]
) -> Callable[[Sequence[tuple[Any, ...]]], None]:
    """Return what inserts rows of (number, line, each column's value, extra) into a staging table.

    Args:
        cursor: The cursor that holds the table.
        table: Its name.
        columns: Its columns beside number, line and extra.
    """
    types = [
        pyarrow.int64(),
        pyarrow.int64(),
        *(_ARROW.get(type_, pyarrow.string()) for type_ in columns.values()),
        pyarrow.string(),
    ]
    names = ["number", "line", *columns, "extra"]
    scores = [place for place, name in enumerate(names) if name == "scores"]
    cast = ", ".join(f"CAST({name} AS {STAGED[type_]})" for name, type_ in columns.items())

    def insert(rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        by_column = [list(column) for column in zip(*rows, strict=True)]
        for place in scores:
            by_column[place] = [None if found is None else list(found.items()) for found in by_column[place]]
        arrays = [pyarrow.array(values, type_) for values, type_ in zip(by_column, types, strict=True)]
        cursor.register("arriving", pyarrow.table(arrays, names=names))
        cursor.execute(f"INSERT INTO {table} SELECT number, line, {cast}, extra FROM arriving")
        cursor.unregister("arriving")

    return insert
