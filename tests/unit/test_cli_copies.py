"""copy and merge on the command line: what they print, for people and for programs, and how they end."""

import json

import pytest


@pytest.fixture
def study(workbench, in_folder):
    pairs = [{"id": f"q{number}", "query": "q", "code": f"code {number}"} for number in range(3)]
    (in_folder / "p.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    assert workbench("import", "w.duckdb", "p.jsonl").code == 0
    lines = [
        {
            "role": "screener",
            "subject": f"q{n}",
            "reply": {"assessment": "clear_match", "justification": "so"},
        }
        for n in range(3)
    ]
    (in_folder / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return in_folder / "w.duckdb"


def test_agents_work_in_a_copy_and_what_they_did_comes_back(workbench, study):
    facts = workbench("copy", study, "c.duckdb", "--json").json()
    assert (facts["copy"], facts["bytes"]) == ("c.duckdb", (study.parent / "c.duckdb").stat().st_size)
    annotate = ("annotate", "c.duckdb", "--model", "scripted:r.jsonl", "--no-repairs")
    assert workbench(*annotate).code == 0
    workbench("judge", "c.duckdb", "q1", "0", "--rater", "eli")
    workbench("judge", study, "q0", "1", "--rater", "dana")

    dry = workbench("merge", study, "c.duckdb", "--dry-run")
    assert "3 steps and 3 verdicts would be added" in dry.out
    assert "nothing was merged" in dry.out
    assert workbench("report", study, "pipeline", "--json").json()["runs"] == []
    done = workbench("merge", study, "c.duckdb", "--json").json()
    assert done["added"] == {
        "run": 1,
        "step": 3,
        "execution": 0,
        "test_outcome": 0,
        "verdict": 3,
        "reply": 3,
        "response": 0,
        "score": 0,
    }
    assert (done["judgments_left"], done["runs"][0]["fresh"]) == (1, True)
    again = workbench("merge", study, "c.duckdb").out
    assert "Nothing of what agents did in c.duckdb is new" in again

    # What it says of the judgments that it left is what brings them.
    commands = [line.split()[1:] for line in again.splitlines() if line.startswith("  workbench")]
    assert [command[0] for command in commands] == ["export", "import"]
    for command in commands:
        assert workbench(*command).code == 0
    labels = {
        (item["item"], item["agent_label"], rater): item["label"]
        for rater in ("dana", "eli")
        for item in workbench("items", study, "--rater", rater, "--json").json()["items"]
    }
    assert {key: label for key, label in labels.items() if label is not None} == {
        ("q0", 1.0, "dana"): 1.0,
        ("q1", 1.0, "eli"): 0.0,
    }
    assert "1 judgment" not in workbench("merge", study, "c.duckdb").out


def test_what_cannot_be_merged_or_copied_ends_with_code_2(workbench, study, hold):
    for arguments in (("merge", study, study), ("merge", study, "none.duckdb"), ("copy", study, study)):
        done = workbench(*arguments)
        assert (done.code, done.says("Nothing was") or done.says("no file")) == (2, True)
        assert workbench(*arguments, "--json").json()["error"]["hint"]
    with hold(study) as process:
        done = workbench("copy", study, "c.duckdb", "--json")
    assert (done.code, f"process {process.pid}" in done.json()["error"]["message"]) == (2, True)
