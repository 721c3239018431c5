"""Rows of many turns that are written together: every one once, and a wrong one fails alone."""

import asyncio
import threading

import pytest
from small_workspace import pairs_workspace, rows

from agents.jobs.row_batches import RowBatcher
from store.record.ids import now
from store.tables.runs import Verdict, VerdictRow


@pytest.fixture
def workspace(tmp_path):
    with pairs_workspace(tmp_path, [("p", "double", "x = 1\n")]) as made:
        yield made


@pytest.fixture
def held(workspace):
    """The lane, held by another write until it is released."""
    release, holding = threading.Event(), threading.Event()

    def hold(_):
        holding.set()
        assert release.wait(60)

    future = workspace.lane.submit(hold, urgent=True)
    assert holding.wait(60)
    yield release
    release.set()
    future.result()


def verdict(workspace, **others):
    made = workspace.ids.next()
    told = {"id": made, "run_id": made, "item_id": 1, "value": 1.0, "path": "screened", "reason": ""}
    return Verdict(**(told | {"created_at": now(), "question_id": 1} | others))


def add(gathering, row):
    return asyncio.ensure_future(gathering.add((VerdictRow, [row])))


async def test_many_rows_at_the_same_time_are_each_written_once(workspace):
    gathering, kept = RowBatcher(workspace.lane), []
    for _ in range(20):
        some = [verdict(workspace) for _ in range(30)]
        kept += some
        tasks = [add(gathering, row) for row in some]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await gathering.written()

    assert sorted(row["id"] for row in rows(workspace, VerdictRow)) == sorted(row.id for row in kept)


async def test_a_row_that_the_database_refuses_fails_alone(workspace):
    gathering = RowBatcher(workspace.lane)
    first, wrong, last = (
        verdict(workspace),
        verdict(workspace).model_copy(update={"path": None}),
        verdict(workspace),
    )

    results = await asyncio.gather(
        *(add(gathering, row) for row in (first, wrong, last)), return_exceptions=True
    )

    assert [type(result).__name__ for result in results] == ["NoneType", "IntegrityError", "NoneType"]
    assert {row["id"] for row in rows(workspace, VerdictRow)} == {first.id, last.id}


async def test_rows_of_a_caller_who_was_cancelled_are_waited_for_by_the_end(workspace, held):
    gathering = RowBatcher(workspace.lane)
    row, after = verdict(workspace), verdict(workspace)
    for each in (row, after):
        task = add(gathering, each)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.get_running_loop().call_later(0.1, held.set)

    await gathering.written()

    assert {each["id"] for each in rows(workspace, VerdictRow)} == {row.id, after.id}


async def test_a_closed_lane_is_told_to_every_caller(workspace):
    gathering = RowBatcher(workspace.lane)
    workspace.lane.close()

    for _ in range(2):
        with pytest.raises(RuntimeError, match="closed"):
            await add(gathering, verdict(workspace))
    await gathering.written()
