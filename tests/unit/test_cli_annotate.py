"""annotate on the command line: models, what may be run where, stopping and going on."""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

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


@pytest.fixture
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
    assert "0 done, 0 failed" in third.out
    assert labels(workbench, study) == [1.0] * 4


def test_the_configured_model_is_used(workbench, study, clear, monkeypatch):
    monkeypatch.setenv("WORKBENCH_AGENTS__MODEL", f"scripted:{clear}")
    assert workbench("annotate", study, "--json").json()["labels"] == {"1": 4}


def test_failed_items_are_counted_with_their_reasons(workbench, study, in_folder):
    script = write(
        in_folder / "some.jsonl", [screened(f"q{number}", "clear_nonmatch") for number in range(3)]
    )
    done = workbench("annotate", study, "--model", f"scripted:{script}")
    assert "1 No scripted reply" in done.out
    facts = workbench("annotate", study, "--model", f"scripted:{script}", "--json").json()
    assert (facts["failed"], facts["labels"]) == (1, {"0": 3})


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
        _, errors = process.communicate(timeout=60)
    assert process.returncode > 128
    assert "Stopped" in errors
    assert "Traceback" not in errors
    done = workbench("annotate", study, "--model", f"scripted:{clear}", "--json")
    assert (done.code, done.json()["state"]) == (0, "done")
    assert labels(workbench, study) == [1.0] * 4


def opened_by(pid):
    """Seen from outside: a test that tried to open the file itself could keep the process from it."""
    paths = []
    with suppress(FileNotFoundError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                paths.append(link.readlink())
    return paths
