"""A Markdown table as lines: columns that line up by cells, or one row after another where it is too wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from screens.widgets.markdown_inline import Inline, inline_text
from screens.widgets.overlay import SpanStyle
from screens.widgets.visible import extent

if TYPE_CHECKING:
    from markdown_it.token import Token

CELLS = 76
"""Cells up to which a table is shown as one; they fit a terminal of 80."""

_BETWEEN = " │ "

TableLine = tuple[str, int, list[tuple[int, int, SpanStyle]]]
"""A line, the source line that it comes from (from 0), and what is marked in it."""


def table_lines(tokens: Sequence[Token]) -> tuple[list[TableLine], str, str]:
    """Lay out a table.

    Args:
        tokens: What markdown-it-py found of it.

    Returns:
        Its lines, what they say more often than the source, and what they leave out (see `Inline`).
    """
    rows: list[list[Inline]] = []
    origins: list[int] = []
    aligned: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
            origins.append((token.map or [0])[0])
        elif token.type == "th_open":
            aligned.append(str(token.attrGet("style") or "").rpartition(":")[2])
        elif token.type == "inline":
            cell = inline_text(token.children or ())
            # In a line there are no line ends, and a tab would not line up.
            cell.text = cell.text.replace("\n", " ").replace("\t", " ")
            rows[-1].append(cell)
    added = "".join(cell.added for row in rows for cell in row)
    dropped = "".join(cell.dropped for row in rows for cell in row)
    widths = [max(_cells(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    if sum(widths) + len(_BETWEEN) * (len(widths) - 1) > CELLS:
        lines, repeated = _row_by_row(rows, origins)
        return lines, added + repeated, dropped
    lines = []
    for row, origin in zip(rows, origins, strict=True):
        text, spans = "", []
        for cell, width, side in zip(row, widths, aligned, strict=True):
            blank = width - _cells(cell.text)
            left = blank if side == "right" else blank // 2 if side == "center" else 0
            text += (_BETWEEN if text else "") + " " * left
            spans += [(len(text) + start, len(text) + end, style) for start, end, style in cell.spans]
            if origin == origins[0]:
                spans.append((len(text), len(text) + len(cell.text), "strong"))
            text += cell.text + " " * (blank - left)
        lines.append((text.rstrip(" "), origin, spans))
        if origin == origins[0]:
            rule = "─┼─".join("─" * width for width in widths)
            lines.append((rule, origin + 1, [(0, len(rule), "rule")]))
    return lines, added, dropped


def _cells(text: str) -> int:
    # A combining mark sits on the blank before it.
    return extent(" " + text)[1] - 1


def _row_by_row(rows: list[list[Inline]], origins: list[int]) -> tuple[list[TableLine], str]:
    """Show each row as lines of heading and content; a table without rows is its heading."""
    heading, *others = rows
    if not others:
        return [(cell.text, origins[0], list(cell.spans)) for cell in heading], ""
    lines: list[TableLine] = []
    for row, origin in zip(others, origins[1:], strict=True):
        for number, (name, cell) in enumerate(zip(heading, row, strict=True)):
            lead = "▪ " if number == 0 else "  "
            before = f"{lead}{name.text}: "
            spans: list[tuple[int, int, SpanStyle]] = [(len(lead), len(before) - 1, "strong")]
            spans += [(len(before) + start, len(before) + end, style) for start, end, style in cell.spans]
            lines.append((before + cell.text, origin, spans))
    return lines, "".join(cell.text for cell in heading) * (len(others) - 1)
