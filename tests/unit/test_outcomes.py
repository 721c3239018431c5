"""What a pipeline may yield, and what the record refuses of it."""

import asyncio

import pytest
from judging import judged_workspace
from small_workspace import rows

from agents.jobs.outcome import Response, Score, Verdict
from agents.jobs.run_record import RunRecord
from store.errors import UnknownName, WorkbenchError
from store.queries.runs import count_done, items_without_outcome
from store.record.response_names import ResponseName
from store.tables.responses import ResponseRef
from store.tables.responses import Score as ScoreRow
from store.tables.runs import VerdictRow

NAME = ResponseName("m", "bm25", 1)


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path, 3) as made:
        yield made


def test_outcomes_of_every_kind_make_an_item_done_and_what_is_wrong_is_refused(workspace):
    async def work():
        record = await RunRecord.open(workspace, kind="pair", pipeline="p", model="m", configuration={"a": 1})

        async def add(item, *outcomes):
            await record.add_outcomes(await record.outcome_rows(item, outcomes, None), None)

        await add(1, Verdict(1, "read", "so"))
        await add(2, Response(NAME, "a text"), Verdict(0, "read", "no", response=NAME))
        await add(3, Score(NAME, "pair.match", 4, "good"))
        with pytest.raises(WorkbenchError, match="has a response called m"):
            await add(2, Response(NAME, "another text"))
        with pytest.raises(UnknownName, match=r"pair\.nothing"):
            await add(1, Verdict(1, "read", "so", question="pair.nothing"))
        with pytest.raises(ValueError, match="yielded nothing"):
            await add(1)
        return record.id

    run = asyncio.run(work())
    with workspace.reading() as connection:
        assert count_done(connection, run) == 3
        assert items_without_outcome(connection, run, "pair", after=-1, count=9) == []
    refs = {row["item_id"]: row["id"] for row in rows(workspace, ResponseRef)}
    assert [row["response_ref_id"] for row in rows(workspace, VerdictRow)] == [None, refs[2]]
    (score,) = rows(workspace, ScoreRow)
    assert (score["response_ref_id"], score["measure"], score["value"]) == (refs[3], "match", 4.0)
