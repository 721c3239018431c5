"""Reading in a review: panes, tabs, search, zoom, wrap, jumps, copying, and sizes of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
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
    review_of,
    said,
    screen_text,
    text_of,
)
from settling import until
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from screens.app import WorkbenchApp
from screens.judging.keys import JudgingKeyLine
from screens.keys_screen import KeysScreen, lines
from screens.review.bars import CaseTabs, ClaimLine
from screens.review.copying import OSC52_LIMIT
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


async def test_both_panes_scroll_and_the_judgment_keys_stay_alive(long_one: Workspace) -> None:
    app = review_app(long_one)
    async with app.run_test(size=WIDE) as pilot:
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


async def test_a_tab_is_chosen_with_the_mouse(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        await painted(pilot)
        tabs = line_of(app, CaseTabs)
        await pilot.click(CaseTabs, offset=(tabs.index("Run") + 1, 0))
        assert "[Run]" in line_of(app, CaseTabs)
        assert focused(app) == "run"


async def test_a_narrow_terminal_shows_one_pane_and_the_claim(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=(119, 30)) as pilot:
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


@pytest.mark.parametrize("wrapped", [False, True])
async def test_another_size_keeps_the_place_and_the_focus(long_one: Workspace, wrapped: bool) -> None:
    app = review_app(long_one)
    async with app.run_test(size=WIDE) as pilot:
        if pane(app, "subject").wrap != wrapped:
            await press(pilot, "W")
            assert said(app) == (
                "Long lines are wrapped." if wrapped else "Long lines are not wrapped; ← → scroll."
            )
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


async def test_zoom_gives_the_pane_the_room_and_takes_it_back(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "z")
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


async def test_wrap_and_line_numbers_are_toggled_in_the_focused_pane(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "L")
        assert said(app) == "Line numbers hidden."
        assert not pane(app, "subject").numbers
        await press(pilot, "tab", "L")
        assert said(app) == "Line numbers shown."
        assert pane(app, "verdict").numbers
        assert not pane(app, "subject").numbers


async def test_a_search_goes_through_its_pane_and_ends_with_escape(long_one: Workspace) -> None:
    app = review_app(long_one)
    async with app.run_test(size=WIDE) as pilot:
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


async def test_a_search_belongs_to_the_pane_that_had_the_focus(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "tab", "slash")
        await pilot.press(*"newline", "enter")
        assert said(app).startswith("find: 1 of ")
        assert focused(app) == "verdict"
        assert pane(app, "subject").search_status == ""


async def test_a_search_without_a_match_says_so(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "slash")
        await pilot.press(*"zzz", "enter")
        # Nothing to go on to, so no key is named for it.
        assert said(app) == "find: no match · Esc end"


async def test_judging_while_searching_ends_the_search(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "slash")
        await pilot.press(*"path", "enter")
        await press(pilot, "1", "n")
        await painted(pilot, 3)


async def test_tab_and_a_click_close_a_text_line(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        for opening, box in (("slash", "#find"), ("m", "#comment")):
            await press(pilot, opening)
            await pilot.press("x", "tab")
            await until(pilot, lambda box=box: not app.screen.query_one(box, Input).display)
            assert isinstance(app.focused, TextPane)
            await press(pilot, opening)
            await pilot.click("#subject")
            await until(pilot, lambda box=box: not app.screen.query_one(box, Input).display)
            assert focused(app) == "subject"


async def test_capital_g_goes_from_failure_to_failure_in_the_log(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        lines = []
        for _ in range(4):
            await press(pilot, "G")
            assert "Failure at line" in said(app)
            found = pane(app, "run")._marks.pointed
            assert found is not None
            lines.append(text_of(app, "run").split("\n")[found - 1].strip())
        assert [line[:14] for line in lines] == [
            "✗ only_newline",
            "! no_access  P",
            "Traceback (mos",
            "✗ only_newline",
        ]
        assert focused(app) == "run"
        assert said(app) == "Failure at line 6; G goes to the next one."
        await press(pilot, "p", "G")
        assert said(app) == "The log shows no failure."
        await press(pilot, "n", "n", "n", "G")
        assert said(app) == "Failure at line 1, the only one."


async def test_the_reading_of_the_query_stands_above_the_test_alone(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=(80, 24)) as pilot:
        said_above = "The test reads the query as: zero bytes count as empty"
        await press(pilot, "tab", "right_square_bracket")
        rows = screen_text(app).split("\n")
        (place,) = [number for number, row in enumerate(rows) if said_above in row]
        assert "Test" in rows[place + 1]
        await press(pilot, "right_square_bracket")
        assert said_above not in screen_text(app)
        await press(pilot, "left_square_bracket", "z")
        assert said_above in screen_text(app)
        # The item after it has no test: the screener decided.
        await press(pilot, "z", *"ppp")
        assert said_above not in screen_text(app)


async def test_a_blind_review_has_no_log_to_jump_in(workspace: Workspace) -> None:
    app = review_app(workspace, at=3, blind=True)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "G")
        assert said(app) == "There is no log here."


async def test_copying_takes_the_exact_text_or_the_selection(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "y")
        assert app.clipboard == IS_BLANK
        assert "sent to the terminal's clipboard" in said(app)
        subject = pane(app, "subject")
        app.screen.selections = {subject: Selection(Offset(4, 0), Offset(17, 0))}
        await press(pilot, "y")
        assert app.clipboard == "is_blank_file"


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


async def test_a_pager_that_cannot_be_started_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager-anywhere")
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "V")
        assert said(app).startswith("The pager no-such-pager-anywhere did not start")
        await press(pilot, "1")
        await painted(pilot, 2)


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


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_reasons_and_sentences_fit_every_size(workspace: Workspace, size: tuple[int, int]) -> None:
    app = review_app(workspace)
    async with app.run_test(size=size) as pilot:
        await press(pilot, "0")
        await painted(pilot, 2)
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


async def test_the_view_that_is_reviewed_is_the_one_that_was_opened(workspace: Workspace) -> None:
    app = review_app(workspace, at=5)
    async with app.run_test(size=WIDE) as pilot:
        screen = await painted(pilot, 6)
        assert screen.item is not None
        assert screen.item.external_id == "timeout"
        assert review_of(app).order.index == 5
