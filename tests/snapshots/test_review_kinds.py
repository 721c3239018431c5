"""Pictures of the reviews of completions and of repository questions: each screen at two sizes, each state at one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from entry_bench import ANSWERS, PREDICTIONS, QUESTIONS, TASKS, answer, entries
from kinds import prediction
from pictures import WIDE, Sizes, at, states
from review_bench import painted, press, review_app
from settling import settled
from textual.pilot import Pilot
from textual.widgets import Input

from screens.app import WorkbenchApp
from screens.judging.item_loader import ItemLoader
from screens.judging.judgment_builder import SessionProgress
from screens.review.bars import ClaimLine
from screens.session_recorder import SessionRecorder
from screens.settings import ScreenSettings
from screens.text_screen import TextScreen
from store.workspace.duckdb import Workspace

TASK, NO_CONTEXT, MANY, QUESTION, UNANSWERED, THREAD, NO_BODY, CROWD = range(8)

Snap = Callable[..., bool]
Steps = Callable[[Pilot[Any]], Awaitable[Any]]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on how fast the test runs is left out of the pictures."""
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    crowd = {"id": "till/5", "question": "Which of twelve answers is right?", "answer": "The *last* one."}
    with entries(
        folder,
        tasks=[TASKS[0], TASKS[2], TASKS[1]],
        predictions=[
            *PREDICTIONS,
            *(prediction(2, f"thing_{n}(value)", model=f"model-{n:02}") for n in range(12)),
        ],
        questions=[*QUESTIONS, crowd],
        answers=[*ANSWERS, *(answer("till/5", f"model-{n:02}", f"Number {n}.", 5) for n in range(12))],
    ) as made:
        return made.path


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Iterator[Workspace]:
    path = tmp_path / "entries.duckdb"
    path.write_bytes(built.read_bytes())
    with Workspace.open(path) as made:
        yield made


def keys(*pressed: str) -> Steps:
    """Press keys, each when the item is on the screen; then let everything settle."""

    async def steps(pilot: Pilot[Any]) -> None:
        await press(pilot, *pressed)

    return steps


def shown(pane_id: str, *then: str) -> Steps:
    """Bring a part of the case into view."""

    async def steps(pilot: Pilot[Any]) -> None:
        screen = await painted(pilot)
        screen.panes.show_pane(pane_id)
        await press(pilot, *then)

    return steps


async def scores_typed(pilot: Pilot[Any]) -> None:
    """Type some of an answer's scores in one line."""
    await press(pilot, "S")
    await pilot.press(*"789")
    # Its cursor blinks, and half a second passes quickly on a busy machine.
    pilot.app.screen.query_one(Input).cursor_blink = False
    await pilot.pause()


STATES: dict[str, tuple[int, Steps]] = {
    "completion": (TASK, keys()),
    "completion-all": (TASK, keys("f", "a", "b", "a", "p")),
    "completion-zoomed": (TASK, shown("comparison", "z")),
    "completion-alone": (NO_CONTEXT, shown("comparison")),
    "completion-covered": (TASK, keys("H")),
    "completion-uncovered": (TASK, keys("H", "a")),
    "completion-many": (MANY, shown("response-H", "a", "b")),
    "question": (QUESTION, keys()),
    "question-reasons": (QUESTION, keys("2")),
    "question-scores-line": (QUESTION, scores_typed),
    "question-not-parsed": (QUESTION, keys(*"aaaaa")),
    "question-all": (QUESTION, keys("f", *"aaaaa", *"345", "p")),
    "question-zoomed": (QUESTION, shown("issue", "z")),
    "question-unanswered": (UNANSWERED, keys()),
    "question-no-body": (NO_BODY, keys()),
    "question-crowd": (CROWD, keys("5", "a", "t", "t", "t")),
}
PARTS: dict[str, tuple[int, Steps]] = {
    "context": (TASK, shown("context")),
    "completion": (TASK, shown("response-A")),
    "empty": (TASK, shown("response-C")),
    "no-context": (NO_CONTEXT, shown("context")),
    "history": (TASK, shown("history")),
    "guide": (TASK, shown("guideline")),
    "issue": (THREAD, keys("tab")),
    "judge": (QUESTION, shown("judges")),
    "chunks": (QUESTION, shown("context")),
    "source": (QUESTION, shown("issue", "M")),
    "sides": (QUESTION, keys("x", "right_square_bracket")),
    "scores": (QUESTION, shown("guideline")),
}


@states(
    STATES,
    in_both={
        "completion",
        "completion-all",
        "completion-covered",
        "question",
        "question-reasons",
        "question-scores-line",
    },
)
def test_kinds(snap_compare: Snap, workspace: Workspace, state: str, sizes: Sizes) -> None:
    at, steps = STATES[state]
    assert snap_compare(review_app(workspace, at=at), sizes=sizes, run_before=steps)


@pytest.mark.parametrize("part", PARTS)
def test_parts(snap_compare: Snap, workspace: Workspace, part: str) -> None:
    at, steps = PARTS[part]
    assert snap_compare(review_app(workspace, at=at), sizes=(WIDE,), run_before=steps)


@at(WIDE)
@pytest.mark.parametrize(("at", "name"), [(TASK, "completion"), (QUESTION, "question")])
def test_blind(snap_compare: Snap, workspace: Workspace, at: int, name: str, sizes: Sizes) -> None:
    app = review_app(workspace, at=at, blind=True)
    assert snap_compare(app, sizes=sizes, run_before=shown("comparison" if at == TASK else "response-B"))


@at(WIDE)
def test_not_saved(
    snap_compare: Snap,
    workspace: Workspace,
    sizes: Sizes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from store.workspace.journal import Journal

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async def judged(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, WorkbenchApp)
        await press(pilot, "a")
        assert bool(app.context.recorder.failures)
        await painted(pilot)
        assert "not saved" in str(app.screen.query_one(ClaimLine).content)
        await pilot.pause()

    monkeypatch.setattr(Journal, "append", full)
    monkeypatch.setattr(SessionRecorder, "RETRY_SECONDS", 600.0)
    assert snap_compare(review_app(workspace, at=QUESTION), sizes=sizes, run_before=judged)


@states(["found", "missing"], in_both={"found"})
def test_file(
    snap_compare: Snap,
    workspace: Workspace,
    state: str,
    sizes: Sizes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file behind a piece of context."""
    monkeypatch.chdir(tmp_path)
    checkout = tmp_path / "checkouts" / "own-tools"
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "HEAD").write_text("9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c\n")
    lines = [f"TOOL_{number} = {number}\n" for number in range(60)]
    lines[40:40] = ["\n", "\n", "def thing_1(value):\n", "    ...\n", "\n", "\n"]
    if state == "found":
        (checkout / "tools.py").write_text("".join(lines))

    async def opened(pilot: Pilot[Any]) -> None:
        await shown("context")(pilot)
        await pilot.press("F")
        assert isinstance(pilot.app.screen, TextScreen)
        await settled(pilot.app)

    app = review_app(workspace, at=TASK, settings=ScreenSettings(repositories=Path("checkouts")))
    assert snap_compare(app, sizes=sizes, run_before=opened)


@at(WIDE)
def test_loading(
    snap_compare: Snap, workspace: Workspace, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def not_yet(pilot: Pilot[Any]) -> None:
        await settled(pilot.app)
        await pilot.press("1")
        await pilot.pause()

    # A thread that were kept waiting would keep the app from ending.
    monkeypatch.setattr(ItemLoader, "read", lambda *_: None)
    assert snap_compare(review_app(workspace, at=QUESTION), sizes=sizes, run_before=not_yet)
