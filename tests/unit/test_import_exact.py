"""Properties of the import: text in is text out; the fast reader takes nothing that the exact one refuses."""

import csv
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.bulk import fast, fast_csv
from store.bulk.columns import stage_columns
from store.bulk.files import prepare
from store.bulk.inputs import tell
from store.bulk.staging import Stages
from store.errors import ImportFailed
from store.events import silent
from store.importing import import_files
from store.workspace import Workspace

# A record holds a dozen odd texts, and each run draws others: few examples are many cases.
CALM = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MANY = settings(CALM, max_examples=30)

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
def own_folder(parent):
    """A folder for one example."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


@pytest.fixture
def imported(tmp_path):
    """A function from a file to what is stored of it: the pairs, in order, as they were in the file."""

    def run(path, **options):
        with (
            own_folder(tmp_path) as folder,
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


def read_both_ways(path, folder, form="jsonl"):
    """Return what the fast reader (None when it declines) and the exact one stage of a file."""
    given_ = tell(prepare(0, path, folder, silent), form, {})
    columns = f"{', '.join(stage_columns()['pair'])}, extra"
    with duckdb.connect() as cursor:
        cursor.execute("SET TimeZone = 'UTC'")
        if given_.sample.container == "CSV":
            quick = fast_csv.read_into(cursor, "quick", given_, stage_columns()["pair"], silent)
        else:
            quick = fast.read_into(cursor, "quick", given_, stage_columns()["pair"])
        rows = None
        if quick is not None:
            rows = cursor.execute(f"SELECT {columns} FROM quick ORDER BY rowid").fetchall()
        staging = Stages(cursor)._read_exactly(given_, "exact", silent)
        exact = cursor.execute(f"SELECT {columns} FROM exact ORDER BY number").fetchall()
        return rows, exact, staging.problems


def unfolded(rows):
    return [(*row[:-1], json.loads(row[-1])) for row in rows]


@MANY
@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from(["id", "query", "code", "rank", "label", "similarity", "extra", "name", "note"]),
            JSON_VALUE | TEXT,
        )
        | st.fixed_dictionaries({"id": TEXT, "query": TEXT, "code": TEXT}, optional={"note": JSON_VALUE}),
        min_size=1,
        max_size=4,
    )
)
def test_what_the_fast_reader_takes_the_exact_one_takes_as_the_same(tmp_path, records):
    with own_folder(tmp_path) as folder:
        path = folder / "r.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        quick, exact, problems = read_both_ways(path, folder)
    if quick is not None:
        assert problems == ()
        assert unfolded(quick) == unfolded(exact)


SOUND = json.dumps(
    [
        {"id": "a", "query": "q\\u00e9", "code": "c", "e": [1, {"x": None}]},
        {"id": "b", "query": "\\\\", "code": "d"},
    ]
)


@MANY
@given(
    place=st.integers(0, len(SOUND) - 1),
    change=st.sampled_from(
        [b"", b",", b"}", b"]", b'"', b"\\", b"\x00", b"\xff", b"\n", b" ", b"NaN", b"0", b"{", b"'", b"/**/"]
    ),
    drop=st.integers(0, 3),
    shape=st.sampled_from(["array", "lines"]),
)
def test_a_damaged_file_is_never_taken_by_the_fast_reader_alone(tmp_path, place, change, drop, shape):
    whole = (
        SOUND.encode()
        if shape == "array"
        else b"".join(json.dumps(r).encode() + b"\n" for r in json.loads(SOUND))
    )
    damaged = whole[:place] + change + whole[place + drop :]
    with own_folder(tmp_path) as folder:
        path = folder / "d.json"
        path.write_bytes(damaged)
        try:
            quick, exact, problems = read_both_ways(path, folder)
        except ImportFailed:
            return
    if quick is not None:
        assert problems == ()
        assert unfolded(quick) == unfolded(exact)


@pytest.mark.parametrize("nested", ['{"x": null,}', "[1, ]", '[{"x": 1,\t}]', '{"x": [1 , ], "y": ", }"}'])
def test_a_comma_after_the_last_of_something_nested_is_left_to_the_exact_reader(tmp_path, nested):
    sound = {"id": "a", "query": "q", "code": "f([1, ], {2,})", "note": {"x": ",}"}}
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(sound) + "\n", encoding="utf-8")
    assert read_both_ways(path, tmp_path)[0] is not None
    with path.open("a", encoding="utf-8") as file:
        file.write(f'{{"id": "b", "query": "q", "code": "c", "note": {nested}}}\n')
    quick, _, problems = read_both_ways(path, tmp_path)
    assert quick is None
    assert [problem.line for problem in problems] == [2]


def test_the_fast_reader_takes_ordinary_files(tmp_path):
    records = [
        {
            "id": "a",
            "query": "q",
            "code": "f([1], {2})",
            "rank": 1,
            "similarity": {"m": 0.5},
            "label": 1,
            "note": {"x": [1]},
        }
    ]
    path = tmp_path / "o.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    quick, exact, _ = read_both_ways(path, tmp_path)
    assert quick is not None
    assert unfolded(quick) == unfolded(exact)


CSV_NAMES = ["rank", "label", "similarity", "similarity_m", "similarity_n", "extra", "name", "note", "x y"]
CSV_TEXT = TEXT | st.sampled_from(["", "0", "1", "1.0", " 1", "1_0", "inf", "1e400", "-0", "007", "9" * 20])
CSV_TEXT |= st.sampled_from(["{}", '{"a": 1}', '{"m": 0.5, "n": -1e-3}', '{"m": "0.5"}', '{"m": 01}', "{"])


@MANY
@given(
    names=st.lists(st.sampled_from(CSV_NAMES), max_size=4),
    rows=st.lists(st.lists(CSV_TEXT, min_size=7, max_size=7), min_size=1, max_size=4),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    damage=st.none()
    | st.tuples(
        st.integers(16, 120), st.sampled_from(['"', ",", "\n", ' "', "\x00", "\r"]), st.integers(0, 2)
    ),
)
def test_what_the_fast_reader_takes_of_csv_the_exact_one_takes_as_the_same(
    tmp_path, names, rows, ends, quoting, damage
):
    header = ["id", "query", "code", *names]
    with own_folder(tmp_path) as folder:
        path = folder / "r.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator=ends, quoting=quoting)
            writer.writerows([header, *(row[: len(header)] for row in rows)])
        if damage is not None:
            place, change, drop = damage
            text = path.read_bytes()
            path.write_bytes(text[:place] + change.encode() + text[place + drop :])
        quick, exact, problems = read_both_ways(path, folder, "csv")
    if quick is not None:
        assert problems == ()
        assert quick == exact


def test_the_fast_reader_takes_ordinary_csv(tmp_path):
    path = tmp_path / "o.csv"
    header = ["id", "query", "code", "rank", "label", "similarity_a", "similarity_b", "note"]
    rows = [["a", 'q"', "def f():\r\n    x", 1, 1, 0.5, -1e-3, "é\n"], ["b", "q", "c,", "", "", "", 0.25, ""]]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    quick, exact, _ = read_both_ways(path, tmp_path, "csv")
    assert quick is not None
    assert quick == exact
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [["a", "q", "c", '{"m": 0.5}', "{}"], ["b", "q", "c", "0.25", ""]]
        csv.writer(file).writerows([["id", "query", "code", "similarity", "extra"], *rows])
    quick, exact, _ = read_both_ways(path, tmp_path, "csv")
    assert quick is not None
    assert quick == exact


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
