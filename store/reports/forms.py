"""A report as CSV, as Markdown, and as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from store.reports.value import Cell, Page, Row, Table, text_of

_ENDS = ("low", "value", "high")
"""The columns of CSV that hold what is drawn behind the rows of a table: intervals."""


def as_csv(page: Page) -> str:
    """Return the tables of a report as CSV, apart by blank lines.

    Figures are not rounded: shares are from 0 to 1, and intervals have columns of their own.
    """
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    for place, table in enumerate(page.tables):
        if place:
            lines.writerow([])
        if table.title:
            lines.writerow([table.title])
        ends = _ENDS if any(isinstance(row.drawn, tuple) for row in table.rows) else ()
        lines.writerow([*table.columns, *ends])
        for row in table.rows:
            drawn = row.drawn if isinstance(row.drawn, tuple) else (None, None, None)
            lines.writerow([*map(_figure, row.cells), *(drawn if ends else ())])
    return file.getvalue()


def as_markdown(page: Page, title: str, command: str) -> str:
    """Return a report as Markdown.

    Args:
        page: The report.
        title: Its title.
        command: The command that prints it.
    """
    parts = [f"## {_marked(title)}", *(_marked(line) for line in page.caption)]
    for table in page.tables:
        if table.title:
            parts.append(f"### {_marked(table.title)}")
        parts.append(table_as_markdown(table))
        parts += [_marked(note) for note in table.notes]
    if command:
        parts.append(f"    {command}")
    return "\n\n".join(parts) + "\n"


def table_as_markdown(table: Table) -> str:
    """Return a table as Markdown, with figures at the right."""
    lines = [[_marked(name) for name in table.columns]]
    lines.append(["---" if place < table.names else "---:" for place in range(len(table.columns))])
    lines += [[_marked(text_of(cell)) for cell in row.cells] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_latex(page: Page, title: str, command: str) -> str:
    """Return the tables of a report as LaTeX, for a preamble with `booktabs`.

    Args:
        page: The report.
        title: Its title.
        command: The command that prints it, which becomes a comment.
    """
    said = " ".join(sentence(line) for line in page.caption)
    parts = [f"% {' '.join(command.split())}", "% \\usepackage{booktabs}"]
    for table in page.tables:
        notes = " ".join(sentence(note) for note in table.notes)
        caption = " ".join(filter(None, (sentence(table.title or title), said, notes)))
        aligned = "l" * table.names + "r" * (len(table.columns) - table.names)
        rows = [_latex_row(row) for row in table.rows]
        parts += [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{_escaped(caption)}}}",
            f"\\begin{{tabular}}{{{aligned}}}",
            "\\toprule",
            f"{' & '.join(map(_escaped, table.columns))} \\\\",
            "\\midrule",
            *rows,
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
            "",
        ]
    return "\n".join(parts)


def sentence(text: str) -> str:
    """Return a phrase with a full stop behind it; nothing for none."""
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _latex_row(row: Row) -> str:
    return f"{' & '.join(_escaped(text_of(cell)) for cell in row.cells)} \\\\"


_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    **{"<": "\\textless{}", ">": "\\textgreater{}", "–": "--", "·": "\\textperiodcentered{}"},
    **{"↓": "$\\downarrow$", "→": "$\\rightarrow$", "×": "$\\times$", "◆": "", "…": "\\ldots{}"},
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in _CONTROL.sub(" ", text))


def _marked(text: str) -> str:
    """Return a text as Markdown shows it: nothing in it is a mark."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", _CONTROL.sub(" ", text))


def _figure(cell: Cell | str) -> str | float | int | None:
    """Return a cell as a program reads it."""
    if isinstance(cell, str):
        return cell
    return cell.value if cell.value is not None or cell.text == "–" else cell.text


FORMS: Sequence[str] = ("csv", "md", "tex")
"""The endings of files of these forms."""
