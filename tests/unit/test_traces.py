"""export --format traces, and their import into another workspace."""

import json
from typing import get_args

import pytest
from made_once import built_once
from small_workspace import GOOD, LACKING, TEST, WRONG, clear, script_file, through_test

from agents.sandbox.protocol import ExitReason, Outcome
from store.tables.runs import EXIT_REASONS, TEST_OUTCOMES

NO_EXECUTION = "0190a6f0-0000-7000-8000-000000000001"
CUT_OF_TEXTS = '{"at": "0", "bytes": 1, "lines": 1}'


@built_once
def study(workbench, in_folder):
    """Three pairs through a run with executions, and a fourth on which it failed."""
    codes = {"good": GOOD, "wrong": WRONG, "clear": GOOD + "# again\n", "lost": LACKING}
    pairs = [
        {"id": name, "query": "double a number", "code": code, "similarity": {"m": 0.5}, "origin": "made"}
        for name, code in codes.items()
    ]
    (in_folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    replies = [*through_test("good", 1), *through_test("wrong", 0), clear("clear")]
    script_file(in_folder, replies)
    run = ("annotate", "study.duckdb", "--model", "scripted:replies.jsonl", "--no-repairs")
    assert workbench(*run, "--sandbox", "process").code in (0, 1)
    return in_folder / "study.duckdb"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_traces_tell_all_that_the_run_did(workbench, study, in_folder):
    done = workbench("export", study, "run.jsonl", "--format", "traces", "--json").json()
    assert (done["records"], done["rater"].partition("/")[0]) == (4, "ps-tpg-te-bf-tc-fa")
    by_item = {trace["item"]: trace for trace in lines(in_folder / "run.jsonl")}
    good = by_item["good"]
    assert (good["label"], good["word"], good["path"]) == (1.0, "match", "tested")
    assert (good["texts"]["query"], good["texts"]["code"]) == ("double a number", GOOD)
    assert good["texts"]["similarity"] == {"m": 0.5}
    assert good["texts"]["extra"] == {"origin": "made"}
    assert good["run"]["configuration"]["prompts"].keys() >= {"screener", "test_writer", "arbiter"}
    roles = [step["role"] for step in good["steps"]]
    assert roles == ["screener", "test_writer", "executor", "arbiter"]
    screener, writer, executor, arbiter = good["steps"]
    assert screener["reply"]["assessment"] == "unclear"
    assert json.loads(screener["stored_reply"]["text"]) == screener["reply"]
    assert screener["tokens_in"] == 10
    assert writer["reply"]["interpretation"] == "twice the number"
    assert TEST in executor["execution"]["program"]
    outcomes = [test["outcome"] for test in executor["execution"]["tests"]]
    assert outcomes == ["passed"] * 3
    assert arbiter["reply"]["label"] == 1
    assert good["verdicts"][0]["execution_id"] == executor["execution"]["id"]
    failed = [test["message"] for test in by_item["wrong"]["steps"][2]["execution"]["tests"]]
    assert any("not doubled" in message for message in failed)
    assert (by_item["lost"]["label"], by_item["lost"]["verdicts"]) == (None, [])
    assert by_item["lost"]["steps"][-1]["outcome"] == "failed"


def test_a_label_of_which_no_test_came_to_a_result_is_called_untested(workbench, in_folder):
    pair = {"id": "lacks", "query": "double a number", "code": LACKING}
    (in_folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    workbench("import", "study.duckdb", "pairs.jsonl")
    script_file(in_folder, through_test("lacks", 0))
    run = ("annotate", "study.duckdb", "--model", "scripted:replies.jsonl", "--no-repairs")
    assert workbench(*run, "--agents", "ps-tpg-te-fa", "--sandbox", "process").code == 0
    workbench("export", "study.duckdb", "run.jsonl", "--format", "traces")
    (trace,) = lines(in_folder / "run.jsonl")
    (item,) = workbench("items", "study.duckdb", "--json").json()["items"]
    (report,) = workbench("report", "study.duckdb", "pipeline", "--json").json()["runs"]
    assert item["execution"]["passed"] == 0
    assert (trace["path"], item["agent_path"], report["paths"]) == ("untested", "untested", {"untested": 1})


def test_an_import_of_traces_brings_the_run_and_exports_equal_lines(workbench, study, in_folder):
    workbench("export", study, "run.jsonl", "--format", "traces")
    done = workbench("import", "other.duckdb", "run.jsonl", "--json").json()
    (file,) = done["files"]
    assert (file["format"], file["items_added"]) == ("traces", 4)
    (name,) = file["verdicts_added"]
    assert file["verdicts_added"] == {name: 3}
    workbench("export", "other.duckdb", "again.jsonl", "--format", "traces", "--rater", name)
    assert (in_folder / "again.jsonl").read_text() == (in_folder / "run.jsonl").read_text()
    for report in ("pipeline", "progress"):
        here, there = (workbench("report", path, report, "--json").json() for path in (study, "other.duckdb"))
        assert there.get("runs") == here.get("runs")
    shown = {
        item["item"]: (item["agent_label"], item["execution"] and item["execution"]["passed"])
        for item in workbench("items", "other.duckdb", "--json").json()["items"]
    }
    assert shown == {"good": (1.0, 3), "wrong": (0.0, 1), "clear": (1.0, None), "lost": (None, None)}
    again = workbench("import", "other.duckdb", "run.jsonl")
    assert "3 verdicts already there" in again.out
    assert "Nothing of it is new" in workbench("import", study, "run.jsonl").out


def test_the_run_goes_on_from_imported_traces(workbench, study, in_folder):
    workbench("export", study, "run.jsonl", "--format", "traces")
    workbench("import", "other.duckdb", "run.jsonl")
    run = ("annotate", "other.duckdb", "--model", "scripted:replies.jsonl", "--no-repairs", "--json")
    done = workbench(*run, "--sandbox", "process").json()
    # Only the item without a verdict is tried again, and nothing is asked twice.
    assert (done["labelled"], done["job"]["done"], done["job"]["failed"]) == (3, 0, 1)


def change(trace, path, value):
    *places, last = path
    for place in places:
        trace = trace[place]
    if value is None:
        del trace[last]
    else:
        trace[last] = value


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["kind"], "poem", "unknown kind 'poem'"),
        (["texts", "query"], None, "missing field 'texts.query'"),
        (["run", "configuration"], None, "no object with a configuration"),
        (["run", "id"], "00000000-0000-4000-8000-000000000000", "no UUID of version 7"),
        (["run", "state"], "lost", "none of running"),
        (["steps", 0, "role"], None, "missing field 'step.role'"),
        (["steps", 0, "colour"], "red", "fields that this version does not know: colour"),
        (["steps", 2, "reply", "passed"], "many", "is no whole number"),
        (["steps", 2, "execution", "stdout_cut"], "{}", "does not say what is missing"),
        (["steps", 2, "execution", "tests"], 7, "'tests' is no list"),
        (["verdicts", 0, "value"], 0.5, "off the scale"),
        (["verdicts", 0, "question"], "pair.colour", "unknown question 'pair.colour'"),
        (["texts", "code"], "def other(): pass", "duplicate id"),
        # What reports and screens could not read.
        (["steps", 0, "reply"], "no JSON", "'step.reply' is no JSON object"),
        (["steps", 0, "tokens_in"], -5, "'step.tokens_in' is -5"),
        (["steps", 0, "tokens_in"], 1 << 62, "'step.tokens_in' is 4611686018427387904"),
        (["steps", 0, "seconds"], 1e308, "'step.seconds' is 1e+308"),
        (["steps", 0, "money"], -0.5, "'step.money' is -0.5"),
        (["steps", 0, "outcome"], "perhaps", "'step.outcome' is 'perhaps', which is none of ok, failed"),
        (["steps", 2, "reply", "passed"], True, "is no whole number"),
        (["steps", 2, "execution", "exit_reason"], "whim", "none of ok, assertion, error"),
        (["steps", 2, "execution", "tests", 0, "outcome"], "perhaps", "none of passed, failed, error"),
        (["steps", 2, "execution", "stdout_cut"], CUT_OF_TEXTS, "does not say what is missing"),
        (["verdicts", 0, "execution_id"], NO_EXECUTION, "none of the trace's executions"),
        (["run", "kind"], "completion", "'run.kind' is 'completion'"),
        (["run", "name"], "a\x1b[31m", "holds control characters"),
        (["run", "started_at"], "0001-01-01T00:00:00+14:00", "a time in the years 1000 to 9998"),
    ],
)
def test_what_is_no_trace_is_refused_whole(workbench, traced, in_folder, path, value, says):
    study, text = traced
    first, *others = [json.loads(line) for line in text.splitlines()]
    change(first, path, value)
    written = "".join(json.dumps(trace) + "\n" for trace in [first, *others])
    (in_folder / "bad.jsonl").write_text(written)
    target = study if says == "duplicate id" else "fresh.duckdb"
    done = workbench("import", target, "bad.jsonl", "--json")
    assert done.code == 2
    assert says in done.json()["error"]["message"]
    assert not (in_folder / "fresh.duckdb").exists()


@pytest.fixture
def traced(workbench, study, in_folder):
    workbench("export", study, "run.jsonl", "--format", "traces")
    return study, (in_folder / "run.jsonl").read_text()


def test_a_run_that_worked_on_the_item_here_too_is_merged_instead(workbench, study, in_folder):
    workbench("export", study, "run.jsonl", "--format", "traces")
    workbench("import", "other.duckdb", "pairs.jsonl")
    run = ("annotate", "other.duckdb", "--model", "scripted:replies.jsonl", "--no-repairs", "--limit", "1")
    workbench(*run, "--sandbox", "process")
    done = workbench("import", "other.duckdb", "run.jsonl", "--json")
    assert "workbench merge" in done.json()["error"]["message"]


def test_traces_need_a_run_and_tell_a_blind_review_what_they_hold(workbench, study, in_folder, monkeypatch):
    workbench("import", "bare.duckdb", "pairs.jsonl")
    none = workbench("export", "bare.duckdb", "run.jsonl", "--format", "traces", "--json")
    assert "No agents have worked here yet" in none.json()["error"]["message"]
    unknown = workbench("export", study, "run.jsonl", "--format", "traces", "--rater", "dana", "--json")
    assert "No run is called 'dana'" in unknown.json()["error"]["message"]
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    done = workbench("export", study, "run.jsonl", "--format", "traces", "--json").json()
    assert done["reveals"].startswith("the labels of ps-tpg-te-bf-tc-fa/")


def test_a_name_that_a_person_has_is_not_given_to_a_run(workbench, traced, in_folder):
    _, text = traced
    name = json.loads(text.splitlines()[0])["run"]["name"]
    workbench("import", "other.duckdb", "pairs.jsonl")
    workbench("judge", "other.duckdb", "good", "1", "--rater", name)
    done = workbench("import", "other.duckdb", "run.jsonl", "--json")
    assert done.json()["error"]["title"] == "Name taken"


def write_traces(path, traces):
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces))


def test_an_execution_belongs_to_one_step_and_gets_no_further_tests(workbench, traced, in_folder):
    study, text = traced
    traces = [json.loads(line) for line in text.splitlines()]
    first = traces[0]["steps"][2]["execution"]
    traces[1]["steps"][2]["execution"]["id"] = traces[1]["verdicts"][0]["execution_id"] = first["id"]
    write_traces(in_folder / "bad.jsonl", traces)
    done = workbench("import", "fresh.duckdb", "bad.jsonl", "--json")
    assert "belongs to another step, too" in done.json()["error"]["message"]
    traces = [json.loads(line) for line in text.splitlines()]
    tests = traces[0]["steps"][2]["execution"]["tests"]
    tests.append({**tests[0], "name": "test_more"})
    write_traces(in_folder / "more.jsonl", traces)
    assert "Nothing of it is new" in workbench("import", study, "more.jsonl").out
    workbench("export", study, "again.jsonl", "--format", "traces")
    assert (in_folder / "again.jsonl").read_text() == text


def test_two_workspaces_runs_of_one_configuration_are_one_run(workbench, traced, in_folder):
    traces = [json.loads(line) for line in traced[1].splitlines()]
    for trace in traces[2:]:
        trace["run"] |= {"id": trace["run"]["id"][:-4] + "ffff", "started_at": "2026-01-01T00:00:00+00:00"}
    write_traces(in_folder / "here.jsonl", traces[:2])
    write_traces(in_folder / "there.jsonl", traces[2:])
    assert workbench("import", "both.duckdb", "here.jsonl", "there.jsonl").code == 0
    (run,) = workbench("report", "both.duckdb", "pipeline", "--json").json()["runs"]
    assert (run["pairs"], run["labelled"]) == (4, 3)


def test_the_words_of_a_trace_are_those_of_the_sandbox():
    assert get_args(ExitReason) == EXIT_REASONS
    assert get_args(Outcome) == TEST_OUTCOMES
