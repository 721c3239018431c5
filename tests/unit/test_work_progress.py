"""The rate of long work, and the time left."""

from __future__ import annotations

import pytest

from agents.jobs import work_progress
from agents.jobs.work_progress import Pace, WorkProgress


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """The time, which only a test moves on."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(work_progress, "time", made)
    return made


def test_loading_is_no_part_of_the_rate_and_the_time_left_waits_for_a_block(clock: Clock) -> None:
    told: list[WorkProgress] = []
    pace = Pace("encoding", 10_000, told.append, enough=1_024)
    # A model is loaded for a minute; then come the longest texts of a block, and its short ones.
    for seconds, done in ((60, 0), (10, 24), (10, 124), (5, 1_024), (15, 2_048)):
        clock.now += seconds
        pace.reach(done)
    assert [one.per_second for one in told[:3]] == [None, None, None]
    assert told[3].per_second == 10
    assert told[3].seconds_left is None
    assert told[4].per_second == pytest.approx(1_000 / 15)
    assert told[4].seconds_left == pytest.approx(8_976 / (1_000 / 15))
    assert told[5].seconds_left == pytest.approx(7_952 / (2_024 / 30))


def test_a_pause_and_what_was_done_before_are_no_part_of_the_rate(clock: Clock) -> None:
    told: list[WorkProgress] = []

    def report(one: WorkProgress) -> None:
        told.append(one)
        clock.now += 500

    pace = Pace("encoding", 100, report, done=40, enough=1_024)
    for done in (50, 60, 70):
        clock.now += 5
        pace.reach(done)
    assert [one.per_second for one in told] == [None, None, 2, 2]
    # Of the 60 that are to be done, half are.
    assert [one.seconds_left for one in told] == [None, None, None, 15]
