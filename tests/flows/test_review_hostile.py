"""Data that is hostile to a terminal is shown harmlessly and exactly, wherever a review shows data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_texts import DANGEROUS, ESCAPES, HOSTILE, MARKUP, harmless
from review_bench import (
    Case,
    Ran,
    bench,
    judgments,
    line_of,
    marks,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
    text_of,
)
from settling import settled, until
from textual import events
from textual.widgets import Input

from screens.review.bars import ClaimLine
from screens.widgets.line_input import harmless_line
from screens.widgets.text.view import TextPane
from store.errors import WorkbenchError
from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
EVIL_NAME = "a[/]b\x1b[31m\u202e[bold]id"


def evil_case(**changes: object) -> Case:
    fields: dict[str, object] = {
        "name": EVIL_NAME,
        "query": HOSTILE,
        "code": HOSTILE,
        "assessment": "unclear",
        "test": HOSTILE,
        "ran": Ran(
            [(MARKUP, "passed", ""), (ESCAPES.replace("\x00", ""), "failed", HOSTILE)],
            exit_reason="assertion",
            exit_code=1,
            error=HOSTILE,
            stdout=HOSTILE,
            stderr=HOSTILE,
        ),
        "label": 0,
        "reason": HOSTILE,
        "failure": HOSTILE,
    }
    return Case(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with bench(tmp_path, [evil_case(), evil_case(name="second")]) as made:
        yield made


async def test_every_pane_title_and_line_is_harmless_and_every_text_exact(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        for size, next_pane in (((120, 40), "right_square_bracket"), ((80, 24), "tab")):
            await pilot.resize_terminal(*size)
            screen = await painted(pilot)
            assert screen.item is not None
            assert text_of(app, "prompt") == HOSTILE
            assert text_of(app, "subject") == HOSTILE
            assert text_of(app, "test") == HOSTILE
            assert HOSTILE in text_of(app, "run")
            seen = ""
            for _ in range(7):
                await settled(pilot.app)
                shown = screen_text(app)
                assert harmless(shown), sorted(map(ascii, set(shown.replace("\n", "")) & DANGEROUS))
                seen += shown
                await press(pilot, next_pane)
            assert "x: list[int] = [red]not red[/red] a[/]b [@click=app.quit]quit[/]" in seen
            assert "◆ 0 no match · tested · 1 of 2 passed" in seen
            await press(pilot, "y")
            assert app.clipboard == screen.panes.pane.copy_text()


async def test_what_is_said_of_hostile_names_comments_and_pastes_is_harmless(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        # What is said of hostile names and comments is harmless.
        await press(pilot, "1")
        await painted(pilot, 2)
        assert harmless(screen_text(app))
        assert "a[/]b" in said(app)
        assert "[bold" in said(app)
        await press(pilot, "w", "p")
        await press(pilot, "m")
        event = events.Paste(HOSTILE)
        event.set_sender(app)
        app.post_message(event)
        box = app.screen.query_one("#comment", Input)
        await settled(pilot.app)
        assert "nel:" in box.value
        assert box.value == harmless_line(HOSTILE)
        assert harmless(screen_text(app))
        await pilot.press("enter")
        assert marks(workspace)[-1][3] == harmless_line(HOSTILE)
        assert MARKUP in text_of(app, "history")
        assert harmless(screen_text(app))
        # A huge paste into the search line is harmless.
        await press(pilot, "slash")
        event = events.Paste("\x1b[201~" + HOSTILE * 50)
        event.set_sender(app)
        app.post_message(event)
        box = app.screen.query_one("#find", Input)
        await settled(pilot.app)
        assert len(box.value) > 1_000
        await pilot.press("enter")
        assert said(app).startswith("find: no match")
        assert harmless(screen_text(app))


async def test_hostile_reasons_errors_and_raters_are_harmless(workspace: Workspace) -> None:
    rater = ensure_rater(workspace, "dana [red]a[/]b")
    app = review_app(workspace, rater=rater.name)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await painted(pilot)
        assert harmless(screen_text(app))
        app.context.notices.report_error(WorkbenchError(HOSTILE, HOSTILE, HOSTILE))
        await settled(pilot.app)
        assert said(app).startswith("! x: list[int]")
        await pilot.pause()
        assert harmless(screen_text(app))
        await pilot.press("q")
        assert app.screen.__class__.__name__ == "HomeScreen"
        app.context.notices.report_error(WorkbenchError("Title [red]", HOSTILE, "[/]"))
        await settled(pilot.app)
        assert "not red" in screen_text(app)
        assert "[red]not red[/red]" in screen_text(app)
        assert harmless(screen_text(app))
        # What a notice says is no markup either.
        app.clear_notifications()
        await settled(pilot.app)
        assert "not red" not in screen_text(app)
        app.context.notices.show("Title", MARKUP, alarm=True)
        await settled(pilot.app)
        assert "[red]not red[/red]" in screen_text(app)


async def test_comments_and_reasons_of_another_program_are_shown_in_a_line(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        builder, item = screen.judging.builder, screen.item
        assert builder is not None
        assert item is not None
        # A comment is harmless in its line.
        app.context.recorder.submit(builder.mark(item, "comment", text="two\nlines \x1b[31m"))
        await settled(pilot.app)
        assert review_of(app).item is not None
        assert "two" in str(review_of(app).item)
        await settled(pilot.app)
        await press(pilot, "m")
        assert app.screen.query_one("#comment", Input).value == "two lines [31m"
        await pilot.press("enter")
        assert said(app) == "The comment is unchanged."
        assert marks(workspace)[-1][3] == "two\nlines \x1b[31m"
        # The claim is seen beside a long reason at every width.
        app.context.recorder.submit(builder.mark(item, "cannot_decide", text="because " * 60))
        await settled(pilot.app)
        assert "? cannot decide" in line_of(app, ClaimLine)
        for width in (120, 100, 80, 60, 40, 20):
            await pilot.resize_terminal(width, 24)
            await until(pilot, lambda width=width: app.size.width == width)
            await pilot.pause()
            line = line_of(app, ClaimLine)
            assert line.startswith(" ◆ 0"), (width, line)
            assert "? ca" in line, (width, line)


async def test_huge_codes_are_shown_searched_and_judged_without_a_wait(tmp_path: Path) -> None:
    line = "value = compute(value)  # of a long file\n"
    long = line * (5_000_000 // len(line))
    wide = "x = '" + "ab" * 100_000 + "needle'\n"
    cases = [evil_case(code=long, query="q"), evil_case(name="wide", code=wide), evil_case(name="last")]
    with bench(tmp_path, cases) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            # A snippet of five megabytes.
            await painted(pilot)
            assert app.screen.query_one("#subject", TextPane).line_count == long.count("\n")
            await press(pilot, "end")
            assert app.screen.query_one("#subject", TextPane).first_line > 100_000
            await press(pilot, "0")
            await painted(pilot, 2)
            await press(pilot, "p")
            assert app.screen.query_one("#subject", TextPane).first_line > 100_000
            assert not app.context.recorder.unsaved
            assert [row[:2] for row in judgments(workspace)] == [(1, 0)]
            # A line of 200,000 characters.
            await press(pilot, "n", "W")
            assert text_of(app, "subject") == wide
            await press(pilot, "slash")
            await pilot.press(*"needle", "enter")
            assert said(app).startswith("find: 1 of 1")
            assert "needle'" in screen_text(app)
            await press(pilot, "escape", "0")
            await painted(pilot, 3)
            assert [row[:3] for row in judgments(workspace)] == [(1, 0, "accept"), (2, 0, "accept")]


async def test_a_query_of_ten_thousand_characters_takes_two_rows(tmp_path: Path) -> None:
    query = ("how [do] I " * 50 + "\n") * 18
    assert len(query) > 9_000
    with bench(tmp_path, [evil_case(query=query)]) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            for size in (SIZE, (80, 24)):
                await pilot.resize_terminal(*size)
                await painted(pilot)
                pane = app.screen.query_one("#prompt", TextPane)
                assert pane.text == query
                assert pane.scrollable_content_region.height == 2
                assert "how [do] I how [do] I" in screen_text(app)


def test_a_harmless_line_keeps_words_and_emoji() -> None:
    family = "\U0001f468\u200d\U0001f469"
    assert harmless_line(f" a\r\n\tb\x1b[0m {family} \u202ec\u00e9 ") == f"a b[0m {family} cé"
    kept = harmless_line("".join(map(chr, range(0x3000))))
    assert all(unicodedata.category(each) not in ("Cc", "Zl", "Zp") for each in kept)
