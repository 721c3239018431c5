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
_MOST = 1 << 24
"""The most bytes of a file's beginning that are read to find its first record."""


def look_at(path: Path, plain: Path) -> Sample:
    """Return the sample of a file.

    Args:
        path: The file as the user named it, for messages.
        plain: Its content without compression and byte order mark.

    Raises:
        ImportFailed: It is no text, holds nothing but blank lines, or is Parquet that cannot be read.
    """
    with plain.open("rb") as file:
        head = file.read(_LOOK)
        blank = 0
        while head and not head.strip():
            blank += head.count(b"\n")
            head = file.read(_LOOK)
    if head.startswith(b"PAR1"):
        return Sample(path, "Parquet", _parquet_columns(path, plain))
    _refuse_what_is_no_text(path, head, blank)
    text = head.decode("utf-8", errors="replace")
    start = text.lstrip()
    first = blank + text[: len(text) - len(start)].count("\n") + 1
    if start.startswith("["):
        columns = _columns(_array_head(_more(plain, start, "[")))
        return Sample(path, "JSON array", columns, first_line=first)
    if start.startswith("{"):
        container, records = _objects_head(plain)
        return Sample(path, container, _columns(records), first_line=first)
    line = next(iter(start.splitlines()), "")
    delimiter = max(",;\t", key=line.count)
    header = next(csv.reader([line], delimiter=delimiter), [])
    if len(header) <= 1 and (records := _after_no_object(start)):
        return Sample(path, "json lines", _columns(records), first_line=first)
    return Sample(path, "CSV", frozenset(name.strip() for name in header), delimiter, first_line=first)


def _refuse_what_is_no_text(path: Path, head: bytes, blank: int) -> None:
    """Refuse a beginning that is no UTF-8 text at all.

    Raises:
        ImportFailed: It is.
    """
    if not head:
        lines = (
            "1: the file holds nothing" if blank == 0 else f"1: the file holds {blank:,} lines, but all are"
        )
        raise ImportFailed(
            "Empty file", f"{path}:{lines} blank. Nothing was imported.", "Check where it came from."
        )
    start = head[:64]
    # UTF-16 and UTF-32 have a mark, or a NUL in every second place, since nearly all of it is ASCII.
    marked = start.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if marked or (len(start) > 1 and not (any(start[::2]) and any(start[1::2]))):
        wide = start.count(0) > len(start) * 5 // 8
        name = "UTF-32" if wide else "UTF-16"
        if not marked:
            name += "LE" if any(start[::2]) else "BE"
        raise ImportFailed(
            "Not UTF-8",
            f"{path}:1: the file is {name} text, where UTF-8 is expected. Nothing was imported.",
            f"Rewrite it: iconv -f {name} -t UTF-8 OLD > NEW",
        )
    if start[0] == 0:
        raise ImportFailed(
            "Not text",
            f"{path}:1: the file begins with a NUL byte, so it is no text. Nothing was imported.",
            "Check what sort of file it is, and export it again as JSON, CSV or Parquet.",
        )


def _after_no_object(start: str) -> list[dict[str, Any]]:
    """Return the objects on the first lines of a text whose first line is none and has no fields either."""
    records: list[dict[str, Any]] = []
    for line in start.splitlines()[1:_LINES]:
        if line.startswith("{"):
            records += _decoded(line)
    return records


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
            with plain.open("rb") as file:
                return file.read(_MOST).decode("utf-8", errors="replace").lstrip()
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
        lines = [line for _ in range(_LINES) if (line := file.readline(_MOST))]
    for line in lines:
        if line.strip():
            records += _decoded(line.decode("utf-8", errors="replace"))
    if records or len(lines) <= 1:
        return "json lines", records
    with plain.open("rb") as file:
        return "JSON objects", _decoded(file.read(_LOOK).decode("utf-8", errors="replace"))
