"""What a run spends: budgets, prices, and replies that are paid for once."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from loopback_models import Body, LoopbackModels, Reply, Slow, Status
from small_workspace import GOOD, Told, pairs_workspace, rows, script_file, verdicts

from agents.jobs.budget import Budget, Spending
from agents.jobs.errors import BudgetReached
from agents.jobs.estimate import estimate
from agents.jobs.events import ItemEnded, JobPaused, JobProgressed, Spent
from agents.jobs.job import JobRequest
from agents.jobs.runner import JobRunner, run_job
from agents.llm.prices import Price, price_of
from agents.llm.protocol import Usage
from agents.prompts import load_prompt
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.errors import WorkbenchError
from store.queries.replies import list_replies, reply_totals
from store.queries.run_figures import run_figures
from store.tables.runs import ReplyRow, Run, StepRow

MODEL = "openai:gpt-4o-mini"
PAIRS, FLYING = 60, 8
CLEAR = {"ScreenerReply": Reply({"assessment": "clear_match", "justification": "plain"}, 100, 10)}
PRICES = {MODEL: Price(input=1, output=2)}
MONEY = 120 / 1e6  # of one reply


@pytest.fixture
def server():
    with LoopbackModels(replies=CLEAR) as running:
        yield running


@pytest.fixture
def workspace(tmp_path):
    pairs = [(f"pair/{number}", "double", f"{GOOD}# pair {number}\n") for number in range(1, PAIRS + 1)]
    with pairs_workspace(tmp_path, pairs) as opened:
        yield opened


def settings(server, **others):
    models = server.settings(max_retries=1, prices=PRICES)
    return JobSettings(MODEL, **{"concurrency": FLYING, "sandbox": "process", "models": models, **others})


def another_run(seconds):
    return SandboxSettings(wall_seconds=SandboxSettings().wall_seconds + seconds)


@pytest.mark.parametrize(
    ("budget", "most"),
    [
        (Budget(requests=20), 20),
        (Budget(tokens=110 * 20), 20 + FLYING),
        (Budget(money=MONEY * 20), 20 + FLYING),
        (Budget(pairs=20), 20),
    ],
    ids=repr,
)
def test_a_budget_ends_a_run_with_what_was_in_flight_and_more_of_it_goes_on(workspace, server, budget, most):
    first = run_job(workspace, settings(server, budget=budget), Told())
    assert (first.state, first.error) == ("stopped", None)
    (what,) = budget.model_dump(exclude_none=True)
    assert first.used_up.option == what
    assert 20 <= len(server.requests) <= most
    assert first.counts.labelled == first.counts.requests == len(server.requests)
    assert rows(workspace, Run)[0]["state"] == "stopped"
    assert f"--budget-{what}" in first.used_up.hint

    # The same budget is spent: the next job asks for nothing.
    spent = len(server.requests)
    again = run_job(workspace, settings(server, budget=budget), Told())
    assert (again.state, again.used_up.option, len(server.requests)) == ("stopped", what, spent)
    told = Told()
    rest = run_job(workspace, settings(server), told)
    assert (rest.state, rest.used_up, rest.counts.labelled) == ("done", None, PAIRS)
    # What the last job tells as it works is what the run's records say of all its jobs.
    last, counts = told.of(JobProgressed)[-1], rest.counts
    assert last.spent == Spent(counts.requests, 110 * PAIRS, pytest.approx(counts.money))
    assert last.labelled == PAIRS
    assert Counter(seen.text for seen in server.requests).most_common(1)[0][1] == 1
    assert len(verdicts(workspace)) == PAIRS


@pytest.mark.parametrize(
    ("budget", "failing", "expected"),
    [(50, {1}, ("stopped", 50, 1)), (59, {1, 2}, ("done", 58, 2)), (70, set(), ("done", PAIRS, 0))],
)
def test_a_budget_of_pairs_is_used_up_though_some_get_no_label(workspace, server, budget, failing, expected):
    def late(seen, number):
        pair = int(seen.text.rpartition("# pair ")[2].partition("\n")[0])
        return Slow(0.5, Status(400, "Too long.")) if pair in failing else None

    server.script = late
    asked = settings(server, agents="ps-fa", budget=Budget(pairs=budget), concurrency=PAIRS)
    report = run_job(workspace, asked, Told())
    assert (report.state, report.done, report.failed) == expected
    assert (report.used_up is not None) == (report.state == "stopped")


def test_what_fails_is_not_sent_again_beyond_the_budget(workspace, server):
    server.script = lambda seen, number: Status(500, retry_after=0.01)
    budget = Budget(requests=4)
    report = run_job(workspace, settings(server, budget=budget), Told())
    assert report.used_up.what == "requests"
    assert 4 <= len(server.requests) <= 4 + FLYING
    assert report.counts.requests == len(server.requests)


def test_behind_the_screens_a_job_pauses_at_its_budget_and_goes_on_with_more(workspace, server):
    told = Told()
    with JobRunner(workspace, told) as runner:
        job = runner.start(JobRequest(settings(server, budget=Budget(requests=10))))
        paused = told.until(lambda event: isinstance(event, JobPaused))
        assert isinstance(paused.reason, BudgetReached)
        job.resume()  # with nothing more to spend it pauses again
        told.until(lambda _: len(told.of(JobPaused)) == 2)
        assert len(server.requests) <= 10 + FLYING
        job.resume(Budget(requests=1000))
        assert job.wait(60)
        report = job.result()
    assert (report.state, report.done, report.used_up) == ("done", PAIRS, None)


@pytest.fixture
def held_back(workspace, server):
    """A job whose first request is under way, while seven more wait within the client to learn how to ask."""
    asked, answer = threading.Event(), threading.Event()

    def script(seen, number):
        asked.set()
        assert answer.wait(60)

    server.script = script
    told = Told()
    with JobRunner(workspace, told) as runner:
        job = runner.start(JobRequest(settings(server)))
        assert asked.wait(60)
        yield job, answer, told


def test_requests_that_wait_within_the_client_are_not_sent_after_a_stop(held_back, server):
    job, answer, _ = held_back
    job.stop()
    answer.set()
    assert job.wait(60)
    assert (job.result().state, job.result().done, len(server.requests)) == ("stopped", 1, 1)


def test_requests_that_wait_within_the_client_wait_while_paused(held_back, server):
    job, answer, told = held_back
    job.pause()
    answer.set()
    told.until(lambda event: isinstance(event, ItemEnded))
    assert len(server.requests) == 1
    job.resume()
    assert job.wait(60)
    assert (job.result().state, job.result().done, len(server.requests)) == ("done", PAIRS, PAIRS)


def test_a_budget_in_money_needs_a_price_before_anything_is_asked(workspace, server):
    models = server.settings(prices={"anthropic:*": PRICES[MODEL]})
    with pytest.raises(WorkbenchError) as refused:
        run_job(workspace, settings(server, models=models, budget=Budget(money=5)), Told())
    assert MODEL in refused.value.message
    assert "models.prices" in refused.value.hint
    assert (server.requests, rows(workspace, Run)) == ([], [])


def test_a_service_that_tells_no_tokens_cannot_keep_a_budget_of_tokens(workspace, server):
    answer = '{"assessment": "clear_match", "justification": "plain"}'
    message = {"role": "assistant", "content": answer}
    server.script = lambda seen, number: Body(
        {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]}
    )
    report = run_job(workspace, settings(server, budget=Budget(tokens=10**9)), Told())
    assert (report.state, report.error.title) == ("failed", "Cost not reported")
    assert len(server.requests) <= FLYING
    (money,) = {step["money"] for step in rows(workspace, StepRow)}
    assert money is None  # and not 0, although the price is known
    assert report.counts.unpriced == report.counts.steps


@pytest.mark.parametrize("again", ["{}", CLEAR["ScreenerReply"].value], ids=["malformed twice", "mended"])
def test_an_answer_that_tells_no_tokens_and_is_asked_for_again_cannot_keep_a_budget(workspace, server, again):
    message = {"role": "assistant", "content": "not yet"}
    first = Body({"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]})
    server.script = lambda seen, number: first if len(seen.body["messages"]) == 2 else again
    report = run_job(workspace, settings(server, budget=Budget(money=1)), Told())
    assert (report.state, report.error.title) == ("failed", "Cost not reported")
    assert len(server.requests) <= 2 * FLYING


def test_the_same_question_is_asked_once_whoever_asks_it_and_whenever(tmp_path, server):
    pairs = [(f"pair/{number}", "double", GOOD) for number in range(40)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        report = run_job(workspace, settings(server, concurrency=16), Told())
        assert (report.done, report.counts.from_cache, len(server.requests)) == (40, 39, 1)
        assert (report.counts.money, report.counts.unpriced) == (pytest.approx(MONEY), 0)
        steps = rows(workspace, StepRow)
        (asked,) = (step for step in steps if not step["from_cache"])
        assert {step["reply_id"] for step in steps} == {asked["reply_id"]}
        assert {step["reply"] for step in steps} == {asked["reply"]}
        with workspace.reading() as connection:
            (listed,), totals = list_replies(connection, 9), reply_totals(connection)
        assert (listed.role, listed.model, listed.used) == ("screener", MODEL, 39)
        assert (totals.replies, totals.used, totals.saved_requests, totals.saved_tokens) == (
            1,
            39,
            39,
            39 * 110,
        )
        assert totals.saved_money == pytest.approx(39 * MONEY)


def test_without_the_cache_it_is_asked_anew_and_the_newest_reply_is_kept(workspace, server):
    ten = {"item_ids": tuple(range(1, 11))}
    run_job(workspace, settings(server, **ten), Told())
    server.replies = {
        "ScreenerReply": Reply({"assessment": "clear_nonmatch", "justification": "no"}, 300, 30)
    }
    anew = run_job(workspace, settings(server, **ten, sandboxes=another_run(1), cache=False), Told())
    assert (anew.counts.labels, anew.counts.from_cache, len(server.requests)) == ({0.0: 10}, 0, 20)
    assert {reply["tokens_in"] for reply in rows(workspace, ReplyRow)} == {300}
    taken = run_job(workspace, settings(server, **ten, sandboxes=another_run(2)), Told())
    assert (taken.counts.labels, taken.counts.from_cache, len(server.requests)) == ({0.0: 10}, 10, 20)


def test_another_service_and_another_model_are_asked_for_themselves(workspace, server):
    one = {"item_ids": (1,)}
    run_job(workspace, settings(server, **one), Told())
    with LoopbackModels(replies=CLEAR) as other:
        run_job(workspace, settings(other, **one), Told())
        assert len(other.requests) == 1
    run_job(workspace, replace(settings(server, **one), model="openai:gpt-4o"), Told())
    assert len(server.requests) == 2
    assert len(rows(workspace, ReplyRow)) == 3


def test_the_price_of_the_moment_stays(workspace, server):
    run_job(workspace, settings(server, item_ids=(1,)), Told())
    dearer = server.settings(prices={"openai:*": Price(input=10, output=20)})
    run_job(workspace, settings(server, item_ids=(2,), models=dearer), Told())
    unknown = run_job(workspace, settings(server, item_ids=(3,), models=server.settings()), Told())
    assert [step["money"] for step in rows(workspace, StepRow)] == [
        pytest.approx(MONEY),
        pytest.approx(10 * MONEY),
        None,
    ]
    assert (unknown.counts.money, unknown.counts.unpriced) == (pytest.approx(11 * MONEY), 1)
    with workspace.reading() as connection:
        assert run_figures(connection, unknown.run_id) == unknown.counts


def test_scripted_replies_depend_on_their_subjects(tmp_path):
    words = {"a": "clear_match", "b": "clear_nonmatch"}
    lines = [("screener", name, {"assessment": word, "justification": "so"}) for name, word in words.items()]
    with pairs_workspace(tmp_path, [(name, "double", GOOD) for name in words]) as workspace:
        model = script_file(tmp_path, lines)
        report = run_job(workspace, JobSettings(model, sandbox="process"), Told())
    assert (report.counts.labels, report.counts.from_cache) == ({0.0: 1, 1.0: 1}, 0)


def test_an_estimate_asks_nothing_and_tells_what_it_rests_on(workspace, server):
    at_first = estimate(workspace, settings(server))
    screener, writer, *_ = at_first.roles
    assert (at_first.items, at_first.facts["unclear_share"]) == (PAIRS, 0.33)
    assert (screener.questions, writer.questions) == (PAIRS, pytest.approx(PAIRS * 0.33))
    assert screener.earlier == 0
    prompt = sum(
        len(message.content) for message in load_prompt("screener").messages(query="double", code=GOOD)
    )
    assert screener.tokens_in == pytest.approx(PAIRS * prompt / 4, rel=0.02)
    assert at_first.money > 0
    assert "60 items" in at_first.based_on[0]
    assert (server.requests, rows(workspace, Run)) == ([], [])

    run_job(workspace, settings(server, limit=25), Told())
    then = estimate(workspace, settings(server))
    screener, writer, *_ = then.roles
    assert (then.items, then.facts["unclear_share"], writer.questions) == (35, 0.0, 0)
    assert (screener.tokens_in, screener.tokens_out, screener.earlier) == (35 * 100, 35 * 10, 25)
    assert then.money == pytest.approx(35 * MONEY)
    unpriced = estimate(workspace, settings(server, models=server.settings(), limit=5))
    assert (unpriced.items, unpriced.money, unpriced.to_dict()["cost"]) == (5, None, None)


def test_an_estimate_takes_off_the_first_questions_that_are_answered_already(workspace, server):
    run_job(workspace, settings(server, limit=24), Told())
    other = settings(server, sandboxes=another_run(1))
    screener, *later = (found := estimate(workspace, other)).roles
    assert (found.items, screener.kept, screener.questions) == (PAIRS, 24, PAIRS - 24)
    assert found.money == pytest.approx((PAIRS - 24) * MONEY)
    assert [role.kept for role in later] == [0] * len(later)
    assert "of 60 items, 24 have the reply kept here" in found.based_on[0]
    assert "upper bounds" in found.based_on[0]
    (fresh, *_) = estimate(workspace, replace(other, cache=False)).roles
    assert (fresh.kept, fresh.questions) == (0, PAIRS)
    sent = len(server.requests)
    assert run_job(workspace, other, Told()).counts.from_cache == 24
    assert len(server.requests) == sent + PAIRS - 24


def test_a_price_counts_cached_and_written_input_by_itself():
    usage = Usage(tokens_in=1000, tokens_out=100, tokens_cached=600, tokens_written=300)
    full = Price(input=3, output=15, cached=0.3, written=3.75)
    assert full.money(usage) == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75 + 100 * 15) / 1e6)
    assert Price(input=3, output=15).money(usage) == pytest.approx((1000 * 3 + 100 * 15) / 1e6)
    assert full.money(Usage(tokens_in=10, tokens_cached=999)) == pytest.approx(10 * 0.3 / 1e6)
    assert full.money(Usage(unreported=1)) is None
    assert Spending(Budget(), {}).price("x:y", usage) == (None, "")


def test_the_longest_name_that_fits_gives_the_price():
    prices = {
        name: Price(input=number, output=0)
        for number, name in enumerate(["*", "openai:*", "openai:gpt-4o*", "openai:gpt-4o-mini"])
    }
    found = [price_of(prices, name).input for name in ("x:y", "openai:o1", "openai:gpt-4o", MODEL)]
    assert found == [0, 1, 2, 3]
    assert price_of({"openai:gpt": Price(input=1, output=1)}, MODEL) is None
