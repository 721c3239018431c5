"""Saves a report: as a figure, or as a table."""

from __future__ import annotations

from pathlib import Path

from store.errors import ExportFailed
from store.reports.figure import FIGURES, figure
from store.reports.forms import as_csv, as_latex, as_markdown
from store.reports.value import Report

SUFFIXES = tuple(f".{form}" for form in (*FIGURES, "csv", "md", "tex"))
"""The ends of the files that a report can be saved as."""


def save(page: Report, title: str, command: str, path: Path) -> str:
    """Write a report to a new file, in the form that its name ends in.

    Args:
        page: The report.
        title: Its title.
        command: The command that prints it.
        path: A file that is not there yet.

    Returns:
        What was written, as a sentence.

    Raises:
        ExportFailed: It is there, its name has another end, nothing can be drawn, or it cannot be written.
    """
    form = path.suffix.lower().removeprefix(".")
    if f".{form}" not in SUFFIXES:
        raise ExportFailed("Unknown format", f"{path.name} must end in one of {', '.join(SUFFIXES)}.")
    if form in FIGURES:
        content = figure(page, title, command, form)
    elif form == "csv":
        content = as_csv(page).encode()
    else:
        written = as_markdown if form == "md" else as_latex
        content = written(page, title, command).encode()
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise ExportFailed("File exists", f"{path} is already there.", "Choose another name.") from error
    except OSError as error:
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place.") from error
    try:
        with file:
            file.write(content)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place.") from error
    return f"Written: {path}"
