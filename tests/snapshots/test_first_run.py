"""Pictures of the first run and of the practice."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import context_of
from pictures import NARROW, WIDE, Sizes, at, named
from review_bench import painted, screen_text
from settling import settled
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.judging.judgment_builder import SessionProgress
from screens.settings import ScreenSettings
from screens.study_place import StudyPlace
from screens.welcome.app import WelcomeApp
from screens.welcome.choice import FirstRun
from store.record.raters import ensure_rater
from store.studies.session import study_session
from store.workspace.duckdb import Workspace
from workbench.first_run import imports_into
from workbench.practice import lessons, make_practice

Snap = Callable[..., bool]
Steps = Callable[[Pilot[Any]], Awaitable[None]]


def first_run(*workspaces: str) -> WelcomeApp:
    """The app of a first run."""
    return WelcomeApp(
        FirstRun(
            settings=ScreenSettings(),
            workspaces=tuple(map(Path, workspaces)),
            files=bool(workspaces),
            new=Path("workbench.duckdb"),
            rater="dana",
            asks=True,
            config=Path("~/.config/workbench/config.toml"),
            check_name=str.strip,
            keep_name=lambda _: None,
            imports=imports_into,
        )
    )


@pytest.mark.parametrize("sizes", [(NARROW,), (WIDE,)], ids=named)
@pytest.mark.parametrize(
    ("name", "keys"), [("empty", ""), ("here", ""), ("details", "i"), ("keys", "question_mark")]
)
def test_first_run(snap_compare: Snap, sizes: Sizes, name: str, keys: str) -> None:
    app = first_run(*(("pilot.duckdb", "study.duckdb") if name == "here" else ()))
    assert snap_compare(app, sizes=sizes, run_before=lambda pilot: pilot.press(*keys.split()))


@pytest.fixture
def practice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkbenchApp]:
    """The app of a practice."""
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    with make_practice(tmp_path / "practice.duckdb", "ana") as made:
        yield practice_app(made)


def practice_app(made: Workspace) -> WorkbenchApp:
    """The app over a practice's workspace."""
    ref = ensure_rater(made, "ana")
    with made.reading() as connection:
        session = study_session(connection, ref)
    assert session is not None
    place = StudyPlace(made, session)
    return WorkbenchApp(context_of(made, "ana", study=place, lessons=lessons(), start_with="resume"))


async def answer_wrong(pilot: Pilot[Any]) -> None:
    """Answer the first item wrong."""
    await painted(pilot, 1)
    await pilot.press("0")
    await painted(pilot, 2)


async def go_to_the_end(pilot: Pilot[Any]) -> None:
    """Answer the first item, and go past the others."""
    await painted(pilot, 1)
    await pilot.press("1")
    for number in range(2, 11):
        await painted(pilot, number)
        await pilot.press("n")
    await settled(pilot.app)
    assert "items right." in screen_text(pilot.app)
    await settled(pilot.app)


@at(NARROW, WIDE)
@pytest.mark.parametrize("steps", [answer_wrong, go_to_the_end], ids=["answered", "end"])
def test_practice(practice: WorkbenchApp, snap_compare: Snap, sizes: Sizes, steps: Steps) -> None:
    assert snap_compare(practice, sizes=sizes, run_before=steps)
