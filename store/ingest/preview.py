"""What a file holds, as its beginning says: the format, the sort of its records, the first of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from store.events import ReportProgress, silent
from store.formats.table import TABLE
from store.ingest.corpus import PythonSources, functions_in
from store.ingest.inputs import detect_input, listed
from store.ingest.own_table import ColumnsUnclear, Proposal
from store.kinds.spec import task_kinds
from store.processes import temporary_folder
from store.reading.files import prepare
from store.reading.records import read_records

ROWS = 3
"""Records that are shown of a file."""

FEW_CELLS = 200
"""Characters of a value that are kept."""


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What a file holds.

    Attributes:
        why: From what that was detected.
        holds: What its records are, in the plural: pairs, labels.
        columns: The names of the fields of the first records.
        rows: The first records, a text for each field.
        more: How many more files a folder holds, of which only the first was looked at.
        proposal: Its columns and what they may be, where it is a table of no known format.
    """

    format: str
    why: str
    holds: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    proposal: Proposal | None = None


def preview_file(path: Path, progress: ReportProgress | None = None) -> FilePreview:
    """Look at the beginning of a file, of a folder at that of the first file in it.

    Args:
        path: The file or folder.
        progress: Receives the progress, in this thread; an exception from it ends the look.

    Raises:
        ImportFailed: It cannot be read, or its format is not detected.
    """
    first, *others = listed([path])
    with temporary_folder("workbench-preview-") as folder:
        file = prepare(0, first, folder, progress or silent)
        try:
            found = detect_input(file, None, {})
        except ColumnsUnclear as error:
            return FilePreview(
                format="table",
                why="of columns with other names",
                holds=task_kinds()[TABLE.sort].plural,
                columns=(),
                rows=(),
                more=len(others),
                proposal=error.proposal,
            )
        records = [raw.value for raw in islice(read_records(file, found.sample), ROWS) if raw.value]
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    kind = task_kinds().get(found.layout.sort)
    return FilePreview(
        format=found.format.name,
        why=found.why,
        holds=kind.plural if kind else _PLURALS.get(found.layout.sort, f"{found.layout.sort}s"),
        columns=columns,
        rows=tuple(tuple(_shown(record.get(name)) for name in columns) for record in records),
        more=len(others),
        proposal=found.proposal,
    )


_PLURALS = {"corpus_code": "codes to search in", "corpus_query": "queries", "query": "queries"}


def preview_sources(sources: PythonSources) -> FilePreview:
    """Look at the first functions of Python sources."""
    found = islice(functions_in(sources, Counter()), ROWS)
    rows = tuple((text.name, text.path, text.text[:FEW_CELLS]) for text in found)
    return FilePreview("python", "Python sources", "codes to search in", ("name", "path", "code"), rows)


def _shown(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else repr(value)
    return text[:FEW_CELLS]
