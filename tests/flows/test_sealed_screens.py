"""Workspaces that differ only in what a rater of an open study must not see show that rater the same screens.

One walk goes through all screens that such a rater can open, in both of them. Each restriction is switched off
once, and then the two must differ.
"""

import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from apps import context_of
from review_bench import painted, screen_text
from sealed_bench import SECRETS, STUDY, items_of, plain, session_of, study_pair
from settling import settled
from sqlalchemy import true
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerCancelled

import screens
from screens.app import WorkbenchApp
from screens.queue.screen import QueueScreen
from screens.review.screen import ReviewScreen
from screens.study_place import StudyPlace
from screens.workbench_screen import WorkbenchScreen
from store.queries import current
from store.reports.options import Options
from store.workspace.duckdb import Workspace

TWO = Options(question="pair.match", raters=("ben", "chi"))
"""Two raters who are compared, for those who may."""

WALKED = {
    *(
        "StudyHomeScreen",
        "QueueScreen",
        "FilterScreen",
        "SortScreen",
        "ReviewScreen",
        "KeysScreen",
        "Palette",
    ),
    *("SqlScreen", "ViewsScreen", "ColumnsScreen"),
    # These say that they are refused.
    *("StudiesScreen", "DashboardScreen", "AdjudicateScreen", "SplitsScreen", "ReportsScreen"),
}
"""The screens that the walk opens."""
CLOSED = {
    *(
        "HomeScreen",
        "JobsScreen",
        "OutcomesScreen",
        "StartScreen",
        "CandidatesScreen",
        "WorksScreen",
        "BudgetScreen",
        "RunScreen",
        "ImportScreen",
        # Before there is a workspace.
        *("WelcomeScreen", "DetailsScreen"),
    ),
    # Opened from a report, which is refused.
    *("ByQueryScreen", "RankedScreen", "ChoiceScreen"),
    *("SearchScreen", "HistoryScreen", "ParagraphEditor"),
    *("NewStudyScreen", "NewComparisonsScreen", "NewSplitScreen", "ConfirmScreen", "ExportScreen"),
}
"""The screens of the agents' work, of files and of making studies, which a study keeps from its raters."""
OF_THE_ITEM = {"TextScreen", "TextEditor", "TestEditor", "RevisionEditor", "ConsentScreen"}
"""The screens that show what is in the item on the screen, what the rater writes, or what they agree to.

A text can also be a code from the rankings of a report, which is refused.
"""
ABSTRACT = {"WorkbenchScreen"}

Steps = list[tuple[str, str]]
_PACE = re.compile(r"\d+(\.\d+)? ?(/h|an hour)")


class Sealed(WorkbenchApp):
    """The app in ana's sitting; notices are kept in place of toasts, which go by themselves."""

    def __init__(self, path: Path, workspace: Workspace) -> None:
        place = StudyPlace(workspace, session_of(workspace))
        super().__init__(context_of(workspace, "ana", study=place, annotation=None))
        self.path = path
        self.steps: Steps = []
        self.visited: set[str] = set()

    def notify(self, message: str, **options: Any) -> None:
        """Keep a notice."""
        self.steps.append((f"notice {options.get('title', '')}", message))

    async def look(self, pilot: Pilot[Any], step: str) -> None:
        """Keep what is on the screen, once nothing is read any more."""
        await at_rest(pilot)
        if isinstance(self.screen, QueueScreen):
            await settled(pilot.app)
            assert previewed(self.screen)
            await at_rest(pilot)
        if isinstance(self.screen, ReviewScreen):
            await painted(pilot)
        self.visited.add(type(self.screen).__name__)
        self.steps.append((step, _PACE.sub("PACE", plain(screen_text(self), self.path))))


def previewed(queue: Screen[Any]) -> bool:
    """Return whether the item under the cursor is beside the list, where one is, and the progress above it."""
    assert isinstance(queue, QueueScreen)
    if queue.progress is None:
        return False
    row = queue.items.row_of(queue.items.item_id) if queue.items.item_id is not None else None
    if row is None:
        return not queue.items.count
    title = queue.query_one("#preview-prompt").border_title
    return title is not None and row.external_id in str(title)


async def at_rest(pilot: Pilot[Any]) -> None:
    """Wait until nothing is read or written any more; a read that another one replaced is none."""
    while True:
        try:
            await settled(pilot.app)
        except WorkerCancelled:
            continue
        return


Walk = Callable[[Sealed, Pilot[Any]], Any]


async def walked(path: Path, walk: Walk) -> tuple[Steps, set[str]]:
    """What a walk through an app shows."""
    with Workspace.open(path) as workspace:
        app = Sealed(path, workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(pilot.app)
            assert isinstance(app.screen, WorkbenchScreen)
            await walk(app, pilot)
        return app.steps, app.visited


async def home(app: Sealed, pilot: Pilot[Any]) -> None:
    """Home, the keys, the palette, and the agents' screen, which stays closed."""
    await app.look(pilot, "home")
    await pilot.press("question_mark")
    await app.look(pilot, "keys of home")
    await pilot.press("escape")
    await pilot.press("ctrl+p")
    await app.look(pilot, "palette")
    for typed in ("agents", "reports", "studies", "extra", "secret", "python"):
        app.screen.query_one(Input).value = typed
        await app.look(pilot, f"palette, {typed}")
    await pilot.press("escape")
    await pilot.press("J")
    await app.look(pilot, "the agents")
    for opened in (
        *(app.open_studies, lambda: app.open_study(STUDY), app.open_adjudication, app.open_splits),
        *(app.open_reports, lambda: app.open_report("confusion", TWO)),
    ):
        opened()
        await app.look(pilot, "refused")
        app.go_home()
        await at_rest(pilot)


async def open_queue(app: Sealed, pilot: Pilot[Any]) -> None:
    """The queue, once it lists something."""
    app.open_queue()
    await settled(pilot.app)
    assert hasattr(app.screen, "items")
    queue = app.screen
    assert isinstance(queue, QueueScreen)
    await settled(pilot.app)
    assert queue.items.count > 0


async def in_queue(app: Sealed, pilot: Pilot[Any]) -> None:
    """The queue with its filters, orders, runs, preview and search."""
    await open_queue(app, pilot)
    await app.look(pilot, "queue")
    for key, what in (
        ("f", "filter"),
        ("o", "order"),
        ("C", "columns"),
        ("a", "runs"),
        ("v", "views"),
        ("x", "export"),
        ("question_mark", "keys"),
    ):
        await pilot.press(key)
        await app.look(pilot, what)
        if not isinstance(app.screen, QueueScreen):
            await pilot.press("escape")
    await pilot.press("slash", *"secret", "enter")
    await app.look(pilot, "found")
    await pilot.press("c")
    await at_rest(pilot)  # a list that is not there yet has no cursor to move
    await pilot.press("down", "r")
    await app.look(pilot, "all again")


async def in_review(app: Sealed, pilot: Pilot[Any]) -> None:
    """Every item, the end of the list, and what is said of what was recorded."""
    await open_queue(app, pilot)
    await at_rest(pilot)
    await pilot.press("home", "enter")
    for place in range(len(items_of(app.context.workspace, app.context.scope))):
        await an_item(app, pilot, place)
        await pilot.press("n")
    await app.look(pilot, "the end")
    for keys, what in ((("p", "0"), "judged"), (("u",), "taken back"), (("p", "s"), "skipped")):
        await pilot.press(*keys)
        await app.look(pilot, what)
    app.go_home()
    await app.look(pilot, "home again")


async def an_item(app: Sealed, pilot: Pilot[Any], place: int) -> None:
    """Every part of an item's case, and the keys that could show more."""
    await painted(pilot)
    await app.look(pilot, f"item {place}")
    assert isinstance(app.screen, ReviewScreen)
    assert app.screen.item is not None
    for part in [pane.id for pane in app.screen.item.case]:
        await pilot.press("right_square_bracket")
        await app.look(pilot, f"item {place} after {part}")
    for key in ("C", "R", "a"):
        await pilot.press(key)
        await app.look(pilot, f"item {place}, {key}")
    await pilot.press("question_mark")
    await app.look(pilot, f"item {place}, keys")
    await pilot.press("escape")


async def in_an_item(app: Sealed, pilot: Pilot[Any]) -> None:
    """The first item alone."""
    await open_queue(app, pilot)
    await at_rest(pilot)
    await pilot.press("home", "enter")
    await an_item(app, pilot, 0)


async def in_sql(app: Sealed, pilot: Pilot[Any]) -> None:
    """The views, and the rows of some of them."""
    await pilot.press("S")
    assert "SELECT from these views" in screen_text(app)
    await app.look(pilot, "sql")
    for view in ("marks", "verdicts", "raters"):
        prompt = app.screen.query_one("#statement", Input)
        prompt.value = f"FROM {view}"
        await pilot.press("enter")
        await app.look(pilot, f"rows of {view}")
    await pilot.press("escape")


async def everywhere(app: Sealed, pilot: Pilot[Any]) -> None:
    """All screens."""
    await home(app, pilot)
    await in_sql(app, pilot)
    await in_queue(app, pilot)
    app.go_home()
    await in_review(app, pilot)


def kinds_of_screens() -> set[str]:
    """The names of all screens, dialogs included."""
    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        import_module(module.name)
    found: set[type] = set()
    ahead: list[type] = [Screen]
    while ahead:
        for kind in ahead.pop().__subclasses__():
            ahead.append(kind)
            if kind.__module__.startswith("screens."):
                found.add(kind)
    return {kind.__name__ for kind in found}


def test_every_screen_is_classified() -> None:
    assert WorkbenchScreen.__name__ in ABSTRACT
    assert kinds_of_screens() == WALKED | CLOSED | OF_THE_ITEM | ABSTRACT


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return study_pair(tmp_path)


async def test_all_screens_show_the_same(pair: tuple[Path, Path]) -> None:
    (shown, visited), (hidden, _) = [await walked(path, everywhere) for path in pair]
    for (step, text), other in zip(shown, hidden, strict=True):
        assert [step, *text.split("\n")] == [other[0], *other[1].split("\n")]
        # What was looked for is on the screen; the help lists the reasons for cannot decide.
        words = re.split(r"[^\w/:-]+", text.replace("query unclear", ""))
        assert not [word for word in SECRETS if word in words and word != "secret"], (step, text)
    assert visited == WALKED


OFF: dict[str, tuple[str, Any, Walk]] = {
    "conditions that hide": ("store.policy.rows.shown_by", lambda *_: true(), in_an_item),
    "items of the sitting": ("store.queries.queue.in_scope", lambda *_: true(), in_queue),
    "closed screens": ("screens.context.ScreenContext.refuses", lambda *_: False, home),
    "runs in lists": ("store.policy.scope.Scope.may", lambda scope, _: not scope.blind, in_queue),
    "records in SQL": ("store.sql_views.views.may_read", lambda *_: true(), in_sql),
    "history of others": ("store.queries.item.may_read", lambda *_: true(), in_an_item),
}


@pytest.mark.parametrize("restriction", OFF)
async def test_without_a_restriction_screens_differ(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, restriction: str
) -> None:
    name, instead, walk = OFF[restriction]
    original = current._shown_runs
    original.cache_clear()
    if restriction == "runs in lists":
        # No run is shown in a study that reveals nothing.
        monkeypatch.setattr(current, "_shown_runs", lambda chosen, _: original(chosen, None))
    monkeypatch.setattr(name, instead)
    shown = [(await walked(path, walk))[0] for path in pair]
    original.cache_clear()
    assert shown[0] != shown[1]
