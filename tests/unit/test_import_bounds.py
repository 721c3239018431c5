"""An import holds no more than a record may have, and leaves nothing behind when it is killed."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from store.processes import temporary_folder
from store.reading import records

MIB = 1 << 20
LONG = "x" * (2 * MIB)
GOOD = {"id": "p1", "query": "q", "code": "c"}


def as_lines(found):
    return "".join(json.dumps(each) + "\n" for each in found)


def as_array(found):
    return "[" + ",\n".join(json.dumps(each) for each in found) + "]"


def as_csv(found):
    return "id,query,code\n" + "".join(f'{each["id"]},{each["query"]},"{each["code"]}"\n' for each in found)


WAYS = {"lines.jsonl": as_lines, "array.json": as_array, "table.csv": as_csv}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("name", WAYS)
def test_a_record_that_is_too_long_is_refused_with_its_file_and_line(workbench, in_folder, name, packed):
    text = WAYS[name]([GOOD, GOOD | {"id": "p2", "code": LONG}, GOOD | {"id": "p3"}])
    name += ".gz" if packed else ""
    (in_folder / name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    told = workbench("import", "w.duckdb", name, "--largest-record", "1", "--json")
    assert told.code == 2, told.out
    message = told.json()["error"]["message"]
    assert f"{name}:{3 if 'csv' in name else 2}: " in message
    assert "longer than 1 MiB" in message or "larger than field limit" in message
    assert workbench("import", "w.duckdb", name, "--largest-record", "4", "--json").json()["items_added"] == 3


def test_a_packed_line_without_end_is_refused_while_it_is_unpacked(in_folder):
    """2 GB that would be held several times over: the process may have 1.5 GB of address space."""
    with gzip.open(in_folder / "bomb.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"id": "p1", "query": "q", "code": "')
        for _ in range(200):
            file.write(b"x" * (10 * MIB))
        file.write(b'"}\n')
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (80 << 20, 80 << 20)); "
    limited += "sys.argv = ['workbench', 'import', 'w.duckdb', 'bomb.jsonl.gz']; runpy.run_module('workbench', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", limited], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "bomb.jsonl.gz:1: the record is longer than 64 MiB" in " ".join(
        done.stderr.replace("│", " ").split()
    )


@pytest.mark.parametrize("array", [True, False])
def test_a_text_is_read_the_same_in_pieces_as_whole(monkeypatch, array):
    chance = random.Random(20261123)
    values = [
        {"a": 1, "b": 'line\n"quoted" \\ \u00e9'},
        {"n": [1.5, -2e10, True, None], "o": {"p": {}}},
        12345678,
        "text",
        {},
        {"big": int("9" * 50)},
    ]
    for _ in range(300):
        chosen = [
            json.dumps(chance.choice(values), indent=chance.choice([None, 2]))
            for _ in range(chance.randint(0, 5))
        ]
        text = ("," if array else "\n").join(chosen)
        text = f"[{text}]" if array else text
        if text and chance.random() < 0.5:  # cut, or something put in
            at = chance.randrange(len(text))
            text = (
                text[:at]
                if chance.random() < 0.5
                else text[:at] + chance.choice(["}", '"', ",", "x", "\n", "NaN"]) + text[at:]
            )
        if array and not text.startswith("["):
            continue
        told = []
        for piece in (1 << 20, 1, 3, 17):
            monkeypatch.setattr(records, "_PIECE", piece)
            source = records._Source(io.StringIO(text, newline=""), MIB)
            found = [
                (one.number, one.line, one.value, one.reason)
                for one in records._json_text(source, array=array)
            ]
            told.append(found)
        assert told[1:] == told[:1] * 3, text


def test_the_folder_of_a_killed_import_goes_with_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import os, signal, tempfile; from store.processes import temporary_folder\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "with temporary_folder('workbench-import-') as folder:\n"
        "    (folder / '0.plain').write_text('unpacked')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60, cwd=Path(__file__).parents[2])
    (left,) = os.listdir(tmp_path)
    assert left.startswith("workbench-import-")
    with temporary_folder("workbench-import-") as mine, temporary_folder("workbench-import-") as other:
        assert sorted(os.listdir(tmp_path)) == sorted([mine.name, other.name])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", WAYS)
def test_an_id_has_a_limit(workbench, in_folder, name):
    (in_folder / name).write_text(
        WAYS[name]([GOOD | {"id": "i" * 1000}, GOOD | {"id": "i" * 1001, "code": "d"}])
    )
    told = workbench("import", "w.duckdb", name, "--json")
    assert told.code == 2
    assert f"{name}:{3 if 'csv' in name else 2}: " in told.json()["error"]["message"]
    assert "has 1,001 characters, where an id has at most 1,000" in told.json()["error"]["message"]
    assert workbench("import", "w.duckdb", name, "--rejects", "r.jsonl", "--json").json()["items_added"] == 1


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("more", [1, 70_000, 900_000])
def test_a_record_a_little_too_long_is_refused(workbench, in_folder, name, more):
    (in_folder / name).write_text(WAYS[name]([GOOD, GOOD | {"id": "p2", "code": "c" * (MIB + more)}]))
    told = workbench("import", "w.duckdb", name, "--largest-record", "1", "--json")
    assert told.code == 2, told.out
    error = told.json()["error"]
    assert "1 MiB" in error["message"]
    assert "--largest-record" in error["message"] + error["hint"]


@pytest.mark.parametrize("field", ["model", "setting", "judge", "measure"])
def test_a_name_has_a_limit(workbench, in_folder, field):
    (in_folder / "questions.jsonl").write_text(
        json.dumps({"id": "r1", "question": "why?", "answer": "so"}) + "\n", encoding="utf-8"
    )
    assert workbench("import", "w.duckdb", "questions.jsonl").code == 0
    lines = []
    for length in (200, 201):
        score = {"judge": "j", "measure": "accuracy", "score": 7}
        answer = {"question_id": "r1", "model": f"m{length}", "answer": "so", "scores": [score]}
        (score if field in score else answer)[field] = "n" * length
        lines.append(json.dumps(answer) + "\n")
    (in_folder / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
    told = workbench("import", "w.duckdb", "answers.jsonl", "--json")
    assert told.code == 2
    assert "answers.jsonl:2: " in told.json()["error"]["message"]
    assert f"{field}' has 201 characters, where a name has at most 200" in told.json()["error"]["message"]
    taken = workbench("import", "w.duckdb", "answers.jsonl", "--rejects", "r.jsonl", "--json")
    assert taken.code in (0, 1)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("field", ["repository", "language", "similarity"])
def test_a_name_of_a_pair_has_a_limit(workbench, in_folder, name, field):
    def named(length, **fields):
        text = "n" * length
        if field != "similarity":
            return GOOD | {field: text} | fields
        return GOOD | ({f"similarity_{text}": 0.5} if name == "table.csv" else {field: {text: 0.5}}) | fields

    def written(record):
        if name == "table.csv":
            return ",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n"
        return WAYS[name]([record])

    (in_folder / name).write_text(written(named(200)))
    assert workbench("import", "w.duckdb", name).code == 0
    (in_folder / name).write_text(written(named(201, id="p2")))
    told = workbench("import", "w.duckdb", name, "--json")
    assert told.code == 2, told.out
    assert "has 201 characters, where a name has at most 200" in told.json()["error"]["message"]


def test_a_long_column_name_and_a_long_field_are_read(workbench, in_folder):
    """The csv module's own limit is 128 KiB; a record's is the one that counts."""
    (in_folder / "t.csv").write_text(f"id,query,code,{'n' * 150_000}\np1,q,{'c' * 150_000},1\n")
    told = subprocess.run(
        [sys.executable, "-m", "workbench", "import", "w.duckdb", "t.csv", "--json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["items_added"] == 1


def test_one_broken_line_is_a_line(workbench, in_folder):
    (in_folder / "one.jsonl").write_text('{"id": "p1", "query": ')
    told = workbench("import", "w.duckdb", "one.jsonl", "--json").json()["error"]
    assert "one.jsonl:1: malformed JSON" in told["message"]
    assert "nothing after it" not in told["message"]
