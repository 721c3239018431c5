"""The whole pipeline through the real openai and anthropic SDKs, against services that stumble."""

import threading
from collections import Counter

import pytest
from loopback_models import LoopbackModels, Reply, Status
from small_workspace import GOOD, LACKING, TEST, WRONG, Told, pairs_workspace, rows, the_run, verdicts

from agents.jobs.events import JobEnded, JobProgressed
from agents.jobs.runner import run_job
from agents.prompts import load_prompt
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.tables.runs import ExecutionRow, StepRow

KINDS = {
    "clear": ("clear_match", 1),
    "other": ("clear_nonmatch", 0),
    "passes": ("unclear", 1),
    "fails": ("unclear", 0),
    "lacks": ("unclear", 1),
}
CODES = {
    "clear": GOOD,
    "other": "def hello():\n    return 'hello'\n",
    "passes": GOOD,
    "fails": WRONG,
    "lacks": LACKING,
}
PAIRS = [
    (f"{kind}/{n}", f"python double, take {n}", f"{CODES[kind]}# {kind}\n")
    for n in (1, 2, 3)
    for kind in KINDS
]
MODELS = ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"]


def kind_of(seen):
    (kind,) = (kind for kind in KINDS if f"# {kind}\n" in seen.text)
    return kind


def screen(seen):
    return Reply(
        {"assessment": KINDS[kind_of(seen)][0], "justification": f"a {kind_of(seen)} case"}, 100, 10, 60
    )


def write(seen):
    assert f"a {kind_of(seen)} case" in seen.text
    return Reply({"interpretation": "twice the number", "test_program": TEST}, 200, 50)


def rule(seen):
    """Rule by what really happened, as the report tells it."""
    told = {
        "passes": ('"exit_reason": "ok"', '"passed": 3'),
        "fails": ('"exit_reason": "assertion"', "not doubled", '"executable": true'),
        "lacks": ('"executable": false', "No module named 'no_such_package_anywhere'"),
    }[kind_of(seen)]
    assert all(words in seen.text for words in told), seen.text
    assert "twice the number" in seen.text
    assert "def test_five" in seen.text
    return Reply({"label": KINDS[kind_of(seen)][1], "reason": f"the run of a {kind_of(seen)} case"}, 300, 20)


REPLIES = {"ScreenerReply": screen, "TestWriterReply": write, "ArbiterReply": rule}


class Stumbles:
    """One 429, one 500, one malformed reply, at the first request of each role."""

    def __init__(self):
        self.left = {
            "ScreenerReply": Status(429, retry_after=0.01),
            "TestWriterReply": Status(500, retry_after=0.01),
            "ArbiterReply": "I am sorry, but {here} is what I think: it matches.",
        }
        self._lock = threading.Lock()

    def __call__(self, seen, number):
        with self._lock:
            return self.left.pop(seen.schema_name, None)


@pytest.mark.parametrize("sandbox", ["process", "bubblewrap"])
@pytest.mark.parametrize("model", MODELS)
def test_every_pair_is_labelled_though_the_service_stumbles(tmp_path, model, sandbox):
    told, stumbles = Told(), Stumbles()
    with pairs_workspace(tmp_path, PAIRS) as workspace, LoopbackModels(stumbles, replies=REPLIES) as server:
        settings = JobSettings(
            model,
            concurrency=4,
            sandbox=sandbox,
            models=server.settings(),
            sandboxes=SandboxSettings(repairs=False),
        )
        report = run_job(workspace, settings, told)

        assert stumbles.left == {}
        assert (report.state, report.done, report.failed) == ("done", 15, 0), report.counts.reasons
        labels = verdicts(workspace)
        for number, (name, _, _) in enumerate(PAIRS, start=1):
            assessment, label = KINDS[name.partition("/")[0]]
            path = "screened" if assessment != "unclear" else "tested"
            assert labels[number] == (float(label), "untested" if name.startswith("lacks/") else path)

        counts = report.counts
        found = report.pipeline.numbers
        assert counts.items == 15
        assert (found["clear_match"], found["clear_nonmatch"], found["unclear"]) == (3, 3, 9)
        assert (found["executed"], found["executable"], found["executable_rate"]) == (9, 6, 6 / 9)
        assert (counts.labels, counts.failed, counts.reasons) == ({0.0: 6, 1.0: 9}, 0, {})
        # 15 screenings, 9 programs, 9 rulings; and 3 requests more for what went wrong.
        assert counts.requests == len(server.requests) == 36
        # An error costs no tokens; the malformed reply cost what the loopback says of a plain string.
        assert counts.tokens_in == 15 * 100 + 9 * 200 + 9 * 300 + 120
        assert counts.tokens_out == 15 * 10 + 9 * 50 + 9 * 20 + 30
        assert counts.tokens_cached == 15 * 60

        steps = rows(workspace, StepRow)
        assert Counter(step["role"] for step in steps) == {
            "screener": 15,
            "test_writer": 9,
            "executor": 9,
            "arbiter": 9,
        }
        assert {step["outcome"] for step in steps} == {"ok"}
        snapshots = {step["model"] for step in steps if step["role"] != "executor"}
        assert len(snapshots) == 1
        assert snapshots.pop().endswith(("-2025-03-01", "-20250301"))
        assert {row["sandbox"] for row in rows(workspace, ExecutionRow)} == {sandbox}

        last = told.of(JobProgressed)[-1]
        assert (last.done, last.failed, last.spent.requests) == (15, 0, 36)
        assert last.spent.tokens == counts.tokens_in + counts.tokens_out
        assert told.of(JobEnded) == [JobEnded(1, "done", report.run_id)]
        assert the_run(workspace)["model"] == model


@pytest.mark.parametrize("model", MODELS)
def test_a_reply_that_stays_malformed_fails_its_item_alone(tmp_path, model):
    def script(seen, number):
        return "no JSON here" if seen.schema_name == "ArbiterReply" and "# fails\n" in seen.text else None

    with pairs_workspace(tmp_path, PAIRS[:5]) as workspace:
        with LoopbackModels(script, replies=REPLIES) as server:
            settings = JobSettings(model, sandbox="process", models=server.settings())
            report = run_job(workspace, settings, Told())
            assert (report.state, report.done, report.failed) == ("done", 4, 1)
            assert report.counts.reasons == {"Unusable reply": 1}
            assert report.counts.requests == len(server.requests) == 5 + 3 + 4
            (failed,) = (step for step in rows(workspace, StepRow) if step["outcome"] == "failed")
            assert (failed["role"], failed["reply"], failed["requests"]) == ("arbiter", "no JSON here", 2)

            # The service mended, only the ruling is asked for again.
            server.script = None
            server.requests.clear()
            again = run_job(workspace, settings, Told())
            assert (again.run_id, again.done) == (report.run_id, 1)
            assert [seen.schema_name for seen in server.requests] == ["ArbiterReply"]
        assert again.counts.labelled == 5
        assert again.counts.reasons == {}


@pytest.mark.parametrize("model", MODELS)
def test_what_all_questions_of_a_role_share_comes_first(tmp_path, model):
    """Services keep beginnings in their caches: instructions first, then the query, then what changes most."""
    with pairs_workspace(tmp_path, PAIRS[:5]) as workspace, LoopbackModels(replies=REPLIES) as server:
        settings = JobSettings(
            model, sandbox="process", models=server.settings(), sandboxes=SandboxSettings(repairs=False)
        )
        run_job(workspace, settings, Told())
        for name, role in (("ScreenerReply", "screener"), ("TestWriterReply", "test_writer")):
            texts = [seen.text for seen in server.requests if seen.schema_name == name]
            differs = next(
                at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1
            )
            shared = texts[0][:differs]
            assert shared.startswith(load_prompt(role).system)
            # The same query: the beginnings differ first in the code.
            assert "begin query" in shared
            assert "python double, take 1" in shared
