"""What a file format is, and the registry in which formats are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import duckdb

from store.errors import ImportFailed, UnknownName
from store.events import Report
from store.formats.fields import Layout
from store.formats.making import Converter, Known
from store.plugins import registered

GROUP = "workbench.formats"

Choice = Literal["rater", "setting", "only_kept"]

Container = Literal["json lines", "JSON array", "JSON objects", "CSV", "Parquet"]
JSON: frozenset[Container] = frozenset({"json lines", "JSON array", "JSON objects"})
ANY: frozenset[Container] = JSON | {"CSV", "Parquet"}


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file, from which its format is told.

    Attributes:
        path: The file.
        container: How its records are stored.
        columns: The field names of its first records.
        delimiter: What separates the fields of a CSV file.
        first_line: The line of its first record or its header, from 1.
    """

    path: Path
    container: Container
    columns: frozenset[str]
    delimiter: str = ","
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Export:
    """What a writer is given.

    Attributes:
        cursor: A native cursor of the workspace, inside a read transaction.
        target: The file to write, or the folder, made already, when the format is one of several files.
        rater_id: Whose current labels; None for the full record, or for what is no label.
        progress: Is told how far it is.
        name: What the file will be called, whose ending says how its records are stored where that is free.
        setting: The only setting whose context, or responses, are written; None for all.
        only_kept: Whether only what the rater keeps is written.
    """

    cursor: duckdb.DuckDBPyConnection
    target: Path
    rater_id: int | None
    progress: Report
    name: str = ""
    setting: str | None = None
    only_kept: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """How much a writer wrote.

    Attributes:
        records: What is in the file.
        left_out: What is of its sort and is not: items without a label, answers without a score.
        others: Items of other kinds that have labels of the rater, by kind.
    """

    records: int
    left_out: int = 0
    others: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: what its records hold, and how it is written.

    Attributes:
        name: What it is called on the command line.
        description: One line for lists of formats.
        containers: How its records can be stored.
        layouts: The sorts of records it has; a file holds one of them. None: it cannot be read.
        unless: Columns whose presence shows another format.
        write: Writes the workspace's records; None when it cannot be written.
        needs_rater: Whether only the labels of one rater can be written.
        choices: What an export can choose of it.
        holds: What its records are called when it is written, one and several; None where they are labels of
            one rater, or the full record.
        leaves_out: What is left out of it is called, one and several, where that is no item without a label.
        folder: Whether it is written as a folder of several files.
        converter: Makes, for each file, what turns its records into others; None where each stands for one.
    """

    name: str
    description: str
    containers: frozenset[Container]
    layouts: tuple[Layout, ...]
    unless: frozenset[str] = frozenset()
    write: Callable[[Export], Written] | None = None
    needs_rater: bool = False
    choices: frozenset[Choice] = frozenset({"rater"})
    holds: tuple[str, str] | None = None
    leaves_out: tuple[str, str] | None = None
    folder: bool = False
    converter: Callable[[Known], Converter] | None = None

    def detect(self, sample: Sample) -> str | None:
        """Return why a file is of this format, or None when it is not."""
        if sample.container not in self.containers or self.unless & sample.columns:
            return None
        for layout in self.layouts:
            if not layout.missing(sample.columns):
                named = sorted(
                    column
                    for field in layout.fields
                    if field.required
                    for column in field.columns
                    if column in sample.columns
                )
                return f"{sample.container} with the fields {', '.join(named)}"
        return None

    def layout(self, sample: Sample) -> Layout:
        """Return the layout whose required fields a file lacks least."""
        return min(self.layouts, key=lambda layout: len(layout.missing(sample.columns)))


@cache
def formats() -> dict[str, Format]:
    """Return every registered format by name, ours and those of other packages.

    Raises:
        WorkbenchError: One of another package cannot be loaded.
    """
    return {format_.name: format_ for format_ in registered(GROUP, Format)}


def format_list() -> str:
    """Return the names and descriptions of the formats, a line each."""
    return "\n".join(f"  {name:<12} {known.description}" for name, known in sorted(formats().items()))


def find_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in formats():
        raise UnknownName("Unknown format", f"No format is called {name!r}.", f"Formats:\n{format_list()}")
    return formats()[name]


def detect(sample: Sample, candidates: dict[str, Format] | None = None) -> tuple[Format, str]:
    """Tell the format of a file from its content.

    Args:
        sample: The beginning of the file.
        candidates: The formats to choose from, with the user's column names; all by default.

    Returns:
        The format and why it was chosen.

    Raises:
        ImportFailed: No format fits, or several do.
    """
    fitting = [
        (known, reason)
        for known in (candidates or formats()).values()
        if (reason := known.detect(sample)) is not None
    ]
    if len(fitting) == 1:
        return fitting[0]
    columns = ", ".join(sorted(sample.columns)) or "none"
    place = f"{sample.path}:{sample.first_line}"
    if fitting:
        raise ImportFailed(
            "Several formats fit",
            f"{place} ({sample.container}; fields: {columns}) could be "
            + " or ".join(f"{known.name} ({reason})" for known, reason in fitting)
            + ". Nothing was imported.",
            "Name one: --format " + "|".join(known.name for known, _ in fitting),
        )
    raise ImportFailed(
        "Unknown format",
        f"{place} ({sample.container}; fields: {columns}) is of no known format. Nothing was imported.",
        f"Name its columns, e.g. --map query=question --map code=snippet, or a format:\n{format_list()}",
    )
