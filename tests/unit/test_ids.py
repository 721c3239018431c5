"""Identifiers: version and time in them, and that they rise whatever the clock does."""

import itertools
import threading
import uuid
from datetime import UTC
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import Desk, judged_workspace, judgments
from scopes import scope

import store.record.ids
from store.queries.item import OwnLabel, load_own
from store.record.ids import ROOM, IdClock, following_id, lowest_at, now
from store.tables.record import QuestionTarget
from store.workspace.duckdb import Workspace

MOMENT = 1_750_000_000_000


class Clock:
    """Stands still at a millisecond until it is set."""

    def __init__(self, monkeypatch, milliseconds=MOMENT):
        self.milliseconds = milliseconds
        monkeypatch.setattr(store.record.ids.time, "time_ns", lambda: self.milliseconds * 1_000_000)


def milliseconds_of(number):
    return number.int >> 80


def test_an_id_is_a_uuid_of_version_7_with_the_time_in_front(monkeypatch):
    Clock(monkeypatch)
    made = IdClock().next()
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert milliseconds_of(made) == MOMENT
    assert lowest_at(MOMENT) <= made < lowest_at(MOMENT + 1)


def test_ids_of_one_millisecond_rise_and_keep_their_version(monkeypatch):
    Clock(monkeypatch)
    clock = IdClock()
    made = [clock.next() for _ in range(5_000)]
    assert made == sorted(set(made))
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert milliseconds_of(made[-1]) == MOMENT


@given(st.lists(st.integers(min_value=0, max_value=2**47), min_size=1, max_size=30))
def test_ids_rise_whatever_the_clock_does(moments):
    with pytest.MonkeyPatch.context() as patch:
        clock, ids = Clock(patch), IdClock()
        made = []
        for moment in moments:
            clock.milliseconds = moment
            made += [ids.next(), ids.next()]
    assert made == sorted(set(made))
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}


def test_when_the_random_bits_are_used_up_the_next_millisecond_is_taken(monkeypatch):
    Clock(monkeypatch)
    full = uuid.UUID(int=lowest_at(MOMENT).int | (0xFFF << 64) | ((1 << 62) - 1))
    made = IdClock(full).next()
    assert made > full
    assert (made.version, made.variant, milliseconds_of(made)) == (7, uuid.RFC_4122, MOMENT + 1)


def test_beside_each_id_there_is_room_that_no_other_takes(monkeypatch):
    Clock(monkeypatch)
    ids = IdClock()
    for first, second in itertools.pairwise([ids.next() for _ in range(500)]):
        assert first < following_id(first, 1) < following_id(first, ROOM) < second
        assert following_id(first, ROOM).version == 7
    for place in (0, ROOM + 1):
        with pytest.raises(ValueError, match="room"):
            following_id(ids.next(), place)


def test_chance_takes_no_room_away(monkeypatch):
    Clock(monkeypatch)
    drawn = itertools.count()
    ids = IdClock()
    monkeypatch.setattr(
        ids, "_random", SimpleNamespace(getrandbits=lambda bits: next(drawn) if bits > 12 else 0)
    )
    for first, second in itertools.pairwise([ids.next() for _ in range(50)]):
        assert following_id(first, ROOM) < second


def test_after_the_last_id_there_is_none():
    last = uuid.UUID("ffffffff-ffff-7fff-bfff-ffffffffffff")
    with pytest.raises(OverflowError):
        IdClock(last).next()


def test_a_floor_raises_and_never_lowers():
    far = lowest_at(2**45)
    ids = IdClock(far)
    first = ids.next()
    ids.raise_floor(lowest_at(5))
    assert far < first < ids.next()


def test_a_foreign_id_is_no_floor():
    foreign = uuid.UUID("ffffffff-0000-4000-8000-000000000000")
    ids = IdClock(foreign)
    assert ids.next() < foreign
    ids.raise_floor(foreign)
    assert ids.next() < foreign


def test_threads_never_get_the_same_id_and_each_sees_its_own_rise():
    ids, made = IdClock(), [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(ids.next() for _ in range(3_000)))
        for mine in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine) for mine in made)
    assert len(set().union(*made)) == 12_000


def test_now_is_aware_and_in_utc():
    assert now().tzinfo is UTC


@pytest.mark.parametrize("kind", ["judgment", "mark"])
def test_after_the_clock_stepped_back_between_two_openings_the_later_record_stands(tmp_path, kind):
    """The first session runs a year ahead; the second one's ids must be the higher ones all the same."""
    with pytest.MonkeyPatch.context() as patch, judged_workspace(tmp_path) as workspace:
        Clock(patch, 2_000_000_000_000)
        desk = Desk(workspace)
        ahead = desk.judge(1, 1.0) if kind == "judgment" else desk.say(1, "comment", text="ahead")
    with Workspace.open(workspace.path) as again:
        desk = Desk(again)
        later = desk.judge(1, 0.0) if kind == "judgment" else desk.say(1, "comment", text="later")
        assert later.records[0].id > ahead.records[0].id
        assert later.records[0].supersedes == ahead.records[0].id
        with again.reading() as connection:
            own = load_own(connection, scope(desk.rater.id), 1)
        assert own.labels == ({QuestionTarget(desk.question): OwnLabel(0.0)} if kind == "judgment" else {})
        assert own.comment == ("" if kind == "judgment" else "later")


def test_a_foreign_id_in_the_file_hides_no_id_from_the_clocks_future(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        desk = Desk(workspace)
        ahead = lowest_at(2_000_000_000_000)
        desk.submit(desk.label(1, action=ahead, **{}))
        cursor = workspace.native()
        cursor.execute("UPDATE judgment SET id = ?", [ahead])
        cursor.execute(
            "INSERT INTO judgment BY NAME SELECT * REPLACE (? AS id) FROM judgment",
            [uuid.UUID(int=2**128 - 1)],
        )
        cursor.close()
        assert len(judgments(workspace)) == 2
    with Workspace.open(workspace.path) as again:
        assert again.ids.next() > ahead
