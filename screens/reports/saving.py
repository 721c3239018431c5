"""Saves a report: as a picture, or as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from screens.reports.drawing import draw
from screens.reports.page import Cell, Page
from screens.widgets.text.sanitize import visible
from store.errors import ExportFailed

SUFFIXES = (".svg", ".png", ".csv")
"""The ends of the files that a report can be saved as."""

RICH_FONTS = ("Fira Code, monospace", "arial")
"""The fonts that Rich names in its pictures; a browser takes others where these are not there."""
FONTS = (
    "Fira Code, DejaVu Sans Mono, Noto Sans Mono, Liberation Mono, Ubuntu Mono, Menlo, Consolas, Courier New"
)
"""The fonts of PNG files, of which the first that is installed is taken."""

WIDTH = 100
"""The cells of a line in a picture."""


def save(page: Page, title: str, command: str, path: Path) -> str:
    """Write a report to a new file, in the format that its name ends in.

    Args:
        page: The report.
        title: Its title.
        command: The command that prints it.
        path: A file that is not there yet.

    Returns:
        What was written, as a sentence.

    Raises:
        ExportFailed: It is there, its name has another end, or it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ExportFailed("Unknown format", f"{path.name} must end in one of {', '.join(SUFFIXES)}.")
    if suffix == ".csv":
        content = as_csv(page).encode()
    else:
        picture = as_svg(page, title, command)
        content = picture.encode() if suffix == ".svg" else as_png(picture)
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


def as_svg(page: Page, title: str, command: str) -> str:
    """Return a report as a picture, dark on white as a paper has it."""
    drawn = draw(page, WIDTH).lines
    width = max(WIDTH, *(line.cell_length for line in drawn))
    console = Console(record=True, width=width, file=io.StringIO(), color_system="truecolor")
    for line in drawn:
        console.print(Text(_harmless(line.plain)), soft_wrap=True)
    console.print(Text(f"\n$ {_harmless(command)}"), soft_wrap=True)
    return console.export_svg(title=_harmless(title), theme=DEFAULT_TERMINAL_THEME)


def _harmless(text: str) -> str:
    """Return a line with glyphs for the characters that XML does not allow, or that turn text around."""
    return visible(text).text


def as_png(picture: str) -> bytes:
    """Return an SVG picture as PNG.

    Raises:
        ExportFailed: The library that draws it is not installed, or the machine has no font.
    """
    instead = "Save it as .svg, which every browser shows"
    try:
        import resvg_py
    except ImportError as error:
        install = f'PNG needs: pip install "workbench[png]". {instead}.'
        raise ExportFailed("No PNG", "The package that draws PNG files is not installed.", install) from error
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    text = f'<text x="1" y="16" font-family="{FONTS}">x</text>'
    if resvg_py.svg_to_bytes(frame.format(text)) == resvg_py.svg_to_bytes(frame.format("")):
        raise ExportFailed(
            "No PNG", "This machine has no monospaced font to draw text with.", f"{instead}, or install one."
        )
    for fonts in RICH_FONTS:
        picture = picture.replace(f"font-family: {fonts}", f"font-family: {FONTS}")
    return bytes(resvg_py.svg_to_bytes(picture, zoom=2))


def as_csv(page: Page) -> str:
    """Return the tables of a report as CSV, apart by blank lines; intervals have columns of their own."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    for place, table in enumerate(page.tables):
        intervals = any(isinstance(row.drawn, tuple) for row in table.rows)
        if place:
            lines.writerow([])
        if table.title:
            lines.writerow([table.title])
        lines.writerow([*table.columns, *(("low", "value", "high") if intervals else ())])
        for row in table.rows:
            texts = [cell.text if isinstance(cell, Cell) else cell for cell in row.cells]
            drawn = row.drawn if isinstance(row.drawn, tuple) else (None, None, None)
            lines.writerow([*map(_plain, texts), *(drawn if intervals else ())])
    return file.getvalue()


def _plain(text: str) -> str:
    """Return a figure as a program reads it: without separators, nothing for none."""
    figure = text.replace(",", "")
    if text == "–":
        return ""
    return figure if figure.isdigit() else text
