"""Reports as figures and tables for a paper."""

import csv
import io
import struct
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from store.errors import ExportFailed
from store.reports.figure import FIGURES, PAGE, charts, figure
from store.reports.forms import as_csv, as_latex, as_markdown, table_as_markdown
from store.reports.saving import SUFFIXES, save
from store.reports.value import Cell, Report, Row, Table, counted, facts, number, share

HOSTILE = "a\x00\x1b[31m\u202e\ufffe$x^2$ & 5 % of {b}_c\\|#~<i>"
COMMAND = "workbench report study.duckdb accuracy"

ACCURACY = Table(
    ("rater", "n", "accuracy"),
    (
        Row(("ana", counted(1204), share(0.875)), (0.8, 0.875, 0.925)),
        Row(("gpt-4o_mini", counted(7), share(None)), (None, None, None)),
    ),
    drawn="accuracy",
    middle=0.5,
)
RANKS = Table(
    ("rank", "n", "share"),
    tuple(Row((f"{rank}", counted(10 * rank), share(1 / rank)), 1 / rank) for rank in range(1, 5)),
    title="Matches by rank",
    drawn="pairs",
    ordered=True,
)
MATRIX = Table(
    ("↓ \\ →", "0", "1", "all"),
    (
        Row(("no match", Cell("3", 3, level=0.3), Cell("1", 1, level=0.1), counted(4))),
        Row(("match", Cell("0", 0, level=0.0), Cell("10", 10, level=1.0), counted(10))),
        Row(("all", counted(3), counted(11), counted(14))),
    ),
    notes=("Labels are rounded.",),
)
WORDS = Table(("method", "value"), (Row(("bm25", number(0.1234, 3))),))


def page(*tables: Table) -> Report:
    return Report(
        caption=("true labels are the majority of ana, ben", "95 % intervals"), command=(), tables=tables
    )


def test_csv_has_the_figures_as_they_are():
    text = as_csv(page(ACCURACY, RANKS, MATRIX))
    blocks = [list(csv.reader(io.StringIO(block))) for block in text.split("\n\n")]
    assert blocks[0] == [
        ["rater", "n", "accuracy", "low", "value", "high"],
        ["ana", "1204", "0.875", "0.8", "0.875", "0.925"],
        ["gpt-4o_mini", "7", "", "", "", ""],
    ]
    assert blocks[1][:3] == [["Matches by rank"], ["rank", "n", "share"], ["1", "10", "1.0"]]
    assert float(blocks[1][4][2]) == 1 / 3
    assert blocks[2][2] == ["match", "0", "10", "10"]


def test_markdown_has_the_figures_at_the_right_and_marks_nothing():
    told = as_markdown(page(ACCURACY, MATRIX), "Accuracy", COMMAND)
    assert told.startswith("## Accuracy\n\ntrue labels are the majority of ana, ben\n\n95 % intervals\n")
    assert "| rater | n | accuracy |\n| --- | ---: | ---: |\n| ana | 1,204 | 87.5 % |\n" in told
    assert "| gpt-4o\\_mini | 7 | – |" in told
    assert "Labels are rounded." in told
    assert told.endswith(f"    {COMMAND}\n")
    hostile = table_as_markdown(Table((HOSTILE,), (Row((HOSTILE,)),)))
    assert len(hostile.splitlines()) == 3
    assert "\\|\\#~\\<i\\>" in hostile
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile


def test_latex_has_rules_of_booktabs_and_escapes():
    told = as_latex(page(ACCURACY, MATRIX), "Accuracy", COMMAND)
    assert told.startswith(f"% {COMMAND}\n% \\usepackage{{booktabs,graphicx}}\n\\begin{{table}}")
    assert "\\caption{Accuracy. true labels are the majority of ana, ben. 95 \\% intervals.}" in told
    assert (
        "\\begin{tabular}{lrr}\n\\toprule\nrater & n & accuracy \\\\\n\\midrule\nana & 1,204 & 87.5 \\% \\\\"
        in told
    )
    assert "gpt-4o\\_mini & 7 & -- \\\\" in told
    assert "$\\downarrow$ \\textbackslash{} $\\rightarrow$ & 0 & 1 & all \\\\" in told
    hostile = as_latex(page(Table((HOSTILE,), (Row((HOSTILE,)),))), HOSTILE, f"{COMMAND}\n\\input{{x}}")
    assert (
        "\\$x\\textasciicircum{}2\\$ \\& 5 \\% of \\{b\\}\\_c\\textbackslash{}\\textbar{}\\#\\textasciitilde{}"
        in hostile
    )
    assert hostile.splitlines()[0] == f"% {COMMAND} \\input{{x}}"


@pytest.mark.parametrize("table", [ACCURACY, RANKS, MATRIX], ids=["intervals", "bars", "matrix"])
def test_a_figure_has_its_axes_and_is_the_same_each_time(table):
    made = {form: figure(page(table), "Accuracy", COMMAND, form) for form in FIGURES}
    assert made == {form: figure(page(table), "Accuracy", COMMAND, form) for form in FIGURES}
    drawn = "".join(ElementTree.fromstring(made["svg"]).itertext())
    for text in (table.drawn, table.rows[0].cells[0], "Accuracy", COMMAND):
        assert str(text) in drawn
    assert made["pdf"].startswith(b"%PDF")
    assert made["png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", made["png"][16:20]) == (1005,)
    wide = figure(page(table), "Accuracy", COMMAND, "png", PAGE)
    assert struct.unpack(">I", wide[16:20]) == (2100,)


def test_a_figure_draws_hostile_names_as_they_are():
    named = replace(ACCURACY, rows=(Row((HOSTILE, counted(1), share(0.5)), (0.4, 0.5, 0.6)),), title=HOSTILE)
    drawn = "".join(ElementTree.fromstring(figure(page(named), HOSTILE, HOSTILE, "svg")).itertext())
    assert "$x^2$ & 5 % of {b}_c" in drawn
    assert "\u202e" not in drawn


def test_several_charts_stand_below_each_other():
    both = page(RANKS, WORDS, MATRIX)
    assert charts(both) == [RANKS, MATRIX]
    one, two = (
        struct.unpack(">II", figure(page(*tables), "x", "", "png")[16:24])
        for tables in ((RANKS,), (RANKS, MATRIX))
    )
    assert one[0] == two[0]
    assert one[1] < two[1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_end_of_the_name_says_the_form(suffix, tmp_path):
    path = tmp_path / f"accuracy{suffix}"
    assert save(page(ACCURACY), "Accuracy", COMMAND, path) == f"Written: {path}"
    assert path.stat().st_size > 40
    with pytest.raises(ExportFailed, match="already there"):
        save(page(ACCURACY), "Accuracy", COMMAND, path)


def test_what_cannot_be_saved_is_said_and_leaves_no_file(monkeypatch, tmp_path):
    with pytest.raises(ExportFailed, match=r"must end in one of \.svg, \.pdf, \.png, \.csv, \.md, \.tex"):
        save(page(ACCURACY), "Accuracy", COMMAND, tmp_path / "a.doc")
    with pytest.raises(ExportFailed, match=r"Accuracy has no figure.*\.csv, \.md, \.tex"):
        save(page(WORDS), "Accuracy", COMMAND, tmp_path / "a.svg")
    real = Path.open

    def full(self, mode="r", *rest, **options):
        file = real(self, mode, *rest, **options)
        if mode != "xb":
            return file
        file.close()
        return Path("/dev/full").open("wb", buffering=0)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ExportFailed, match="No space left"):
        save(page(ACCURACY), "Accuracy", COMMAND, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_a_line_of_latex_does_not_end_the_one_before():
    rows = tuple(Row((name, counted(1))) for name in ("[sq] |bar|", "*star", "plain"))
    told = as_latex(page(Table(("rater", "n"), rows), facts([("[a]", "*b")])), "Names", COMMAND)
    assert "{}[sq] \\textbar{}bar\\textbar{} & 1" in told
    assert "{}*star & 1" in told
    assert "\nplain & 1" in told
    assert "{}[a] & *b" in told


def test_an_interval_that_leaves_its_value_out_is_drawn_and_so_many_rows_are_not():
    off = Table(("rater", "n"), (Row(("ana", number(0.9)), (0.1, 0.9, 0.5)),), drawn="n")
    assert figure(page(off), "Off", COMMAND, "svg")
    many = Table(("rater", "n"), tuple(Row((f"r{n}", counted(n)), n / 300) for n in range(300)))
    with pytest.raises(ExportFailed, match="200 rows"):
        figure(page(many), "Many", COMMAND, "svg")


def test_an_empty_report_says_why_in_every_form():
    empty = replace(page(), empty="No times yet.")
    assert "No times yet" in as_markdown(empty, "Time", COMMAND)
    assert as_latex(empty, "Time", COMMAND).splitlines()[1] == "% No times yet."
    assert as_csv(empty) == ""
