"""Reading in a review: panes, tabs, search, zoom, wrap, jumps, copying, and sizes of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from reading_pane import rows
from review_bench import (
    CASES,
    IS_BLANK,
    TEST,
    Case,
    bench,
    judgments,
    line_of,
    painted,
    press,
    review_app,
    said,
    screen_text,
    text_of,
)
from settling import until
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from screens.app import WorkbenchApp
from screens.clipboard import OSC52_LIMIT
from screens.judging.keys import JudgingKeyLine
from screens.keys_screen import KeysScreen, lines
from screens.review.bars import CaseTabs, ClaimLine
from screens.widgets.text.view import TextPane
from store.workspace.duckdb import Workspace

WIDE = (120, 40)
LONG = "".join(f"value_{number} = {number} if number else {number}\n" for number in range(400))


@pytest.fixture
def long_one(tmp_path: Path) -> Iterator[Workspace]:
    with bench(tmp_path, [Case("long", "a query", LONG, assessment="clear_match", label=1), *CASES]) as made:
        yield made


def pane(app: WorkbenchApp, name: str) -> TextPane:
    return app.screen.query_one(f"#{name}", TextPane)


def focused(app: WorkbenchApp) -> str | None:
    return app.focused.id if app.focused is not None else None


async def test_a_long_text_is_scrolled_and_searched_and_the_judgment_keys_stay_alive(
    long_one: Workspace,
) -> None:
    app = review_app(long_one)
    async with app.run_test(size=WIDE) as pilot:
        # A search goes through its pane, and ends with Escape.
        await press(pilot, "slash")
        await pilot.press(*"value_3")
        await pilot.press("enter")
        assert said(app).startswith("find: 1 of 111")
        assert focused(app) == "subject"
        await press(pilot, "n", "n")
        assert said(app).startswith("find: 3 of 111")
        await painted(pilot, 1)
        await press(pilot, "N")
        assert said(app).startswith("find: 2 of 111")
        await press(pilot, "escape", "n")
        await painted(pilot, 2)
        await press(pilot, "N")
        assert said(app) == "No search is open; / begins one."
        # Both panes scroll.
        await press(pilot, "p", "home")
        assert pane(app, "subject").first_line == 1
        await press(pilot, "pagedown", "down")
        assert pane(app, "subject").first_line > 20
        await press(pilot, "tab")
        assert focused(app) == "verdict"
        await press(pilot, "down", "tab", "end")
        assert focused(app) == "subject"
        assert pane(app, "subject").first_line > 300
        await press(pilot, "tab", "0")
        await painted(pilot, 2)
        assert [row[:2] for row in judgments(long_one)] == [(1, 0)]
        # The pane that was read stays the one that is read.
        assert focused(app) == "verdict"


async def test_another_size_keeps_the_place_and_the_focus(long_one: Workspace) -> None:
    app = review_app(long_one)
    async with app.run_test(size=WIDE) as pilot:
        for wrapped in (False, True):
            if wrapped:
                await press(pilot, "p", "home", "W")
                assert said(app) == "Long lines are wrapped."
            assert pane(app, "subject").wrap == wrapped
            await press(pilot, "pagedown", "pagedown", "pagedown")
            line = pane(app, "subject").first_line
            assert line > 60
            for size in ((80, 24), (120, 40), (100, 30), (40, 12), (200, 60), (120, 40)):
                await pilot.resize_terminal(*size)
                await until(pilot, lambda size=size: app.size == size)
                await pilot.pause()
                assert pane(app, "subject").first_line == line
                assert focused(app) == "subject"
            await press(pilot, "1")
            await painted(pilot, 2)


async def test_tabs_go_round_and_remember_the_part_that_is_read(workspace: Workspace) -> None:
    app = review_app(workspace, at=2)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "right_square_bracket")
        assert "[Test]" in line_of(app, CaseTabs)
        assert text_of(app, "test") == TEST
        await press(pilot, "n")
        assert "[Test]" in line_of(app, CaseTabs)
        assert focused(app) == "test"
        await press(pilot, "n", "n", "n")
        # The agents have not looked at this one: there is no test to show.
        assert "[Verdict]" in line_of(app, CaseTabs)
        await press(pilot, "p", "left_square_bracket", "left_square_bracket")
        assert "[Guide]" in line_of(app, CaseTabs)
        await press(pilot, "right_square_bracket")
        assert "[Verdict]" in line_of(app, CaseTabs)
        # A tab is chosen with the mouse.
        await press(pilot, "p", "p")
        await painted(pilot, 4)
        tabs = line_of(app, CaseTabs)
        assert "[Run]" not in tabs
        await pilot.click(CaseTabs, offset=(tabs.index("Run") + 1, 0))
        assert "[Run]" in line_of(app, CaseTabs)
        assert focused(app) == "run"


async def test_a_narrow_terminal_shows_one_pane_with_what_stands_above_it(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=(119, 30)) as pilot:
        # One pane and the claim.
        await painted(pilot)
        assert "[Code]" in line_of(app, CaseTabs)
        assert not app.screen.query_one("#case").display
        assert "◆ 0 no match · tested · 1 of 3 passed" in line_of(app, ClaimLine)
        await press(pilot, "tab")
        assert "[Verdict]" in line_of(app, CaseTabs)
        assert not pane(app, "subject").display
        await press(pilot, "shift+tab", "shift+tab")
        assert "[Guide]" in line_of(app, CaseTabs)
        await pilot.resize_terminal(120, 30)
        assert not app.screen.has_class("-single")
        assert pane(app, "subject").display
        assert app.screen.query_one("#case").display
        assert "Code" not in line_of(app, CaseTabs)
        assert focused(app) == "guideline"
        # The reading of the query stands above the test alone.
        await pilot.resize_terminal(80, 24)
        said_above = "The test reads the query as: zero bytes count as empty"
        await press(pilot, "tab", "tab", "right_square_bracket")
        shown = screen_text(app).split("\n")
        (place,) = [number for number, row in enumerate(shown) if said_above in row]
        assert "Test" in shown[place + 1]
        await press(pilot, "right_square_bracket")
        assert said_above not in screen_text(app)
        await press(pilot, "left_square_bracket", "z")
        assert said_above in screen_text(app)
        # The item after it has no test: the screener decided.
        await press(pilot, "z", *"ppp")
        assert said_above not in screen_text(app)


async def test_a_pane_is_searched_alone_and_zoom_gives_it_the_room_and_takes_it_back(
    workspace: Workspace,
) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        # A search belongs to the pane that had the focus.
        await press(pilot, "tab", "slash")
        await pilot.press(*"newline", "enter")
        assert said(app).startswith("find: 1 of ")
        assert focused(app) == "verdict"
        assert pane(app, "subject").search_status == ""
        # Zoom gives a pane the room.
        await press(pilot, "escape", "tab", "z")
        assert pane(app, "subject").size.width > 110
        assert not app.screen.query_one("#case").display
        await press(pilot, "tab")
        assert pane(app, "verdict").size.width > 110
        for width, height in (WIDE, (80, 24)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda width=width: app.size.width == width)
            # The judging keys are alive here, so who judges what stays in sight.
            first, second, _, claim = screen_text(app).splitlines()[:4]
            assert "dana" in first
            assert second.strip() == CASES[3].query
            assert "◆ 0 no match" in claim
        await press(pilot, "z")
        await pilot.resize_terminal(*WIDE)
        assert pane(app, "subject").display
        assert pane(app, "subject").size.width < 70


async def test_a_text_line_is_closed_by_tab_a_click_and_a_judgment(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        # Tab and a click close it.
        for opening, box in (("slash", "#find"), ("m", "#comment")):
            await press(pilot, opening)
            await pilot.press("x", "tab")
            assert not app.screen.query_one(box, Input).display
            assert isinstance(app.focused, TextPane)
            await press(pilot, opening)
            await pilot.click("#subject")
            assert not app.screen.query_one(box, Input).display
            assert focused(app) == "subject"
        # A search without a match says so; there is nothing to go on to, so no key is named for it.
        await press(pilot, "slash")
        await pilot.press(*"zzz", "enter")
        assert said(app) == "find: no match · Esc end"
        # Judging while searching ends the search.
        await press(pilot, "escape", "slash")
        await pilot.press(*"path", "enter")
        assert said(app).startswith("find: 1 of ")
        await press(pilot, "1", "n")
        await painted(pilot, 3)


async def test_capital_g_goes_from_failure_to_failure_in_the_log(workspace: Workspace) -> None:
    app = review_app(workspace, at=5)
    async with app.run_test(size=WIDE) as pilot:
        # The view that is reviewed is the one that was opened.
        screen = await painted(pilot, 6)
        assert screen.item is not None
        assert screen.item.external_id == "timeout"
        # A log with one failure.
        await press(pilot, "G")
        assert said(app) == "Failure at line 1, the only one."
        await press(pilot, "p", "p", "tab")
        await painted(pilot, 4)
        assert focused(app) == "subject"
        # From failure to failure, and from the last to the first.
        lines = []
        for _ in range(4):
            await press(pilot, "G")
            (pointed,) = [row for row in rows(pane(app, "run")) if row.startswith("▸")]
            number, line = pointed.removeprefix("▸").split(maxsplit=1)
            assert said(app) == f"Failure at line {number}; G goes to the next one."
            lines.append(line[:14])
        assert lines == ["✗ only_newline", "! no_access  P", "Traceback (mos", "✗ only_newline"]
        assert focused(app) == "run"
        assert said(app) == "Failure at line 6; G goes to the next one."
        await press(pilot, "p", "G")
        assert said(app) == "The log shows no failure."


async def test_a_blind_review_has_no_log_to_jump_in(workspace: Workspace) -> None:
    app = review_app(workspace, at=3, blind=True)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "G")
        assert said(app) == "There is no log here."


async def test_a_pane_is_copied_numbered_and_not_opened_in_a_pager_that_cannot_be_started(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager-anywhere")
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        # Copying takes the exact text, or the selection.
        await press(pilot, "y")
        assert app.clipboard == IS_BLANK
        assert "sent to the terminal's clipboard" in said(app)
        subject = pane(app, "subject")
        app.screen.selections = {subject: Selection(Offset(4, 0), Offset(17, 0))}
        await press(pilot, "y")
        assert app.clipboard == "is_blank_file"
        # Line numbers are toggled in the focused pane.
        await press(pilot, "L")
        assert said(app) == "Line numbers hidden."
        assert not subject.numbers
        await press(pilot, "tab", "L")
        assert said(app) == "Line numbers shown."
        assert pane(app, "verdict").numbers
        assert not subject.numbers
        # A pager that cannot be started is said, and the review goes on.
        await press(pilot, "V")
        assert said(app).startswith("The pager no-such-pager-anywhere did not start")
        await press(pilot, "1")
        await painted(pilot, 2)


async def test_a_long_text_is_copied_to_a_file_and_so_is_any_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = "x = '\U0001f40d'  # \r\n" * OSC52_LIMIT
    with bench(tmp_path, [Case("long", "a query", code)]) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=WIDE) as pilot:
            await press(pilot, "y")
            assert app.clipboard == ""
            assert _written(said(app)) == code
            await press(pilot, "tab", "y")
            assert said(app) == "There is nothing to copy in this pane."
            await press(pilot, "Y")
            assert said(app) == "There is nothing to write in this pane."


def _written(sentence: str) -> str:
    found = re.fullmatch(r"[\d,]+ characters written to (.*)", sentence)
    assert found, sentence
    return Path(found[1]).read_bytes().decode("utf-8", "surrogatepass")


async def test_a_long_query_is_reached_and_scrolled_and_zoomed(tmp_path: Path) -> None:
    query = "\n".join(f"line {number} of a very long query" for number in range(400))
    with bench(tmp_path, [Case("long", query, assessment="clear_match", label=1), *CASES]) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=WIDE) as pilot:
            await press(pilot, "shift+tab", "pagedown", "pagedown")
            assert focused(app) == "prompt"
            assert pane(app, "prompt").first_line == 3
            await press(pilot, "z")
            assert pane(app, "prompt").size.height > 20
            await press(pilot, "z", "y")
            assert app.clipboard == query
            await press(pilot, "tab", "n", "shift+tab")
            assert focused(app) != "prompt"


async def test_the_help_names_every_key_of_the_screen(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        screen = await painted(pilot)
        bound = {binding.id for _, binding in screen._bindings}
        await pilot.press("question_mark")
        assert isinstance(app.screen, KeysScreen)
        assert isinstance(app.screen, KeysScreen)
        listed = "\n".join(lines(app.screen.sections))
        from screens.commands import commands_of, label_key

        for command in (*commands_of("review"), *commands_of("app")):
            # Of the values of all scales those of the question that is asked are listed; comparisons have one more.
            of_scale = label_key(command) is not None or command.id == "review.both_bad"
            assert command.help in listed or of_scale
            bound.discard(command.id)
        assert bound == {None} or bound == set()
        assert " 1            Answer 1 match." in listed
        assert " 0            Answer 0 no match." in listed
        assert "Scroll one row up" in listed
        await pilot.press(*"number")
        assert "Show or hide line numbers." in screen_text(app)
        assert "Answer 1 match." not in screen_text(app)
        await pilot.press(*"zz")
        assert "No key matches “numberzz”." in screen_text(app)
        await pilot.press("escape")
        assert "Answer 1 match." in screen_text(app)
        await pilot.press("pagedown", "escape")
        assert app.screen is screen


async def test_reasons_and_sentences_fit_every_size(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, (size, key) in enumerate([((80, 24), "0"), ((100, 30), "1"), ((120, 40), "0")], start=1):
            await pilot.resize_terminal(*size)
            await painted(pilot, number)
            await press(pilot, key)
            await painted(pilot, number + 1)
            await pilot.pause()
            shown = screen_text(app)
            for words in app.context.settings.reasons.values():
                assert words in shown
            assert "overrides ◆" in shown
            assert "Esc no reason" in shown
            await press(pilot, "escape")
            await pilot.pause()
            assert "? keys" in screen_text(app)
            assert "1 match" in line_of(app, JudgingKeyLine)
