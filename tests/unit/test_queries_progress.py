"""Progress and pace, against counting by hand."""

from datetime import datetime, timedelta

import pytest
from judging import Desk, judged_workspace
from recorded import RATERS, recorded_workspace

from store.policy.scope import REVIEW, Scope, Visibility
from store.queries.progress import pace, progress, today_and_left
from store.record.ids import now
from store.record.raters import find_rater


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("progress"), seed=4)
    yield recorded
    recorded.workspace.close()


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path, 6) as opened:
        yield opened


def progress_of(workspace, name="dana", *, blind=False, phase=REVIEW):
    with workspace.reading() as connection:
        scope = Scope(find_rater(connection, name), phase=phase, visibility=Visibility(blind))
        return progress(connection, scope)


def pace_of(desk):
    with desk.workspace.reading() as connection:
        return pace(connection, desk.rater.id)


@pytest.mark.parametrize("rater", RATERS)
def test_progress_counts_what_stands(made, rater):
    found = progress_of(made.workspace, rater)
    labels = {item: one.value for item in made.items if (one := made.label(rater, item)) is not None}
    agents = {item: one.value for item in made.items if (one := made.verdict(item)) is not None}
    status = [made.status(rater, item) for item in made.items]
    assert (found.judged, found.today) == (len(labels), len(labels))
    assert (found.cannot_decide, found.skipped) == (status.count("cannot_decide"), status.count("skipped"))
    assert found.flagged == sum("flag" in made.marked(rater, item) for item in made.items)
    assert (found.items, found.total, found.sources) == ({"pair": 40}, 40, ("test",))
    assert found.left == 40 - found.judged - found.cannot_decide
    assert found.agent_labelled == len(agents)
    assert found.compared == len(labels.keys() & agents.keys())
    assert found.agreed == sum(labels[item] == agents[item] for item in labels.keys() & agents.keys())
    everybody = {
        name: len(
            {
                item
                for item in made.items
                for phase in ("review", "revealed")
                if made.label(name, item, phase) is not None
            }
        )
        for name in RATERS
    }
    assert {one.name: one.labelled for one in found.raters} == everybody
    assert [one.name for one in found.raters] == sorted(RATERS)


def test_blind_nothing_rests_on_the_agents_and_on_others(made):
    found, seen = progress_of(made.workspace, blind=True), progress_of(made.workspace)
    assert (found.agent_labelled, found.compared, found.agreed) == (None, None, None)
    assert [one.name for one in found.raters] == ["dana"]
    same = ("judged", "skipped", "flagged", "cannot_decide", "left", "items")
    assert [getattr(found, name) for name in same] == [getattr(seen, name) for name in same]


def test_an_empty_workspace_has_no_progress(workspace):
    Desk(workspace)
    found = progress_of(workspace)
    assert (found.judged, found.today, found.agent_labelled, found.compared, found.raters) == (0, 0, 0, 0, ())
    assert (found.tokens, found.money, found.left) == (0, 0.0, 6)
    assert found.to_dict()["items"] == 6


def test_today_begins_at_midnight_where_the_rater_is(workspace):
    desk = Desk(workspace)
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    for item, moment in enumerate(
        (midnight - timedelta(seconds=1), midnight, midnight + timedelta(seconds=1)), 1
    ):
        action = desk.label(item)
        fresh = action.records[0].model_copy(update={"created_at": moment})
        desk.submit(type(action)(action.id, (fresh,)))
    assert (progress_of(workspace).today, progress_of(workspace).judged) == (2, 3)


def at(desk, item, seconds_ago, **fields):
    action = desk.label(item, **{"elapsed_ms": 5_000, **fields})
    moment = now() - timedelta(seconds=seconds_ago)
    desk.submit(type(action)(action.id, (action.records[0].model_copy(update={"created_at": moment}),)))


def test_pace_is_the_rate_from_the_first_to_the_last(workspace):
    desk = Desk(workspace)
    assert pace_of(desk) is None
    at(desk, 1, 1800)
    assert pace_of(desk) is None
    at(desk, 2, 1200)
    at(desk, 3, 600)
    assert pace_of(desk) == pytest.approx(2 / 1200 * 3600, rel=0.01)


def test_pace_leaves_out_what_is_no_judging(workspace):
    desk, other = Desk(workspace), Desk(workspace, "eli")
    at(desk, 1, 1800)
    at(desk, 2, 600)
    expected = pace_of(desk)
    at(desk, 3, 7200)  # too long ago
    at(desk, 4, 5, origin="import")
    at(desk, 5, 5, origin="undo", value=None, target_action=desk.workspace.ids.next())
    at(other, 1, 5)
    at(desk, 6, 5, elapsed_ms=None)  # by a script: nobody looked at a screen
    assert pace_of(desk) == pytest.approx(expected, rel=0.01)


def test_there_is_no_pace_before_ten_minutes_of_work(workspace):
    desk = Desk(workspace)
    for item, seconds in enumerate((590, 300, 100, 1), start=1):
        at(desk, item, seconds)
    assert pace_of(desk) is None
    at(desk, 5, 602)
    assert pace_of(desk) == pytest.approx(4 / 601 * 3600, rel=0.01)


def test_what_the_header_counts_is_what_the_progress_counts(workspace):
    desk = Desk(workspace)
    at(desk, 1, 0)
    at(desk, 2, 5)
    at(desk, 3, 2 * 86_400)
    scope = Scope(desk.rater)
    with workspace.reading() as connection:
        whole = progress(connection, scope)
        assert today_and_left(connection, scope) == (whole.today, whole.left)
    assert whole.today in (1, 2)  # the second may be of the day before, at midnight
    assert whole.left == whole.total - 3
