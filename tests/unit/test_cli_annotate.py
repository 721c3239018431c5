"""annotate on the command line: models, what may be run where, stopping and going on."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from loopback_models import LoopbackModels, Status
from made_once import built_once

from agents.jobs.runner import JobRunner
from agents.pipelines.configurations import OURS
from workbench import signals

CODE = "def inc(x):\n    return x + 1\n"


def reply(role, subject, content, **more):
    return {"role": role, "subject": subject, "reply": content, **more}


def screened(subject, assessment, **more):
    return reply("screener", subject, {"assessment": assessment, "justification": "as written"}, **more)


def with_test(subject, program):
    return [
        screened(subject, "unclear"),
        reply("test_writer", subject, {"interpretation": "one reading", "test_program": program}),
        reply("arbiter", subject, {"label": 1, "reason": "the test says so"}),
    ]


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@built_once
def study(workbench, in_folder):
    pairs = [
        {"id": f"q{number}", "query": f"add {number}", "code": CODE + f"# {number}\n"} for number in range(4)
    ]
    write(in_folder / "pairs.jsonl", pairs)
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    return in_folder / "study.duckdb"


@pytest.fixture
def clear(in_folder):
    return write(in_folder / "clear.jsonl", [screened(f"q{number}", "clear_match") for number in range(4)])


def labels(workbench, study):
    return [item["agent_label"] for item in workbench("items", study, "--json").json()["items"]]


def test_without_a_model_it_says_how_to_name_one(workbench, study):
    done = workbench("annotate", study, "--json")
    assert done.code == 2
    assert "--model" in done.json()["error"]["hint"]
    assert workbench("annotate", study, "--model", "nobody:x").code == 2
    assert workbench("annotate", study, "--model", "scripted:none.jsonl").code == 2


def test_it_annotates_in_parts_and_pays_for_nothing_twice(workbench, study, clear):
    command = ("annotate", study, "--model", f"scripted:{clear}")
    first = workbench(*command, "--limit", "1", "--json").json()
    assert (first["state"], first["job"]["done"], first["labelled"]) == ("done", 1, 1)
    second = workbench(
        "annotate", study, "--model", f"scripted:{clear}", "--concurrency", "2", "--json"
    ).json()
    assert (second["job"]["done"], second["labelled"], second["requests"]) == (3, 4, 4)
    third = workbench(*command)
    assert third.code == 0
    assert "nothing to do" in third.out
    assert labels(workbench, study) == [1.0] * 4


def test_the_configured_model_is_used(workbench, study, clear, monkeypatch):
    monkeypatch.setenv("WORKBENCH_AGENTS__MODEL", f"scripted:{clear}")
    assert workbench("annotate", study, "--json").json()["labels"] == {"1": 4}


def test_failed_items_are_counted_with_their_reasons(workbench, study, in_folder):
    script = write(
        in_folder / "some.jsonl", [screened(f"q{number}", "clear_nonmatch") for number in range(3)]
    )
    done = workbench("annotate", study, "--model", f"scripted:{script}")
    assert "1 (1 no reply)" in done.out
    facts = workbench("annotate", study, "--model", f"scripted:{script}", "--json").json()
    assert (facts["failed"], facts["labels"]) == (1, {"0": 3})


def test_a_budget_has_an_exit_code_of_its_own_and_the_same_command_goes_on(workbench, study, clear):
    command = ("annotate", study, "--model", f"scripted:{clear}", "--concurrency", "1", "--json")
    done = workbench(*command, "--budget-requests", "2")
    assert (done.code, done.json()["state"], done.json()["labelled"]) == (3, "stopped", 2)
    assert done.json()["budget_reached"] == {"budget": "requests", "limit": 2, "spent": 2}
    assert done.says("--budget-requests")
    assert workbench(*command, "--budget-money", "1").json()["error"]["title"] == "Price not known"
    assert workbench(*command, "--budget-requests", "9").json()["labelled"] == 4


@pytest.mark.parametrize("amount", ["inf", "nan", "-inf"])
def test_a_budget_without_a_bound_is_refused(workbench, study, clear, amount):
    done = workbench("annotate", study, "--model", f"scripted:{clear}", f"--budget-money={amount}", "--json")
    assert done.code == 2
    assert "--budget-money" in done.json()["error"]["message"]


def test_an_error_that_ends_the_command_is_printed_once(workbench, study, monkeypatch):
    with LoopbackModels(lambda *_: Status(401, "that key is of another planet")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        done = workbench("annotate", study, "--model", "openai:m", "--agents", "single", "--agents", "ps-fa")
    assert done.code == 2
    assert done.err.count("another planet") == 1


def test_failed_items_alone_are_tried_again_and_kept_replies_are_listed(workbench, study, in_folder, clear):
    script = write(in_folder / "some.jsonl", [screened("q1", "clear_match")])
    command = ("annotate", study, "--model", f"scripted:{script}", "--json")
    facts = workbench(*command, "--limit", "3").json()
    assert (facts["labelled"], facts["causes"]) == (1, {"no_reply": 2})
    again = workbench(*command, "--retry-failed").json()
    assert (again["job"]["failed"], again["items"]) == (2, 3)  # q3 was not taken up
    kept = workbench("replies", study, "--json").json()
    assert (kept["replies"], kept["used"], kept["cost"], kept["cost_unknown"]) == (1, 0, None, 1)
    (listed,) = kept["listed"]
    assert (listed["role"], listed["used"], listed["requests"]) == ("screener", 0, 1)
    assert "screener" in workbench("replies", study).out
    assert workbench("replies", study, "--limit", "0", "--json").json()["listed"] == []


def test_what_no_run_has_failed_on_cannot_be_tried_again(workbench, study, clear):
    command = ("annotate", study, "--model", f"scripted:{clear}", "--retry-failed")
    refused = workbench(*command, "--json")
    assert (refused.code, refused.json()["error"]["title"]) == (2, "No such run yet")
    assert workbench("report", study, "pipeline", "--json").json()["runs"] == []
    workbench(*command[:-1], "--limit", "2")
    again = workbench(*command)
    assert (again.code, "nothing to do" in again.out) == (0, True)


def test_a_run_says_only_what_its_agents_do(workbench, study, everyone):
    done = workbench("annotate", study, "--model", everyone, "--agents", "single").out
    assert "clear match" not in done
    assert "\nexecuted" not in done
    assert "nothing is executed" in done


def test_an_estimate_is_printed_and_nothing_is_recorded(workbench, study, clear):
    command = ("annotate", study, "--model", f"scripted:{clear}", "--estimate")
    facts = workbench(*command, "--agents", "single", "--agents", "full", "--json").json()
    assert [run["configuration"] for run in facts["runs"]] == ["single", "full"]
    assert [run["pairs"] for run in facts["runs"]] == [4, 4]
    assert [role["role"] for role in facts["runs"][0]["roles"]] == ["annotator"]
    told = workbench(*command, "--agents", "single", "--agents", "full").out
    assert "Based on" in told
    assert told.rindex("All together") > told.rindex("Estimate: full")
    assert labels(workbench, study) == [None] * 4


def test_an_estimate_needs_no_key(workbench, study, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    command = ("annotate", study, "--model", "openai:any", "--agents", "single")
    assert workbench(*command, "--estimate", "--json").json()["pairs"] == 4
    assert workbench(*command).says("No key")


def test_without_isolation_only_the_shipped_programs_run(workbench, study, in_folder, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SANDBOX__BWRAP", str(in_folder / "no-bwrap"))
    trace = in_folder / "trace"
    program = f"import candidate\n\n\ndef test_it():\n    open({str(trace)!r}, 'w').close()\n"
    script = write(in_folder / "test.jsonl", with_test("q0", program))
    command = ("annotate", study, "--limit", "1", "--model", f"scripted:{script}", "--json")
    facts = workbench(*command).json()
    assert not trace.exists()
    assert (facts["sandbox"], facts["executed"], facts["labelled"]) == ("process", 0, 0)
    assert (facts["needs_sandbox"], facts["job"]["needs_sandbox"], facts["failed"]) == (1, 1, 0)
    asked = workbench(*command, "--sandbox", "process").json()
    assert trace.exists()
    assert (asked["executed"], asked["labelled"]) == (1, 1)


def test_a_sandbox_that_does_not_work_is_said_and_nothing_is_run(
    workbench, study, clear, monkeypatch, in_folder
):
    monkeypatch.setenv("WORKBENCH_SANDBOX__BWRAP", str(in_folder / "no-bwrap"))
    done = workbench("annotate", study, "--model", f"scripted:{clear}", "--sandbox", "bubblewrap", "--json")
    assert done.code == 2
    assert "bubblewrap" in done.json()["error"]["title"]
    assert workbench("annotate", study, "--model", f"scripted:{clear}", "--sandbox", "nonsense").code == 2


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see what a process has open")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_well_and_the_same_command_goes_on(
    workbench, study, clear, in_folder, monkeypatch, number
):
    monkeypatch.setenv("WORKBENCH_AGENTS__STOP_SECONDS", "0.1")
    delays = {"q0": 0, "q1": 0, "q2": 600, "q3": 600}
    replies = [screened(name, "clear_match", delay_seconds=delay) for name, delay in delays.items()]
    slow = write(in_folder / "slow.jsonl", replies)
    command = [sys.executable, "-m", "workbench", "annotate", str(study), "--model", f"scripted:{slow}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while study not in opened_by(process.pid):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            # Without its end, the test would wait for the process, and whoever runs it for the test.
            process.kill()
    assert process.returncode == 128 + number
    assert "Stopped" in errors
    assert "Traceback" not in errors
    done = workbench("annotate", study, "--model", f"scripted:{clear}", "--json")
    assert (done.code, done.json()["state"]) == (0, "done")
    assert labels(workbench, study) == [1.0] * 4


def test_a_signal_whose_exception_was_lost_ends_it_too(workbench, study, in_folder, monkeypatch):
    """The database can swallow what a handler raises; the command would wait for its replies."""
    monkeypatch.setenv("WORKBENCH_AGENTS__STOP_SECONDS", "0.1")
    slow = write(in_folder / "slow.jsonl", [screened("q0", "clear_match", delay_seconds=5)])
    start = JobRunner.start

    def start_and_lose(*arguments, **options):
        job = start(*arguments, **options)
        signals._came.append(signal.SIGTERM)
        return job

    monkeypatch.setattr(JobRunner, "start", start_and_lose)
    done = workbench("annotate", study, "--model", f"scripted:{slow}", "--limit", "1")
    assert (done.code, "Stopped" in done.err) == (128 + signal.SIGTERM, True)


@pytest.fixture
def everyone(in_folder):
    """Replies for every role, to all four pairs, of which the first is clear."""
    program = "import candidate\n\n\ndef test_it():\n    assert candidate.inc(1) == 2\n"
    simulated = {"executable": True, "environment_error": "", "tests": []}
    replies = [screened("q0", "clear_match")]
    for number in range(4):
        replies += with_test(f"q{number}", program)[0 if number else 1 :]
        replies.append(reply("annotator", f"q{number}", {"label": 0, "reason": "as it reads"}))
        replies.append(reply("simulated_executor", f"q{number}", simulated))
    return f"scripted:{write(in_folder / 'everyone.jsonl', replies)}"


def paths(workbench, study):
    items = workbench("items", study, "--json").json()["items"]
    return {item["item"]: (item["agent_path"], item["agent_label"]) for item in items}


def test_configurations_work_one_after_another_on_the_same_items(workbench, study, everyone):
    named = [part for name in ("ps-tpg-sim-fa", "single", "ps-tpg-sim-fa") for part in ("--agents", name)]
    done = workbench("annotate", study, "--model", everyone, *named, "--limit", "2", "--json").json()
    assert [(run["configuration"], run["labels"], run["paths"]) for run in done["runs"]] == [
        ("ps-tpg-sim-fa", {"1": 2}, {"screened": 1, "simulated": 1}),
        ("single", {"0": 2}, {"read": 2}),
    ]
    assert [run["sandbox"] for run in done["runs"]] == [None, None]
    assert all(run["asked"]["limit"] == 2 for run in done["runs"])
    # The labels of the fullest configuration are shown, and each run has a rater of its own.
    shown = [path for path, _ in paths(workbench, study).values()]
    assert (sorted(shown[:2]), shown[2:]) == (["screened", "simulated"], [None, None])
    raters = workbench("report", study, "agreement", "--json").json()
    assert "ps-tpg-sim-fa/" in str(raters)
    assert "single/" in str(raters)


def test_several_configurations_are_told_to_people_one_by_one(workbench, study, everyone):
    done = workbench("annotate", study, "--model", everyone, "--agents", "single", "--agents", "ps-fa")
    assert done.out.index("single/") < done.out.index("ps-fa/")
    assert "nothing is executed" in done.out


def test_a_configuration_that_gives_up_keeps_the_next_from_beginning(workbench, study, in_folder):
    script = write(
        in_folder / "locked.jsonl",
        [{"role": "annotator", "subject": f"q{number}", "error": "unauthorised"} for number in range(4)],
    )
    command = ("annotate", study, "--model", f"scripted:{script}", "--agents", "single", "--agents", "ps-fa")
    done = workbench(*command, "--json")
    assert (done.code, len(done.json()["runs"])) == (2, 1)
    assert done.says("Not begun: ps-fa.")


def test_only_what_no_run_has_labelled(workbench, study, everyone):
    command = ("annotate", study, "--model", everyone, "--json", "--agents")
    assert workbench(*command, "single", "--limit", "1").json()["labelled"] == 1
    done = workbench(*command, "ps-fa", "--agents", "ps-tpg-sim-fa", "--only-missing").json()
    # The second one works on the same three, though the first one has labelled them by then.
    assert [run["job"]["done"] for run in done["runs"]] == [3, 3]
    # The newest run of the fullest configuration is shown, which left out the item that another had labelled.
    assert paths(workbench, study)["q0"] == (None, None)
    assert workbench(*command, "full", "--only-missing").json()["items"] == 0
    assert workbench(*command, "ps-fa").json()["job"]["done"] == 1


def test_a_draw_of_queries_is_the_same_every_time(workbench, study, everyone):
    command = ("annotate", study, "--model", everyone, "--json", "--agents", "single")
    drawn = workbench(*command, "--sample-queries", "2", "--seed", "7").json()
    assert drawn["asked"] == {
        **{"limit": None, "only_missing": False, "sample_queries": 2, "seed": 7, "kind": "pair"},
        **dict.fromkeys(("study", "source", "sample_pairs", "stratify", "strata")),
    }
    first = {name for name, (path, _) in paths(workbench, study).items() if path}
    # As documented, whatever the order in which the items were imported.
    texts = {f"q{number}": f"add {number}" for number in range(4)}
    ranked = sorted(texts, key=lambda name: hashlib.sha256(f"7:{texts[name]}".encode()).hexdigest())
    assert first == set(ranked[:2])
    again = workbench(*command, "--sample-queries", "2", "--seed", "7").json()
    assert (again["job"]["done"], again["items"]) == (0, 2)
    wider = workbench(*command, "--sample-queries", "3", "--seed", "7").json()
    assert (wider["job"]["done"], wider["run"]) == (1, drawn["run"])
    assert workbench(*command).json()["run"] == drawn["run"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sample-queries", "5"], "4 have items"),
        (["--seed", "5"], "--sample-queries N"),
        (["--agents", "fulll"], "did you mean full?"),
        (["--agents", "ps-fa", "--repairs"], "ps-fa has none"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is(workbench, study, everyone, options, says):
    done = workbench("annotate", study, "--model", everyone, *options, "--json")
    assert done.code == 2
    assert says in done.json()["error"]["message"] + done.json()["error"]["hint"]
    assert set(paths(workbench, study).values()) == {(None, None)}


def test_models_of_all_configurations_are_looked_at_first(workbench, study, everyone, in_folder, monkeypatch):
    monkeypatch.setenv("WORKBENCH_AGENTS__ROLES__ARBITER__MODEL", "scripted:nowhere.jsonl")
    done = workbench(
        "annotate", study, "--model", everyone, "--agents", "single", "--agents", "ps-fa", "--json"
    )
    assert (done.code, done.json()["error"]["title"]) == (2, "Scripted replies cannot be read")
    monkeypatch.setenv("WORKBENCH_AGENTS__ROLES__ARBITER__MODEL", everyone)
    lacking = workbench("annotate", study, "--agents", "ps-fa", "--json").json()["error"]
    assert lacking["message"] == "No model is set for screener."


def test_configurations_of_ones_own_are_listed_and_used(workbench, study, everyone, in_folder):
    config = in_folder / "own.toml"
    config.write_text(
        f'[agents]\nmodel = "{everyone}"\nconfiguration = "two"\n'
        "[agents.roles.screener]\ntemperature = 0.25\n"
        '[agents.configurations.two]\nbased_on = "ps-fa"\nsentence = "A cheap one."\n'
        '[agents.configurations.two.roles.arbiter]\ntemperature = "default"\n',
        encoding="utf-8",
    )
    listed = workbench("agents", "--config", config, "--json").json()["configurations"]
    assert [each["name"] for each in listed] == [*OURS, "two"]
    (own,) = [each for each in listed if each["default"] and each["kind"] == "pair"]
    assert (own["name"], own["based_on"], own["sentence"]) == ("two", "ps-fa", "A cheap one.")
    assert [(role["role"], role["prompt"], role["temperature"]) for role in own["roles"]] == [
        ("screener", "screener", 0.25),
        ("arbiter", "arbiter_reading", None),
    ]
    assert all(len(role["digest"]) == 12 and role["version"] for role in own["roles"])
    told = " ".join(workbench("agents", "--config", config).out.split())  # a model's path may break lines
    assert "two (the default for pairs)" in told
    assert "temperature the service's · prompt arbiter_reading, version 2" in told

    done = workbench("annotate", study, "--config", config, "--json").json()
    assert (done["configuration"], done["name"].partition("/")[0], done["labelled"]) == ("two", "ps-fa", 4)
    plain = workbench("annotate", study, "--config", config, "--agents", "ps-fa", "--json").json()
    assert plain["run"] != done["run"]


def opened_by(pid):
    """Seen from outside: a test that tried to open the file itself could keep the process from it."""
    paths = []
    with suppress(FileNotFoundError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                paths.append(link.readlink())
    return paths
