"""What is laid over a text in a pane: marks, glyphs, a cursor between two characters, and where it opens."""

from __future__ import annotations

from reading_pane import Reading, quiet, rows, styles_of, texts
from textual.pilot import Pilot

from screens.widgets.text.overlay import SPAN_STYLES, Span
from screens.widgets.text.view import Place, TextPane

PROMPT = "import os\n\ndef f(sep):\n    return sep."
REFERENCE = "join(os.sep\n        for _ in sep)"
TEXT = f"{PROMPT}{REFERENCE}\n\nprint(f('x'))\n"
AT = len(PROMPT)
SPANS = [Span(AT, AT, "cursor"), Span(AT, AT + len(REFERENCE), "reference")]
GUTTER = {4: "▸", 5: "│"}


async def test_the_cursor_is_painted_between_two_characters_and_is_no_part_of_the_text() -> None:
    app = Reading(lambda pane: pane.load(TEXT, language="python", spans=SPANS, gutter=GUTTER))
    async with app.run_test(size=(60, 12)) as pilot:
        pane = app.pane
        await quiet(pilot)
        assert [row.rstrip() for row in rows(pane)[:6]] == [
            "  1 import os",
            "  2",
            "  3 def f(sep):",
            "▸ 4     return sep.▮join(os.sep",
            "│ 5         for _ in sep)",
            "  6",
        ]
        assert pane.copy_text() == TEXT
        # Found across the cursor, and marked up to the last character.
        pane.search("sep.join(os")
        await quiet(pilot)
        assert pane.search_status == "1 of 1"
        assert styles_of(pane, 3, "▮")
        (style,) = styles_of(pane, 4, "for")
        assert style.underline  # type: ignore[attr-defined]
        # The mouse selects across it what is in the text. The border and the gutter take five cells, the
        # glyph is the sixteenth of its line.
        left = 5
        for start, end, selected in (
            (11, 18, "sep.joi"),
            (14, 15, "."),
            (15, 16, "j"),
        ):
            await pilot.mouse_down(offset=(left + start, 4))
            await pilot.hover(offset=(left + end, 4))
            await pilot.mouse_up(offset=(left + end, 4))
            await pilot.pause()
            assert pane.copy_text() == selected


async def test_glyphs_of_lines_give_way_to_what_is_cited_and_other_marks_keep_the_place() -> None:
    app = Reading(lambda pane: pane.load(TEXT, language="python", spans=SPANS, gutter=GUTTER))
    async with app.run_test(size=(60, 12)) as pilot:
        pane = app.pane
        # What is cited or chosen stands before the glyphs of lines.
        pane.mark_cited(frozenset({4}), recorded=True)
        pane.toggle_numbers()
        await quiet(pilot)
        assert [row[0] for row in rows(pane)[:6]] == [" ", " ", " ", "▌", "│", " "]
        pane.mark_cited(frozenset(), recorded=True)
        pane.jump_to_line(5)
        await quiet(pilot)
        assert [row[0] for row in rows(pane)[:6]] == [" ", " ", " ", "▸", "▸", " "]
        # A bar goes on beside every row, and other glyphs stand once.
        pane.load("a" * 100 + "\n" + "b" * 100, kind="log", gutter={1: "+", 2: "│"})
        await quiet(pilot)
        assert [row[0] for row in rows(pane)[:4]] == ["+", " ", "│", "│"]
        # Other marks of the same text keep the place and the search.
        pane.toggle_numbers()
        text = "\n".join(f"line {number}" for number in range(100))
        pane.load(text)
        pane.search("line 50")
        await quiet(pilot)
        pane.restore(Place(40))
        await quiet(pilot)
        pane.load(text, spans=[Span(text.index("line 41"), text.index("line 41"), "cursor")])
        await quiet(pilot)
        assert (pane.place, pane.search_status) == (Place(40), "1 of 1")
        assert texts(pane)[1] == "▮line 41"
        pane.load(text)
        await quiet(pilot)
        assert texts(pane)[1] == "line 41"


async def resized(pilot: Pilot[None], app: Reading, width: int, height: int) -> None:
    await pilot.resize_terminal(width, height)
    assert app.pane.outer_size == (width, height)
    await quiet(pilot)


async def test_a_text_opens_at_its_line_with_some_lines_above() -> None:
    text = "\n".join(f"{number} " + "word " * (number % 40) for number in range(1, 10_001))
    app = Reading(lambda pane: pane.load(text, start=9_000))
    async with app.run_test(size=(60, 20)) as pilot:
        pane = app.pane
        for wrapped in (False, True):
            if wrapped:
                await resized(pilot, app, 60, 20)
                pane.begin_code(wrap=True, numbers=True)
                pane.load(text, start=9_000)
            await quiet(pilot)
            numbers = [row.split()[0] for row in texts(pane) if row.strip() and row.strip()[0].isdigit()]
            assert "9000" in numbers[1:]
            place = pane.place
            # The same text again moves nothing; in another size the line is in view as well.
            pane.load(text, start=9_000)
            await quiet(pilot)
            assert pane.place == place
            for size in ((100, 60), (40, 9)):
                await resized(pilot, app, *size)
                assert any(row.split()[:1] == ["9000"] for row in texts(pane)[2:])
            pane.restore(Place(3))
            await quiet(pilot)
            assert pane.place == Place(3)
            pane.load("short", start=900)
            await quiet(pilot)
            assert texts(pane)[0] == "short"


async def test_a_text_opens_at_its_cursor_sideways_too() -> None:
    def load(pane: TextPane, before: int, reference: int) -> None:
        first = "x" * before
        text = f"{'line' * 60}\n" * 50 + first + "R" * reference + "\n" + "below\n" * 50
        at = text.index(first) + before
        spans = [Span(at, at, "cursor"), Span(at, at + reference, "reference")]
        pane.load(text, spans=spans, gutter={51: "▸"}, start=51)

    # The first is loaded before the pane has a size.
    app = Reading(lambda pane: load(pane, 20, 10))
    async with app.run_test(size=(200, 20)) as pilot:
        pane = app.pane
        for before, reference, width, shown in (
            # 5 cells are the number's, 1 the scrollbar's, 1 that of the mark of what goes on, 2 the border's:
            # what fits is not moved.
            (20, 10, 60, "x" * 20 + "▮" + "R" * 10),
            (20, 30, 60, "x" * 20 + "▮" + "R" * 30),
            # All of the reference, with as much before it as there is room for.
            (100, 20, 60, "x" * 30 + "▮" + "R" * 20),
            (100, 40, 60, "x" * 10 + "▮" + "R" * 40),
            # Of a long one the start, with a little before it.
            (100, 90, 60, "x" * 6 + "▮" + "R" * 44 + "›"),
            (100, 90, 30, "x" * 2 + "▮" + "R" * 18 + "›"),
        ):
            load(pane, before, reference)
            await quiet(pilot)
            for size in ((width, 20), (200, 50), (width, 9)):
                await resized(pilot, app, *size)
                if size[0] == width:
                    assert next(row for row in texts(pane) if "▮" in row) == shown
                else:
                    assert pane.scroll_x == 0
            # Who scrolls down keeps the cursor's column; who scrolls sideways stays there.
            pane.focus()
            await pilot.press("down")
            await resized(pilot, app, 200, 20)
            await resized(pilot, app, width, 20)
            assert next(row for row in texts(pane) if "▮" in row) == shown
            await pilot.press("right")
            x = pane.scroll_x
            assert x
            await resized(pilot, app, width, 12)
            assert pane.scroll_x == x
            pane.load("another")
            await resized(pilot, app, 200, 20)


async def marked(pilot: Pilot[None], app: Reading) -> list[object]:
    await quiet(pilot)
    return [
        (style.bold, style.italic, style.underline, style.strike, style.reverse)  # type: ignore[attr-defined]
        for number, name in enumerate(SPAN_STYLES)
        for style in styles_of(app.pane, number, name)
    ]


async def test_marks_are_told_by_more_than_colour() -> None:
    text = "\n".join(SPAN_STYLES)
    spans = [
        Span(start := sum(len(name) + 1 for name in SPAN_STYLES[:number]), start + len(style), style)
        for number, style in enumerate(SPAN_STYLES)
    ]
    app = Reading(lambda pane: pane.load(text, spans=spans))
    async with app.run_test(size=(60, 20)) as pilot:
        for theme in ("textual-dark", "ansi-dark"):
            app.theme = theme
            seen = dict(zip(SPAN_STYLES, await marked(pilot, app), strict=True))
            # These have signs of their own: bars, lines, backticks, angle brackets, signs of results.
            for style in {*SPAN_STYLES} - {"quote", "code", "markup", "rule", "passed", "error", "weak"}:
                assert any(seen[style]), style  # type: ignore[call-overload]
