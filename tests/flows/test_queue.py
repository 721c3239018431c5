"""The queue at work: what is listed, how it is filtered and ordered, and what becomes of the rows."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from apps import app_of, context_of
from entry_bench import QUESTIONS, TASKS, entries
from review_bench import screen_text
from rich.cells import cell_len
from scopes import scope
from settling import Gate, settled
from several_kinds import three_kinds
from small_workspace import GOOD, WRONG, label, labelled_by_agents, mark, pairs_workspace, recorded
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agents.jobs.events import ItemEnded
from agents.jobs.outcome import Verdict
from screens.app import WorkbenchApp
from screens.jobs.jobs import JobReported
from screens.queue.filter import ChoiceRow, FilterScreen
from screens.queue.loader import QueueLoader
from screens.queue.query import QueueQuery
from screens.queue.screen import QueueScreen
from screens.queue.sort import SortScreen
from screens.review.screen import ReviewScreen
from screens.settings import ScreenSettings
from screens.widgets.item_list.widget import ItemList
from screens.widgets.key_line import KeyLine
from store.events import silent
from store.first_look import QUEUE_SESSION
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter, QueueSort
from store.record.session import save_session
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path

QUERIES = (
    "python check if a file is empty",
    "sort list of dicts by key",
    "x: list[int] a[/]b [red]not red[/red]",
    "split \x1b[31mstring\x1b[0m \u202eon comma",
)
COUNT = 300


def pairs(count: int = COUNT) -> Iterator[tuple[str, str, str]]:
    """Pairs of four queries in turn; every second code does what is asked."""
    for number in range(count):
        yield (
            f"q{number % 4}/{number // 4 + 1}",
            QUERIES[number % 4],
            f"{GOOD if number % 2 else WRONG}# {number}\n",
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 pairs: the agents labelled those of even ids, dana, who lists them one by one, the first 20 with 1."""
    with pairs_workspace(tmp_path_factory.mktemp("queue"), pairs()) as made:
        rater = context_of(made).rater
        assert rater is not None
        labelled_by_agents(
            made,
            [(n, float(n % 4 == 0), "tested" if n % 3 == 0 else "screened") for n in range(2, COUNT + 1, 2)],
        )
        recorded(made, rater, *[label(made, rater, number, 1.0) for number in range(1, 21)])
        recorded(made, rater, mark(made, rater, 4, "flag"), mark(made, rater, 30, "skip"))
        recorded(made, rater, mark(made, rater, 31, "cannot_decide"))
        save_session(made, rater.id, QUEUE_SESSION, {"grouped": False}).result()
        return made.path


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the workspace for one test."""
    path = tmp_path / "pairs.duckdb"
    shutil.copy(built, path)
    with Workspace.open(path) as opened_workspace:
        yield opened_workspace


def queue_of(app: WorkbenchApp) -> QueueScreen:
    """The queue, which must be what is shown."""
    assert isinstance(app.screen, QueueScreen)
    return app.screen


def lines(app: WorkbenchApp) -> list[str]:
    """The lines of the list as they are painted, the heading first."""
    items = queue_of(app).items
    return [items.render_line(y).text for y in range(items.size.height)]


def read(screen: QueueScreen) -> bool:
    """Whether the order is complete and every line in sight was read."""
    return screen._complete and "┄" not in "".join(
        screen.items.render_line(y).text for y in range(screen.items.size.height)
    )


def said(app: WorkbenchApp, selector: str) -> str:
    """The text of a line of the screen."""
    return str(app.screen.query_one(selector, Static).content)


async def opened(pilot: Pilot[Any]) -> QueueScreen:
    """Open the queue from home and wait until it is read."""
    app = cast(WorkbenchApp, pilot.app)
    await pilot.press("tab")
    assert isinstance(app.screen, QueueScreen)
    assert read(app.screen)
    return queue_of(app)


@pytest.fixture
def at_home(workspace: Workspace) -> Callable[..., WorkbenchApp]:
    """Makes the app over the workspace."""
    return lambda **changes: app_of(workspace, **changes)


async def test_lists_every_item_with_the_true_count(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert screen.items.count == COUNT
        assert "all items · 300 of 300" in said(app, "#sentence")
        await settled(pilot.app)
        assert said(app, "#progress").endswith("░ 20 of 300 judged")
        heading, first, second, *_ = lines(app)
        # None of the codes has a name, and no pair a similarity.
        assert heading.split() == ["you", "◆", "agents", "path", "item"]
        assert first.startswith("▸●")
        assert "1 match" in first
        assert "python check if a file" in first
        # Item 2: the agents say 0, dana says 1.
        assert second.startswith(" ●▲")
        assert "0 no match" in second
        assert "screened" in second
        assert lines(app)[4].startswith(" ● ⚑")


async def test_items_of_a_query_are_on_a_line_that_opens_the_first_to_be_judged(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        line = screen.query_one(KeyLine)
        await settled(pilot.app)
        assert "g group" in str(line.content)
        await pilot.press("down", "down", "down", "down", "g")
        assert read(screen)
        assert screen.items.line_count == 8
        # Each of the four queries has 75 pairs, of which 50 fit on a line.
        assert screen.items.count == COUNT
        heading, first, _, second, *_ = lines(app)
        assert heading.split() == ["you", "marks", "item"]
        assert first.startswith("▸○   5 of 50     ●●●●●○○○○○○")
        assert QUERIES[0] in first
        # The agents say no of all of the second query.
        assert second.startswith(" ○▲  5 of 50     ▲▲▲▲▲◇◇◇◇")
        # The cursor stays with the item, and means the first one of its query that is not judged.
        assert (screen.items.cursor, screen.items.item_id) == (0, 21)
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)
        review = cast(ReviewScreen, app.screen)
        await settled(pilot.app)
        assert review.item is not None
        assert review.item.item_id == 21
        await pilot.press("n")
        assert review.item is not None
        assert review.item.item_id == 25
        rater = app.context.rater
        assert rater is not None
        app.context.recorder.submit(label(workspace, rater, 25, 0.0))
        await settled(pilot.app)
        assert not app.context.recorder.unsaved
        await pilot.press("q")
        assert app.screen is screen
        assert lines(app)[1].startswith("▸○   6 of 50     ●●●●●○×○")
        assert said(app, "#progress").endswith("21 of 300 judged")
        await pilot.press("ctrl+q")
    again = app_of(workspace)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert screen.items.line_count == 8
        assert "g one by one" in str(screen.query_one(KeyLine).content)
        await pilot.press("o", "s")
        assert screen.queue_query.sort == QueueSort("status")
        assert read(screen)
        assert screen.items.line_count == 8


async def test_a_digit_lists_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldReads(monkeypatch)
    with three_kinds(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            # From home, before it is read which kinds there are.
            await pilot.press("tab", "2")
            held.go_on.set()
            await settled(pilot.app)
            assert isinstance(app.screen, QueueScreen)
            screen = queue_of(app)
            await settled(pilot.app)
            assert screen.queue_query.wanted.kind == "completion"
            assert read(screen)
            assert "completions · 2 of 6" in said(app, "#sentence")
            whole = "0 all  1 pairs  [2 completions ░░░░░░░░░░ 0/2]  3 repository questions"
            await settled(pilot.app)
            assert said(app, "#progress") == whole
            assert "○○○" in lines(app)[1]
            await pilot.press("0")
            assert screen.queue_query.wanted.kind is None
            assert read(screen)
            assert said(app, "#progress").startswith("[0 all ░░░░ 0/6]  1 pairs ░░░░ 0/1  ")
            assert lines(app)[0].split()[:2] == ["you", "kind"]
            await pilot.press("4")
            assert bool(app._notifications)
            assert [each.message for each in app._notifications] == ["There are items of 3 kinds."]
            assert screen.queue_query.wanted == QueueFilter()


async def test_text_from_files_is_shown_harmlessly(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        painted = "\n".join(lines(app))
        assert "x: list[int] a[/]b [red" in painted
        assert "␛[31m" in painted
        assert "\x1b" not in painted
        assert "\u202e" not in painted


async def test_cursor_moves_by_line_screen_and_to_the_ends(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("down", "down", "up")
        assert screen.items.cursor == 1
        await pilot.press("end")
        assert read(screen)
        assert screen.items.item_id == 30, "skipped items are last"
        assert lines(app)[-1].startswith("▸»")
        await pilot.press("pageup")
        assert screen.items.cursor == COUNT - screen.items.lines
        await pilot.press("home")
        assert screen.items.cursor == 0
        assert screen.items.first == 0


async def test_filter_is_chosen_with_the_keyboard_and_reads_as_a_sentence(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp]
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        modal = app.screen
        assert all(row.region.bottom <= 24 for row in modal.query(ChoiceRow))
        await pilot.press("down", "right", "down", "down", "right")
        await pilot.press(*["down"] * 4, *"comma")
        assert "70 items" in str(modal.query_one("#sentence", Static).content)
        await pilot.press("enter")
        assert app.screen is screen
        assert screen.queue_query.wanted != QueueFilter()
        assert read(screen)
        wanted = QueueFilter(status="open", agent="1", text="comma")
        assert screen.queue_query.wanted == wanted
        rater = app.context.rater
        assert rater is not None
        expected = queue_ids(workspace, scope(rater.id), wanted).tolist()
        assert screen.items.ids.tolist() == expected
        assert f"unjudged · agents say match · contains “comma” · {len(expected)} of 300" in said(
            app, "#sentence"
        )


async def test_the_labels_have_the_words_of_the_kind_that_is_chosen(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        modal = app.screen
        kind, label = (modal.query_one(f"#choice-{name}", ChoiceRow) for name in ("kind", "label"))

        def offered() -> list[str]:
            return [choice.word for choice in label.field.choices]

        assert offered() == ["any", "1 match", "0 no match"]
        await pilot.press("right", "right")
        assert kind.value == "completion"
        assert offered() == ["any", "keep", "unsure", "drop"]
        # No agent labels completions.
        theirs = modal.query_one("#choice-agent", ChoiceRow)
        assert [choice.word for choice in theirs.field.choices] == ["any"]
        await pilot.press("down", "down", "left", "up", "up")
        assert label.value == 3
        await settled(pilot.app)
        assert "completions · you say drop · 0 items" in said(app, "#sentence")
        # Pairs have no such label, so that any is let through.
        await pilot.press("left")
        assert kind.value == "pair"
        assert (offered(), label.value) == (["any", "1 match", "0 no match"], None)


async def test_values_that_do_not_fit_come_into_view_when_they_are_chosen(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        row = app.screen.query_one("#choice-path", ChoiceRow)
        await settled(pilot.app)
        assert row.size.width > 0
        await pilot.pause()
        assert str(row.content).endswith("›")
        assert "sandbox" not in str(row.content)
        row.focus()
        for shown in (
            "[screened]",
            "[read]",
            "[simulated]",
            "[tested]",
            "[repaired]",
            "[corrected]",
            "[needs a sandbox]",
        ):
            await pilot.press("right")
            assert shown in str(row.content)
            assert cell_len(str(row.content)) <= row.size.width
        assert "‹" in str(row.content)
        assert not str(row.content).endswith("›")
        # A click meets what stands under the pointer, though the first values are out of view.
        await pilot.click(row, offset=(str(row.content).index("tested") + 1, 0))
        assert row.value == "tested"
        await pilot.press(*["right"] * 4)
        assert row.value is None


async def test_leaving_the_filter_changes_nothing_and_reset_takes_all_away(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f", "right", "escape")
        assert app.screen is screen
        assert screen.queue_query.wanted == QueueFilter()
        await pilot.press("f", "right", "r", "enter")
        assert app.screen is screen
        assert screen.queue_query.wanted == QueueFilter()


async def test_a_filter_goes_to_the_first_match_that_is_not_judged(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press(*["down"] * 40)
        await pilot.press("slash", *"sort list", "enter")
        assert read(screen)
        assert screen.items.count == COUNT // 4
        # Items 2, 6, 10, 14 and 18 have a label: the sixth match is the first without one.
        assert (screen.items.cursor, screen.items.item_id) == (5, 22)
        await pilot.press("c")
        assert read(screen)
        assert screen.items.count == COUNT
        # The cursor stays with its item where that is listed still.
        assert screen.items.item_id == 22


async def test_nothing_matches_is_said_with_the_keys_that_mend_it(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"zz", "enter")
        assert screen._complete
        assert not screen.items.count
        assert "contains “zz” · 0 of 300" in said(app, "#sentence")
        assert "Nothing matches" in said(app, "#message")
        assert "c shows all 300 items" in said(app, "#message")
        assert not screen.items.display
        await pilot.press("c")
        assert screen.items.count == COUNT
        assert screen.items.display
        assert screen.items.has_focus


async def test_escape_leaves_the_search_line_and_then_the_queue(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"qrc")
        box = screen.query_one("#find", Input)
        # Keys of the queue are text in the line.
        assert box.value == "qrc"
        line = screen.query_one(KeyLine)
        assert str(line.content) == "Enter list the items with this text · Esc cancel"
        await pilot.press("escape")
        assert not box.display
        assert "f filter" in str(line.content)
        assert screen.queue_query.wanted.text == ""
        await pilot.press("escape")
        assert app.screen is not screen


async def test_order_is_chosen_by_a_letter_and_turned_by_the_same(
    at_home: Callable[..., WorkbenchApp],
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("o", "t")
        assert screen.queue_query.sort == QueueSort("title")
        assert read(screen)
        titles = [screen.items.row_of(number).title for number in screen.items.ids[:5].tolist()]  # type: ignore[union-attr]
        assert titles == [QUERIES[0]] * 5
        assert "by title ↑" in said(app, "#sentence")
        await pilot.press("o")
        assert isinstance(app.screen, SortScreen)
        await pilot.press("t")
        assert screen.queue_query.sort == QueueSort("title", True)
        assert read(screen)
        assert "by title ↓" in said(app, "#sentence")


async def test_columns_are_chosen_and_kept_by_a_view_and_by_the_session(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await settled(pilot.app)
        assert lines(app)[0].split() == ["you", "◆", "agents", "path", "item"]
        await pilot.press("C", "down", "space", "down", "space", "enter")
        assert lines(app)[0].split() == ["you", "item"]
        assert screen.queue_query.hidden == ("agents", "path")
        await pilot.press("w", *"plain", "enter")
        assert "plain" in said(app, "#views")
        await pilot.press("escape", "C", "down", "space", "down", "space", "enter")
        assert lines(app)[0].split() == ["you", "◆", "agents", "path", "item"]
        await pilot.press("v")
        assert "without agents, path" in said(app, "#about")
        await pilot.press("enter")
        assert lines(app)[0].split() == ["you", "item"]
        await pilot.press("escape", "ctrl+q")
    again = app_of(workspace)
    async with again.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await settled(pilot.app)
        assert lines(again)[0].split() == ["you", "item"]


async def test_a_judgment_shows_on_its_row_and_the_order_stays_until_it_is_taken_anew(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp]
) -> None:
    app = at_home()
    rater = app.context.rater
    assert rater is not None
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.load_queue(replace(screen.queue_query, wanted=QueueFilter(status="open")))
        await settled(pilot.app)
        assert screen.items.count < COUNT
        assert read(screen)
        before = screen.items.ids.tolist()
        assert lines(app)[1].startswith("▸○")
        app.context.recorder.submit(label(workspace, rater, before[0], 0.0))
        await settled(pilot.app)
        assert lines(app)[1].startswith("▸●")
        assert "0 no match" in lines(app)[1]
        assert screen.items.ids.tolist() == before
        await pilot.press("r")
        assert screen._complete
        assert screen.items.count == len(before) - 1
        assert before[0] not in screen.items.ids.tolist()


async def test_a_verdict_shows_on_its_row(workspace: Workspace, at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "tested" not in lines(app)[1]
        run_id = labelled_by_agents(workspace, [(1, 1.0, "tested")])
        app.post_message(JobReported(ItemEnded(1, run_id, 1, "q0/1", (Verdict(1.0, "tested", ""),))))
        await settled(pilot.app)
        assert "tested" in lines(app)[1]


async def test_what_could_not_be_saved_is_marked(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp]
) -> None:
    app = at_home()
    rater = app.context.rater
    assert rater is not None
    action = label(workspace, rater, 25, 1.0)
    async with app.run_test(size=(80, 40)) as pilot:
        await opened(pilot)
        await settled(pilot.app)
        assert lines(app)[25].startswith(" ○")
        # Nothing is recorded without its line in the journal, and a folder takes none.
        journal = journal_path(workspace.path)
        journal.mkdir()
        app.context.recorder.submit(action)
        await settled(pilot.app)
        assert lines(app)[25].startswith(" !")
        journal.rmdir()
        app.context.recorder.retry()
        await settled(pilot.app)
        assert lines(app)[25].startswith(" ●")


async def test_an_error_is_said_and_the_queue_comes_back(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp]
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        _rename(workspace, "pair", "pair_gone")
        await pilot.press("r")
        assert bool(screen._failure)
        assert "could not be read" in said(app, "#message")
        assert "judgments are safe" in said(app, "#message")
        _rename(workspace, "pair_gone", "pair")
        await pilot.press("r")
        assert screen._failure is None
        assert read(screen)
        assert screen.items.display


def _rename(workspace: Workspace, table: str, name: str) -> None:
    cursor = workspace.native()
    cursor.execute(f"ALTER TABLE {table} RENAME TO {name}")
    cursor.close()


async def test_blind_offers_nothing_of_the_agents(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home(blind=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert lines(app)[0].split() == ["you", "item"]
        assert all(row.agent_label is None for number in range(1, 20) if (row := screen.items.row_of(number)))
        assert "▲" not in "".join(lines(app))
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        assert {row.field.name for row in app.screen.query(ChoiceRow)} == {
            "kind",
            "status",
            "label",
            "flagged",
        }
        await pilot.press("escape", "o")
        assert isinstance(app.screen, SortScreen)
        await pilot.press("a")
        assert isinstance(app.screen, SortScreen)
        assert "agents" not in said(app, "#orders")


async def test_what_no_item_here_can_have_is_not_offered(tmp_path: Path) -> None:
    with entries(tmp_path, questions=QUESTIONS[:1], tasks=TASKS[:1]) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(pilot)
            await pilot.resize_terminal(200, 40)
            assert lines(app)[0].split() == ["you", "kind", "item", "detail"]
            await pilot.press("f")
            assert isinstance(app.screen, FilterScreen)
            names = {row.field.name for row in app.screen.query(ChoiceRow)}
            assert names == {"kind", "status", "label", "flagged"}
            await pilot.press("escape", "o")
            assert isinstance(app.screen, SortScreen)
            assert [line.split(None, 1)[-1].strip() for line in said(app, "#orders").splitlines()][1:] == [
                "title",
                "your label",
                "status",
            ]


async def test_place_filter_and_order_are_there_when_one_comes_back(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("o", "t")
        assert screen.queue_query.sort == QueueSort("title")
        assert read(screen)
        await pilot.press("pagedown", "down", "escape")
        assert app.screen is not screen
        place = screen.items.cursor
        assert await opened(pilot) is screen
        assert screen.items.cursor == place
        item_id = screen.items.item_id
        await pilot.press("ctrl+q")
    again = app_of(workspace)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert screen.queue_query.sort == QueueSort("title")
        await settled(pilot.app)
        assert screen.items.item_id == item_id
        assert screen.items.cursor == place


async def test_a_blind_queue_forgets_a_kept_filter_by_the_agents(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.load_queue(
            QueueQuery(QueueFilter(agent="1", status="open"), QueueSort("agent"), grouped=False)
        )
        await settled(pilot.app)
        assert screen.items.count < COUNT
        assert read(screen)
        await pilot.press("ctrl+q")
    blind = app_of(workspace, blind=True)
    async with blind.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert screen.queue_query.wanted == QueueFilter(status="open")
        assert screen.queue_query.sort == QueueSort()


async def test_enter_reviews_the_item_and_coming_back_finds_the_one_reviewed_last(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp]
) -> None:
    app = at_home()
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        await pilot.press("down", "down", "enter")
        assert isinstance(app.screen, ReviewScreen)
        review = cast(ReviewScreen, app.screen)
        await settled(pilot.app)
        assert review.item is not None
        assert review.item.item_id == 3
        await pilot.press("n")
        assert review.item is not None
        assert review.item.item_id == 4
        rater = app.context.rater
        assert rater is not None
        app.context.recorder.submit(label(workspace, rater, 25, 0.0))
        await settled(pilot.app)
        assert not app.context.recorder.unsaved
        await pilot.press("q")
        assert app.screen is screen
        assert screen.items.item_id == 4
        # What was recorded meanwhile shows as well.
        await settled(pilot.app)
        assert lines(app)[25].startswith(" ●")


async def test_items_behind_a_figure_have_a_list_of_their_own(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_queue(QueueFilter(items=(7, 42, 31), named="2 against 1"))
        await settled(pilot.app)
        assert isinstance(app.screen, QueueScreen)
        assert read(app.screen)
        screen = queue_of(app)
        assert "2 against 1 · 3 of 300" in said(app, "#sentence")
        assert screen.items.ids.tolist() == [7, 31, 42]
        # No filter finds them again: that is said before a name is asked for, and stays when views are read.
        await pilot.press("w")
        assert "No saved view yet" in screen_text(app)
        assert "which no filter finds again" in screen_text(app)
        assert not app.screen.query_one("#name").display
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is not screen
        screen = await opened(pilot)
        assert "all items · 300 of 300" in said(app, "#sentence")


async def test_enter_before_the_queue_is_read_opens_the_item_when_it_is(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldReads(monkeypatch)
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("tab")
        assert isinstance(app.screen, QueueScreen)
        await pilot.press("enter")
        assert isinstance(app.screen, QueueScreen)
        assert not app._notifications
        held.go_on.set()
        await settled(pilot.app)
        assert isinstance(app.screen, ReviewScreen)
        assert cast(ReviewScreen, app.screen).order.item_id == 1


async def test_enter_on_an_item_that_the_next_order_does_not_list_opens_no_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        held = HeldReads(monkeypatch)
        screen.load_queue(QueueQuery(QueueFilter(text=QUERIES[1]), grouped=False))
        assert screen.items.item_id == 1
        await pilot.press("enter")
        held.go_on.set()
        await settled(pilot.app)
        assert read(screen)
        assert screen.items.count < COUNT
        await pilot.pause()
        assert app.screen is screen


class HeldReads:
    """Orders are read once `go_on` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = Gate()
        read_ids = QueueLoader._ids

        def held(orders: QueueLoader, asked: QueueQuery, limit: int | None = None) -> Any:
            assert self.go_on.wait(120)
            return read_ids(orders, asked, limit)

        monkeypatch.setattr(QueueLoader, "_ids", held)


async def test_preview_follows_the_cursor_where_there_is_room(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        prompt = screen.query_one("#preview-prompt", Static)
        await settled(pilot.app)
        assert QUERIES[0] in str(prompt.content)
        assert prompt.styles.border_top[0] == "round"
        await pilot.press("down")
        assert QUERIES[1] in str(prompt.content)
        await pilot.resize_terminal(80, 24)
        assert not prompt.region.width or not prompt.parent.display


async def test_a_preview_that_waits_for_its_first_item_says_so_and_has_no_border(
    at_home: Callable[..., WorkbenchApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueueScreen, "_read_preview", lambda self, item_id: None)
    app = at_home()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        prompt = screen.query_one("#preview-prompt", Static)
        assert str(prompt.content) == "Reading …"
        assert prompt.styles.border_top[0] == ""


async def test_resizing_keeps_the_place(at_home: Callable[..., WorkbenchApp]) -> None:
    app = at_home()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("end", *["up"] * 3)
        place = screen.items.cursor
        for size in ((80, 24), (100, 30), (120, 40)):
            await pilot.resize_terminal(*size)
            assert read(screen)
            assert screen.items.cursor == place
            assert screen.items.first <= place < screen.items.first + screen.items.lines


async def test_an_empty_workspace_says_so_and_lists_what_comes(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "empty.duckdb") as workspace:
        app = app_of(workspace, start_with="queue")
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot.app)
            assert isinstance(app.screen, QueueScreen)
            assert app.screen._complete
            assert "no items yet" in said(app, "#message")


async def test_new_items_are_told_and_listed_when_asked_for(
    workspace: Workspace, at_home: Callable[..., WorkbenchApp], tmp_path: Path
) -> None:
    app = at_home()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("escape")
        assert app.screen is not screen
        file = tmp_path / "more.jsonl"
        file.write_text('{"id": "n1", "query": "new query", "code": "def f(): pass"}\n', encoding="utf-8")
        app.context.program.import_file(file, silent)
        await pilot.press("tab")
        assert "1 new, r lists them" in said(app, "#sentence")
        assert screen.items.count == COUNT
        await pilot.press("r")
        assert screen.items.count == COUNT + 1


async def test_keys_of_the_list_and_of_dialogs_can_be_changed(workspace: Workspace) -> None:
    keys = {"list.down": "l", "list.up": "b", "filter.down": "f5", "value.next": "plus", "order.down": "l"}
    app = app_of(workspace, settings=ScreenSettings(keys=keys))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        items = app.screen.query_one(ItemList)
        await pilot.press("l", "l", "b", "down", "j")
        assert items.cursor == 1
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        assert "↑F5 line · ←+ value" in str(app.screen.query_one(".keys", Static).content)
        rows = list(app.screen.query(ChoiceRow))
        await pilot.press("plus")
        assert rows[0].value == rows[0].field.choices[1].value
        await pilot.press("f5")
        assert rows[1].has_focus
        await pilot.press("down")
        assert rows[1].has_focus
        await pilot.press("escape")
        await pilot.press("o")
        assert isinstance(app.screen, SortScreen)
        await pilot.press("l", "enter")
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.queue_query.sort == QueueSort("title")


async def test_the_line_of_a_search_closes_with_its_own_key(workspace: Workspace) -> None:
    app = app_of(workspace, settings=ScreenSettings(keys={"line.close": "f3", "queue.back": "q"}))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", "q")
        box = screen.query_one("#find", Input)
        assert box.placeholder.endswith("Enter list, F3 cancel")
        assert box.value == "q"
        await pilot.press("escape")
        assert box.display
        await pilot.press("f3")
        assert not box.display
        assert screen.items.has_focus
        assert screen.queue_query.wanted.text == ""


async def test_keys_without_effect_are_not_named_and_say_why_they_have_none(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        line = app.screen.query_one(KeyLine)
        await settled(pilot.app)
        assert "Enter open" in str(line.content)
        assert "c all items" not in str(line.content)
        await pilot.press("c")
        assert bool(app._notifications)
        assert [each.message for each in app._notifications] == ["All items are listed."]
        cast(QueueScreen, app.screen).load_queue(QueueQuery(QueueFilter(text="nowhere to be found")))
        await settled(pilot.app)
        assert "c all items" in str(line.content)
        assert "Enter open" not in str(line.content)
        app.clear_notifications()
        await pilot.press("enter")
        assert [each.message for each in app._notifications] == ["No item is listed."]
