"""A report as CSV, as Markdown, and as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from store.reports.value import CORNER, NONE, Cell, Report, Row, Table, text_of

IN_COLUMN, IN_PAGE = 52, 115
"""Characters of a table that stands in one column of a paper, and of a small one over the whole page."""

NAME = 30
"""Characters of a name beside a figure."""

_ENDS = ("low", "value", "high")
"""The columns of CSV that hold what is drawn behind the rows of a table: intervals."""


def as_csv(report: Report) -> str:
    """Return the tables of a report as CSV, apart by blank lines.

    Figures are not rounded: shares are from 0 to 1, and intervals have columns of their own.
    """
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    for place, table in enumerate(report.tables):
        if place:
            lines.writerow([])
        if table.title and len(report.tables) > 1:
            lines.writerow([table.title])
        with_ends = _with_ends(table)
        # What is drawn has its ends in columns already where the figure itself has them.
        ends = _ENDS if not with_ends and any(isinstance(row.drawn, tuple) for row in table.rows) else ()
        if not table.is_facts:
            heads = [
                head
                for place, name in enumerate(table.columns)
                for head in ([name, f"{name} low", f"{name} high"] if place in with_ends else [name])
            ]
            if table.columns[0] == CORNER:
                heads[0] = " \\ ".join(table.axes)
            lines.writerow([*heads, *ends])
        for row in table.rows:
            drawn = row.drawn if isinstance(row.drawn, tuple) else (None, None, None)
            cells = [
                each
                for place, cell in enumerate(row.cells)
                for each in ([_figure(cell), *_ends(cell)] if place in with_ends else [_figure(cell)])
            ]
            lines.writerow([*cells, *(drawn if ends else ())])
    return file.getvalue()


def _with_ends(table: Table) -> frozenset[int]:
    """Return the columns whose figures have intervals."""
    return frozenset(
        place
        for row in table.rows
        for place, cell in enumerate(row.cells)
        if isinstance(cell, Cell) and cell.ends is not None
    )


def _ends(cell: Cell | str) -> tuple[float | None, float | None]:
    return (cell.ends if isinstance(cell, Cell) else None) or (None, None)


def as_markdown(report: Report, title: str, command: str) -> str:
    """Return a report as Markdown."""
    said = (*report.caption, *([report.empty] if report.empty else []))
    parts = [f"## {_marked(title)}", *(_marked(line) for line in said)]
    for table in report.tables:
        if table.title:
            parts.append(f"### {_marked(table.title)}")
        parts.append(table_as_markdown(table))
        parts += [_marked(note) for note in table.notes]
    parts += [_marked(warning) for warning in report.warnings]
    if command:
        parts.append(f"    {command}")
    return "\n\n".join(parts) + "\n"


def table_as_markdown(table: Table) -> str:
    """Return a table as Markdown, with figures at the right."""
    lines = [[_marked(name) for name in table.columns]]
    lines.append(["---" if place < table.names else "---:" for place in range(len(table.columns))])
    lines += [[_marked(text_of(cell)) for cell in row.cells] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_latex(report: Report, title: str, command: str) -> str:
    """Return the tables of a report as LaTeX, for a preamble with `booktabs` and `graphicx`.

    A table that is wider than the text is made smaller, and long names are shortened as in figures.

    The command becomes a comment; it is empty for none.
    """
    said = " ".join(sentence(line) for line in (*report.caption, *report.warnings))
    parts = [f"% {_CONTROL.sub(' ', one)}" for one in (command, report.empty) if one]
    parts.append("% \\usepackage{booktabs,graphicx}")
    for place, table in enumerate(report.tables):
        notes = " ".join(sentence(note) for note in table.notes)
        caption = " ".join(filter(None, (sentence(table.title or title), "" if place else said, notes)))
        wide = not table.is_facts and sum(_widths(table)) > IN_COLUMN
        float_ = "table*" if wide else "table"
        parts += [
            f"\\begin{{{float_}}}",
            "\\centering",
            f"\\caption{{{_escaped(_breakable(caption))}}}",
            "\\medskip",
            *(["\\footnotesize"] if wide else []),
            *(_facts(table) if table.is_facts else _tabulars(table)),
            f"\\end{{{float_}}}",
            "",
        ]
    return "\n".join([*parts, ""]) if not report.tables else "\n".join(parts)


def _facts(table: Table) -> list[str]:
    """Return names with their values, of which long ones are wrapped."""
    rows = [(text_of(row.cells[0]), _breakable(text_of(row.cells[1]))) for row in table.rows]
    return [
        "\\begin{tabular}{p{0.28\\linewidth}p{0.6\\linewidth}}",
        "\\toprule",
        *map(_line, rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]


def _widths(table: Table) -> list[int]:
    """Return the characters of each column."""
    return [
        2 + max(len(name), *(len(_shown(row, table.names)[place]) for row in table.rows))
        for place, name in enumerate(table.columns)
    ]


def _shown(row: Row, names: int) -> list[str]:
    """Return the texts of a row, of which names are shortened."""
    texts = [text_of(cell) for cell in row.cells]
    return [short(text) if place < names else text for place, text in enumerate(texts)]


def _tabulars(table: Table) -> list[str]:
    """Return a table; columns for which a page has no room stand below the others, the names once more."""
    widths, names = _widths(table), list(range(table.names))
    parts = [[*names]]
    for place in range(table.names, len(widths)):
        taken = sum(widths[each] for each in parts[-1])
        if taken + widths[place] > IN_PAGE and len(parts[-1]) > len(names):
            parts.append([*names])
        parts[-1].append(place)
    lines: list[str] = []
    for columns in parts:
        lines += ["", "\\medskip"] if lines else []
        lines += _tabular(table, columns)
    return lines


def _tabular(table: Table, columns: Sequence[int]) -> list[str]:
    rows = [[_shown(row, table.names)[place] for place in columns] for row in table.rows]
    return [
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
        f"\\begin{{tabular}}{{{''.join('l' if place < table.names else 'r' for place in columns)}}}",
        "\\toprule",
        _line([table.columns[place] for place in columns]),
        "\\midrule",
        *map(_line, rows),
        "\\bottomrule",
        "\\end{tabular}}",
    ]


def _line(texts: Sequence[str]) -> str:
    """Return a line of a table; a star or a bracket that begins it would end the line before."""
    shown = " & ".join(map(_escaped, texts))
    return f"{'{}' if shown[:1] in ('*', '[') else ''}{shown} \\\\"


def short(name: str, most: int = NAME) -> str:
    """Return a name in so many characters that it fits beside a figure; the end, which differs, stays."""
    if len(name) <= most:
        return name
    end = min(9, most // 2)
    return f"{name[: most - end - 1]}…{name[-end:]}"


def _breakable(text: str) -> str:
    """Return a text in which long words can be broken."""
    return re.sub(r"(\S{20})(?=\S{4})", f"\\1{_BREAK}", _CONTROL.sub(" ", text))


def sentence(text: str) -> str:
    """Return a phrase with a full stop behind it; nothing for none."""
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


_BREAK = "\ue000"
"""Stands for where a line may be broken: a character that no text has for itself."""

_APART = "\ue001"
"""Stands between two characters that would become one."""

_LATEX = {
    _BREAK: "\\allowbreak{}",
    _APART: "{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    **{
        "|": "\\textbar{}",
        "<": "\\textless{}",
        ">": "\\textgreater{}",
        "–": "--",
        "·": "\\textperiodcentered{}",
    },
    **{"↓": "$\\downarrow$", "→": "$\\rightarrow$", "×": "$\\times$", "◆": "", "…": "\\ldots{}"},
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def _escaped(text: str) -> str:
    # Two hyphens would become a dash.
    shown = re.sub("-(?=-)", f"-{_APART}", _CONTROL.sub(" ", text))
    return "".join(_LATEX.get(char, char) for char in shown)


def _marked(text: str) -> str:
    """Return a text as Markdown shows it: nothing in it is a mark."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", _CONTROL.sub(" ", text))


def _figure(cell: Cell | str) -> str | float | int | None:
    """Return a cell as a program reads it."""
    if isinstance(cell, str):
        return cell
    return cell.value if cell.value is not None or cell.text == NONE else cell.text


FORMS: Sequence[str] = ("csv", "md", "tex")
"""The endings of files of these forms."""
