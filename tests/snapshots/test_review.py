"""Pictures of the review: the screen at 80x24 and 120x40, most of its states at one size."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pictures import WIDE, Sizes, at, states
from review_bench import (
    ALONE,
    CASES,
    SIMULATED,
    TEST,
    Case,
    Ran,
    bench,
    painted,
    press,
    review_app,
    said,
    write_case,
    write_expert_run,
)
from scopes import scope
from settling import settled, until
from textual.pilot import Pilot

from agents.jobs.expert_tests import ExpertTests
from agents.sandbox.settings import SandboxSettings
from agents.settings import ExpertRunSettings
from screens.app import WorkbenchApp
from screens.jobs.job_line import JobLine
from screens.jobs.jobs import JobReported
from screens.judging.judgment_builder import SessionProgress
from screens.queue.query import QueueQuery
from screens.review.bars import ClaimLine
from screens.session_recorder import SessionRecorder
from screens.settings import ScreenSettings
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.workspace.duckdb import Workspace

NOWHERE = ExpertRunSettings(sandboxes=SandboxSettings(bwrap="no-such-bwrap", docker_host="tcp://127.0.0.1:1"))
HOSTILE = (
    "x: list[int] = [red]not red[/red] a[/]b\n"
    "print('\x1b[31mred\x1b[0m \x1b]52;c;aGVsbG8=\x07')\n"
    "if level != 'user\u202e \u2066// admin\u2069 \u2066':\n"
    "\tname = '漢字かな \u200b'  # \x00\x7f\x9b\n" + "y = 1  # " + "long " * 60 + "\n"
)

Snap = Callable[..., bool]
Steps = Callable[[Pilot[Any]], Awaitable[Any]]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One time zone; and what depends on how fast the test runs is left out of the pictures."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def keys(*pressed: str) -> Steps:
    """Press keys, each when the item is on the screen; then let everything settle."""

    async def steps(pilot: Pilot[Any]) -> None:
        await press(pilot, *pressed)

    return steps


def typing(opening: str, text: str, *then: str) -> Steps:
    """Open a text line and type into it."""

    async def steps(pilot: Pilot[Any]) -> None:
        await press(pilot, opening)
        await pilot.press(*text, *then)

    return steps


async def help_opened(pilot: Pilot[Any]) -> None:
    await painted(pilot)
    await pilot.press("question_mark")
    await pilot.pause()


async def palette_opened(pilot: Pilot[Any]) -> None:
    from textual.widgets import OptionList

    await painted(pilot)
    await pilot.press("ctrl+p")
    await pilot.press(*"cannot decide")
    assert pilot.app.screen.query_one(OptionList).option_count == 1
    await pilot.pause()


async def annotation_arrived(pilot: Pilot[Any]) -> None:
    from review_bench import uid

    from agents.jobs.events import ItemEnded
    from agents.jobs.outcome import Verdict

    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await painted(pilot)
    arrived = Case("not-looked", CASES[6].query, assessment="clear_nonmatch", label=0)
    app.context.workspace.lane.submit(lambda connection: write_case(connection, 7, arrived)).result()
    app.post_message(JobReported(ItemEnded(1, uid(0), 7, "not-looked", (Verdict(0.0, "screened", ""),))))
    await until(pilot, lambda: said(app).startswith("◆"))
    # The event came without a job: there is none whose line could be shown.
    app.screen.query_one(JobLine).show_job()
    await settled(pilot.app)


async def nothing_saved(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await press(pilot, "1")
    assert bool(app.context.recorder.failures)
    await press(pilot, "p")
    assert "not saved" in str(app.screen.query_one(ClaimLine).content)
    await pilot.pause()


async def editor_opened(pilot: Pilot[Any]) -> None:
    from screens.review.item_tests import TestEditor

    await painted(pilot)
    await pilot.press("e")
    assert isinstance(pilot.app.screen, TestEditor)
    await pilot.press("down", "down", "down", "down", "end", *"  # here")
    await pilot.pause()


async def refused_test(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await press(pilot, "r")
    assert not app.context.tests.running
    await settled(pilot.app)


async def empty_opened(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await painted(pilot)
    app.call_later(
        app.open_review,
        queue_ids(app.context.workspace, scope(0))[:0],
        0,
        QueueQuery(QueueFilter(flagged=True)),
    )
    await settled(pilot.app)
    assert "No items here" in said(app)
    await pilot.pause()


async def unreadable_opened(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await painted(pilot)
    await pilot.press("n")
    assert "are safe" in said(app)
    await pilot.pause()


STATES: dict[str, tuple[int, Steps]] = {
    "screened-match": (0, keys()),
    "screened-no": (1, keys()),
    "tested": (2, keys("tab")),
    "failing": (3, keys("tab")),
    "failing-test": (3, keys("tab", "right_square_bracket")),
    "failing-run": (3, keys("G")),
    "failing-steps": (3, keys("tab", *["right_square_bracket"] * 3)),
    "environment": (4, keys("G")),
    "timeout": (5, keys("G")),
    "no-verdict": (6, keys("tab")),
    "failed-step": (7, keys("tab")),
    "guideline": (0, keys("left_square_bracket")),
    "accepted": (0, keys("a", "p")),
    "override-asks": (0, keys("0")),
    "override-reason": (0, keys("0", "b", "p")),
    "undecided-asks": (0, keys("d")),
    "undecided": (0, keys("d", "w", "p")),
    "skipped": (0, keys("s", "p")),
    "flagged": (0, keys("f")),
    "undone": (0, keys("1", "u")),
    "nothing-to-accept": (6, keys("a")),
    "last-item": (9, keys("1")),
    "comment": (0, typing("m", "half a thought")),
    "draft": (0, typing("m", "half a thought", "escape")),
    "find": (3, typing("slash", "file")),
    "found": (3, typing("slash", "file", "enter", "n")),
    "zoomed": (3, keys("tab", "z")),
    "wrapped": (8, keys("W")),
    "hostile": (8, keys()),
    "no-numbers": (0, keys("L")),
    "help": (0, help_opened),
    "palette": (0, palette_opened),
    "editor": (3, editor_opened),
    "expert-verdict": (9, keys("tab")),
    "expert-test": (9, keys("tab", "right_square_bracket", "R")),
    "expert-run": (9, keys("R", "G")),
    "no-sandbox": (3, refused_test),
    "label-arrived": (6, annotation_arrived),
    "empty": (0, empty_opened),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with ExitStack() as stack:
        cases = [*CASES, Case("hostile[red]", HOSTILE, HOSTILE, assessment="clear_match", label=1)]
        made = stack.enter_context(bench(tmp_path, [*cases, replace(CASES[3], name="run-again")]))
        ran = Ran([("missing", "passed", ""), ("only_newline", "passed", "")])
        write_expert_run(
            made,
            len(cases) + 1,
            "dana",
            TEST.replace("assert not is_blank_file(file)", "assert is_blank_file(file)"),
            ran,
        )
        yield made


@states(STATES, in_both={"tested", "override-asks", "comment", "last-item", "editor", "hostile", "help"})
def test_review(snap_compare: Snap, workspace: Workspace, state: str, sizes: Sizes) -> None:
    at, steps = STATES[state]
    app = review_app(workspace, at=at, make_expert_runs=lambda: ExpertTests(workspace, lambda: NOWHERE))
    assert snap_compare(app, sizes=sizes, run_before=_then_still(steps))


@states(["open", "revealed"], in_both=["open", "revealed"])
def test_revealed_by_an_answer(snap_compare: Snap, workspace: Workspace, state: str, sizes: Sizes) -> None:
    async def revealed(pilot: Pilot[Any]) -> None:
        await press(pilot, "1")

    app = review_app(workspace, at=3, settings=ScreenSettings(reveal_after_answer=True))
    steps = keys() if state == "open" else revealed
    assert snap_compare(app, sizes=sizes, run_before=_then_still(steps))


@states(["open", "judged", "accept"], in_both=["open"])
def test_blind(snap_compare: Snap, workspace: Workspace, state: str, sizes: Sizes) -> None:
    steps = {"open": keys(), "judged": keys("1", "p"), "accept": keys("tab", "a")}[state]
    app = review_app(workspace, at=3, blind=True)
    assert snap_compare(app, sizes=sizes, run_before=_then_still(steps))


@at(WIDE)
def test_without_a_rater(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    app = review_app(workspace, rater=None)
    assert snap_compare(app, sizes=sizes, run_before=_then_still(keys("1")))


@at(WIDE)
def test_not_saved(
    snap_compare: Snap, workspace: Workspace, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from store.workspace.journal import Journal

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    monkeypatch.setattr(SessionRecorder, "RETRY_SECONDS", 600.0)
    app = review_app(workspace)
    assert snap_compare(app, sizes=sizes, run_before=_then_still(nothing_saved))


@at(WIDE)
def test_unreadable(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    workspace.native().execute("UPDATE item SET kind = 'riddle' WHERE id = 2")
    app = review_app(workspace)
    assert snap_compare(app, sizes=sizes, run_before=_then_still(unreadable_opened))


@at(WIDE)
@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
def test_other_colours(snap_compare: Snap, workspace: Workspace, theme: str, sizes: Sizes) -> None:

    async def judged(pilot: Pilot[Any]) -> None:
        await press(pilot, "0")
        await painted(pilot, 5)

    app = review_app(workspace, at=3, settings=ScreenSettings(theme=theme))
    assert snap_compare(app, sizes=sizes, run_before=_then_still(judged))


@at(WIDE)
@pytest.mark.parametrize(
    ("case", "run_name"),
    [(SIMULATED, "ps-tpg-sim-fa/m/0"), (ALONE, "single/m/0")],
    ids=["simulated", "alone"],
)
def test_agents_that_execute_nothing(
    snap_compare: Snap, tmp_path: Path, case: Case, run_name: str, sizes: Sizes
) -> None:
    with bench(tmp_path, [case], run_name) as made:
        app = review_app(made)
        assert snap_compare(app, sizes=sizes, run_before=_then_still(keys("tab")))


def _then_still(steps: Steps) -> Steps:
    """Do the steps, then stop the cursor of text lines from blinking."""

    async def still(pilot: Pilot[Any]) -> None:
        from textual.widgets import Input, TextArea

        await steps(pilot)
        for box in (*pilot.app.screen.query(Input), *pilot.app.screen.query(TextArea)):
            box.cursor_blink = False
        await pilot.pause()

    return still
