"""Column types that mean the same on DuckDB and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, Double, String, Table, Uuid
from sqlmodel import Field, SQLModel


def big(**options: Any) -> Any:
    """Return a 64-bit integer field; DuckDB has no autoincrement, so the key is always given."""
    return Field(sa_type=BigInteger, sa_column_kwargs={"autoincrement": False}, **options)


def string(**options: Any) -> Any:
    """Return a text field."""
    return Field(sa_type=String, **options)


def real(**options: Any) -> Any:
    """Return a 64-bit floating-point field."""
    return Field(sa_type=Double, **options)


def moment(**options: Any) -> Any:
    """Return a field for an aware moment in UTC."""
    return Field(sa_type=DateTime(timezone=True), **options)


def uid(**options: Any) -> Any:
    """Return a UUID field."""
    return Field(sa_type=Uuid, **options)


def table_of(model: type[SQLModel]) -> Table:
    """Return the SQLAlchemy table of a table model, for Core expressions."""
    table: Table = model.__table__  # type: ignore[attr-defined]
    return table


__all__ = ["UUID", "big", "datetime", "moment", "real", "string", "table_of", "uid"]
