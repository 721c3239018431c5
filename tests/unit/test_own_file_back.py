"""Your own file back: the imported table with the labels beside its columns."""

import csv
import json
import re
from datetime import datetime

import openpyxl
import pyarrow.parquet
import pytest
from own_tables import (
    CHOSEN,
    OWN,
    ROWS,
    SHAPES,
    array,
    bars,
    doubled,
    headless,
    lines,
    marked,
    proposed,
    semicolons,
    shards,
    sheet,
    table,
    tabs,
    wide,
    words,
)
from small_workspace import labelled_by_agents

from store.workspace.duckdb import Workspace

ADDED = ["label", "decided_by", "raters", "agreement", "saw_agents"]
ADDED += ["agents_label", "agents_path", "agents_reason"]
DECIDED = {0: ["1", "majority", "2", "1.0", "0", "", "", ""], 1: ["0", "expert", "1", "1.0", "0", "", "", ""]}
NOTHING = [""] * len(ADDED)
CELLS = [DECIDED.get(place, NOTHING) for place in range(len(ROWS))]
"""Two people say that the first pair matches, and one that the second does not."""

TEXTS = {
    semicolons: (OWN, ROWS, {"delimiter": ";"}),
    tabs: (("Idx", "Doc", "Function", "Gold"), ROWS, {"delimiter": "\t"}),
    marked: (("NUMBER", "QUESTION", "SNIPPET", "RELEVANT"), ROWS, {}),
    wide: (OWN, ROWS, {"delimiter": "\t"}),
    headless: ((), ROWS, {}),
    doubled: (
        ("id", "text", "text", "code", "label"),
        [(row[0], row[1], "note", row[2], row[3]) for row in ROWS],
        {},
    ),
    bars: (
        ("ID", "NL", "Code", "Match"),
        ROWS,
        {"delimiter": "|", "lineterminator": "\r", "quoting": csv.QUOTE_ALL},
    ),
    words: (
        ("id", "query", "code", "label"),
        [(*row[:3], {"yes": "Match", "no": "no match"}[row[3]]) for row in ROWS],
        {},
    ),
}
"""The header, the rows and the dialect of the shapes that are CSV."""


def judged(shape, tmp_path, workbench):
    """A workspace with a table, of which two pairs are judged; and the table."""
    path, target = shape(tmp_path), tmp_path / "own.duckdb"
    done = workbench("import", target, path)
    if done.code:
        chosen = [word for one in CHOSEN.get(shape, ()) for word in ("--map", one)]
        done = workbench("import", target, path, *chosen) if chosen else workbench(*proposed(done.err))
    assert done.code == 0, done.err
    for item, label, rater in (("007", "match", "dana"), ("007", "match", "ben"), ("1", "no match", "dana")):
        assert workbench("judge", target, item, label, "--rater", rater).code == 0
    return target, path


def clashing(header):
    return [f"workbench_{name}" if name in header else name for name in ADDED]


@pytest.mark.parametrize("shape", TEXTS, ids=lambda shape: shape.__name__)
def test_csv_comes_back_byte_for_byte_with_the_labels_behind_its_cells(shape, tmp_path, workbench):
    target, path = judged(shape, tmp_path, workbench)
    header, rows, dialect = TEXTS[shape]
    end = dialect.get("lineterminator", "\r\n")
    comma = dialect.get("delimiter", ",")
    lined = [
        table((), [row], **dialect).removesuffix(end) + comma + comma.join(cells) + end
        for row, cells in zip((header, *rows), (clashing(header), *CELLS), strict=True)
        if row
    ]
    mark = b"\xef\xbb\xbf" if shape in (marked, wide) else b""
    done = workbench("export", target, tmp_path / "back.csv", "--format", "csv")
    assert "6 rows, 2 with a label (csv, a file)." in done.out
    assert f"The rows of {path.name} with {clashing(header)[0]}, decided_by, raters" in done.out
    assert (tmp_path / "back.csv").read_bytes() == mark + "".join(lined).encode()


TYPED = [
    [1, "majority", 2, 1.0, 0, None, None, None],
    [0, "expert", 1, 1.0, 0, None, None, None],
    *[[None] * 8] * 4,
]


def own_cells(shape, path):
    """The names of a shape's columns, and its rows."""
    if shape in (lines, array):
        text = path.read_text()
        records = json.loads(text) if shape is array else list(map(json.loads, text.splitlines()))
        return list(records[0]), [list(record.values()) for record in records]
    header, rows, _ = TEXTS.get(shape, (OWN, ROWS, {}))
    named = {
        shards: ["idx", "nl", "source", "label"],
        headless: ["1", "2", "3", "4"],
        doubled: ["id", "text (2)", "text (3)", "code", "label"],
    }
    return named.get(shape, [*header]), [[*row] for row in rows]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_comes_back_as_parquet_and_as_a_spreadsheet(shape, tmp_path, workbench):
    target, path = judged(shape, tmp_path, workbench)
    names, rows = own_cells(shape, path)
    for form in ("parquet", "xlsx"):
        assert workbench("export", target, tmp_path / f"back.{form}", "--format", form).code == 0
    read = pyarrow.parquet.read_table(tmp_path / "back.parquet")
    assert read.column_names == [*names, *clashing(names)]
    assert [[*row.values()] for row in read.to_pylist()] == [
        row + cells for row, cells in zip(rows, TYPED, strict=True)
    ]

    # In a sheet a number is one, if it is written as a sheet shows it, and all else is text.
    header, *found = map(list, openpyxl.load_workbook(tmp_path / "back.xlsx").active.values)
    assert header == [*names, *clashing(names)]
    shown = [[int(cell) if re.fullmatch("[1-9]", str(cell)) else cell for cell in row] for row in rows]
    assert [row[: len(names)] for row in found] == shown
    assert [row[len(names) :] for row in found] == TYPED
    assert [type(row[0]) for row in found] == [str, int, int, int, int, int]


@pytest.mark.parametrize("shape", [sheet, lines, shards, array], ids=lambda shape: shape.__name__)
def test_what_is_no_csv_comes_back_as_csv(shape, tmp_path, workbench):
    target, path = judged(shape, tmp_path, workbench)
    names, rows = own_cells(shape, path)
    assert workbench("export", target, tmp_path / "back.csv", "--format", "csv").code == 0
    with (tmp_path / "back.csv").open(encoding="utf-8", newline="") as file:
        header, *found = csv.reader(file)
    assert header == [*names, *clashing(names)]
    shown = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
    assert found == [row + cells for row, cells in zip(shown, CELLS, strict=True)]


def exported(workbench, target, *options):
    """The rows of an export as CSV, by the names of their columns."""
    back = target.with_name("back.csv")
    done = workbench("export", target, back, "--format", "csv", "--overwrite", *options)
    assert done.code == 0, done.err
    with back.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def own(tmp_path, workbench):
    """A workspace with the six pairs, and a row that is there twice."""
    (tmp_path / "mine.csv").write_text(table(("id", "question", "code", "gold"), [*ROWS, ROWS[0]]))
    assert workbench("import", tmp_path / "own.duckdb", tmp_path / "mine.csv").code == 0
    return tmp_path / "own.duckdb"


def test_who_decided_is_said_of_each_row(own, workbench):
    with Workspace.open(own) as workspace:
        labelled_by_agents(workspace, [(3, 1.0, "tested"), (4, 0.0, "screened"), (1, 0.0, "tested")])
    for item, label, raters in (
        ("007", "match", ("ana", "ben")),
        ("007", "no match", ("eve",)),
        ("1", "match", ("ana",)),
        ("1", "no match", ("ben",)),
        ("2", "no match", ("ana",)),
    ):
        for rater in raters:
            assert workbench("judge", own, item, label, "--rater", rater).code == 0
    rows = exported(workbench, own)
    assert [row["id"] for row in rows] == ["007", "1", "2", "3", "4", "5", "007"]
    assert rows[0] == rows[6]
    shown = [(row["label"], row["decided_by"], row["raters"], row["agreement"][:5]) for row in rows]
    assert shown == [
        ("1", "majority", "3", "0.666"),
        ("", "undecided", "2", ""),
        ("0", "expert", "1", "1.0"),
        ("0", "agents", "", ""),
        ("", "", "", ""),
        ("", "", "", ""),
        shown[0],
    ]
    agents = [(row["agents_label"], row["agents_path"], row["agents_reason"]) for row in rows]
    reason = "as it reads"
    assert agents == [
        *(("0", "tested", reason), ("", "", ""), ("1", "tested", reason), ("0", "screened", reason)),
        *(("", "", ""), ("", "", ""), ("0", "tested", reason)),
    ]

    # A ruling counts before all others, and those that are asked for are written alone.
    ruled = workbench("rule", own, "1", "match", "--rater", "zoe", "--comment", "it reads lines")
    assert ruled.code == 0, ruled.err
    assert [exported(workbench, own)[1][name] for name in ("label", "decided_by", "agreement")] == [
        *("1", "adjudicated", "0.5")
    ]
    by_ana = exported(workbench, own, "--rater", "ana")
    assert [(row["label"], row["decided_by"]) for row in by_ana[:4]] == [
        *(("1", "expert"), ("1", "expert"), ("0", "expert"), ("", ""))
    ]
    assert list(by_ana[0]) == ["id", "question", "code", "gold", "label", "decided_by"]
    by_majority = exported(workbench, own, "--policy", "majority")
    assert [(row["label"], row["decided_by"]) for row in by_majority[:3]] == [
        *(("1", "majority"), ("", "undecided"), ("0", "expert"))
    ]
    imported = exported(workbench, own, "--rater", "mine labels")
    assert [row["label"] for row in imported[:2]] == ["1", "0"]
    assert imported[0]["decided_by"] == "imported"


def test_comments_are_written_when_they_are_asked_for_and_name_nobody(own, tmp_path, workbench):
    workbench("judge", own, "007", "match", "--rater", "Dana Doe", "--comment", "sorts by value")
    assert "comments" not in exported(workbench, own)[0]
    assert exported(workbench, own, "--comments")[0]["comments"] == "sorts by value"
    workbench("judge", own, "1", "match", "--rater", "ben", "--comment", "as dana doe says")
    workbench("judge", own, "2", "match", "--rater", "ben", "--comment", "ask eve@example.org")
    refused = workbench("export", own, tmp_path / "x.csv", "--format", "csv", "--comments")
    assert refused.says("2 comments hold a rater's name or an e-mail address:")
    assert refused.says("1: as dana doe says")
    assert refused.says("2: ask eve@example.org")
    assert not (tmp_path / "x.csv").exists()
    named = exported(workbench, own, "--comments", "--names")
    assert [row["comments"] for row in named[:3]] == [
        *("sorts by value", "as dana doe says", "ask eve@example.org")
    ]

    # So it is wherever labels are written for others; the record has all.
    for form in ("labels", "prodigy", "label-studio"):
        out = tmp_path / form
        assert workbench("export", own, out, "--format", form, "--rater", "ben").code == 0
        assert "dana" not in out.read_text()
        assert (
            workbench("export", own, out, "--format", form, "--comments", "--names", "--overwrite").code == 0
        )
        assert "as dana doe says" in out.read_text()
    assert workbench("export", own, tmp_path / "r", "--format", "judgments", "--comments").says("all of them")
    assert workbench("export", own, tmp_path / "r", "--format", "judgments").code == 0
    assert "as dana doe says" in (tmp_path / "r").read_text()


def test_of_several_tables_one_is_named(own, tmp_path, workbench):
    (tmp_path / "more.csv").write_text(table(("id", "question", "code"), [("9", "nine", "9 * 9", "")[:3]]))
    assert workbench("import", own, tmp_path / "more.csv", "--prefix", "more/").code == 0
    refused = workbench("export", own, tmp_path / "x.csv", "--format", "csv")
    assert refused.says("Pairs were imported from 2 tables: mine.csv, more.csv")
    assert workbench("export", own, tmp_path / "x.csv", "--format", "csv", "--file", "nine").says("'nine'")
    workbench("judge", own, "more/9", "match", "--rater", "ana")
    (row,) = exported(workbench, own, "--file", "more.csv")
    assert (row["id"], row["label"]) == ("9", "1")
    assert len(exported(workbench, own, "--file", "mine.csv")) == 7

    # A table that was imported again with more rows counts as it is now.
    (tmp_path / "more.csv").write_text("id,question,code\n9,nine,9 * 9\n10,ten,10 * 10\n")
    assert workbench("import", own, tmp_path / "more.csv", "--prefix", "more/").code == 0
    assert [row["id"] for row in exported(workbench, own, "--file", "more.csv")] == ["9", "10"]


def test_a_part_of_the_items_is_a_part_of_the_rows(own, tmp_path, workbench):
    for item, label in (("007", 1), ("1", 0), ("2", 1), ("3", 0)):
        workbench("judge", own, item, label, "--rater", "ana")
    workbench("views", own, "--rater", "ana", "--save", "lists", "--text", "list")
    assert [row["id"] for row in exported(workbench, own, "--view", "lists")] == ["2", "5"]
    assert workbench("split", own, "v", "--rater", "ana", "--ratios", "1:1").code == 0
    rows = exported(workbench, own, "--split", "v")
    assert sorted(row["id"] for row in rows) == ["007", "007", "1", "2", "3"]
    assert {row["part"] for row in rows} == {"train", "test"}
    for more in ((), ("--split", "v"), ("--view", "lists")):
        line = ("export", own, tmp_path / "x.csv", "--format", "csv", *more, "--overwrite", "--json")
        counted, written = workbench(*line, "--dry-run").json(), workbench(*line).json()
        assert counted == {**written, "dry_run": True}
        assert (written["records"], written["labelled"], written["left_out"]) == {
            0: (7, 5, 0),
            2: (5, 5, 0) if more[:1] == ("--split",) else (2, 1, 0),
        }[len(more)]


def test_rows_that_were_refused_come_back_as_they_are(tmp_path, workbench):
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    path.write_text("id,query,code\n1,add,a + b\n\n2,,c\n3,too,many,cells\n4,join,x\n")
    assert workbench("import", target, path, "--rejects", tmp_path / "bad.jsonl").code == 0
    workbench("judge", target, "4", "match", "--rater", "ana")
    assert workbench("export", target, tmp_path / "back.csv", "--format", "csv").code == 0
    none = "," * 8
    # A row with more cells than columns would have its own cells where the label is.
    assert (tmp_path / "back.csv").read_text() == (
        f"id,query,code,{','.join(ADDED)}\n1,add,a + b{none}\n\n2,,c{none}\n4,join,x,1,expert,1,1.0,0,,,\n"
    )
    done = workbench("export", target, tmp_path / "back.parquet", "--format", "parquet")
    assert "Left out: 1 row that cannot be read, as when it was imported." in done.out
    rows = pyarrow.parquet.read_table(tmp_path / "back.parquet").to_pylist()
    assert [(row["id"], row["query"], row["label"]) for row in rows] == [
        *(("1", "add", None), ("2", "", None), ("4", "join", 1))
    ]


def test_a_refused_row_has_not_the_label_of_the_pair_of_its_id(tmp_path, workbench):
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    path.write_text("id,query,code\n1,add,a + b\n1,subtract,a - b\n")
    assert workbench("import", target, path, "--rejects", tmp_path / "bad.jsonl").code == 0
    (tmp_path / "other.csv").write_text("id,query,code\n1,divide,a / b\n2,double,2 * a\n")
    other = ("import", target, tmp_path / "other.csv", "--rejects", tmp_path / "worse.jsonl")
    assert workbench(*other).code == 0
    workbench("judge", target, "1", "match", "--rater", "ana", "--comment", "of the first")
    rows = exported(workbench, target, "--file", "mine.csv", "--comments")
    assert [(row["label"], row["comments"]) for row in rows] == [("1", "of the first"), ("", "")]
    assert [row["label"] for row in exported(workbench, target, "--file", "other.csv")] == ["", ""]


def test_a_table_begins_as_it_begins(tmp_path, workbench):
    """A blank line or the one that names the delimiter stays before the header; so do empty rows at the end."""
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    for begins in ("\n", "sep=;\n"):
        target.unlink(missing_ok=True)
        path.write_text(f"{begins}id;query;code\n1;add;a + b\n;;\n")
        assert workbench("import", target, path).code == 0
        assert workbench("export", target, tmp_path / "b.csv", "--format", "csv", "--overwrite").code == 0
        assert (tmp_path / "b.csv").read_text() == (
            f"{begins}id;query;code;{';'.join(ADDED)}\n1;add;a + b{';' * 8}\n;;\n"
        )


def test_files_of_one_name_are_both_there_unless_one_has_all_of_the_other(tmp_path, workbench):
    target = tmp_path / "own.duckdb"
    for number, part in enumerate(("train", "test")):
        (tmp_path / part).mkdir()
        (tmp_path / part / "p.csv").write_text(f"id,query,code\n{part}1,add {number},a + {number}\n")
        assert workbench("import", target, tmp_path / part / "p.csv").code == 0
    refused = workbench("export", target, tmp_path / "x.csv", "--format", "csv")
    assert refused.says("Pairs were imported from 2 tables: p.csv, p.csv (2)")
    assert [row["id"] for row in exported(workbench, target, "--file", "p.csv (2)")] == ["test1"]

    # A later version has the items of the first, and a column more; nothing else of it is new.
    later = "id,query,code,owner\ntrain1,add 0,a + 0,me\n"
    (tmp_path / "train" / "p.csv").write_text(later)
    assert workbench("import", target, tmp_path / "train" / "p.csv").code == 0
    assert [row["owner"] for row in exported(workbench, target, "--file", "p.csv (2)")] == ["me"]
    together = tmp_path / "both.duckdb"
    (tmp_path / "train" / "p.csv").write_text("id,query,code\ntrain1,add 0,a + 0\n")
    assert workbench("import", together, tmp_path / "train" / "p.csv", tmp_path / "test" / "p.csv").code == 0
    assert [row["id"] for row in exported(workbench, together)] == ["train1", "test1"]


def test_a_split_has_its_own_labels(own, workbench):
    for item, by_ana, others in (("007", 0, 1), ("1", 1, 0), ("2", 0, 1), ("3", 1, 0)):
        workbench("judge", own, item, by_ana, "--rater", "ana")
        for rater in ("ben", "eve"):
            workbench("judge", own, item, others, "--rater", rater)
    assert workbench("split", own, "hers", "--rater", "ana", "--ratios", "1:1").code == 0
    assert workbench("split", own, "most", "--policy", "majority", "--ratios", "1:1").code == 0
    workbench("judge", own, "007", 1, "--rater", "ana")
    hers = {
        row["id"]: (row["label"], row["decided_by"]) for row in exported(workbench, own, "--split", "hers")
    }
    assert hers == {
        item: (label, "expert") for item, label in (("007", "0"), ("1", "1"), ("2", "0"), ("3", "1"))
    }
    most = {row["id"]: row for row in exported(workbench, own, "--split", "most")}
    assert {item: (row["label"], row["decided_by"], row["agreement"][:4]) for item, row in most.items()} == {
        item: (label, "majority", "0.66")
        for item, label in (("007", "1"), ("1", "0"), ("2", "1"), ("3", "0"))
    }


def test_a_rater_who_is_named_brings_no_other_comments(own, tmp_path, workbench, monkeypatch):
    workbench("judge", own, "007", 1, "--rater", "ana", "--comment", "mine")
    workbench("judge", own, "007", 0, "--rater", "Zoe", "--comment", "hers, not ana's")
    workbench("judge", own, "1", "--cannot-decide", "--rater", "ana", "--comment", "no way to tell")
    rows = exported(workbench, own, "--comments", "--rater", "ana")
    assert [row["comments"] for row in rows[:2]] == ["mine", "no way to tell"]
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    monkeypatch.setenv("WORKBENCH_RATER", "ana")
    rows = exported(workbench, own, "--comments", "--rater", "ana")
    assert "hers" not in str(rows)
    # What others say is not shown in a refusal either.
    refused = workbench("export", own, tmp_path / "x.csv", "--format", "csv", "--comments")
    assert refused.says("1 comment holds a rater's name or an e-mail address; a blind review does not show")
    assert "hers" not in refused.err
    # What is published has everybody's labels beside those that are named.
    counted = ("export", own, tmp_path / "x", "--format", "beir", "--rater", "ana", "--dry-run")
    assert workbench(*counted).says("the labels of every rater")


def test_names_of_columns_stay_different(own, tmp_path, workbench):
    path = own.with_name("back.csv")
    for added in ("label", "workbench_label", "workbench_label_2"):
        workbench("judge", own, "007", 1, "--rater", "ana")
        rows = exported(workbench, own)
        assert list(rows[0]).count(added) == 1
        assert len(set(rows[0])) == len(rows[0])
        (tmp_path / f"{added}.csv").write_bytes(path.read_bytes())
        own = tmp_path / f"{added}.duckdb"
        assert workbench("import", own, tmp_path / f"{added}.csv", "--map", "label=").code == 0


def test_a_spreadsheet_keeps_its_formats(tmp_path, workbench):
    path, target = tmp_path / "mine.xlsx", tmp_path / "own.duckdb"
    book = openpyxl.Workbook()
    book.active.title = "Daten"
    book.active.append(["id", "query", "code", "when", "sum", "good"])
    book.active.append([1, "add", "a + b", datetime(2026, 5, 1, 12, 30), "=A2+1", True])
    book.active.append([])
    book.active.append(["1.10", "subtract", "a - b", None, 2.5, False])
    book.save(path)
    assert workbench("import", target, path).code == 0
    workbench("judge", target, "1.10", "match", "--rater", "ana")
    assert workbench("export", target, tmp_path / "back.xlsx", "--format", "xlsx").code == 0
    back = openpyxl.load_workbook(tmp_path / "back.xlsx")
    assert back.sheetnames == ["Daten"]
    names, first, blank, second = ([*row] for row in back.active.values)
    assert names == ["id", "query", "code", "when", "sum", "good", *ADDED]
    assert first[:6] == [1, "add", "a + b", datetime(2026, 5, 1, 12, 30), "=A2+1", True]
    assert set(blank) == {None}
    assert second[:6] == ["1.10", "subtract", "a - b", None, 2.5, False]
    assert second[6:] == [1, "expert", 1, 1, 0, None, None, None]
    assert [row["id"] for row in exported(workbench, target)] == ["1", "", "1.10"]


def test_values_that_a_form_has_no_place_for(tmp_path, workbench):
    path, target = tmp_path / "mine.jsonl", tmp_path / "own.duckdb"
    path.write_text(
        '{"id": "1", "query": "q", "code": "c()", "big": 12345678901234567890, "share": NaN}\n'
        '{"id": "2", "query": "r", "code": "d()", "big": 1, "share": 0.5, "half": "\\ud800"}\n'
    )
    assert workbench("import", target, path, "--rejects", tmp_path / "bad.jsonl").code == 0
    for form in ("csv", "parquet", "xlsx"):
        done = workbench("export", target, tmp_path / f"back.{form}", "--format", form)
        assert done.code == 0, done.err
    rows = pyarrow.parquet.read_table(tmp_path / "back.parquet").to_pylist()
    assert [(row["big"], row["half"]) for row in rows] == [("12345678901234567890", None), ("1", "\\ud800")]
    assert [row["share"] for row in rows][1] == 0.5
    assert exported(workbench, target)[0]["share"] == ""


def test_a_part_of_a_large_table_in_parquet(tmp_path, workbench):
    """There is a batch of rows of which none is written."""
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    lined = "".join(f"{number},query {number},code({number})\n" for number in range(21_000))
    path.write_text("id,query,code\n" + lined)
    assert workbench("import", target, path).code == 0
    workbench("views", target, "--rater", "ana", "--save", "last", "--text", "query 20999")
    back = tmp_path / "back.parquet"
    assert workbench("export", target, back, "--format", "parquet", "--view", "last").code == 0
    assert pyarrow.parquet.read_table(back).column("id").to_pylist() == ["20999"]
    counted = workbench("export", target, back, "--format", "parquet", "--overwrite", "--dry-run").out
    assert "about 21,000 rows, 0 with a label" in counted


def test_a_table_is_kept_of_which_something_was_taken(own, tmp_path, workbench):
    (tmp_path / "latin.csv").write_bytes("id,query,code\n1,größte,max(x)\n".encode("latin-1"))
    workbench("import", own, tmp_path / "latin.csv", "--rejects", tmp_path / "bad.jsonl")
    assert len(exported(workbench, own)) == 7

    # A workspace that has the items and no file keeps it when it is imported again.
    again, folder = tmp_path / "again.duckdb", tmp_path / "bundle"
    workbench("export", own, folder, "--format", "bundle", "--pseudonyms")
    workbench("import", again, folder)
    assert "Nothing of it is new" in workbench("import", again, tmp_path / "mine.csv").out
    assert list(exported(workbench, again)[0])[:4] == ["id", "question", "code", "gold"]


def test_what_a_sheet_has_no_place_for_is_refused(tmp_path, workbench):
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    path.write_text(f"id,query,code\n1,add,{'x' * 40_000}\n2,=1+1,'\x07'\n")
    assert workbench("import", target, path).code == 0
    refused = workbench("export", target, tmp_path / "back.xlsx", "--format", "xlsx")
    assert refused.says("Row 2 holds a text of 40,000 characters")
    assert not (tmp_path / "back.xlsx").exists()
    workbench("views", target, "--rater", "ana", "--save", "sums", "--text", "=1")
    done = workbench(
        "export", target, tmp_path / "back.xlsx", "--format", "xlsx", "--view", "sums", "--rater", "ana"
    )
    assert done.says("no current label")
    assert workbench("export", target, tmp_path / "back.xlsx", "--format", "xlsx", "--view", "sums").code == 0
    _, row = openpyxl.load_workbook(tmp_path / "back.xlsx").active.rows
    assert [cell.value for cell in row[:3]] == [2, "=1+1", "'\ufffd'"]
    assert row[1].data_type == "s"


def test_a_bundle_with_pseudonyms_leaves_the_file_out(own, tmp_path, workbench):
    for more, kept in (((), True), (("--pseudonyms",), False)):
        folder, again = tmp_path / f"bundle{kept}", tmp_path / f"again{kept}.duckdb"
        assert workbench("export", own, folder, "--format", "bundle", *more).code == 0
        assert workbench("import", again, folder).code == 0
        rows = exported(workbench, again)
        assert list(rows[0])[:2] == (["id", "question"] if kept else ["id", "query"])
        assert len(rows) == (7 if kept else 6)
