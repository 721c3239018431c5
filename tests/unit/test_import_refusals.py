"""What an import refuses: each fault named with its file and line, and nothing imported."""

import gzip
import json
import os
import random
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from store.errors import ImportFailed, RecordsRefused, UnknownName
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace

GOOD = {"id": "g", "query": "q", "code": "c"}
LINE = json.dumps(GOOD).encode()


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as opened:
        yield opened


def tables_are_empty(workspace):
    cursor = workspace.native()
    tables = ("source", "query", "code", "item", "pair", "similarity", "judgment", "mark", "rater")
    counts = [cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    cursor.close()
    return counts == [0] * len(tables)


def lines(*raw):
    return b"\n".join(raw) + b"\n"


def after_good(raw):
    return lines(LINE, raw)


def with_field(raw):
    """A good line, then one with a further field."""
    return after_good(b'{"id": "x", "query": "q", "code": "c", ' + raw + b"}")


REFUSED_LINES = {
    "cut off": (after_good(b'{"id": "x", "query": "q'), 2, "malformed JSON"),
    "a trailing comma": (after_good(b'{"id": "x", "query": "q", "code": "c",}'), 2, "malformed JSON"),
    "a trailing comma and space": (
        with_field(b"\t"),
        2,
        "malformed JSON",
    ),
    "an extra number beyond all numbers": (with_field(b'"n": 1e999'), 2, "an extra field cannot be kept"),
    "no object": (lines(LINE, b"5"), 2, "not a JSON object"),
    "a list": (lines(LINE, b"[1]"), 2, "not a JSON object"),
    "a missing field": (after_good(b'{"id": "x", "query": "q"}'), 2, "missing field 'code'"),
    "a null field": (after_good(b'{"id": "x", "query": null, "code": "c"}'), 2, "no value in 'query'"),
    "a number for a text": (after_good(b'{"id": "x", "query": 5, "code": "c"}'), 2, "'query' is a number"),
    "a list for a text": (after_good(b'{"id": "x", "query": "q", "code": []}'), 2, "'code' is a list"),
    "an object for a text": (after_good(b'{"id": "x", "query": "q", "code": {}}'), 2, "'code' is an object"),
    "true for an id": (after_good(b'{"id": true, "query": "q", "code": "c"}'), 2, "'id' is true or false"),
    "a fraction for an id": (after_good(b'{"id": 1.5, "query": "q", "code": "c"}'), 2, "'id' is a number"),
    "an empty id": (after_good(b'{"id": "", "query": "q", "code": "c"}'), 2, "'id' is empty"),
    "an empty query": (after_good(b'{"id": "x", "query": "", "code": "c"}'), 2, "'query' is empty"),
    "a label as a text": (
        with_field(b'"label": "maybe"'),
        2,
        "'label' is 'maybe', which is none of match",
    ),
    "a label off the scale": (
        with_field(b'"label": 2'),
        2,
        "off the scale",
    ),
    "NaN for a label": (
        with_field(b'"label": NaN'),
        2,
        "'label' is a number (nan) where a finite number is expected",
    ),
    "NaN for a path": (with_field(b'"path": NaN'), 2, "'path' is a number (nan) where text is expected"),
    "Infinity inside": (
        with_field(b'"e": [Infinity]'),
        2,
        "Infinity is no",
    ),
    "a fraction for a rank": (
        with_field(b'"rank": 1.5'),
        2,
        "'rank'",
    ),
    "a rank beyond 64 bits": (
        with_field(b'"rank": 9223372036854775808'),
        2,
        "'rank'",
    ),
    "a text for a similarity": (
        with_field(b'"similarity": {"m": "0.5"}'),
        2,
        "similarity of m",
    ),
    "a nested similarity": (
        with_field(b'"similarity": {"m": {"n": 1}}'),
        2,
        "similarity of m",
    ),
    "a field twice": (
        after_good(b'{"id": "x", "id": "y", "query": "q", "code": "c"}'),
        2,
        "a field occurs twice",
    ),
    "half a surrogate pair": (
        after_good(b'{"id": "x", "query": "q\\ud800", "code": "c"}'),
        2,
        "half a surrogate",
    ),
    "a control character": (after_good(b'{"id": "x", "query": "q\x01", "code": "c"}'), 2, "malformed JSON"),
    "bytes that are no text": (
        lines(LINE, b"", b'{"id": "x", "query": "\xff", "code": "c"}'),
        3,
        "not UTF-8",
    ),
    "a bad second object on a line": (lines(LINE + b'{"id": "y"}'), 1, "missing field 'query'"),
    "deep nesting": (
        with_field(b'"e": ' + b"[" * 100_000 + b"]" * 100_000),
        2,
        "nested",
    ),
    "a number of very many digits": (
        with_field(b'"e": ' + b"7" * 5_000),
        2,
        "a number of 5,000 digits, where at most 4,300 can be read",
    ),
    "very many digits, and nesting": (
        with_field(b'"e": {"f": [' + b"7" * 5_000 + b"]}"),
        2,
        "a number of 5,000 digits",
    ),
    "the same id with other content": (
        after_good(b'{"id": "g", "query": "q", "code": "d"}'),
        2,
        "duplicate id 'g'",
    ),
    "the same id with another label": (
        lines(
            b'{"id": "x", "query": "q", "code": "c", "label": 1}',
            b'{"id": "x", "query": "q", "code": "c", "label": 0}',
        ),
        2,
        "'x' before with another value",
    ),
}


@pytest.mark.parametrize("fault", REFUSED_LINES)
def test_a_faulty_line_is_named_and_nothing_is_imported(workspace, tmp_path, fault):
    content, line, reason = REFUSED_LINES[fault]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path])
    assert [(name, number) for name, number, _ in refused.value.problems] == [(str(path), line)]
    assert reason in refused.value.problems[0][2]
    assert f"bad.jsonl:{line}" in refused.value.message
    assert "--rejects" in refused.value.hint
    assert tables_are_empty(workspace)


REFUSED_ARRAYS = {
    "cut off after a comma": (b'[\n{"id": "g", "query": "q", "code": "c"},\n', 3, "ends in the middle"),
    "cut off after a record": (b'[\n{"id": "g", "query": "q", "code": "c"}\n', 3, "ends in the middle"),
    "cut off in a record": (
        b'[\n{"id": "g", "query": "q", "code": "c"},\n{"id": "x", "qu',
        3,
        "malformed JSON",
    ),
    "no comma": (b'[\n{"id": "g", "query": "q", "code": "c"}\n{"id": "x"}]', 3, "lacks a comma"),
    "text after the end": (
        b'[\n{"id": "g", "query": "q", "code": "c"}\n]\nand so on',
        4,
        "text after the end",
    ),
    "a number": (b'[\n{"id": "g", "query": "q", "code": "c"},\n\n5]', 4, "not a JSON object"),
    "a wrong type": (
        b'[\n {\n  "id": "g",\n  "query": "q",\n  "code": "c"\n },\n'
        b' {\n  "id": "x",\n  "query": 5,\n  "code": "c"\n }\n]',
        7,
        "'query' is a number",
    ),
    "NaN in the first of two": (
        b'[\n{"id": "g", "query": "q", "code": "c", "label": NaN},\n{"id": "h", "query": "q", "code": "c"}]',
        2,
        "record 1 (id 'g'): 'label' is a number (nan)",
    ),
    "bytes that are no text": (b'[\n{"id": "g", "query": "q\xff", "code": "c"}]', 2, "not UTF-8"),
    "a clash of ids": (
        b'[\n{"id": "g", "query": "q", "code": "c"},\n{"id": "g", "query": "other", "code": "c"}]',
        3,
        "duplicate id 'g'",
    ),
}


@pytest.mark.parametrize("fault", REFUSED_ARRAYS)
def test_a_faulty_record_of_an_array_is_named_with_its_line(workspace, tmp_path, fault):
    content, line, reason = REFUSED_ARRAYS[fault]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path], format="jsonl")
    assert [number for _, number, _ in refused.value.problems] == [line]
    assert reason in refused.value.problems[0][2]
    assert tables_are_empty(workspace)


def test_records_of_an_array_on_one_line_are_named_by_number_and_id(workspace, tmp_path):
    records = [{"id": f"p{number}", "query": f"q{number}", "code": "c"} for number in range(300)]
    records[249]["query"] = ""
    records[260]["id"] = "p7"
    (tmp_path / "one-line.json").write_text(json.dumps(records))
    with pytest.raises(RecordsRefused, match=r"one-line\.json:1: record 250 \(id 'p249'\): 'query' is empty"):
        import_files(workspace, [tmp_path / "one-line.json"])
    report = import_files(workspace, [tmp_path / "one-line.json"], rejects=tmp_path / "r.jsonl")
    assert report.rejected == 2
    entries = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [entry["reason"].partition(":")[0] for entry in entries] == [
        "record 250 (id 'p249')",
        "record 261 (id 'p7')",
    ]
    assert "duplicate id 'p7'" in entries[1]["reason"]
    # Such a fault is found when all files are staged: the record is read again for its id.
    labels = [{"item": "p1", "rater": "ana", "value": 1}, {"item": "none", "rater": "ana", "value": 1}]
    (tmp_path / "l.json").write_text(json.dumps(labels))
    with pytest.raises(RecordsRefused, match=r"l\.json:1: record 2 \(id 'none'\): no item 'none'"):
        import_files(workspace, [tmp_path / "l.json"])
    (tmp_path / "torn.json").write_text(json.dumps(records[:3])[:-20])
    with pytest.raises(RecordsRefused, match=r"torn\.json:1: record 3: malformed JSON"):
        import_files(workspace, [tmp_path / "torn.json"])
    (tmp_path / "codes.json").write_text('[{"code": "c"}, {"code": 5}]')
    with pytest.raises(RecordsRefused, match=r"codes\.json:1: record 2: 'code' is a number"):
        import_files(workspace, [tmp_path / "codes.json"], format="codes")


REFUSED_TABLES = {
    "too few fields": (b"id,query,code\na,q,c\nb,q\n", 3, "2 fields where the header has 3"),
    "too many fields": (b'id,query,code\na,q,"x\ny"\nb,q,c,d\n', 4, "4 fields where the header has 3"),
    "an open quote": (b'id,query,code\na,q,"c\n', 2, "malformed CSV"),
    "text after a quote": (b'id,query,code\na,q,"c"d\n', 2, "malformed CSV"),
    "an empty query": (b"id,query,code\na,,c\n", 2, "no value in 'query'"),
    "a label that is a word": (b"id,query,code,label\na,q,c,so\n", 2, "'label' is 'so'"),
    "a label that is NaN": (b"id,query,code,label\na,q,c,nan\n", 2, "'label' is 'nan'"),
    "bytes that are no text": (b"id,query,code\na,q,c\nb,q,\xff\n", 3, "not UTF-8"),
}


@pytest.mark.parametrize("fault", REFUSED_TABLES)
def test_a_faulty_row_of_a_table_is_named_with_its_line(workspace, tmp_path, fault):
    content, line, reason = REFUSED_TABLES[fault]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path])
    assert [number for _, number, _ in refused.value.problems] == [line]
    assert reason in refused.value.problems[0][2]
    assert tables_are_empty(workspace)


def test_a_faulty_row_of_parquet_is_named_with_its_number(workspace, tmp_path):
    path = tmp_path / "bad.parquet"
    columns = {"id": ["a", "b"], "query": ["q", None], "code": ["c", "d"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(RecordsRefused, match=r"bad\.parquet:2: no value in 'query'"):
        import_files(workspace, [path])
    columns = {"id": ["a", "b"], "query": ["q", "r"], "code": ["c", "d"], "label": [1.0, float("nan")]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(RecordsRefused, match=r"bad\.parquet:2: 'label' is a number \(nan\)"):
        import_files(workspace, [path])
    assert tables_are_empty(workspace)


@pytest.mark.parametrize("deep", [False, True])
def test_a_column_of_parquet_that_occurs_twice_is_refused(workspace, tmp_path, deep):
    path = tmp_path / "bad.parquet"
    texts = [pyarrow.array([text]) for text in ("a", "q", "c", "x", "y")]
    if deep:
        twice = pyarrow.StructArray.from_arrays(texts[3:], names=["note", "note"])
        table = pyarrow.Table.from_arrays([*texts[:3], twice], names=["id", "query", "code", "notes"])
    else:
        table = pyarrow.Table.from_arrays(texts, names=["id", "query", "code", "note", "note"])
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(RecordsRefused, match=r"bad\.parquet:1: .*(twice|duplicate)"):
        import_files(workspace, [path])
    assert tables_are_empty(workspace)


def test_nan_in_other_fields_is_kept_as_null(workspace, tmp_path):
    other = b', "score": NaN, "e": {"f": [1, NaN, {"g": NaN}]}}'
    (tmp_path / "p.jsonl").write_bytes(lines(LINE.removesuffix(b"}") + other))
    import_files(workspace, [tmp_path / "p.jsonl"])
    cursor = workspace.native()
    ((extra,),) = cursor.execute("SELECT extra FROM item").fetchall()
    cursor.close()
    assert json.loads(extra) == {"score": None, "e": {"f": [1, None, {"g": None}]}}
    # What is null when it comes again is the same.
    (tmp_path / "p.jsonl").write_bytes(lines(LINE.removesuffix(b"}") + other.replace(b"NaN", b"null")))
    assert import_files(workspace, [tmp_path / "p.jsonl"]).files[0].items_differing == 0


def test_missing_numbers_of_other_columns_of_parquet_are_kept_as_null(workspace, tmp_path):
    path = tmp_path / "p.parquet"
    columns = {"id": ["a"], "query": ["q"], "code": ["c"], "score": [float("nan")]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    import_files(workspace, [path])
    cursor = workspace.native()
    assert cursor.execute("SELECT extra FROM item").fetchall() == [('{"score":null}',)]
    cursor.close()


def packed(flip=None):
    """3,000 lines that do not compress well, packed, with one byte of the stream changed."""
    draw = random.Random(1)
    stream = bytearray(gzip.compress(lines(*(b"%032x" % draw.getrandbits(128) for _ in range(3_000)))))
    if flip is not None:
        stream[flip] ^= 0x55
    return bytes(stream)


TEXT = LINE.decode()
WHOLE_FILES = {
    "empty": (b"", r"bad\.data:1: the file is empty"),
    "only a mark": (b"\xef\xbb\xbf", r"bad\.data:1: the file is empty"),
    "only blank lines": (b"\n\n \t\n", r"bad\.data:1: the file holds 3 lines, but all are blank"),
    "an empty array": (b"\n[]", r"bad\.data:2: the file holds no records"),
    "a header alone": (b"id,query,code\n", r"bad\.data:1: the file holds no records"),
    "an empty gzip": (gzip.compress(b""), r"bad\.data:1: the file is empty"),
    "a cut gzip": (
        gzip.compress(lines(*[LINE] * 500))[:-12],
        r"bad\.data:\d+: the gzip stream breaks off in",
    ),
    "a gzip cut before its check sum": (packed()[:-8], r"bad\.data:3001: the gzip stream breaks off in"),
    "a torn gzip": (
        gzip.compress(lines(*[LINE] * 500))[:30] + b"\x00" * 40,
        r"bad\.data:\d+: the gzip stream",
    ),
    "a wrong check sum": (packed(-6), r"bad\.data:1: .* this or any later one of the 3,000 lines"),
    "a wrong length": (packed(-1), r"bad\.data:1: .* this or any later one of the 3,000 lines"),
    "an unknown compression": (packed(2), r"bad\.data:1: the gzip stream is damaged at its beginning"),
    "something after a gzip": (packed() + b"and so on", r"bad\.data:3001: after the gzip stream"),
    "a NUL before it": (b"\x00" + LINE, r"bad\.data:1: the file begins with a NUL byte"),
    "cut UTF-16": (TEXT.encode("utf-16")[:-1], r"bad\.data: UTF-16 text that breaks off"),
    "UTF-32": (TEXT.encode("utf-32"), r"bad\.data:1: the file is UTF-32 text"),
    "Latin-1 in the header": ("id;query;c\xf6de\n1;2;3\n".encode("latin-1"), r"bad\.data:1: not UTF-8 text"),
    "digits at once": (
        b'\n{"id": "a", "e": ' + b"7" * 5_000 + b"}",
        r"bad\.data:2: a number of 5,000 digits",
    ),
    "digits in an array": (b'[\n{"id": ' + b"7" * 5_000 + b"}]", r"bad\.data:2: a number of 5,000 digits"),
    "nesting at once": (
        b'{"e": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        r"bad\.data:1: JSON nested too deeply",
    ),
    "numbers alone": (b"[1,\n2]", r"bad\.data:1: not a JSON object \(also 2\)"),
    "no fields": (b"{}\n{}\n", r"bad\.data:1: an object without fields \(also 2\)"),
    "words before JSON": (b"It follows\n" + LINE, r"bad\.data:1: malformed JSON"),
    "cut Parquet": (b"PAR1 and no more", "PAR1|Parquet"),
    "prose": (
        b"\nDear reader,\nthis is a letter.\n",
        r"bad\.data:2 \(CSV\) names no column that is surely the query and code",
    ),
    "no code": (
        b'[{"idx": "1", "doc": "query"}]',
        r"bad\.data:1 .* surely the query and code.*no column fits",
    ),
}


@pytest.mark.parametrize("fault", WHOLE_FILES)
def test_a_file_without_records_is_refused(workspace, tmp_path, fault):
    content, reason = WHOLE_FILES[fault]
    path = tmp_path / "bad.data"
    path.write_bytes(content)
    with pytest.raises(ImportFailed) as refused:
        import_files(workspace, [path])
    assert re.search(reason, str(refused.value), re.DOTALL)
    assert refused.value.hint
    assert tables_are_empty(workspace)


def test_a_format_is_told_by_what_can_be_read_when_the_first_records_cannot(workspace, tmp_path):
    path = tmp_path / "late.jsonl"
    bad = b'{"id": "x", "query": "q", "code": "c", "e": ' + b"7" * 5_000 + b"}"
    path.write_bytes(lines(*[bad] * 30, LINE))
    report = import_files(workspace, [path], rejects=tmp_path / "r.jsonl")
    assert (report.items_added, report.rejected) == (1, 30)


def test_one_faulty_file_keeps_the_others_out(workspace, tmp_path):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    (tmp_path / "bad.jsonl").write_bytes(lines(b'{"id": "g", "query": "q", "code": "other"}'))
    with pytest.raises(RecordsRefused, match=r"bad\.jsonl:1: duplicate id 'g': it came before"):
        import_files(workspace, [tmp_path / "good.jsonl", tmp_path / "bad.jsonl"])
    assert tables_are_empty(workspace)
    import_files(workspace, [tmp_path / "good.jsonl"])
    with pytest.raises(RecordsRefused, match=r"bad\.jsonl:1: duplicate id 'g': the workspace has it"):
        import_files(workspace, [tmp_path / "bad.jsonl"])


def test_a_pair_whose_text_is_nowhere_is_named(workspace, tmp_path):
    (tmp_path / "p.json").write_text('[{"pair-idx": 1, "query-idx": 5, "code-idx": 9, "code": "c"}]')
    with pytest.raises(
        RecordsRefused, match=r"p\.json:1: record 1 \(id 1\): no query text, and query '5' is"
    ):
        import_files(workspace, [tmp_path / "p.json"])
    (tmp_path / "q.json").write_text('[{"query-idx": 5, "query": "a"},\n{"query-idx": 5, "query": "b"}]')
    with pytest.raises(RecordsRefused, match=r"q\.json:2: record 2: query '5' was given before with another"):
        import_files(workspace, [tmp_path / "p.json", tmp_path / "q.json"])
    assert tables_are_empty(workspace)


def test_labels_that_fit_nothing_are_named(workspace, tmp_path):
    (tmp_path / "pairs.jsonl").write_bytes(lines(LINE))
    (tmp_path / "l.csv").write_text(
        "item,rater,value,question\ng,ana,1,\nnone,ana,1,\n"
        "g,ana,3,\ng,ben,1,pair.nonsense\ng,ana,0,\ng, ,1,\n"
    )
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [tmp_path / "pairs.jsonl", tmp_path / "l.csv"])
    found = {number: reason for _, number, reason in refused.value.problems}
    assert found.keys() == {3, 4, 5, 6, 7}
    assert "no item 'none'" in found[3]
    assert "3 is off the scale" in found[4]
    assert "unknown question 'pair.nonsense'" in found[5]
    assert "'ana' labelled 'g' before with another value" in found[6]
    assert "no rater" in found[7]
    assert tables_are_empty(workspace)


def test_rejects_takes_the_good_records_and_writes_the_bad_ones(workspace, tmp_path):
    path = tmp_path / "mixed.jsonl"
    bad = [b'{"id": "x", "query": 5, "code": "c"}', b"{torn", b'{"id": "g", "query": "q", "code": "other"}']
    path.write_bytes(lines(LINE, *bad, b'{"id": "h", "query": "q", "code": "c", "label": 1}'))
    report = import_files(workspace, [path], rejects=tmp_path / "rejects.jsonl")
    (file,) = report.files
    assert (file.records, file.items_added, file.rejected) == (5, 2, 3)
    assert report.judgments_added == {"mixed labels": 1}
    written = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [(entry["file"], entry["line"]) for entry in written] == [
        (str(path), 2),
        (str(path), 3),
        (str(path), 4),
    ]
    assert written[0]["record"] == {"id": "x", "query": 5, "code": "c"}
    assert written[1]["record"] == "{torn"
    assert "duplicate id" in written[2]["reason"]
    assert written[2]["record"]["code"] == "other"


def test_rejects_of_a_faultless_file_are_an_empty_file(workspace, tmp_path):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    report = import_files(workspace, [tmp_path / "good.jsonl"], rejects=tmp_path / "r.jsonl")
    assert (report.items_added, report.rejected) == (1, 0)
    assert (tmp_path / "r.jsonl").read_text() == ""


def test_a_label_that_clashes_with_the_workspace_takes_its_pair_along(workspace, tmp_path):
    record = {"id": "g", "query": "q", "code": "c", "label": 1}
    (tmp_path / "one.jsonl").write_text(json.dumps(record) + "\n")
    import_files(workspace, [tmp_path / "one.jsonl"], label_as="ana")
    new = {"id": "n", "query": "q", "code": "n", "label": 1}
    (tmp_path / "two.jsonl").write_text("\n".join(json.dumps(one) for one in ({**record, "label": 0}, new)))
    report = import_files(workspace, [tmp_path / "two.jsonl"], label_as="ana", rejects=tmp_path / "r.jsonl")
    assert (report.items_added, report.rejected, report.judgments_added) == (1, 1, {"ana": 1})


def test_a_format_that_several_files_could_be_is_asked_for(workspace, tmp_path):
    both = {"id": "1", "idx": "1", "doc": "q", "query": "q", "code": "c"}
    (tmp_path / "b.jsonl").write_text(json.dumps(both))
    with pytest.raises(ImportFailed, match=r"could be (cosqa .* or jsonl|jsonl .* or cosqa)") as refused:
        import_files(workspace, [tmp_path / "b.jsonl"])
    assert "--format" in refused.value.hint
    assert import_files(workspace, [tmp_path / "b.jsonl"], format="cosqa").files[0].format == "cosqa"


def test_a_format_that_does_not_fit_is_said(workspace, tmp_path):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    with pytest.raises(ImportFailed, match="is json lines, which parquet is not"):
        import_files(workspace, [tmp_path / "good.jsonl"], format="parquet")
    with pytest.raises(UnknownName, match="No format is called 'nonsense'"):
        import_files(workspace, [tmp_path / "good.jsonl"], format="nonsense")
    with pytest.raises(ImportFailed, match="There is no"):
        import_files(workspace, [tmp_path / "nowhere.jsonl"])
    with pytest.raises(RecordsRefused, match="missing field 'idx'"):
        import_files(workspace, [tmp_path / "good.jsonl"], format="cosqa")


def test_very_many_faults_are_counted_and_the_first_ones_shown(workspace, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(lines(LINE, *[b'{"id": "x"}'] * 3_000))
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [tmp_path / "bad.jsonl"])
    assert "3,000 records" in refused.value.message
    assert "bad.jsonl:2: missing field 'query' (also 3, 4, 5, 6 and 995 more)" in refused.value.message
    assert refused.value.message.endswith("\nand 2,000 more")


@pytest.mark.parametrize(
    "mapping", [{"query": "code"}, {"id": "query"}, {"query": "text", "code": "text"}], ids=str
)
def test_one_column_does_not_hold_two_fields(workspace, tmp_path, mapping):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    with pytest.raises(UnknownName, match="would hold two of our fields"):
        import_files(workspace, [tmp_path / "good.jsonl"], mapping=mapping)
    assert tables_are_empty(workspace)


def test_a_column_that_is_mapped_and_not_there_is_named(workspace, tmp_path):
    (tmp_path / "good.csv").write_text("id,code,title\ng,c,t\n")
    with pytest.raises(ImportFailed) as refused:
        import_files(workspace, [tmp_path / "good.csv"], mapping={"query": "nosuch", "id": "id"})
    assert refused.value.title == "No such column"
    assert "good.csv:1 has no column for --map query=nosuch, but code, id, title" in refused.value.message
    with pytest.raises(RecordsRefused, match="missing field 'nosuch'"):
        import_files(workspace, [tmp_path / "good.csv"], format="csv", mapping={"query": "nosuch"})
    with pytest.raises(UnknownName, match="There is no field 'nosuch' to map"):
        import_files(workspace, [tmp_path / "good.csv"], mapping={"nosuch": "title"})
    with pytest.raises(UnknownName, match="id, item are names of one field"):
        import_files(
            workspace, [tmp_path / "good.csv"], mapping={"id": "id", "item": "code", "query": "title"}
        )
    assert tables_are_empty(workspace)


def test_a_mapped_column_is_taken_from_the_field_of_its_name(workspace, tmp_path):
    (tmp_path / "good.jsonl").write_text('{"id": "g", "name": "the query", "code": "c"}')
    import_files(workspace, [tmp_path / "good.jsonl"], mapping={"query": "name"})
    found = "SELECT q.text, c.name FROM query q, code c"
    assert workspace.native().execute(found).fetchall() == [("the query", "")]


def test_a_prefix_is_text_whatever_it_says(workspace, tmp_path):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    import_files(workspace, [tmp_path / "good.jsonl"], prefix="$prefix$ || '\\ ")
    found = workspace.native().execute("SELECT external_id FROM item").fetchall()
    assert found == [("$prefix$ || '\\ g",)]


def test_a_file_whose_name_is_not_utf8_is_refused(workspace, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl")
    with open(path, "wb") as file:
        file.write(LINE)
    with pytest.raises(ImportFailed, match="not UTF-8"):
        import_files(workspace, [tmp_path])


_FULL = """
import resource, sys
from store.errors import ImportFailed
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace
path, pairs, good = sys.argv[1:]
with Workspace.create(path) as workspace:
    import_files(workspace, [good])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    try:
        import_files(workspace, [pairs])
    except ImportFailed as failed:
        print(failed.message)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
"""


def test_a_disk_that_is_full_ends_an_import_in_words_with_nothing_imported(tmp_path):
    (tmp_path / "good.jsonl").write_bytes(lines(LINE))
    noise = random.Random(5)
    records = [
        {"id": str(number), "query": "q", "code": noise.randbytes(600).hex()} for number in range(6_000)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    names = [tmp_path / name for name in ("w.duckdb", "pairs.jsonl", "good.jsonl")]
    done = subprocess.run([sys.executable, "-c", _FULL, *names], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "could not be written" in done.stdout
    with Workspace.open(tmp_path / "w.duckdb") as workspace:
        assert workspace.native().execute("SELECT external_id FROM item").fetchall() == [("g",)]
