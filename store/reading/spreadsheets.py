"""Spreadsheets as tables of texts, so that they are read like any other table."""

from __future__ import annotations

import csv
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from store.errors import EmptyFile, ImportFailed

_MOST_BYTES = 1 << 30
"""The most bytes that a spreadsheet may have when it is unpacked: all of it is held."""


def is_spreadsheet(path: Path, head: bytes) -> bool:
    """Tell whether a file is a spreadsheet, by its ending and how it begins."""
    return path.suffix.lower() in (".xlsx", ".xlsm", ".ods") and head.startswith(b"PK\x03\x04")


def write_as_csv(path: Path, plain: Path) -> int:
    """Write the sheet that holds something as CSV, row by row, and return the bytes written.

    Numbers are written as a person sees them, a whole one without a point; times in ISO 8601.

    Raises:
        ImportFailed: It cannot be read, is too large, or several sheets hold something.
        EmptyFile: No sheet holds anything.
    """
    _, rows = filled_sheet(path)
    with plain.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([_text(cell) for cell in row] for row in rows)
    return plain.stat().st_size


def filled_sheet(path: Path) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of the sheet that holds something.

    Raises:
        ImportFailed: It cannot be read, is too large, or several sheets hold something.
        EmptyFile: No sheet holds anything.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
        if size > _MOST_BYTES:
            raise ImportFailed(
                "Spreadsheet too large",
                f"{path} has {size >> 20:,} MiB unpacked, where {_MOST_BYTES >> 20:,} are read. "
                "Nothing was imported.",
                "Save the sheet as CSV, and import that.",
            )
        book = CalamineWorkbook.from_path(path)
        sheets = {
            name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names
        }
    except (CalamineError, BadZipFile, OSError, ValueError) as error:
        raise ImportFailed(
            "Damaged spreadsheet",
            f"{path}: {error}. Nothing was imported.",
            "Open it in a spreadsheet program, and save it again.",
        ) from error
    filled = [name for name, rows in sheets.items() if any(_text(cell) for row in rows for cell in row)]
    if len(filled) > 1:
        raise ImportFailed(
            "Several sheets",
            f"{path} holds {len(filled)} sheets with content: {', '.join(filled[:8])}. Nothing was imported.",
            "Save the one that is meant as a file of its own.",
        )
    if not filled:
        what = f"{path}:1: no sheet holds anything. Nothing was imported."
        raise EmptyFile("Empty file", what, "Check where it came from.")
    return filled[0], sheets[filled[0]]


def _text(cell: Any) -> str:
    """Return a cell as text."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else cell
