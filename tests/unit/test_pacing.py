"""What one request learns of a service's limits holds for all others."""

import asyncio
import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from loopback_models import LoopbackModels, Status

from agents.llm.errors import ModelError
from agents.llm.notices import report_notices
from agents.llm.pacing import (
    _LIMITS,
    Pacing,
    asked_to_wait,
    pacing_of,
    send_with_retries,
    until_reset,
)
from agents.llm.protocol import Message, ModelRequest
from agents.llm.registry import open_model
from agents.pipelines.pair_annotation.reply_models import ScreenerReply


async def test_after_a_429_half_as_many_go_at_a_time_and_one_more_after_each_round():
    pacing, most = Pacing(), 0
    flying = 0

    async def once(count):
        nonlocal flying, most
        async with pacing.turn():
            flying += 1
            most = max(most, flying)
            for _ in range(count):
                await asyncio.sleep(0)
            flying -= 1

    await asyncio.gather(*(once(3) for _ in range(16)))
    assert most == 16
    async with pacing.turn() as left_at:
        pacing._flying += 15
        pacing.slow_down(left_at, 0.01)
        pacing.slow_down(left_at, 0.01)  # it left before the last slowing down: nothing new
        pacing._flying -= 15
    assert pacing.most == 8
    most = 0
    await asyncio.gather(*(once(3) for _ in range(32)))
    assert most == 8
    for _ in range(9):
        pacing.record_success()
    assert 9 <= pacing.most < 10


async def test_a_long_pause_is_told_once_and_again_where_it_becomes_much_longer():
    heard, others = [], []
    pacing = Pacing()
    with report_notices(heard.append):
        with report_notices(others.append):
            pacing.pause(0.5)
        for seconds in (20, 21, 19, 24):  # of requests that were turned down together
            pacing.pause(seconds)
        pacing.pause(60)
        pacing._reported_until = pacing._not_before = -math.inf  # it is over
        pacing.pause(30)
    pacing.pause(90)
    seconds = [round((pause.until - datetime.now(UTC)).total_seconds()) for pause in heard]
    assert seconds == pytest.approx([20, 60, 30], abs=2)
    assert [pause.longer for pause in heard] == [False, True, False]
    assert others == []


async def test_who_gives_up_waiting_lets_the_next_one_through():
    pacing = Pacing()
    pacing.most = 1.0
    entered = []

    async def enter(name):
        async with pacing.turn():
            entered.append(name)

    async with pacing.turn():
        gone, stays = asyncio.create_task(enter("gone")), asyncio.create_task(enter("stays"))
        await asyncio.sleep(0)
        gone.cancel()
    await stays
    assert entered == ["stays"]


async def test_a_failure_that_does_not_pass_is_not_sent_again():
    sent = 0

    async def ask():
        nonlocal sent
        sent += 1
        raise ModelError("bad_request", "No", "never")

    with pytest.raises(ModelError):
        await send_with_retries(ask, Pacing(), 5)
    assert sent == 1


async def test_two_clients_of_a_service_share_its_pace():
    with LoopbackModels(
        lambda seen, number: Status(429, retry_after=0.01) if number == 1 else None
    ) as server:
        models = [open_model(name, server.settings()) for name in ("openai:a", "openai:b", "anthropic:a")]
        request = ModelRequest("screener", "x", (Message("user", "hello"),), ScreenerReply)
        try:
            for model in models:
                await model.reply(request)
        finally:
            for model in models:
                await model.close()
        assert pacing_of(f"openai {server.openai_url}").most < math.inf
        assert pacing_of(f"anthropic {server.anthropic_url}").most == math.inf


def test_limits_that_are_used_up_are_read_off_any_answer():
    left = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}
    assert until_reset(left) == pytest.approx(0.02)
    assert until_reset({**left, "x-ratelimit-remaining-requests": "3"}) == 0


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("6m0s", 360), ("1s", 1), ("1m30.5s", 90.5), ("12ms", 0.012), ("soon", 0), ("", 0)],
)
def test_how_openai_tells_when_its_limits_begin_anew(told, seconds):
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": told}
    assert until_reset(headers) == pytest.approx(seconds)


def test_how_anthropic_tells_when_its_limits_begin_anew():
    moment = datetime.now(UTC) + timedelta(seconds=40)
    headers = {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": moment.isoformat().replace("+00:00", "Z"),
    }
    assert 30 < until_reset(headers) <= 40


def test_how_a_service_asks_to_wait():
    later = datetime.now(UTC) + timedelta(seconds=50)
    assert asked_to_wait({"retry-after": "2.5"}) == 2.5
    assert asked_to_wait({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 40 < asked_to_wait({"retry-after": format_datetime(later, usegmt=True)}) <= 50
    assert asked_to_wait({"retry-after": "whenever"}) is None
    assert asked_to_wait({}) is None


@given(st.one_of(st.text(), st.from_regex(r"Mon, \d+ Jan \d+ \d\d:\d\d:\d\d [+-]\d+", fullmatch=True)))
@example("Mon, 01 Jan 2024 00:00:00 +" + "9" * 20)
@example("9" * 400)
@example("-1")
def test_whatever_a_service_asks_for_is_a_time_or_nothing(told):
    wait = asked_to_wait({"retry-after": told})
    assert wait is None or 0 <= wait < math.inf
    for left, reset in _LIMITS:
        assert until_reset({left: "0", reset: told}) >= 0
