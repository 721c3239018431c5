"""Properties of the import: text in is text out, and what is no record is refused."""

import csv
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.errors import RecordsRefused
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace

# A record holds a dozen odd texts: few examples are many cases.
CALM = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

ODD = ["\x00", "\r\n", "\r", "\n", '"', "'", ",", "=1+1", "\\", "\\u0000", "\x1b[31m", "\u2028", "\ufeff"]
ODD += ["\u202e", "\u00e9\U0001f600", "NaN", "null", "{", "}", "[1]", "\t", " "]
PIECE = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TEXT = st.lists(PIECE, min_size=1, max_size=5).map("".join).filter(bool)
NUMBER = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["note", "a/b", "x~y", "it's", 'say "hi"', "tokens", "$x", "", "\u00dcn"])
PAIR = st.fixed_dictionaries(
    {"query": TEXT, "code": TEXT},
    optional={
        "name": TEXT,
        "language": TEXT,
        "repository": TEXT,
        "rank": st.integers(-(2**63), 2**63 - 1),
        "label": st.sampled_from([0, 1, 1.0, None]),
        "similarity": st.dictionaries(TEXT, st.floats(-1, 1), min_size=1, max_size=3) | st.floats(-1, 1),
    },
)
PAIRS = st.lists(PAIR, min_size=1, max_size=6).map(
    lambda pairs: [{"id": f"p{number}", **pair} for number, pair in enumerate(pairs)]
)


@contextmanager
def temporary_folder(parent):
    """A folder for one example."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


@pytest.fixture
def imported(tmp_path):
    """A function from a file to what is stored of it: the pairs, in order, as they were in the file."""

    def run(path, **options):
        with (
            temporary_folder(tmp_path) as folder,
            Workspace.create(folder / "w") as workspace,
        ):
            import_files(workspace, [path], label_as="rater", **options)
            cursor = workspace.native()
            rows = cursor.execute(
                """
                SELECT i.external_id, q.text, c.text, c.name, c.language, c.repository, p.rank, j.value,
                    i.extra,
                    (SELECT map_from_entries(list((model, value))) FROM similarity s
                        WHERE s.item_id = i.id)
                FROM item i JOIN pair p ON p.item_id = i.id JOIN query q ON q.id = p.query_id
                JOIN code c ON c.id = p.code_id LEFT JOIN judgment j ON j.item_id = i.id ORDER BY i.id
                """
            ).fetchall()
            cursor.close()
            return rows

    return run


def check(rows, pairs):
    assert [row[:3] for row in rows] == [(pair["id"], pair["query"], pair["code"]) for pair in pairs]
    for row, pair in zip(rows, pairs, strict=True):
        assert row[3] == pair["name"] if pair.get("name") else True
        assert row[4] == pair.get("language", "python")
        assert row[5] == pair.get("repository", "")
        assert row[6] == pair.get("rank")
        assert row[7] == pair.get("label")
        scores = pair.get("similarity")
        assert row[9] == ({"similarity": scores} if isinstance(scores, float) else scores)


@CALM
@given(
    pairs=PAIRS,
    extras=st.lists(st.dictionaries(NAMES, JSON_VALUE, max_size=3), min_size=6, max_size=6),
    escaped=st.booleans(),
)
def test_json_lines_arrive_exactly(imported, tmp_path, pairs, extras, escaped):
    path = tmp_path / "p.jsonl"
    records = [{**extra, **pair} for extra, pair in zip(extras, pairs, strict=False)]
    text = "".join(json.dumps(record, ensure_ascii=escaped) + "\n" for record in records)
    path.write_bytes(text.encode())
    rows = imported(path, format="jsonl")
    check(rows, pairs)
    kept = [
        {name: value for name, value in extra.items() if name not in pair}
        for extra, pair in zip(extras, pairs, strict=False)
    ]
    assert [json.loads(row[8]) for row in rows] == kept


@CALM
@given(pairs=PAIRS, indent=st.sampled_from([None, 1]))
def test_arrays_and_objects_over_several_lines_arrive_exactly(imported, tmp_path, pairs, indent):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(pairs, indent=indent), encoding="utf-8")
    check(imported(path, format="jsonl"), pairs)
    path.write_text("".join(json.dumps(pair, indent=indent) for pair in pairs), encoding="utf-8")
    check(imported(path, format="jsonl"), pairs)


@CALM
@given(pairs=PAIRS)
def test_cosqa_arrives_exactly(imported, tmp_path, pairs):
    path = tmp_path / "c.json"
    records = [
        {"idx": p["id"], "doc": p["query"], "code": p["code"], "label": p.get("label"), "retrieval_idx": 3}
        for p in pairs
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    rows = imported(path)
    check(
        rows, [{key: pair[key] for key in ("id", "query", "code", "label") if key in pair} for pair in pairs]
    )
    assert {row[8] for row in rows} == {'{"retrieval_idx":3}'}


@CALM
@given(pairs=PAIRS)
def test_csv_arrives_exactly(imported, tmp_path, pairs):
    path = tmp_path / "p.csv"
    names = ["id", "query", "code", "name", "language", "repository", "rank", "label", "similarity"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for pair in pairs:
            scores = pair.get("similarity")
            row = {**pair, "similarity": json.dumps(scores) if isinstance(scores, dict) else scores}
            writer.writerow(["" if row.get(name) is None else row[name] for name in names])
    check(imported(path, format="csv"), pairs)


@CALM
@given(pairs=PAIRS, as_bytes=st.booleans())
def test_parquet_arrives_exactly(imported, tmp_path, pairs, as_bytes):
    path = tmp_path / "p.parquet"
    scores = [pair.get("similarity") for pair in pairs]
    columns = {
        "id": [pair["id"] for pair in pairs],
        "query": [pair["query"].encode() if as_bytes else pair["query"] for pair in pairs],
        "code": [pair["code"] for pair in pairs],
        "language": [pair.get("language") for pair in pairs],
        "name": [pair.get("name") for pair in pairs],
        "repository": [pair.get("repository") for pair in pairs],
        "rank": pyarrow.array([pair.get("rank") for pair in pairs], pyarrow.int64()),
        "label": pyarrow.array([pair.get("label") for pair in pairs], pyarrow.float64()),
        "similarity": [json.dumps(score) if isinstance(score, dict) else None for score in scores],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    check(
        imported(path),
        [
            {**pair, "similarity": score if isinstance(score, dict) else None}
            for pair, score in zip(pairs, scores, strict=True)
        ],
    )


REPEATED = (
    '{"id": "b", "query": "q", "code": "c", "query": "r"}',
    '{"id": "b", "query": "q", "code": "c", "note": {"x": 1, "x": 2}}',
    '{"id": "b", "query": "q", "code": "c", "note": [{"deep": {"x": {}, "y": 1, "x": {}}}]}',
    '{"id": "b", "query": "q", "code": "c", "similarity": {"m": 0.5, "m": 0.5}}',
)


@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize("shape", ["lines", "array", "objects"])
def test_a_field_that_occurs_twice_is_refused_at_any_depth_and_written_aside_whole(tmp_path, repeated, shape):
    sound = json.dumps({"id": "a", "query": "q", "code": "c"})
    after = json.dumps({"id": "z", "query": "q", "code": "last"})
    records = [sound, repeated, after]
    path = tmp_path / "d.json"
    path.write_text(
        {
            "lines": "".join(f"{one}\n" for one in records),
            "array": "[" + ",\n".join(records) + "]",
            "objects": "".join(f"{{\n{one[1:]}\n" for one in records),
        }[shape]
    )
    with Workspace.create(tmp_path / "w") as workspace:
        with pytest.raises(RecordsRefused) as refused:
            import_files(workspace, [path], format="jsonl")
        line = {"lines": 2, "array": 2, "objects": 3}[shape]
        reason = "record 2: a field occurs twice" if shape == "array" else "a field occurs twice"
        assert [*refused.value.problems] == [(str(path), line, reason)]
        report = import_files(workspace, [path], format="jsonl", rejects=tmp_path / "r.jsonl")
    assert (report.items_added, report.rejected) == (2, 1)
    (rejected,) = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert rejected["record"].replace("\n", "") == repeated


@pytest.mark.parametrize("nested", ['{"x": null,}', "[1, ]", '[{"x": 1,\t}]', '{"x": [1 , ], "y": ", }"}'])
def test_a_comma_after_the_last_of_something_nested_is_refused(tmp_path, nested):
    path = tmp_path / "c.jsonl"
    sound = {"id": "a", "query": "q", "code": "f([1, ], {2,})", "note": {"x": ",}"}}
    path.write_text(f'{json.dumps(sound)}\n{{"id": "b", "query": "q", "code": "c", "note": {nested}}}\n')
    with Workspace.create(tmp_path / "w") as workspace, pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path])
    assert [line for _, line, _ in refused.value.problems] == [2]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("rank", "1.5", "'rank' is text ('1.5') where a whole number is expected"),
        ("rank", "9" * 20, "a whole number is expected"),
        ("label", "1e400", "'label' is '1e400', which is none of match, no match"),
        ("similarity", '{"m": "x"}', "'similarity of m' is text ('x') where a number is expected"),
        ("similarity", "{", "where a JSON object is expected"),
        ("similarity_m", "much", "'similarity of m' is text ('much') where a number is expected"),
        ("extra", "[]", "'extra' is a list ([]) where a JSON object is expected"),
    ],
)
def test_a_value_of_csv_that_is_no_text_of_its_type_is_refused(tmp_path, field, value, reason):
    path = tmp_path / "v.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["id", "query", "code", field], ["a", "q", "c", ""], ["b", "q", "d", value]]
        )
    with Workspace.create(tmp_path / "w") as workspace, pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path], format="csv")
    ((_, line, found),) = refused.value.problems
    assert line == 3
    assert reason in found


def test_numbers_are_read_from_csv_as_they_are_written(tmp_path, imported):
    path = tmp_path / "o.csv"
    header = ["id", "query", "code", "rank", "label", "similarity_a", "similarity_b", "note", "extra"]
    rows = [
        ["a", 'q"', "def f():\r\n    x", 1, 1, 0.5, -1e-3, "é\n", '{"n": [1, null]}'],
        ["b", "q", "c,", "", "", "", 0.25, "", ""],
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    first, second = imported(path, format="csv")
    assert first[:3] == ("a", 'q"', "def f():\r\n    x")
    assert (first[6], first[7], first[9]) == (1, 1, {"a": 0.5, "b": -1e-3})
    assert json.loads(first[8]) == {"n": [1, None], "note": "é\n"}
    assert (second[6], second[7], second[9], json.loads(second[8])) == (None, None, {"b": 0.25}, {"note": ""})


def test_a_snippet_of_five_megabytes_arrives_exactly(imported, tmp_path):
    code = "def f():\n    return [" + "'\\x00é', " * 600_000 + "]\n"
    for name, text in {
        "l.jsonl": json.dumps({"id": "a", "query": "q", "code": code}),
        "a.json": json.dumps([{"id": "a", "query": "q", "code": code}]),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        rows = imported(tmp_path / name)
        assert rows[0][2] == code
    with (tmp_path / "c.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "query", "code"], ["a", "q", code]])
    assert imported(tmp_path / "c.csv")[0][2] == code
