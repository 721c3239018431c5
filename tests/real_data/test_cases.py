"""Small inputs of other tools and careless programs that once gave a wrong value, each with what is right.

What labels in words (21) give is no part of this file yet.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from loopback_models import Body, LoopbackModels
from textual import events

from agents.llm.openai import create
from agents.llm.protocol import Message, ModelRequest
from agents.llm.structured import parse_reply
from agents.pipelines.pair_annotation.reply_models import ArbiterReply
from screens.input_guard.terminal import InputDecoder
from screens.widgets.line_input import harmless_line
from store.workspace.duckdb import Workspace

A, B = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))
"""The two annotators of case 01."""

UNKNOWN = "nobody: an annotator of this file"


@pytest.mark.parametrize(
    ("case", "files", "expected"),
    [
        ("01", ["nested.json"], {("a", A, 1), ("a", B, 0), ("b", A, 1), ("b", B, 0), ("a", "m1", 1)}),
        ("01", ["flat.jsonl"], {("a", A, 1), ("a", B, 0), ("a", "m1", 1)}),
        (
            "06",
            ["binary.jsonl"],
            {("1", UNKNOWN, 1), ("2", UNKNOWN, 0), ("3", UNKNOWN, 0), ("4", UNKNOWN, 1)},
        ),
        ("07", ["offset.json"], {("1", "annotator 4", 0)}),
        ("09", ["none.json"], {("1", UNKNOWN, 1)}),
        ("09", ["null.json"], {("1", UNKNOWN, 1), ("1", "ben@lab.example", 1)}),
        ("09", ["username.json"], {("1", "ana@lab.example", 1), ("1", "ben@lab.example", 1)}),
        ("22", ["first.json", "second.json"], {("1", "ana@lab.example", 0)}),
    ],
    ids=["01-nested", "01-flat", "06", "07", "09-none", "09-null", "09-username", "22"],
)
def test_labels_of_other_tools(case, files, expected, shared_case, tmp_path, workbench):
    work, out = tmp_path / "w.duckdb", tmp_path / "labels.csv"
    for file in files:
        assert workbench("import", work, shared_case(case) / file).code == 0
    assert workbench("export", work, out, "--format", "labels").code == 0
    with out.open(newline="", encoding="utf-8") as opened:
        rows = [(row["item"], row["rater"], float(row["value"])) for row in csv.DictReader(opened)]
    unnamed = f"{Path(files[0]).stem} labels"
    found = [(item, UNKNOWN if rater == unnamed else rater, value) for item, rater, value in rows]
    assert sorted(found) == sorted(expected)
    if case == "22":
        # The earlier one stays in the record.
        assert workbench("export", work, tmp_path / "record.jsonl", "--format", "jsonl").code == 0
        record = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
        assert [row["value"] for row in record] == [1, 0]


def test_responses_of_which_nothing_says_that_they_are_drafts_are_counted(shared_case, tmp_path, workbench):
    done = workbench("import", tmp_path / "w.duckdb", shared_case("01") / "nested.json")
    assert "labels of responses without a status, which may be drafts or discarded: 4" in done.out


def test_a_preference_of_0_is_a_tie(shared_case, workbench):
    file = shared_case("02") / "zero.json"
    found = workbench("measure", "preference", file, "--bootstrap", 0, "--json").json()
    new = next(one for one in found["win_rate"]["candidates"] if one["candidate"] == "new")
    assert (new["wins"], new["losses"], new["ties"], new["rate"]) == (1, 2, 1, 0.375)
    assert list(found["notes"].values()) == [1]


@pytest.mark.parametrize(
    ("case", "file", "alpha"),
    [
        ("03", "index.csv", 8 / 15),
        ("03", "query.csv", 8 / 15),
        ("03", "unnamed.csv", 8 / 15),
        ("23", "none.csv", 8 / 15),
        ("23", "na.csv", 2 / 3),
    ],
    ids=["index", "query", "unnamed", "none", "na"],
)
def test_raters_and_classes_of_a_table(case, file, alpha, shared_case, workbench):
    found = workbench("measure", "agreement", shared_case(case) / file, "--bootstrap", 0, "--json").json()
    assert (found["raters"], found["units"], found["dropped_units"]) == (2, 4, 0)
    assert found["percent"] == pytest.approx(75)
    assert found["alpha"]["nominal"] == pytest.approx(alpha)


# By the name of each test: whether it passed, or why it has no result.
PASSED, FAILED, ERROR, NOT_RUN = "passed", "failed", "error", "not run"


@pytest.mark.parametrize(
    ("program", "reason", "executable", "expected"),
    [
        ("10/plain_t", "assertion", True, {"test": FAILED}),
        ("10/camel_t", "error", True, {"testCamel": FAILED, "check": NOT_RUN}),
        ("10/mixed_t", "assertion", True, {"test_first": PASSED, "testSecond": FAILED, "test": FAILED}),
        (
            "10/made_t",
            "error",
            True,
            {
                **{"test_a": FAILED, "test_b": FAILED, "test_c": PASSED},
                **{f"test_gen_{number}": NOT_RUN for number in range(3)},
            },
        ),
        ("12/t", "assertion", True, {"T.test_a": PASSED, "T.test_b": FAILED}),
        (
            "13/setup_t",
            "error",
            True,
            {
                **{"test_func": PASSED, "T.test_m": PASSED, "T.test_c": PASSED, "T.test_cleanup": ERROR},
                **{"TestP.test_p": PASSED, "TestP.test_q": PASSED},
            },
        ),
        ("13/fixture_t", "error", False, {"test_tmp": NOT_RUN}),
        ("15/t", "ok", True, {"test_one_letter": PASSED}),
    ],
    ids=lambda value: value.replace("/", "-") if isinstance(value, str) and "/" in value else None,
)
def test_programs(program, reason, executable, expected, shared_case, workbench):
    case, name = program.split("/")
    folder = shared_case(case)
    options = ("--candidate", folder / "c.py", "--sandbox", "bubblewrap", "--json")
    report = workbench("sandbox", "run", folder / f"{name}.py", *options).json()
    assert (report["exit_reason"], report["executable"]) == (reason, executable)
    found = {one["name"]: NOT_RUN if one["obstacle"] == "test" else one["outcome"] for one in report["tests"]}
    assert found == expected


@pytest.mark.parametrize("name", ["first.csv", "last.csv"])
def test_the_header_of_a_table_may_hold_a_line_break(name, shared_case, tmp_path, workbench):
    report = workbench("import", tmp_path / "w.duckdb", shared_case("16") / name, "--json").json()
    assert (report["files"][0]["format"], report["files"][0]["items_added"]) == ("csv", 1)


def test_an_error_in_an_array_of_one_line_names_the_record(shared_case, tmp_path, workbench):
    done = workbench("import", tmp_path / "w.duckdb", shared_case("17") / "minified.json")
    assert done.code == 2
    assert "record 701 (id 700)" in done.err


@pytest.mark.parametrize("name", ["think.txt", "only-end.txt", "trailing-comma.txt"])
def test_what_follows_the_thoughts_is_the_reply(name, shared_case):
    reply = parse_reply((shared_case("18") / name).read_text(encoding="utf-8"), ArbiterReply)
    assert isinstance(reply, ArbiterReply)
    assert reply.label == 1


async def test_an_overload_under_status_200_is_tried_again(shared_case, monkeypatch):
    monkeypatch.setattr("agents.llm.pacing.FIRST_WAIT_SECONDS", 0.001)
    overload = Body(json.loads((shared_case("19") / "body.json").read_text()))
    good = {"reason": "it does", "label": 1}
    with LoopbackModels(lambda seen, number: overload if number == 1 else good) as server:
        model = create("m", server.settings())
        try:
            request = ModelRequest("arbiter", "p1", (Message("user", "Does it match?"),), ArbiterReply)
            reply = await model.reply(request)
        finally:
            await model.close()
    assert (reply.value, reply.requests) == (ArbiterReply(**good), 2)


def test_a_paste_with_escapes_is_one_line_and_no_key(shared_case):
    pasted = (shared_case("26") / "coloured.txt").read_bytes().decode()
    (paste,) = InputDecoder().feed(f"\x1b[200~{pasted}\x1b[201~", 0.0)
    assert isinstance(paste, events.Paste)
    assert harmless_line(paste.text) == "log red 1"


def test_nan_in_a_field_without_meaning_is_null(shared_case, tmp_path, workbench):
    work = tmp_path / "w.duckdb"
    assert workbench("import", work, shared_case("27") / "nan.jsonl").code == 0
    with Workspace.open(work) as opened:
        (extra,) = opened.native().execute("SELECT extra FROM item").fetchone()
    assert json.loads(extra) == {"score": None}


def test_fields_are_mapped_by_the_names_that_people_know(shared_case, tmp_path, workbench):
    work, file = tmp_path / "w.duckdb", shared_case("28") / "swe.jsonl"
    mapped = ("--map", "question=problem_statement", "--map", "id=instance_id", "--map", "repository=repo")
    report = workbench("import", work, file, "--format", "questions", *mapped, "--json").json()
    assert report["files"][0]["items_added"] == 1
    done = workbench("import", work, file, "--map", "query=nosuch")
    assert done.code == 2
    assert "has no column for --map query=nosuch" in " ".join(done.err.replace("│", " ").split())
