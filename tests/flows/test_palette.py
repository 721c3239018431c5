"""The palette: it finds screens, actions, saved views, queries and items, and the best answer comes first."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from review_bench import bench, review_app
from settling import Gate, settled
from small_workspace import GOOD, labelled_by_agents, pairs_workspace
from study_app import CONSENT, open_study, rater_app
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.commands import WHERE
from screens.home.consent import ConsentScreen
from screens.home.import_dialog import ImportScreen
from screens.home.screen import HomeScreen
from screens.home.study import StudyHomeScreen
from screens.jobs.screen import JobsScreen
from screens.judging.drafts import COMMENT
from screens.palette.entry import Entry, ranked
from screens.palette.places import PLACES
from screens.palette.screen import Palette
from screens.queue.filter import FilterScreen
from screens.queue.query import QueueQuery
from screens.queue.screen import QueueScreen
from screens.reports.screen import ReportsScreen
from screens.review.screen import ReviewScreen
from screens.searching.screen import SearchScreen
from screens.splits.new import NewSplitScreen
from screens.studies.list import StudiesScreen
from screens.studies.new import NewStudyScreen
from store.first_look import QUEUE_SESSION
from store.queries import finding
from store.queries.rows import QueueFilter, QueueSort, ViewQuery
from store.record.session import save_session
from store.saved_views import save_view
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
QUERIES = ("sort a list of dicts", "read a file", "x: list[int] a[/]b [red]not red[/red]")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Thirty pairs of three queries, some with a label of the agents."""
    pairs = [(f"q{n % 3}/{n // 3 + 1}", QUERIES[n % 3], f"{GOOD}# {n}\n") for n in range(30)]
    with pairs_workspace(tmp_path, pairs) as made:
        labelled_by_agents(made, [(number, 1.0, "screened") for number in range(1, 9)])
        yield made


def full_app(workspace: Workspace, **changes: Any) -> WorkbenchApp:
    """An app in which agents can be started."""
    return app_of(workspace, annotation=JobSettings(model="scripted:none"), annotation_problem="", **changes)


def answers(app: WorkbenchApp) -> list[str]:
    """The lines of the palette, which must be open."""
    assert isinstance(app.screen, Palette)
    found = app.screen.query_one(OptionList)
    lines = [str(found.get_option_at_index(place).prompt) for place in range(found.option_count)]
    assert found.highlighted == (0 if lines else None)
    return lines


async def typed(pilot: Pilot[Any], text: str) -> list[str]:
    """The lines that answer to a text, in a palette that is opened for it where none is."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    if not isinstance(app.screen, Palette):
        await pilot.press("ctrl+p")
    app.screen.query_one(Input).value = text
    await settled(app)
    return answers(app)


async def go(pilot: Pilot[Any], text: str) -> Any:
    """The screen that the first answer to a text opens."""
    await typed(pilot, text)
    await pilot.press("enter")
    return pilot.app.screen


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


async def test_the_first_answer_has_the_words_that_are_typed(workspace: Workspace) -> None:
    app = full_app(workspace)
    titles = {word for title in WHERE.values() for word in words(title)}
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        for keys in ("", "tab", "f", "escape enter", "J", "f"):
            await pilot.press(*keys.split(), "ctrl+p")
            palette = app.screen
            assert isinstance(palette, Palette)

            def first(text: str, palette: Palette = palette) -> Entry | None:
                return next((entry for _, entry in ranked(palette.entries, text)), None)

            labels = [entry.label for entry in palette.entries]
            assert {"home", "queue", "reports", "studies", "sql", "code search"} <= {*labels}
            for text in (*labels, *(word for one in PLACES for word in words(f"{one.name} {one.names}"))):
                found = first(text)
                assert found is not None, text
                assert set(words(text)) <= set(words(f"{found.label} {found.names}")), text
            # What ends the app answers first to nothing but its own words.
            own = {"quit", "exit", "leave"}
            for text in {*titles, *labels} - own:
                found = first(text)
                assert found is None or found.label != "quit", text
            for text in (*own, "save and quit"):
                found = first(text)
                assert found is not None, text
                assert found.label == "quit" or text in words(found.label), text
            await pilot.press("escape")
        # As it is shown.
        assert (await typed(pilot, "reports"))[0].startswith("reports")
        assert "Save and quit" in (await typed(pilot, "quit"))[0]


async def test_letters_in_order_answer_last_and_never_end_the_app(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        assert (await typed(pilot, "imprt"))[0].startswith("import a file")
        for letters in ("se", "sq", "ie", "ae", "ut", "it"):
            assert not [line for line in (await typed(pilot, letters))[:1] if "Save and quit" in line]
        found = await typed(pilot, "sql")
        assert found[0].startswith("sql")


async def test_screens_and_actions_are_opened_from_everywhere(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        # Over a screen; back leads to it.
        await pilot.press("tab", "enter")
        review = app.screen
        assert isinstance(await go(pilot, "reports"), ReportsScreen)
        assert isinstance(await go(pilot, "code search"), SearchScreen)
        assert isinstance(await go(pilot, "reports"), ReportsScreen)
        await pilot.press("escape")
        assert app.screen is review
        # A screen that is under others is shown by closing these.
        queue = await go(pilot, "queue")
        assert isinstance(queue, QueueScreen)
        assert [type(screen).__name__ for screen in app.screen_stack[-2:]] == ["HomeScreen", "QueueScreen"]
        # From a dialog, which is closed.
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        assert isinstance(await go(pilot, "new split"), NewSplitScreen)
        assert not any(isinstance(screen, FilterScreen) for screen in app.screen_stack)
        # The action of another screen.
        assert isinstance(await go(pilot, "import a file"), ImportScreen)
        assert isinstance(app.screen_stack[-2], HomeScreen)
        assert isinstance(await go(pilot, "filter"), FilterScreen)
        assert isinstance(app.screen_stack[-2], QueueScreen)
        # Of the dialog itself.
        assert await go(pilot, "cancel") is queue
        for place, kind in (("studies", StudiesScreen), ("new study", NewStudyScreen), ("jobs", JobsScreen)):
            assert isinstance(await go(pilot, place), kind), place
        report = await go(pilot, "confusion")
        assert isinstance(report, ReportsScreen)
        assert report.report is not None
        assert report.report.name == "confusion"


async def test_find_opens_the_line_of_a_queue_that_was_never_shown(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        # There is no such action: nothing is opened.
        assert isinstance(await go(pilot, "find zzqx"), Palette)
        queue = await go(pilot, "find")
        assert isinstance(queue, QueueScreen)
        assert queue.query_one("#find", Input).has_focus


@pytest.mark.parametrize("before", [False, True])
async def test_a_saved_view_is_listed_in_the_queue(workspace: Workspace, before: bool) -> None:
    app = full_app(workspace)
    view = ViewQuery(QueueFilter(text="read"), QueueSort("title", descending=True), grouped=False)
    save_view(workspace, app.context.scope, "files [b]first[/b]", view)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        if before:
            await pilot.press("tab", "enter")
        assert "files [b]first[/b]" in (await typed(pilot, "files"))[0]
        await pilot.press("enter")
        queue = app.screen
        assert isinstance(queue, QueueScreen)
        assert queue.queue_query.wanted == view.wanted
        assert queue.queue_query.sort == view.sort
        assert not queue.queue_query.grouped
        assert queue.items.count == 10


async def test_an_action_of_the_queue_sees_what_the_queue_of_the_session_before_listed(
    workspace: Workspace,
) -> None:
    app = full_app(workspace)
    rater = app.context.scope.rater_id
    kept = QueueQuery(QueueFilter(text="read"), QueueSort("title")).kept
    save_session(workspace, rater, QUEUE_SESSION, kept)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        dialog = await go(pilot, "filter")
        assert isinstance(dialog, FilterScreen)
        assert dialog.query_one("#text", Input).value == "read"
        await pilot.press("enter")
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.items.count == 10


async def test_queries_and_items_are_found_by_words_and_by_id(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        (found,) = [line for line in await typed(pilot, "dicts SORT") if line.startswith("query")]
        assert "sort a list of dicts" in found
        assert "10 pairs" in found
        queue = await go(pilot, "dicts sort")
        assert isinstance(queue, QueueScreen)
        assert queue.items.ids.tolist() == list(range(1, 31, 3))
        # Markup in what is found is text.
        assert QUERIES[2] in (await typed(pilot, "not red"))[0]
        review = await go(pilot, "q1/7")
        assert isinstance(review, ReviewScreen)
        assert review.item is not None
        assert review.item.external_id == "q1/7"
        assert len(review.order.ids) == 30
        assert (await typed(pilot, "nothing like it")) == []
        # One letter is no search.
        assert not [line for line in await typed(pilot, "q") if line.startswith("q1/")]


async def test_an_action_of_another_screen_leads_there_and_is_named(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        assert (await typed(pilot, "comment"))[0].split()[-3:] == ["m", "·", "Review"]
        review = await go(pilot, "comment")
        assert isinstance(review, ReviewScreen)
        await settled(app)
        assert "m does it here: Write a comment on the item." in review.shared.message
        assert not review.query_one(f"#{COMMENT}").display


async def test_an_item_takes_the_place_of_the_review_and_its_drafts(workspace: Workspace) -> None:
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        first = await go(pilot, "q1/7")
        await pilot.press("m", *"seven", "escape")
        second = await go(pilot, "q1/4")
        assert isinstance(second, ReviewScreen)
        assert first not in app.screen_stack
        await pilot.press("m", *"four", "escape")
        again = await go(pilot, "q1/7")
        assert isinstance(again, ReviewScreen)
        await pilot.press("m")
        assert again.query_one(f"#{COMMENT}", Input).value == "seven"
        await pilot.press("escape", "q")
        again = await go(pilot, "q1/4")
        await pilot.press("m")
        assert again.query_one(f"#{COMMENT}", Input).value == "four"


async def test_enter_waits_for_what_is_searched_where_nothing_else_is_meant(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, find = Gate(), finding.find_items

    def slow(*given: Any) -> Any:
        gate.wait()
        return find(*given)

    monkeypatch.setattr(finding, "find_items", slow)
    app = full_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        await pilot.press("ctrl+p", *"q1/7", "enter")
        assert isinstance(app.screen, Palette)
        # Keys are handled meanwhile, and what is typed else is no longer meant.
        await pilot.press("backspace", "backspace", *"/8", "enter")
        assert app.screen.query_one(Input).value == "q1/8"
        gate.set()
        await settled(app)
        review = app.screen
        assert isinstance(review, ReviewScreen)
        assert review.item is not None
        assert review.item.external_id == "q1/8"
        # An action is done at once.
        gate.clear()
        assert isinstance(await go(pilot, "reports"), ReportsScreen)
        gate.set()


async def test_what_a_blind_review_hides_is_not_offered(workspace: Workspace) -> None:
    view = ViewQuery(QueueFilter(agent="1"))
    save_view(workspace, full_app(workspace).context.scope, "agents agree", view)
    app = full_app(workspace, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        labels = {line[:20].strip() for line in await typed(pilot, "")}
        assert {"queue", "reports", "export"} <= labels
        assert not {"splits", "new split", "adjudication", "disagreements"} & labels
        assert not [line for line in await typed(pilot, "agents agree") if line.endswith("view")]
        assert not [line for line in await typed(pilot, "confusion") if line.endswith("report")]


async def test_an_empty_workspace_offers_what_can_be_done_in_it(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "empty.duckdb") as workspace:
        app = full_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            await settled(app)
            labels = {line[:20].strip() for line in await typed(pilot, "")}
            assert {"home", "import a file", "load demo", "code search"} <= labels
            assert not {"queue", "reports", "studies", "export", "sql"} & labels


async def test_a_rater_of_a_study_finds_only_their_own_items_and_screens(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        open_study(workspace, consent=CONSENT)
        app = rater_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            await settled(app)
            await pilot.press("escape")
            # Nothing is found before the rater agreed.
            labels = {line[:20].strip() for line in await typed(pilot, "")}
            assert {"home", "consent", "quit"} <= labels
            hidden = {"jobs", "reports", "studies", "splits", "export", "code search", "adjudication"}
            assert not {*hidden, "queue", "review", "sql"} & labels
            assert not [line for line in await typed(pilot, "python") if line.startswith("query")]
            await go(pilot, "consent")
            await pilot.press("enter")
            assert isinstance(app.screen, ReviewScreen)
            own = {row.item_id for row in finding.find_items(workspace, app.context.scope, "e", 100)}
            assert own <= set(app.screen.order.ids)
            labels = {line[:20].strip() for line in await typed(pilot, "")}
            assert {"home", "queue", "review", "sql"} <= labels
            assert not {*hidden, "run", "disagreements", "import a file"} & labels
            assert isinstance(await go(pilot, "queue"), QueueScreen)
            # The text is read again; q closes it where nothing is written.
            assert isinstance(await go(pilot, "consent"), ConsentScreen)
            await pilot.press("q")
            assert isinstance(app.screen, StudyHomeScreen)


async def test_the_palette_over_a_review_goes_to_another_item_and_keeps_the_draft(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        first = app.screen
        assert isinstance(first, ReviewScreen)
        assert first.item is not None
        named = first.item.external_id
        await pilot.press("m", *"half a thought")
        review = await go(pilot, "q2/3")
        assert isinstance(review, ReviewScreen)
        assert review is not first
        assert review.item is not None
        assert review.item.external_id == "q2/3"
        assert first not in app.screen_stack
        back = await go(pilot, named)
        await pilot.press("m")
        assert back.query_one("#comment", Input).value == "half a thought"
