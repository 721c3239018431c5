"""Many rows at once into a table of records, as one Arrow table: it is statements that take DuckDB long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow
from sqlalchemy import BigInteger, Boolean, DateTime, Double, String, Uuid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Table

_TYPES: dict[type, pyarrow.DataType] = {
    BigInteger: pyarrow.int64(),
    Boolean: pyarrow.bool_(),
    DateTime: pyarrow.timestamp("us", tz="UTC"),
    Double: pyarrow.float64(),
    String: pyarrow.string(),
    Uuid: pyarrow.string(),
}


def append_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows into a table, in the transaction that is open."""
    if not rows:
        return
    arrays = []
    for column in table.c:
        values = [row[column.name] for row in rows]
        if isinstance(column.type, Uuid):
            values = [str(value) if isinstance(value, UUID) else value for value in values]
        arrays.append(pyarrow.array(values, _arrow_type(column.type)))
    arriving = pyarrow.Table.from_arrays(arrays, table.c.keys())
    connection.exec_driver_sql("register", ("arriving", arriving))
    connection.exec_driver_sql(f'INSERT INTO "{table.name}" BY NAME SELECT * FROM arriving')


def _arrow_type(type_: Any) -> pyarrow.DataType:
    return next(arrow for known, arrow in _TYPES.items() if isinstance(type_, known))
