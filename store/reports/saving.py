"""A report as the content of a file: as a figure, or as a table."""

from __future__ import annotations

from pathlib import Path

from store.errors import ExportFailed
from store.new_file import write_new
from store.reports.figure import COLUMN, FIGURES, figure
from store.reports.forms import FORMS, as_csv, as_latex, as_markdown
from store.reports.value import Report

SUFFIXES = tuple(f".{form}" for form in (*FIGURES, *FORMS))
"""The ends of the files that a report can be saved as."""


def content(report: Report, title: str, command: str, form: str, width: float = COLUMN) -> bytes:
    """Return a report as the content of a file.

    The form is the end of the file's name, without the dot; the width is that of a figure, in inches.

    Raises:
        ExportFailed: Nothing can be drawn.
    """
    if form in FIGURES:
        return figure(report, title, command, form, width)
    if form == "csv":
        return as_csv(report).encode()
    return (as_markdown if form == "md" else as_latex)(report, title, command).encode()


def checked_form(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Return the form that the end of a file's name stands for.

    Raises:
        ExportFailed: It has another one.
    """
    if path.suffix.lower() not in suffixes:
        raise ExportFailed("Unknown format", f"{path.name} must end in one of {', '.join(suffixes)}.")
    return path.suffix.lower().removeprefix(".")


def save(report: Report, title: str, command: str, path: Path) -> str:
    """Write a report to a new file, in the form that its name ends in.

    The file is not there yet.

    Returns:
        What was written, as a sentence.

    Raises:
        ExportFailed: It is there, its name has another end, nothing can be drawn, or it cannot be written.
    """
    made = content(report, title, command, checked_form(path))
    write_new(path, lambda file: file.write(made))
    return f"Written: {path}"
