"""A report as a figure for a paper: SVG, PDF or PNG with axes, in the width of a column or of a page."""

from __future__ import annotations

from io import BytesIO
from textwrap import wrap
from typing import Any

from store.errors import ExportFailed
from store.reports.forms import FORMS, NAME, sentence, short
from store.reports.value import Cell, Report, Table, text_of

FIGURES = ("svg", "pdf", "png")
"""The endings of figures."""

COLUMN, PAGE = 3.35, 7.0
"""Widths in inches: of a column, and of a page with two."""

MOST_ROWS = 200
"""Rows of a table that is drawn: more would stand on no page."""

_ROW, _AROUND, _LEAST = 0.21, 0.75, 1.6
"""Inches of a line of names, of what is around them, and of a figure at least."""
_COLOUR, _GREY = "#0072B2", "0.6"
"""A blue that all tell from white and black, also in grey, and the colour of lines that help."""
_DARK = 0.7
_POINTS = 8
_DOTS = 300
_LETTERS = 17
"""Letters of a title in an inch."""
_NAMES_SHARE, _LEAST_NAME = 0.5, 12
"""The share of a figure's width that names may take, and letters of a name at least."""

_STYLE: dict[Any, Any] = {
    "font.size": _POINTS,
    "axes.titlesize": _POINTS,
    "axes.labelsize": _POINTS,
    "xtick.labelsize": _POINTS - 1,
    "ytick.labelsize": _POINTS - 1,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "workbench",
    "pdf.fonttype": 42,
}


def charts(report: Report) -> list[Table]:
    """Return the tables of a report of which something can be drawn."""
    return [
        table for table in report.tables if 0 < len(table.rows) <= MOST_ROWS and _sort(table) and _says(table)
    ]


def _says(table: Table) -> bool:
    """Whether anything would be seen: bars that are all 0 are an empty plot."""
    return _sort(table) != "bars" or any(row.drawn for row in table.rows)


def figure(report: Report, title: str, command: str, form: str, width: float = COLUMN) -> bytes:
    """Draw what a report has to draw, a chart below the other; equal reports give equal figures.

    The command becomes the figure's description. The form is one of FIGURES; the width is in inches.

    Raises:
        ExportFailed: There is nothing to draw.
    """
    drawn = charts(report)
    if not drawn:
        endings = ", ".join(f".{form}" for form in FORMS)
        raise ExportFailed(
            "Nothing to draw",
            f"{title} has no figure: no table of up to {MOST_ROWS} rows with something to draw.",
            f"Save it as a table: {endings}.",
        )
    import matplotlib
    from matplotlib.figure import Figure

    file = BytesIO()
    with matplotlib.rc_context(_STYLE):
        heights = [_height(table, width) for table in drawn]
        made = Figure(figsize=(width, sum(heights)), layout="constrained")
        parts = made.subfigures(len(drawn), 1, squeeze=False, height_ratios=heights)[:, 0]
        for part, table in zip(parts, drawn, strict=True):
            if table.title and len(drawn) > 1:
                lines = wrap(_plain(table.title), int(_LETTERS * width))
                part.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=_POINTS)
            _draw(part.subplots(), table)
        made.savefig(file, format=form, dpi=_DOTS, metadata=_about(form, title, command))
    return file.getvalue()


def _about(form: str, title: str, command: str) -> dict[str, Any]:
    """Return what a file says of itself; no time, so that equal reports give equal files."""
    title, said = _whole(title), _whole(f"{sentence(title)} {command}")
    timeless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    return {"Title": title, "Subject" if form == "pdf" else "Description": said, **timeless}


def _sort(table: Table) -> str:
    """Return what is drawn of a table: intervals, bars, a matrix, or nothing."""
    if any(isinstance(row.drawn, tuple) for row in table.rows):
        return "intervals"
    if any(row.drawn is not None for row in table.rows):
        return "bars"
    levels = (cell.level for row in table.rows for cell in row.cells if isinstance(cell, Cell))
    return "matrix" if any(level is not None for level in levels) else ""


def _height(table: Table, width: float) -> float:
    if table.ordered:
        return max(_LEAST, 0.55 * width if width < PAGE else 0.35 * width)
    return max(_LEAST, _ROW * len(table.rows) + _AROUND)


def _draw(axes: Any, table: Table) -> None:
    sort = _sort(table)
    if sort == "matrix":
        _matrix(axes, table)
        return
    values = [_value(table, row.drawn) for row in table.rows]
    # Names leave more than half of the width to what is drawn.
    most = max(int(_NAMES_SHARE * _LETTERS * axes.figure.figure.get_figwidth()) // table.names, _LEAST_NAME)
    names = [
        " · ".join(filter(None, (short(_plain(text_of(cell)), most) for cell in row.cells[: table.names])))
        for row in table.rows
    ]
    places = range(len(table.rows))
    label = _folded(table.drawn or table.columns[-1])
    upright = table.ordered
    points = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    if sort == "bars":
        draw = axes.bar if upright else axes.barh
        draw([place for place, _ in points], [value for _, value in points], color=_COLOUR)
    else:
        for place, value in points:
            drawn = table.rows[place].drawn
            low, _, high = drawn if isinstance(drawn, tuple) else (None, None, None)
            # An interval of few resamples may leave its value out.
            below = max(value - low, 0.0) if low is not None else 0.0
            above = max(high - value, 0.0) if high is not None else 0.0
            ends = [[below], [above]]
            at = (place, value) if upright else (value, place)
            error = {"yerr" if upright else "xerr": ends}
            axes.errorbar(*at, **error, fmt="o", color=_COLOUR, markersize=3, capsize=2, linewidth=1)
    first = _plain(table.columns[0])
    if upright:
        axes.set_xticks(list(places), names)
        if len(names) > 12:
            axes.set_xticks(list(places)[:: len(names) // 10], names[:: len(names) // 10])
        if sum(map(len, names)) + len(names) > _LETTERS * axes.figure.figure.get_figwidth():
            axes.tick_params(axis="x", rotation=45)
        axes.set_xlabel(first)
        axes.set_ylabel(label)
    else:
        axes.set_yticks(list(places), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(label)
    _limits(axes, table, upright=upright, bars=sort == "bars")


def _limits(axes: Any, table: Table, *, upright: bool, bars: bool) -> None:
    """Set the ends of the axis of values, and mark the middle."""
    low, high = table.scale
    margin = 0.03 * (high - low)
    set_limits = axes.set_ylim if upright else axes.set_xlim
    if bars:
        set_limits(0, high + margin)
    else:
        set_limits(low - margin, high + margin)
    if table.middle is not None:
        (axes.axhline if upright else axes.axvline)(table.middle, color=_GREY, linestyle="--", linewidth=0.8)


def _value(table: Table, drawn: Any) -> float | None:
    """Return the value of a row: the point of its interval, or what its bar stands for."""
    if isinstance(drawn, tuple):
        return None if drawn[1] is None else float(drawn[1])
    return None if drawn is None else float(drawn) * table.scale[1]


def _matrix(axes: Any, table: Table) -> None:
    """Draw the figures of a table as shades of grey, with their texts."""
    places = range(table.names, len(table.columns))
    columns = [place for place in places if any(_level(row.cells[place]) is not None for row in table.rows)]
    rows = [row for row in table.rows if any(_level(row.cells[place]) is not None for place in columns)]
    levels = [[_level(row.cells[place]) or 0.0 for place in columns] for row in rows]
    axes.imshow(levels, cmap="Greys", vmin=0, vmax=1.15, aspect="auto")
    for down, row in enumerate(rows):
        for right, place in enumerate(columns):
            colour = "white" if levels[down][right] > _DARK else "black"
            axes.text(right, down, text_of(row.cells[place]), ha="center", va="center", color=colour)
    axes.set_xticks(range(len(columns)), [_plain(table.columns[place]) for place in columns])
    axes.set_yticks(range(len(rows)), [short(_plain(text_of(row.cells[0]))) for row in rows])
    rows_are, columns_are = table.axes
    axes.set_ylabel(_folded(rows_are))
    axes.set_xlabel(_folded(columns_are))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _level(cell: Cell | str) -> float | None:
    return cell.level if isinstance(cell, Cell) else None


def _plain(text: str) -> str:
    """Return a text that is drawn as it is: a dollar sign would begin a formula."""
    return _whole(text).replace("$", r"\$")


def _whole(text: str) -> str:
    """Return a text with blanks for what cannot be printed."""
    return "".join(char if char.isprintable() else " " for char in text)


def _folded(text: str) -> str:
    """Return the label of an axis in lines that are no longer than the axis may be."""
    return "\n".join(wrap(short(_plain(text)) if " " not in text else _plain(text), NAME))
