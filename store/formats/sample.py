"""Looking at the beginning of a file: how its records are stored, and what their fields are called."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from store.errors import ImportFailed
from store.formats.protocol import Container, Sample

_LOOK = 1 << 18
_LINES = 20


def look_at(path: Path, plain: Path) -> Sample:
    """Return the sample of a file.

    Args:
        path: The file as the user named it, for messages.
        plain: Its content without compression and byte order mark.

    Raises:
        ImportFailed: It is Parquet that cannot be read.
    """
    with plain.open("rb") as file:
        head = file.read(_LOOK)
    if head.startswith(b"PAR1"):
        return Sample(path, "Parquet", _parquet_columns(path, plain))
    text = head.decode("utf-8", errors="replace")
    start = text.lstrip()
    if start.startswith("["):
        return Sample(path, "JSON array", _columns(_array_head(_more(plain, start, "["))))
    if start.startswith("{"):
        container, records = _objects_head(plain)
        return Sample(path, container, _columns(records))
    line = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=line.count)
    header = next(csv.reader([line], delimiter=delimiter), [])
    return Sample(path, "CSV", frozenset(name.strip() for name in header), delimiter)


def _parquet_columns(path: Path, plain: Path) -> frozenset[str]:
    try:
        return frozenset(pyarrow.parquet.read_schema(plain).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportFailed(
            "Damaged Parquet file",
            f"{path}: {error}. Nothing was imported.",
            "Fetch or write the file again.",
        ) from error


def _columns(records: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(name for record in records for name in record)


def _more(plain: Path, start: str, opening: str) -> str:
    """Return enough of an array to hold its first record: all of it when the first is that large."""
    decoder = json.JSONDecoder()
    try:
        decoder.raw_decode(start[len(opening) :].lstrip())
    except (ValueError, RecursionError):
        if len(start) >= _LOOK // 4:
            return plain.read_text(encoding="utf-8", errors="replace").lstrip()
    return start


def _array_head(text: str) -> list[dict[str, Any]]:
    return _decoded(text[1:])


def _decoded(text: str) -> list[dict[str, Any]]:
    """Return the first objects of a text, with nothing or commas between them."""
    decoder = json.JSONDecoder()
    records: list[dict[str, Any]] = []
    while len(records) < _LINES:
        text = text.lstrip(" \t\r\n,")
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            records.append(value)
        text = text[end:]
    return records


def _objects_head(plain: Path) -> tuple[Container, list[dict[str, Any]]]:
    """Tell one object a line from objects that span lines."""
    records: list[dict[str, Any]] = []
    with plain.open("rb") as file:
        lines = [line for _, line in zip(range(_LINES), file, strict=False)]
    for line in lines:
        if line.strip():
            records += _decoded(line.decode("utf-8", errors="replace"))
    if records or len(lines) <= 1:
        return "json lines", records
    with plain.open("rb") as file:
        return "JSON objects", _decoded(file.read(_LOOK).decode("utf-8", errors="replace"))
