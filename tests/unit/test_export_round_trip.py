"""Export: what is written, what is refused, and that an import of it gives the same records."""

import csv
import json
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging import EVIDENCE
from made_once import built_once
from sqlalchemy import select

from store.errors import ExportFailed, ImportFailed, UnknownName
from store.export.exporting import export
from store.export.labels import label_columns
from store.export.records import RECORD_COLUMNS
from store.formats.judgments import JUDGMENTS
from store.ingest.importing import import_files
from store.ingest.rows import stage_columns
from store.kinds.pair import PAIR
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.columns import table_of
from store.tables.people import Guideline
from store.tables.record import Judgment, Mark
from store.workspace.duckdb import Workspace

PAIRS = [
    {
        "id": "a/1",
        "query": "reverse a list",
        "code": "def back(x):\r\n    return x[::-1]\r\n",
        "note": ["kept"],
    },
    {
        "id": "a/2",
        "query": "reverse a list",
        "code": '=SUM(A1)\x00,"q"\n',
        "rank": 2,
        "similarity": {"m": 0.1},
    },
    {"id": "b/1", "query": "add one", "code": "x + 1", "repository": "r", "licence": "MIT", "name": "given"},
]
TABLES = ("jsonl", "csv", "parquet")


@contextmanager
def new_workspace(parent):
    """An empty workspace in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=parent) as folder, Workspace.create(Path(folder) / "w") as workspace:
        yield workspace


@built_once
def stored(tmp_path):
    """A workspace with three pairs and a history: labels of a file, judgments, undos, redos, marks."""
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS), encoding="utf-8")
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [path])
        (tmp_path / "labels.csv").write_text("item,rater,value\na/1,file,1\nb/1,file,0\n")
        import_files(workspace, [tmp_path / "labels.csv"])
        history(
            workspace,
            [(0, 1), (0, 0), "undo", "redo", (1, "flag"), (1, 1), "undo", (2, "cannot_decide"), (2, 0)],
        )
    return workspace.path


@pytest.fixture
def judged(stored):
    with Workspace.open(stored) as opened:
        yield opened


def history(workspace, steps, rater="dana"):
    """Do what a rater does: (item, value), (item, mark), undo, redo; items counted from 0."""
    recorder = Recorder(workspace, ensure_rater(workspace, rater))
    with workspace.reading() as connection:
        question = question_number(connection, "pair.match")
        guideline = connection.execute(select(table_of(Guideline).c.id)).scalar()
    cursor = workspace.native()
    items = [number for (number,) in cursor.execute("SELECT id FROM item ORDER BY id").fetchall()]
    cursor.close()
    for step in steps:
        if step == "undo":
            recorder.undo().result()
        elif step == "redo":
            recorder.redo().result()
        else:
            place, what = step
            number = workspace.ids.next()
            same = {
                "id": number,
                "action": number,
                "item_id": items[place],
                "rater_id": recorder.rater.id,
                "created_at": now(),
            }
            if isinstance(what, str):
                record = Mark(**same, kind=what, text=f"because \x00{what}\r\n")
            else:
                record = Judgment(
                    **same,
                    question_id=question,
                    value=what,
                    origin="override",
                    guideline_id=guideline,
                    shown_verdict=workspace.ids.next(),
                    blind=bool(what),
                    reason="wrong-output",
                    comment='said "so",\nand so on',
                    evidence=EVIDENCE,
                    elapsed_ms=1500,
                    active_ms=None,
                )
            recorder.submit(Action(number, (record,))).result()


RECORDS = """
    SELECT 'judgment', j.id, j.action, i.external_id, q.name, r.name, r.kind, j.assignment_id, j.phase,
        j.value, j.origin, j.supersedes, j.target_action, j.restores, j.shown_verdict, j.shown_execution,
        g.version, j.blind,
        j.reason, j.comment, j.evidence, j.elapsed_ms, j.active_ms, j.created_at::VARCHAR
    FROM judgment j JOIN item i ON i.id = j.item_id JOIN question q ON q.id = j.question_id
    JOIN rater r ON r.id = j.rater_id LEFT JOIN guideline g ON g.id = j.guideline_id ORDER BY j.id
"""
MARKS = """
    SELECT 'mark', m.id, m.action, i.external_id, r.name, m.assignment_id, m.phase, m.kind, m.active, m.text,
        m.origin, m.supersedes, m.target_action, m.restores, m.created_at::VARCHAR
    FROM mark m JOIN item i ON i.id = m.item_id JOIN rater r ON r.id = m.rater_id ORDER BY m.id
"""
ITEMS = """
    SELECT i.external_id, i.content_hash, i.extra::JSON, q.text, c.text, c.name, c.language, c.repository,
        c.path, c.licence, p.rank, (SELECT list((model, value)) FROM similarity s WHERE s.item_id = i.id)
    FROM item i JOIN pair p ON p.item_id = i.id JOIN query q ON q.id = p.query_id
    JOIN code c ON c.id = p.code_id ORDER BY 1
"""


def contents(workspace, *statements):
    cursor = workspace.native()
    try:
        return [cursor.execute(statement).fetchall() for statement in statements]
    finally:
        cursor.close()


@pytest.mark.parametrize("form", TABLES)
def test_the_full_record_comes_back_in_an_empty_workspace(judged, tmp_path, form):
    report = export(judged, tmp_path / f"all.{form}", "judgments")
    before = contents(judged, RECORDS, MARKS, ITEMS)
    assert report.records == len(before[0]) + len(before[1])
    with new_workspace(tmp_path) as empty:
        read = import_files(empty, [tmp_path / f"all.{form}"])
        assert read.files[0].format == "judgments"
        assert (read.items_added, read.files[0].marks_added) == (3, len(before[1]))
        assert contents(empty, RECORDS, MARKS, ITEMS) == before
        again = import_files(empty, [tmp_path / f"all.{form}"])
        assert (again.adds, again.files[0].judgments_known) == (False, report.records)
        assert empty.ids.next() > before[0][-1][1]


@pytest.mark.parametrize("form", TABLES)
def test_the_full_record_comes_back_where_the_items_are(judged, tmp_path, form):
    export(judged, tmp_path / f"all.{form}", "judgments")
    if form == "parquet":
        # Older exports have times as text.
        table = pyarrow.parquet.read_table(tmp_path / "all.parquet")
        times = pyarrow.array([moment.isoformat() for moment in table["created_at"].to_pylist()])
        table = table.set_column(RECORD_COLUMNS.index("created_at"), "created_at", times)
        pyarrow.parquet.write_table(table, tmp_path / "all.parquet")
    with new_workspace(tmp_path) as other:
        import_files(other, [tmp_path / "pairs.jsonl"])
        read = import_files(other, [tmp_path / f"all.{form}"])
        assert (read.items_added, read.files[0].items_differing) == (0, 0)
        assert contents(other, RECORDS, MARKS) == contents(judged, RECORDS, MARKS)


def test_undo_goes_on_after_an_import_where_it_was(judged, tmp_path):
    export(judged, tmp_path / "all.jsonl", "jsonl")
    with new_workspace(tmp_path) as other:
        import_files(other, [tmp_path / "all.jsonl"])
        done = [Recorder(one, ensure_rater(one, "dana")).undo().result() for one in (judged, other)]
        keys = [
            (record.value, record.origin, record.target_action)
            for record in done[0].records
            if isinstance(record, Judgment)
        ]
        assert keys == [
            (record.value, record.origin, record.target_action)
            for record in done[1].records
            if isinstance(record, Judgment)
        ]
        assert keys


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 1, "skip", "flag", "cannot_decide", "comment"]))
    | st.sampled_from(["undo", "redo"]),
    max_size=12,
)


# Up to twenty-four steps an example: eight of them are many of every kind.
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, others=STEPS, form=st.sampled_from(TABLES))
def test_any_history_comes_back_the_same(tmp_path, steps, others, form):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS), encoding="utf-8")
    with new_workspace(tmp_path) as workspace, new_workspace(tmp_path) as other:
        import_files(workspace, [path])
        history(workspace, steps)
        history(workspace, others, "eli")
        export(workspace, tmp_path / f"all.{form}", "judgments", overwrite=True)
        import_files(other, [path])
        before = contents(workspace, RECORDS, MARKS)
        if any(before):
            import_files(other, [tmp_path / f"all.{form}"])
        assert contents(other, RECORDS, MARKS) == before


def test_the_columns_are_the_documented_ones_in_order(judged, tmp_path):
    for name in ("all.csv", "all.jsonl", "all.parquet"):
        export(judged, tmp_path / name, "judgments")
    export(judged, tmp_path / "dana.jsonl", "jsonl", rater="dana")
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
        header, *body = csv.reader(file)
    assert tuple(header) == RECORD_COLUMNS
    first, *_ = (tmp_path / "dana.jsonl").read_text(encoding="utf-8").split("\n")
    assert tuple(json.loads(first)) == label_columns(PAIR)
    lines = [
        json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    assert {tuple(line) for line in lines} == {RECORD_COLUMNS}
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines) == [row[1] for row in body]
    table = pyarrow.parquet.ParquetFile(tmp_path / "all.parquet")
    assert tuple(table.schema_arrow.names) == RECORD_COLUMNS
    assert str(table.schema_arrow.field("created_at").type) == "timestamp[us, tz=UTC]"
    assert table.metadata.row_group(0).column(0).compression == "ZSTD"
    first = next(line for line in lines if line["rater"] == "dana")
    assert (first["word"], first["item"], first["guideline"]) == ("match", "a/1", "2")
    assert first["created_at"].endswith("+00:00")
    assert first["extra"] == {"note": ["kept"]}


@pytest.mark.parametrize("form", TABLES)
def test_one_raters_labels_are_those_that_stand(judged, tmp_path, form):
    # dana: a/1 is 0 (redone), a/2 was undone, b/1 is 0.
    report = export(judged, tmp_path / f"dana.{form}", form, rater="dana")
    is_table = form != "jsonl"
    assert (report.records, report.left_out, report.labelled) == ((3, 0, 2) if is_table else (2, 1, None))
    with new_workspace(tmp_path) as empty:
        read = import_files(empty, [tmp_path / f"dana.{form}"], label_as="dana")
        assert read.files[0].format == form
        assert contents(
            empty, "SELECT i.external_id, j.value FROM judgment j JOIN item i ON i.id = j.item_id ORDER BY 1"
        ) == [[("a/1", 0.0), ("b/1", 0.0)]]
        # A table has a row for each item, and an object in a cell is text.
        place = 3 if is_table else 2
        before = [row[:2] + row[place:] for row in contents(judged, ITEMS)[0] if is_table or row[0] != "a/2"]
        assert [row[:2] + row[place:] for row in contents(empty, ITEMS)[0]] == before


def test_cosqa_is_written_as_it_was_read(tmp_path):
    records = [
        {
            "idx": "d-1",
            "doc": "q\x00 é",
            "code": "c\r\n",
            "code_tokens": "c",
            "docstring_tokens": "d",
            "label": 1,
        },
        {"idx": "d-2", "doc": "q", "code": "d", "code_tokens": "c", "docstring_tokens": "d", "label": 0},
        {"idx": "d-3", "doc": "q", "code": "e"},
    ]
    (tmp_path / "c.json").write_text(json.dumps(records))
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, [tmp_path / "c.json"], label_as="annotators")
        report = export(workspace, tmp_path / "out.json", "cosqa", rater="annotators")
        assert (report.records, report.left_out) == (2, 1)
        assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == records[:2]


def test_cosqa_plus_is_written_as_three_files_that_are_read_back(tmp_path):
    records = [
        {
            "pair-idx": n,
            "query-idx": 10 + n // 2,
            "query": f"q{n // 2}",
            "code-idx": 7 * n,
            "code": f"c{n}",
            "label": n % 2,
        }
        for n in range(6)
    ]
    (tmp_path / "c.json").write_text(json.dumps(records))
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, [tmp_path / "c.json"], label_as="annotators")
        export(workspace, tmp_path / "out", "cosqa-plus", rater="annotators")
        with pytest.raises(ExportFailed, match="exists"):
            export(workspace, tmp_path / "out", "cosqa-plus", rater="annotators")
        export(workspace, tmp_path / "out", "cosqa-plus", rater="annotators", overwrite=True)
        assert json.loads((tmp_path / "out" / "pairs.json").read_text()) == records
        queries = json.loads((tmp_path / "out" / "queries.json").read_text())
        assert queries == [{"query-idx": 10 + n, "query": f"q{n}"} for n in range(3)]
        assert len(json.loads((tmp_path / "out" / "codebase.json").read_text())) == 6
        before = contents(workspace, ITEMS)
    with new_workspace(tmp_path) as other:
        import_files(other, [tmp_path / "out"])
        assert contents(other, ITEMS) == before


def test_pairs_of_other_files_get_numbers_in_cosqa_plus(judged, tmp_path):
    export(judged, tmp_path / "out", "cosqa-plus", rater="dana")
    pairs = json.loads((tmp_path / "out" / "pairs.json").read_text(encoding="utf-8"))
    assert [(pair["pair-idx"], pair["query-idx"], pair["code-idx"]) for pair in pairs] == [
        ("a/1", 0, 0),
        ("b/1", 1, 1),
    ]


def test_what_cannot_be_written_is_said_and_nothing_is_left_behind(judged, tmp_path):
    ensure_rater(judged, "fresh")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(ExportFailed, match=r"of one rater.*--rater"):
        export(judged, tmp_path / "x.json", "cosqa")
    with pytest.raises(UnknownName, match="No rater is called 'nobody'"):
        export(judged, tmp_path / "x.csv", "csv", rater="nobody")
    with pytest.raises(UnknownName, match="can only be read"):
        export(judged, tmp_path / "x.csv", "issues")
    with pytest.raises(ExportFailed, match="is not a folder"):
        export(judged, tmp_path / "nowhere" / "x.csv", "csv")
    with pytest.raises(ExportFailed, match="no current label"):
        export(judged, tmp_path / "x.csv", "csv", rater="fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_file_that_is_there_stays_until_it_may_be_replaced(judged, tmp_path):
    (tmp_path / "x.csv").write_text("precious")
    with pytest.raises(ExportFailed, match="exists"):
        export(judged, tmp_path / "x.csv", "judgments")
    assert (tmp_path / "x.csv").read_text() == "precious"

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(judged, tmp_path / "x.csv", "judgments", overwrite=True, progress=stop)
    assert (tmp_path / "x.csv").read_text() == "precious"
    export(judged, tmp_path / "x.csv", "judgments", overwrite=True)
    assert (tmp_path / "x.csv").read_text(encoding="utf-8").startswith("record,id,action,")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("precious")
    with pytest.raises(ExportFailed, match=r"also holds thesis\.tex"):
        export(judged, tmp_path / "folder", "cosqa-plus", rater="dana", overwrite=True)
    (tmp_path / "folder" / "thesis.tex").rename(tmp_path / "folder" / "thesis.json")
    with pytest.raises(ExportFailed, match=r"also holds thesis\.json"):
        export(judged, tmp_path / "folder", "cosqa-plus", rater="dana", overwrite=True)
    assert (tmp_path / "folder" / "thesis.json").read_text() == "precious"
    export(judged, tmp_path / "plus", "cosqa-plus", rater="dana")
    (tmp_path / "plus" / "pairs.json").write_text("older")
    export(judged, tmp_path / "plus", "cosqa-plus", rater="dana", overwrite=True)
    assert json.loads((tmp_path / "plus" / "pairs.json").read_text())
    assert sorted(child.name for child in tmp_path.iterdir() if child.name.startswith(".")) == []


def test_records_that_were_tampered_with_are_refused(judged, tmp_path):
    export(judged, tmp_path / "all.jsonl", "jsonl")
    lines = [
        json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    new = {**lines[0], "id": lines[0]["id"][:-4] + "0000"}
    faults = {
        "differs": ({**lines[0], "value": 0.0}, "in the workspace with other content"),
        "content": ({**lines[0], "code": "another"}, "duplicate id|other content"),
        "scale": ({**lines[0], "id": lines[0]["id"][:-4] + "0000", "value": 7.0}, "off the scale"),
        "question": ({**lines[0], "id": lines[0]["id"][:-4] + "0000", "question": "x"}, "unknown question"),
        "moment": ({**lines[0], "created_at": "2026-01-01"}, "time with its offset"),
        "random id": ({**lines[0], "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}, ":1: .* UUID of version 7"),
        "random action": ({**new, "action": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}, "UUID of version 7"),
        "random target": ({**new, "supersedes": "00000000-0000-0000-0000-000000000000"}, "UUID of version 7"),
        "an id after all others": ({**new, "id": "ffffffff-ffff-7fff-bfff-ffffffffffff"}, "a day ahead"),
        "uuid": ({**lines[0], "id": "x"}, "where a UUID is expected"),
        "origin": ({**lines[0], "origin": "guess"}, "off the scale"),
    }
    before = contents(judged, RECORDS, MARKS, ITEMS)
    for name, (record, reason) in faults.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
        with pytest.raises(ImportFailed, match=reason):
            import_files(judged, [path])
    assert contents(judged, RECORDS, MARKS, ITEMS) == before
    bare = {key: value for key, value in lines[0].items() if key not in ("query", "code")}
    (tmp_path / "bare.jsonl").write_text(json.dumps(bare), encoding="utf-8")
    with new_workspace(tmp_path) as empty, pytest.raises(ImportFailed, match="no item 'a/1' here"):
        import_files(empty, [tmp_path / "bare.jsonl"])


def test_what_is_staged_of_a_record_is_what_is_written_of_it():
    """One list says both, so that a new column cannot be read and then forgotten."""
    (layout,) = JUDGMENTS.layouts
    read = {column for field in layout.fields for column in field.columns}
    assert read == set(RECORD_COLUMNS)
    assert stage_columns()["judgment"] == {
        field.name: field.type
        for field in layout.fields
        if field.name not in ("word", "favoured", "presentation", "pseudonym")
    }


def test_the_columns_are_documented_in_their_order(repository):
    text = (repository / "docs/exporting.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text[text.index("## Columns of the record") :], flags=re.MULTILINE)
    assert listed == [*RECORD_COLUMNS, *label_columns(PAIR)]
