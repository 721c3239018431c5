"""A service that fails in every way a fifth of the time: every pair ends, none twice, nothing is paid twice."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from loopback_models import HangUp, LoopbackModels, Refusal, Reply, Slow, Status, Truncated
from small_workspace import GOOD, Told, pairs_workspace, rows, verdicts

from agents.jobs.runner import run_job
from agents.llm.prices import Price
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.tables.runs import ReplyRow, StepRow

PAIRS = 1000
MODEL = "openai:gpt-4o-mini"
FAULTS = (
    (Status(429, retry_after=0.01), "rate_limited"),
    (Status(500, retry_after=0.01), "unavailable"),
    (HangUp(), "unavailable"),
    (Slow(3.0), "timeout"),
    ("{not json", "malformed"),
    (Refusal(), "refused"),
    (Truncated(), "truncated"),
)
LASTING = {5 * place for place in range(1, len(FAULTS) + 1)}
CLEAR = {"ScreenerReply": Reply({"assessment": "clear_match", "justification": "plain"}, 100, 10)}
PRICE = Price(input=1, output=2)
PAID_ANSWERS = {"malformed", "refused", "truncated"}


def fault_of(pair):
    """What goes wrong with a pair, if anything."""
    return FAULTS[pair // 5 % len(FAULTS)] if pair % 5 == 0 else None


class Faults:
    """The first question about every fifth pair goes wrong, and about a few of them every one."""

    def __init__(self):
        self.asked = Counter()
        self._lock = threading.Lock()

    def __call__(self, seen, number):
        pair = int(seen.body["messages"][1]["content"].rpartition("# pair ")[2].partition("\n")[0])
        with self._lock:
            self.asked[pair] += 1
            first = self.asked[pair] == 1
        fault = fault_of(pair)
        return fault[0] if fault and (first or pair in LASTING) else None


def several(count):
    return [(f"pair/{number}", "double", f"{GOOD}# pair {number}\n") for number in range(1, count + 1)]


def other_run():
    """Settings that make another run of the same questions."""
    return SandboxSettings(wall_seconds=SandboxSettings().wall_seconds + 1)


def test_every_pair_ends_labelled_or_with_a_reason_and_the_second_run_is_free(tmp_path):
    faults = Faults()
    with (
        pairs_workspace(tmp_path, several(PAIRS)) as workspace,
        LoopbackModels(faults, replies=CLEAR) as server,
    ):
        models = server.settings(timeout_seconds=1.0, max_retries=2, prices={MODEL: PRICE})
        settings = JobSettings(
            MODEL, concurrency=32, sandbox="process", failures_in_a_row=PAIRS, models=models
        )
        report = run_job(workspace, settings, Told())
        counts = report.counts
        assert (report.state, report.done, report.failed) == ("done", PAIRS - len(LASTING), len(LASTING))
        assert counts.causes == Counter(fault_of(pair)[1] for pair in LASTING)
        assert counts.requests == len(server.requests)
        assert counts.unpriced == 0

        steps = rows(workspace, StepRow)
        assert len(steps) == len({step["item_id"] for step in steps}) == PAIRS
        failed = {step["item_id"]: step["cause"] for step in steps if step["outcome"] == "failed"}
        assert failed == {pair: fault_of(pair)[1] for pair in LASTING}
        assert set(verdicts(workspace)) == set(range(1, PAIRS + 1)) - LASTING
        # Answers that could not be used were paid for, those of failed steps too.
        unusable = sum(fault_of(pair)[1] in PAID_ANSWERS for pair in range(5, PAIRS + 1, 5))
        unusable += sum(fault_of(pair)[1] in PAID_ANSWERS for pair in LASTING)
        assert counts.tokens_in == 100 * (PAIRS - len(LASTING)) + 120 * unusable
        assert counts.tokens_out == 10 * (PAIRS - len(LASTING)) + 30 * unusable
        assert counts.money == pytest.approx((counts.tokens_in + 2 * counts.tokens_out) / 1e6)
        assert {step["price"] for step in steps} == {PRICE.as_text()}
        assert all(step["sdk"].startswith("openai ") for step in steps)

        # The service mended, only the failed ones are asked for.
        server.script = None
        server.requests.clear()
        mended = run_job(workspace, replace(settings, retry_failed=True), Told())
        assert (mended.run_id, mended.done, mended.counts.causes) == (report.run_id, len(LASTING), {})
        assert len(server.requests) == len(LASTING)
        assert set(verdicts(workspace)) == set(range(1, PAIRS + 1))

        # A second run over the same pairs asks for nothing.
        server.requests.clear()
        free = run_job(workspace, replace(settings, sandboxes=other_run()), Told())
        assert free.run_id != report.run_id
        assert (free.done, len(server.requests)) == (PAIRS, 0)
        spent = free.counts
        assert (spent.requests, spent.tokens_in, spent.money, spent.from_cache) == (0, 0, 0.0, PAIRS)
        kept = rows(workspace, ReplyRow)
        assert len(kept) == PAIRS
        assert sum(reply["tokens_in"] for reply in kept) > 100 * PAIRS
