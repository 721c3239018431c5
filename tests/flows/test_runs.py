"""Whose verdict the screens show: one run's, chosen by a key; two side by side; nothing in a blind review."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from apps import app_of
from review_bench import line_of, painted, review_app, said, screen_text, text_of
from settling import settled, until
from small_workspace import GOOD, labelled_by_agents, pairs_workspace
from sqlalchemy import event, select
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from agents.jobs.events import ItemEnded
from agents.jobs.outcome import Verdict
from screens.app import WorkbenchApp
from screens.jobs.jobs import JobReported
from screens.jobs.screen import JobsScreen
from screens.queue.runs import RunScreen
from screens.queue.screen import QueueScreen
from screens.review.bars import ClaimLine, PlaceLine
from screens.review.screen import ReviewScreen
from store.first_look import look
from store.policy.scope import RunRef
from store.record.session import load_session
from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.tables.runs import VerdictRow
from store.workspace.duckdb import Workspace

ScreenType = TypeVar("ScreenType")
FULL, SINGLE, NEWER = "full-agents/m/aa11", "single/m/bb22", "full-agents/n/cc33"
PAIRS = [(f"q/{number}", f"add {number}", f"{GOOD}# {number}\n") for number in range(1, 6)]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Five pairs: two runs say otherwise of the first two, only the less full one labels the third."""
    with pairs_workspace(tmp_path, PAIRS) as made:
        labelled_by_agents(made, [(1, 1.0, "tested"), (2, 1.0, "screened")], name=FULL, fullness=6)
        labelled_by_agents(made, [(n, 0.0, "read") for n in (1, 2, 3)], name=SINGLE, fullness=1)
        yield made


def agents_of(app: WorkbenchApp) -> list[float | None]:
    """The agents' labels in the lines of the queue."""
    assert isinstance(app.screen, QueueScreen)
    rows = [app.screen.items.row_of(number) for number in range(1, 6)]
    return [row.agent_label if row is not None else -1.0 for row in rows]


def sentence(app: WorkbenchApp) -> str:
    return str(app.screen.query_one("#sentence", Static).content)


def shown(app: App[Any], kind: type[ScreenType]) -> ScreenType:
    """The screen that is shown, which is of a kind."""
    assert isinstance(app.screen, kind)
    return app.screen


async def move_to_run(pilot: Pilot[Any], name: str) -> None:
    """Put the cursor of the Jobs screen on a run."""
    screen = shown(pilot.app, JobsScreen)
    while screen.run_shown is None or screen.run_shown.run.name != name:
        await pilot.press("up" if screen.runs[0].run.name == name else "down")


async def listed(pilot: Pilot[Any], name: str, labels: list[float | None]) -> None:
    """Wait until the queue names a run and shows its labels."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await settled(pilot.app)
    assert isinstance(app.screen, QueueScreen)
    assert name in sentence(app)
    assert agents_of(app) == labels


OF_FULL: list[float | None] = [1.0, 1.0, None, None, None]
OF_SINGLE: list[float | None] = [0.0, 0.0, 0.0, None, None]


async def test_a_run_is_chosen_in_the_queue_and_kept_for_the_next_session(workspace: Workspace) -> None:
    app = app_of(workspace, start_with="queue", first_look=look(workspace, "dana", blind=False))
    async with app.run_test(size=(120, 30)) as pilot:
        await listed(pilot, FULL, OF_FULL)
        await pilot.press("a")
        assert isinstance(app.screen, RunScreen)
        told = screen_text(app)
        assert "newest run of the fullest configuration (default)" in told
        assert re.search(rf"{FULL} +2 labelled", told)
        assert re.search(rf"{SINGLE} +3 labelled", told)
        assert f"It is {FULL}." in told
        await pilot.press("escape")
        assert isinstance(app.screen, QueueScreen)
        assert agents_of(app) == OF_FULL
        await pilot.press("a")
        assert isinstance(app.screen, RunScreen)
        place = [each.run.name for each in shown(app, RunScreen)._runs].index(SINGLE)
        await pilot.press(*["down"] * (place + 1), "enter")
        await listed(pilot, SINGLE, OF_SINGLE)
        # The filters are about the labels of that run.
        queue = shown(app, QueueScreen)
        assert [int(number) for number in queue.loader._ids(queue.queue_query)] == [1, 2, 3, 4, 5]
        rater = app.context.rater
        assert rater is not None
    workspace.lane.drain(10)
    assert set(load_session(workspace, rater.id, "run")) == {"id"}
    found = look(workspace, "dana", blind=False)
    assert found.run is not None
    assert (found.run.name, found.rows) == (SINGLE, None)
    again = app_of(workspace, start_with="queue", first_look=found, run=found.run)
    async with again.run_test(size=(120, 30)) as pilot:
        await listed(pilot, SINGLE, OF_SINGLE)
        await pilot.press("a")
        assert isinstance(again.screen, RunScreen)
        await pilot.press(*["up"] * (place + 1), "enter")
        await listed(pilot, FULL, OF_FULL)
    workspace.lane.drain(10)
    assert look(workspace, "dana", blind=False).run is None


async def test_the_jobs_screen_shows_the_labels_of_the_run_under_the_cursor(workspace: Workspace) -> None:
    app = app_of(workspace, start_with="queue")
    async with app.run_test(size=(120, 40)) as pilot:
        await listed(pilot, FULL, OF_FULL)
        await pilot.press("J")
        assert isinstance(app.screen, JobsScreen)
        assert f"◆{FULL}" in screen_text(app)
        await move_to_run(pilot, SINGLE)
        await pilot.press("u")
        assert f"◆{SINGLE}" in screen_text(app)
        assert "use the default" in screen_text(app)
        await pilot.press("escape")
        await listed(pilot, SINGLE, OF_SINGLE)
        await pilot.press("J")
        assert isinstance(app.screen, JobsScreen)
        assert f"◆{SINGLE}" in screen_text(app)
        await move_to_run(pilot, SINGLE)
        await pilot.press("u", "escape")
        await listed(pilot, FULL, OF_FULL)


async def test_runs_of_several_kinds_are_named_each_by_itself(workspace: Workspace) -> None:
    app = app_of(workspace, start_with="queue")
    async with app.run_test(size=(120, 30)) as pilot:
        await listed(pilot, FULL, OF_FULL)
        names = {
            "comparison": "both-orders/scripted:replies/280db339",
            "pair": "ps-tpg/scripted:replies/14f653c4",
        }
        app.context.runs.shown = {kind: RunRef(uuid4(), name) for kind, name in names.items()}
        words = app.context.runs.words
        assert words(60) == "◆ both-orders/script…/280db339, ps-tpg/scripted:re…/14f653c4"
        assert words(40) == "◆ 2 runs"
        assert words(30, "pair") == "◆ ps-tpg/scripted:re…/14f653c4"


async def test_the_first_label_of_a_newer_full_run_changes_every_line(workspace: Workspace) -> None:
    app = app_of(workspace, start_with="queue")
    async with app.run_test(size=(120, 30)) as pilot:
        await listed(pilot, FULL, OF_FULL)
        run_id = labelled_by_agents(workspace, [(5, 1.0, "tested")], name=NEWER, fullness=6)
        app.post_message(JobReported(ItemEnded(1, run_id, 5, "q/5", (Verdict(1.0, "tested", ""),))))
        await listed(pilot, NEWER, [None, None, None, None, 1.0])


async def test_a_review_shows_and_accepts_the_label_of_the_chosen_run(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await painted(pilot, 1)
        assert f"◆ {FULL}" in line_of(app, PlaceLine)
        assert "1 match" in line_of(app, ClaimLine)
        assert f"0 no match · read · {SINGLE}" in text_of(app, "verdict")
        assert screen.item is not None
        (other,) = screen.item.others
        app.context.runs.choose(other)
        await settled(pilot.app)
        assert "0 no match" in line_of(app, ClaimLine)
        assert f"◆ {SINGLE}" in line_of(app, PlaceLine)
        # A label that has just come is not judged by a key that was on its way.
        unsettled = lambda: screen.guard.is_unsettled_at(time.monotonic())  # noqa: E731
        await until(pilot, lambda: screen.guard.is_painted and not unsettled(), "the label read")
        await pilot.press("a")
        await painted(pilot, 2)
        judgment, verdict = table_of(JudgmentRow), table_of(VerdictRow)
        with workspace.reading() as connection:
            found = select(judgment.c.value, judgment.c.origin, verdict.c.run_id)
            joined = found.join(verdict, verdict.c.id == judgment.c.shown_verdict)
            assert connection.execute(joined).all() == [(0.0, "accept", other.id)]


async def test_an_item_that_the_run_has_not_labelled_says_that_others_have(workspace: Workspace) -> None:
    app = review_app(workspace, at=2)
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(pilot, 3)
        assert f"no label by {FULL}; 1 other run has one" in line_of(app, ClaimLine)
        assert f"0 no match · read · {SINGLE}" in text_of(app, "verdict")
        await pilot.press("a")
        item = shown(app, ReviewScreen).item
        assert item is not None
        assert item.label is None


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_two_runs_stand_side_by_side(workspace: Workspace, size: tuple[int, int]) -> None:
    app = review_app(workspace)
    async with app.run_test(size=size) as pilot:
        screen = await painted(pilot, 1)
        code = text_of(app, "subject")
        await pilot.press("C")
        assert "0 no match · read" in text_of(app, "subject")
        assert SINGLE in said(app)
        assert text_of(app, "verdict").startswith("◆ 1 match · tested")
        shown = screen_text(app)
        assert f"Verdict · {SINGLE}" in shown
        assert "1 match · tested" in shown
        # The claim, and so what is accepted, stays that of the run that is shown.
        assert "1 match" in line_of(app, ClaimLine)
        await pilot.press("right_square_bracket", "right_square_bracket", "right_square_bracket")
        assert f"Steps · {SINGLE}" in screen_text(app)
        assert "Screener" in text_of(app, "subject")
        # Both parts are shown alike, whichever of them has the focus.
        panes = [screen.panes.by_id[pane_id] for pane_id in ("subject", "steps")]
        for wraps in (False, True):
            await pilot.press("tab", "W")
            assert [pane.wrap for pane in panes] == [wraps, wraps]
        await pilot.press("tab", "v")
        assert "cursor" not in said(app)
        assert not screen.citations.cited
        await pilot.press("n")
        await painted(pilot, 2)
        assert f"Steps · {SINGLE}" in screen_text(app)
        await pilot.press("C")
        assert text_of(app, "subject").startswith("def")
        assert text_of(app, "subject").splitlines()[0] == code.splitlines()[0]


# -- blind ------------------------------------------------------------------------------------------------


async def test_blind_no_key_chooses_or_compares_runs_and_nothing_of_them_is_read(
    workspace: Workspace,
) -> None:
    read: list[str] = []

    def hear(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        read.append(statement)

    (other,) = [run for run in _runs(workspace) if run.name == SINGLE]
    app = review_app(workspace, blind=True, run=other)
    event.listen(workspace.engine, "before_cursor_execute", hear)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await painted(pilot, 1)
            for keys in (["C"], ["escape"]):
                await pilot.press(*keys)
            assert "compare runs" not in screen_text(app)
            assert app.context.runs.chosen is None
            app.context.runs.choose(other)
            app.context.runs.follow(ItemEnded(1, other.id, 1, "q/1", (Verdict(0.0, "read", ""),)))
            assert (app.context.runs.chosen, app.context.scope.run) == (None, None)
            seen = screen_text(app)
            await pilot.press("q", "tab")
            assert isinstance(app.screen, QueueScreen)
            assert app.screen._complete
            await pilot.press("a")
            assert isinstance(app.screen, QueueScreen)
            assert agents_of(app) == [None] * 5
            seen += screen_text(app) + sentence(app)
            assert "agents' label" not in seen.replace("the agents' labels are not shown", "")
    finally:
        event.remove(workspace.engine, "before_cursor_execute", hear)
    assert not any(name in seen for name in (FULL, SINGLE, "aa11", "bb22"))
    assert len(read) > 4
    # Whether agents wrote an item says what is asked; their verdict is not read.
    asked = r"SELECT verdict\.item_id\s+FROM verdict\s+WHERE verdict\.question_id = \(SELECT question\.id"
    read = [re.sub(asked, "", each) for each in read]
    assert not any(re.search(r"(FROM|JOIN) (verdict|run|execution)\b", each) for each in read)
    workspace.lane.drain(10)
    assert app.context.rater is not None
    assert load_session(workspace, app.context.rater.id, "run") == {}


async def test_blind_a_choice_of_an_earlier_session_is_not_looked_up(workspace: Workspace) -> None:
    app = app_of(workspace)
    (other,) = [run for run in _runs(workspace) if run.name == SINGLE]
    async with app.run_test(size=(80, 24)):
        app.context.runs.choose(other)
    workspace.lane.drain(10)
    assert look(workspace, "dana", blind=False).run == other
    assert look(workspace, "dana", blind=True).run is None


async def test_blind_the_jobs_screen_uses_no_run(workspace: Workspace) -> None:
    app = app_of(workspace, blind=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("J")
        assert isinstance(app.screen, JobsScreen)
        assert SINGLE in screen_text(app)
        assert "use run" not in screen_text(app)
        await pilot.press("u")
        assert app.context.runs.chosen is None
        assert "◆" not in screen_text(app)


def _runs(workspace: Workspace) -> list[Any]:
    from store.policy.scope import RunRef
    from store.queries.runs import all_runs

    with workspace.reading() as connection:
        return [RunRef(run.id, run.name) for run in all_runs(connection)]
