"""Jobs behind the screens: pause, resume, stop, going on, giving up, and what stays on disk."""

import json
import resource
import signal
import subprocess
import sys
import threading

import pytest
from loopback_models import LoopbackModels, Slow, Status
from small_workspace import (
    GOOD,
    TEST,
    Told,
    clear,
    pairs_workspace,
    rows,
    script_file,
    the_run,
    turns_of,
    verdicts,
)

from agents.jobs.events import (
    ItemEnded,
    JobEnded,
    JobLog,
    JobPaused,
    JobProgressed,
    JobResumed,
    JobStarted,
)
from agents.jobs.job import JobRequest
from agents.jobs.runner import JobRunner, run_job
from agents.jobs.work_queue import PAGE
from agents.llm.registry import open_model
from agents.llm.settings import ModelSettings
from agents.settings import AgentSettings, JobSettings
from store.errors import WorkspaceError
from store.tables.runs import Run, StepRow, VerdictRow
from store.workspace.duckdb import Workspace

UNCLEAR = {
    "ScreenerReply": {"assessment": "unclear", "justification": "run it"},
    "TestWriterReply": {"interpretation": "twice", "test_program": TEST},
    "ArbiterReply": {"label": 1, "reason": "it doubles"},
}
CLEAR = {"ScreenerReply": {"assessment": "clear_match", "justification": "plain"}}


def several(count):
    return [(f"pair/{number}", "double", f"{GOOD}# {number}\n") for number in range(1, count + 1)]


def settings(server, **others):
    fields = {"sandbox": "process", "concurrency": 2, "models": server.settings(max_retries=0), **others}
    return JobSettings("openai:gpt-test", **fields)


class Latch:
    """A server script that holds some requests back until it is let go."""

    def __init__(self, holds):
        self.holds = holds
        self.held = threading.Event()
        self.go = threading.Event()

    def __call__(self, seen, number):
        if self.holds(seen):
            self.held.set()
            assert self.go.wait(60)


@pytest.fixture
def workspace(tmp_path):
    with pairs_workspace(tmp_path, several(6)) as opened:
        yield opened


def asked(server, name, marker=""):
    return sum(seen.schema_name == name and marker in seen.text for seen in server.requests)


def ended(event):
    return isinstance(event, JobEnded)


def test_paused_nothing_is_asked_and_resumed_it_goes_on(workspace):
    latch = Latch(lambda seen: seen.schema_name == "TestWriterReply")
    told, ruled = Told(), threading.Event()

    def rule(seen):
        ruled.set()
        return UNCLEAR["ArbiterReply"]

    replies = {**UNCLEAR, "ArbiterReply": rule}
    with LoopbackModels(latch, replies=replies) as server, JobRunner(workspace, told) as runner:
        job = runner.start(JobRequest(settings(server, concurrency=1)))
        assert latch.held.wait(60)
        job.pause()
        told.until(lambda event: isinstance(event, JobPaused))
        assert (job.state, runner.running) == ("paused", job)
        latch.go.set()
        # The turn under way ends and is recorded; the next one is not begun.
        told.until(lambda event: isinstance(event, JobProgressed) and event.spent.requests == 2)
        assert turns_of(workspace, 1) == [("screener", 0, "ok"), ("test_writer", 0, "ok")]
        assert not ruled.wait(0.5)
        assert len(server.requests) == 2
        assert the_run(workspace)["state"] == "paused"
        assert the_run(workspace)["ended_at"] is None
        assert told.of(JobPaused) == [JobPaused(job.number)]

        job.resume()
        assert job.wait(60)
        assert told.of(JobResumed) == [JobResumed(job.number)]
        assert len(server.requests) == 18
    assert verdicts(workspace) == dict.fromkeys(range(1, 7), (1.0, "tested"))
    assert the_run(workspace)["state"] == "done"


def test_stopped_between_turns_it_goes_on_without_paying_twice(workspace):
    latch = Latch(lambda seen: seen.schema_name == "ArbiterReply" and "# 2\n" in seen.text)
    with LoopbackModels(latch, replies=UNCLEAR) as server:
        told = Told()
        with JobRunner(workspace, told) as runner:
            job = runner.start(JobRequest(settings(server, concurrency=1)))
            assert latch.held.wait(60)
            job.stop(60.0)
            latch.go.set()
            assert job.wait(60)
            report = job.result()
        # The ruling that was under way is kept: the turn ended, and with it the item.
        assert (job.state, report.state, report.done) == ("stopped", "stopped", 2)
        assert the_run(workspace)["state"] == "stopped"
        assert told.of(JobEnded) == [JobEnded(1, "stopped", report.run_id)]
        before = len(server.requests)
        assert before == 6

        again = run_job(workspace, settings(server), Told())
        assert (again.state, again.done, again.run_id) == ("done", 4, report.run_id)
        assert len(server.requests) == 18
        assert again.counts.requests == 18


def test_cut_off_in_a_turn_it_asks_only_that_again(workspace):
    latch = Latch(lambda seen: seen.schema_name == "ArbiterReply")
    with LoopbackModels(latch, replies=UNCLEAR) as server:
        with JobRunner(workspace, Told()) as runner:
            job = runner.start(JobRequest(settings(server, concurrency=1)))
            assert latch.held.wait(60)
            job.stop(0.0)
            assert job.wait(60)
            assert job.result().state == "stopped"
        latch.go.set()
        assert turns_of(workspace, 1) == [
            ("screener", 0, "ok"),
            ("test_writer", 0, "ok"),
            ("executor", 0, "ok"),
        ]
        report = run_job(workspace, settings(server), Told())
        assert report.done == 6
        assert [asked(server, name, "# 1\n") for name in UNCLEAR] == [1, 1, 2]
        assert [asked(server, name, "# 5\n") for name in UNCLEAR] == [1, 1, 1]
        assert turns_of(workspace, 1)[-1] == ("arbiter", 0, "ok")


def test_closing_the_runner_ends_a_job_in_the_middle_and_the_next_owner_goes_on(tmp_path):
    latch = Latch(lambda seen: seen.schema_name == "TestWriterReply" and "# 2\n" in seen.text)
    with LoopbackModels(latch, replies=UNCLEAR) as server:
        with pairs_workspace(tmp_path, several(4)) as workspace:
            runner = JobRunner(workspace, Told())
            job = runner.start(JobRequest(settings(server, concurrency=1)))
            assert latch.held.wait(60)
            runner.close(0.0)
            runner.close(0.0)
            assert job.state == "stopped"
            job.pause()
            job.resume()
            job.stop()
            with pytest.raises(RuntimeError):
                runner.start(JobRequest(settings(server)))
        latch.go.set()
        with Workspace.open(tmp_path / "pairs.duckdb") as workspace:
            report = run_job(workspace, settings(server), Told())
            assert report.done == 3
            assert asked(server, "ScreenerReply") == 4
            assert verdicts(workspace).keys() == {1, 2, 3, 4}


def test_killed_in_the_middle_it_goes_on_without_paying_twice(tmp_path):
    pairs_workspace(tmp_path, several(5)).close()
    program = (
        "import sys, agents.jobs.runner as jobs\n"
        "from agents.llm.settings import ModelSettings\n"
        "from agents.settings import JobSettings\n"
        "from store.workspace.duckdb import Workspace\n"
        "models = ModelSettings(openai_base_url=sys.argv[2], openai_api_key='loopback-key')\n"
        "with Workspace.open(sys.argv[1]) as workspace:\n"
        "    told = JobSettings('openai:gpt-test', sandbox='process', concurrency=1, models=models)\n"
        "    jobs.run_job(workspace, told, lambda event: None)\n"
    )
    latch = Latch(lambda seen: seen.schema_name == "ArbiterReply" and "# 3\n" in seen.text)
    with LoopbackModels(latch, replies=UNCLEAR) as server:
        path = tmp_path / "pairs.duckdb"
        process = subprocess.Popen([sys.executable, "-c", program, str(path), server.openai_url])
        try:
            assert latch.held.wait(60)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        latch.go.set()
        with Workspace.open(path) as workspace:
            assert the_run(workspace)["state"] == "running"
            assert verdicts(workspace).keys() == {1, 2}
            assert turns_of(workspace, 3)[-1] == ("executor", 0, "ok")
            JobRunner(workspace, Told()).close()
            workspace.lane.drain()
            assert the_run(workspace)["state"] == "stopped"
            report = run_job(workspace, settings(server, models=server.settings()), Told())
            assert (report.done, report.counts.labelled) == (3, 5)
            assert [asked(server, name) for name in UNCLEAR] == [5, 5, 6]


def test_ctrl_c_stops_a_command_and_its_report_still_comes(tmp_path):
    pairs_workspace(tmp_path, several(40)).close()
    program = (
        "import os, signal, sys, agents.jobs.runner as jobs\n"
        "from agents.jobs.events import ItemEnded\n"
        "from agents.settings import JobSettings\n"
        "from store.workspace.duckdb import Workspace\n"
        "def emit(event):\n"
        "    if isinstance(event, ItemEnded) and event.item_id == 3:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "with Workspace.open(sys.argv[1]) as workspace:\n"
        "    told = JobSettings(sys.argv[2], concurrency=1)\n"
        "    report = jobs.run_job(workspace, told, emit)\n"
        "    print(report.state, 3 <= report.done < 40, report.counts.labelled == report.done)\n"
    )
    replies = [clear(name) for name, _, _ in several(40)]
    model = script_file(tmp_path, replies)
    # The reply to the fourth pair takes so long that Ctrl-C comes first.
    path = tmp_path / "replies.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:-1] + ', "delay_seconds": 2}'
    path.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "pairs.duckdb"), model],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("stopped True True", 0), done.stderr


def test_a_run_has_one_job_at_a_time(workspace):
    latch = Latch(lambda seen: True)
    with LoopbackModels(latch, replies=CLEAR) as server, JobRunner(workspace, Told()) as runner:
        first = runner.start(JobRequest(settings(server)))
        assert latch.held.wait(60)
        refused = runner.start(JobRequest(settings(server)))
        assert refused.wait(60)
        assert (refused.state, refused.error.title, refused.run_id) == ("failed", "At work already", None)
        assert the_run(workspace)["state"] == "running"
        latch.go.set()
        assert first.wait(60)
        second = runner.start(JobRequest(settings(server)))
        assert second.wait(60)
        assert [job.number for job in runner.jobs] == [1, 2, 3]
        assert runner.running is None
        assert first.progress.done == 6


def test_a_wrong_key_ends_the_job_at_once(tmp_path):
    with pairs_workspace(tmp_path, several(50)) as workspace, LoopbackModels(key="right") as server:
        told = Told()
        models = server.settings(openai_api_key="wrong")
        report = run_job(workspace, settings(server, models=models), told)
        assert (report.state, report.done) == ("failed", 0)
        assert (report.error.title, report.error.kind) == ("Key not accepted", "unauthorised")
        assert len(server.requests) <= 2
        assert the_run(workspace)["state"] == "failed"
        assert told.of(JobEnded)[0].error is report.error
        again = run_job(workspace, settings(server, models=server.settings()), Told())
        assert (again.state, again.run_id) == ("done", report.run_id)


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
def test_two_services_with_a_model_of_the_same_name_are_two_runs(workspace, model):
    with LoopbackModels(replies=CLEAR) as one, LoopbackModels(replies=CLEAR) as other:
        reports = [
            run_job(workspace, JobSettings(model, models=server.settings()), Told())
            for server in (one, other, one)
        ]
        assert (len(one.requests), len(other.requests)) == (6, 6)
    assert reports[0].run_id == reports[2].run_id != reports[1].run_id
    assert reports[0].run_name != reports[1].run_name
    services = [json.loads(run["configuration"])["service"] for run in rows(workspace, Run)]
    addresses = [server.openai_url if model[0] == "o" else server.anthropic_url for server in (one, other)]
    assert services == addresses


def test_a_run_at_the_provider_s_own_service_is_named_as_it_was_before(workspace, tmp_path):
    model = script_file(tmp_path, [clear(f"pair/{number}") for number in range(1, 7)])
    report = run_job(workspace, JobSettings(model), Told())
    run = the_run(workspace)
    assert report.done == 6
    assert "service" not in json.loads(run["configuration"])


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, ""),
        ({"openai_base_url": "https://api.openai.com/v1/"}, ""),
        (
            {"openai_base_url": "http://user:secret@LocalHost:11434/v1/?key=secret"},
            "http://localhost:11434/v1",
        ),
        ({"openai_base_url": "http://[::1]:8000/v1"}, "http://[::1]:8000/v1"),
    ],
)
def test_the_address_of_a_service_is_kept_without_secrets(settings, address):
    models = ModelSettings(openai_api_key="k", **settings)
    assert open_model("openai:m", models).address == address


def test_a_model_that_the_service_does_not_know_ends_the_job_at_once(tmp_path):
    with pairs_workspace(tmp_path, several(50)) as workspace:
        with LoopbackModels(lambda seen, number: Status(404, "The model does not exist")) as server:
            report = run_job(workspace, settings(server), Told())
        assert (report.state, report.failed <= 4) == ("failed", True)
        assert report.error.title == "Model or address not known"


def test_a_request_that_is_rejected_later_is_the_item_s_failure(workspace):
    def script(seen, number):
        return Status(400, "too long") if "# 2\n" in seen.text or "# 5\n" in seen.text else None

    with LoopbackModels(script, replies=CLEAR) as server:
        report = run_job(workspace, settings(server, concurrency=1), Told())
    assert (report.state, report.done, report.failed) == ("done", 4, 2)
    assert report.counts.reasons == {"Request not accepted": 2}


def test_many_failures_in_a_row_pause_a_job_until_somebody_looks(tmp_path):
    broken = threading.Event()
    broken.set()

    def script(seen, number):
        return Status(500) if broken.is_set() else None

    told = Told()
    with (
        pairs_workspace(tmp_path, several(30)) as workspace,
        LoopbackModels(script, replies=CLEAR) as server,
        JobRunner(workspace, told) as runner,
    ):
        job = runner.start(JobRequest(settings(server, failures_in_a_row=4)))
        paused = told.until(lambda event: isinstance(event, JobPaused))
        assert paused.reason.title == "Agents keep failing"
        assert "4 items in a row failed" in paused.reason.message
        assert job.state == "paused"
        broken.clear()
        job.resume()
        assert job.wait(60)
        report = job.result()
        assert report.state == "done"
        assert report.done + report.failed == 30
        assert 4 <= report.failed <= 6
        assert len(told.of(JobLog)) == report.failed


def test_many_failures_in_a_row_end_a_command(tmp_path):
    with pairs_workspace(tmp_path, several(30)) as workspace:
        with LoopbackModels(lambda seen, number: Status(503)) as server:
            report = run_job(workspace, settings(server, failures_in_a_row=4), Told())
        assert (report.state, report.error.title) == ("failed", "Agents keep failing")
        assert report.failed < 10
        assert the_run(workspace)["state"] == "failed"


def test_items_come_in_pages_and_all_of_them_come(tmp_path):
    count = 2 * PAGE + 3
    with pairs_workspace(tmp_path, several(count)) as workspace:
        told = Told()
        model = script_file(tmp_path, [clear(name) for name, _, _ in several(count)])
        report = run_job(workspace, JobSettings(model, concurrency=4), told)
        assert (report.done, report.counts.labels) == (count, {1.0: count})
        assert verdicts(workspace).keys() == set(range(1, count + 1))
        assert len(told.of(ItemEnded)) == count
        assert told.of(JobStarted)[0].total == count


def test_what_is_cut_off_while_it_is_written_is_still_kept(workspace):
    """A reply that came is on disk, even if the job is cut off before it heard that it is."""
    release, writing = threading.Event(), threading.Event()

    def hold(connection):
        writing.set()
        assert release.wait(60)

    latch = Latch(lambda seen: True)
    with LoopbackModels(latch, replies=CLEAR) as server, JobRunner(workspace, Told()) as runner:
        job = runner.start(JobRequest(settings(server, concurrency=1)))
        assert latch.held.wait(60)
        holding = workspace.lane.submit(hold, urgent=True)
        assert writing.wait(60)
        latch.go.set()
        told_waiting(workspace)
        job.stop(0.0)
        release.set()
        holding.result()
        assert job.wait(60)
    assert len(rows(workspace, StepRow, item_id=1)) == 1


def told_waiting(workspace):
    """Wait until a write stands in the lane behind the one that holds it."""
    done = threading.Event()
    while workspace.lane.waiting < 2:
        assert not done.wait(0.001)


def test_a_bug_ends_the_job_with_a_traceback_and_is_raised_to_a_command(workspace, monkeypatch):
    def broken(*_):
        raise KeyError("a mistake")

    monkeypatch.setattr("agents.pipelines.pair_annotation.pipeline.PairPipeline.run", broken)
    told = Told()
    with LoopbackModels(replies=CLEAR) as server, pytest.raises(KeyError, match="a mistake"):
        run_job(workspace, settings(server), told)
    (end,) = told.of(JobEnded)
    assert (end.state, end.error.title) == ("failed", "The job broke")
    assert "Traceback" in told.of(JobLog)[-1].text


def test_a_full_disk_ends_the_job_and_is_no_mistake_of_the_program(workspace):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    long = {"assessment": "clear_match", "justification": "x" * 100_000}
    room = workspace.path.with_name(workspace.path.name + ".wal").stat().st_size + 150_000
    told = Told()
    with LoopbackModels(replies={"ScreenerReply": long}) as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            with pytest.raises(WorkspaceError, match="Not written"):
                run_job(workspace, settings(server, concurrency=1), told)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert [log for log in told.of(JobLog) if log.level == "error"] == []
        report = run_job(workspace, settings(server), Told())
    assert report.failed == 0
    assert len(rows(workspace, VerdictRow)) == report.counts.items


def test_every_setting_is_documented():
    for name, field in AgentSettings.model_fields.items():
        assert field.description, name


def test_a_slow_reply_is_waited_for_no_longer_than_asked(workspace):
    told = Told()
    slow = LoopbackModels(lambda seen, number: Slow(50), replies=CLEAR)
    with slow as server, JobRunner(workspace, told) as runner:
        job = runner.start(JobRequest(settings(server, stop_seconds=0.05)))
        told.until(lambda event: isinstance(event, JobStarted))
        job.stop()
        assert job.wait(30)
        assert job.result().state == "stopped"
    assert rows(workspace, StepRow) == []
