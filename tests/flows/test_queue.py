"""The queue at work: what is listed, how it is filtered and ordered, and what becomes of the rows."""

import shutil
from collections.abc import Iterator
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
from screens.widgets.key_line import KeyLine
from screens.widgets.text.view import TextPane
from store.events import silent
from store.first_look import QUEUE_SESSION
from store.ingest.choices import ImportChoices
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
    shown = "".join(screen.items.render_line(y).text for y in range(screen.items.size.height))
    return "counting" not in str(screen.query_one("#sentence", Static).content) and "┄" not in shown


def said(app: WorkbenchApp, selector: str) -> str:
    """The text of a line of the screen."""
    return str(app.screen.query_one(selector, Static).content)


def notices(app: WorkbenchApp) -> list[str]:
    """What the app told in toasts."""
    return [each.message for each in app._notifications]


async def opened(pilot: Pilot[Any]) -> QueueScreen:
    """Open the queue from home and wait until it is read."""
    app = cast(WorkbenchApp, pilot.app)
    await pilot.press("tab")
    assert isinstance(app.screen, QueueScreen)
    assert read(app.screen)
    return queue_of(app)


async def test_the_list_follows_the_cursor_and_the_size_of_the_terminal(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        # Every item is listed, with the true count.
        assert screen.items.count == COUNT
        assert "all items · 300 of 300" in said(app, "#sentence")
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

        # The cursor moves by line, by screen and to the ends.
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

        # Text from files is shown harmlessly.
        await pilot.resize_terminal(120, 40)
        painted = "\n".join(lines(app))
        assert "x: list[int] a[/]b [red" in painted
        assert "␛[31m" in painted
        assert "\x1b" not in painted
        assert "\u202e" not in painted

        # A preview follows the cursor where there is room.
        prompt = screen.query_one("#preview-prompt", Static)
        assert QUERIES[0] in str(prompt.content)
        assert prompt.styles.border_top[0] == "round"
        await pilot.press("down")
        assert QUERIES[1] in str(prompt.content)
        await pilot.resize_terminal(80, 24)
        assert not prompt.region.width or not prompt.parent.display

        # Resizing keeps the place.
        await pilot.press("end", *["up"] * 3)
        place = screen.items.cursor
        for size in ((120, 40), (80, 24), (100, 30), (120, 40)):
            await pilot.resize_terminal(*size)
            assert read(screen)
            assert screen.items.cursor == place
            assert screen.items.first <= place < screen.items.first + screen.items.lines


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
            assert lines(app)[0].split()[:2] == ["you", "item"]
            assert {line.split()[-1] for line in lines(app)[1:] if line.strip()} == {
                "pair",
                "completion",
                "question",
            }
            await pilot.press("4")
            assert notices(app) == ["There are items of 3 kinds."]
            assert screen.queue_query.wanted == QueueFilter()


async def test_a_filter_is_chosen_in_the_dialog_and_a_text_in_the_line_of_a_search(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        # Leaving the filter changes nothing, and reset takes all away.
        await pilot.press("f", "right", "escape")
        assert app.screen is screen
        assert screen.queue_query.wanted == QueueFilter()
        await pilot.press("f", "right", "r", "enter")
        assert app.screen is screen
        assert screen.queue_query.wanted == QueueFilter()

        # A filter is chosen with the keyboard and reads as a sentence.
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        modal = app.screen
        assert all(row.region.bottom <= 24 for row in modal.query(ChoiceRow))
        await pilot.press("down", "right", "down", "down", "right")
        await pilot.press(*["down"] * 4, *"comma")
        assert "70 items" in str(modal.query_one("#sentence", Static).content)
        await pilot.press("enter")
        assert app.screen is screen
        assert read(screen)
        wanted = QueueFilter(status="open", agent="1", text="comma")
        assert screen.queue_query.wanted == wanted
        rater = app.context.rater
        assert rater is not None
        expected = queue_ids(workspace, scope(rater.id), wanted).tolist()
        assert screen.items.ids.tolist() == expected
        words = f"unjudged · agents say match · contains “comma” · {len(expected)} of 300"
        assert words in said(app, "#sentence")

        # A search goes to the first match that is not judged.
        await pilot.press("c", "end", *["up"] * 3)
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

        # Escape leaves the line, and then the queue.
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


async def test_the_filter_offers_values_that_fit_the_terminal_and_the_kind(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        # Values that do not fit come into view when they are chosen.
        await pilot.press("f")
        assert isinstance(app.screen, FilterScreen)
        row = app.screen.query_one("#choice-path", ChoiceRow)
        assert row.size.width > 0
        assert str(row.content).endswith("›")
        assert "sandbox" not in str(row.content)
        row.focus()
        words = ("screened", "read", "simulated", "tested", "repaired", "corrected", "untested")
        for word in (*words, "needs a sandbox"):
            await pilot.press("right")
            assert f"[{word}]" in str(row.content)
            assert cell_len(str(row.content)) <= row.size.width
        assert "‹" in str(row.content)
        assert not str(row.content).endswith("›")
        # A click meets what stands under the pointer, though the first values are out of view.
        await pilot.click(row, offset=(str(row.content).index("corrected") + 1, 0))
        assert row.value == "corrected"
        await pilot.press(*["right"] * 3)
        assert row.value is None

        # The labels have the words of the kind that is chosen.
        await pilot.press("escape")
        await pilot.resize_terminal(120, 40)
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
        assert "completions · you say drop · 0 items" in said(app, "#sentence")
        # Pairs have no such label, so that any is let through.
        await pilot.press("left")
        assert kind.value == "pair"
        assert (offered(), label.value) == (["any", "1 match", "0 no match"], None)


async def test_columns_order_and_place_are_there_when_one_comes_back(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        # Columns are chosen, and kept by a view.
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

        # An order is chosen by a letter, and turned by the same.
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

        # The place is there when one comes back from home.
        await pilot.press("pagedown", "down", "escape")
        assert app.screen is not screen
        place, item_id = screen.items.cursor, screen.items.item_id
        assert await opened(pilot) is screen
        assert (screen.items.cursor, screen.items.item_id) == (place, item_id)
        await pilot.press("escape", "ctrl+q")
    again = app_of(workspace)
    async with again.run_test(size=(80, 24)) as pilot:
        # The session keeps the columns, the order and the place.
        screen = await opened(pilot)
        assert lines(again)[0].split() == ["you", "item"]
        assert screen.queue_query.sort == QueueSort("title", True)
        assert (screen.items.cursor, screen.items.item_id) == (place, item_id)


async def test_rows_show_what_is_recorded_what_cannot_be_saved_and_a_verdict(workspace: Workspace) -> None:
    app = app_of(workspace)
    rater = app.context.rater
    assert rater is not None
    async with app.run_test(size=(80, 40)) as pilot:
        screen = await opened(pilot)
        # What could not be saved is marked.
        assert lines(app)[25].startswith(" ○")
        # Nothing is recorded without its line in the journal, and a folder takes none.
        journal = journal_path(workspace.path)
        journal.mkdir()
        app.context.recorder.submit(label(workspace, rater, 25, 1.0))
        await settled(pilot.app)
        assert lines(app)[25].startswith(" !")
        journal.rmdir()
        app.context.recorder.retry()
        await settled(pilot.app)
        assert lines(app)[25].startswith(" ●")

        # A judgment shows on its row, and the order stays until it is refreshed.
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
        assert read(screen)
        assert screen.items.count == len(before) - 1
        assert before[0] not in screen.items.ids.tolist()

        # A verdict shows on its row.
        await pilot.press("c", "home")
        assert screen.items.item_id == 1
        assert "tested" not in lines(app)[1]
        run_id = labelled_by_agents(workspace, [(1, 1.0, "tested")])
        app.post_message(JobReported(ItemEnded(1, run_id, 1, "q0/1", (Verdict(1.0, "tested", ""),))))
        await settled(pilot.app)
        assert "tested" in lines(app)[1]


async def test_keys_without_effect_no_match_and_an_error_are_said(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        # Keys without effect are not named, and say why they have none.
        line = screen.query_one(KeyLine)
        assert "Enter open" in str(line.content)
        assert "c all items" not in str(line.content)
        await pilot.press("c")
        assert notices(app) == ["All items are listed."]
        screen.load_queue(replace(screen.queue_query, wanted=QueueFilter(text="nowhere to be found")))
        await settled(pilot.app)
        assert "c all items" in str(line.content)
        assert "Enter open" not in str(line.content)
        app.clear_notifications()
        await pilot.press("enter")
        assert notices(app) == ["No item is listed."]

        # That nothing matches is said with the keys that mend it.
        await pilot.resize_terminal(80, 24)
        await pilot.press("c", "slash", *"zz", "enter")
        assert not screen.items.count
        assert "contains “zz” · 0 of 300" in said(app, "#sentence")
        assert "Nothing matches" in said(app, "#message")
        assert "c shows all 300 items" in said(app, "#message")
        assert not screen.items.display
        await pilot.press("c")
        assert screen.items.count == COUNT
        assert screen.items.display
        assert screen.items.has_focus

        # An error is said, and the queue comes back.
        _rename(workspace, "pair", "pair_gone")
        await pilot.press("r")
        assert "could not be read" in said(app, "#message")
        assert "judgments are safe" in said(app, "#message")
        _rename(workspace, "pair_gone", "pair")
        await pilot.press("r")
        assert said(app, "#message") == ""
        assert read(screen)
        assert screen.items.display


def _rename(workspace: Workspace, table: str, name: str) -> None:
    cursor = workspace.native()
    cursor.execute(f"ALTER TABLE {table} RENAME TO {name}")
    cursor.close()


async def test_a_blind_queue_has_nothing_of_the_agents_nor_a_kept_filter_by_them(
    workspace: Workspace,
) -> None:
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
    async with blind.run_test(size=(120, 40)) as pilot:
        # A kept filter by the agents is forgotten, and so is an order.
        screen = await opened(pilot)
        assert screen.queue_query.wanted == QueueFilter(status="open")
        assert screen.queue_query.sort == QueueSort()
        # Nothing of the agents is listed or offered.
        await pilot.press("c", "home")
        assert lines(blind)[0].split() == ["you", "item"]
        rows = [screen.items.row_of(number) for number in range(1, 20)]
        assert all(row is not None and row.agent_label is None for row in rows)
        assert "▲" not in "".join(lines(blind))
        await pilot.press("f")
        assert isinstance(blind.screen, FilterScreen)
        names = {row.field.name for row in blind.screen.query(ChoiceRow)}
        assert names == {"kind", "status", "label", "flagged"}
        await pilot.press("escape", "o")
        assert isinstance(blind.screen, SortScreen)
        await pilot.press("a")
        assert isinstance(blind.screen, SortScreen)
        assert "agents" not in said(blind, "#orders")


async def test_what_no_item_here_can_have_is_not_offered(tmp_path: Path) -> None:
    with entries(tmp_path, questions=QUESTIONS[:1], tasks=TASKS[:1]) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(pilot)
            await pilot.resize_terminal(200, 40)
            assert lines(app)[0].split() == ["you", "item", "detail", "kind"]
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


async def test_coming_back_to_the_queue_from_a_list_from_a_review_and_from_an_import(
    workspace: Workspace, tmp_path: Path
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        # Items behind a figure have a list of their own.
        app.open_queue(QueueFilter(items=(7, 42, 31), named="2 against 1"))
        await settled(pilot.app)
        screen = queue_of(app)
        assert read(screen)
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

        # Enter reviews the item, and coming back finds the one reviewed last.
        await pilot.press("down", "down", "enter")
        assert isinstance(app.screen, ReviewScreen)
        review = app.screen
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
        assert lines(app)[25].startswith(" ●")

        # New items are told, and listed when asked for.
        await pilot.press("escape")
        assert app.screen is not screen
        file = tmp_path / "more.jsonl"
        file.write_text('{"id": "n1", "query": "new query", "code": "def f(): pass"}\n', encoding="utf-8")
        app.context.program.import_file(file, silent, ImportChoices())
        await pilot.press("tab")
        assert "1 new, r lists them" in said(app, "#sentence")
        assert screen.items.count == COUNT
        await pilot.press("r")
        assert screen.items.count == COUNT + 1


async def test_enter_before_an_order_is_read_opens_the_item_only_where_it_is_listed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldReads(monkeypatch)
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        # Enter before the queue is read opens the item when it is.
        await pilot.press("tab")
        screen = queue_of(app)
        await pilot.press("enter")
        assert app.screen is screen
        assert not notices(app)
        held.go_on.set()
        await settled(pilot.app)
        assert isinstance(app.screen, ReviewScreen)
        assert app.screen.order.item_id == 1

        # Enter on an item that the next order does not list opens no other.
        await pilot.press("q")
        assert read(screen)
        held.go_on.clear()
        screen.load_queue(QueueQuery(QueueFilter(text=QUERIES[1]), grouped=False))
        assert screen.items.item_id == 1
        await pilot.press("enter")
        held.go_on.set()
        await settled(pilot.app)
        assert read(screen)
        assert screen.items.count < COUNT
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


async def test_a_preview_that_waits_for_its_first_item_says_so_and_has_no_border(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueueScreen, "_read_preview", lambda self, item_id: None)
    app = app_of(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        prompt = screen.query_one("#preview-prompt", Static)
        assert str(prompt.content) == "Reading …"
        assert prompt.styles.border_top[0] == ""


async def test_a_preview_begins_at_the_indentation_of_the_judged_line(tmp_path: Path) -> None:
    prompt = f"# {'a long line ' * 9}\ndef run(values):\n    for value in values:\n        if value:\n            return things."
    with entries(tmp_path, tasks=[{**TASKS[0], "prompt": prompt}]) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await opened(pilot)
            pane = screen.query_one("#preview-subject", TextPane)
            assert (pane.wrap, pane.scroll_offset.x) == (False, 12)


async def test_an_empty_workspace_says_so_and_lists_what_comes(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "empty.duckdb") as workspace:
        app = app_of(workspace, start_with="queue")
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot.app)
            assert read(queue_of(app))
            assert "no items yet" in said(app, "#message")


async def test_keys_of_the_list_of_dialogs_and_of_the_line_of_a_search_can_be_changed(
    workspace: Workspace,
) -> None:
    keys = {"list.down": "l", "list.up": "b", "filter.down": "f5", "value.next": "plus", "order.down": "l"}
    keys |= {"line.close": "f3", "queue.back": "q"}
    app = app_of(workspace, settings=ScreenSettings(keys=keys))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        await pilot.press("l", "l", "b", "down", "j")
        assert screen.items.cursor == 1
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
        assert app.screen is screen
        assert screen.queue_query.sort == QueueSort("title")
        # The line of a search closes with its own key.
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
