"""The text pane on a screen: what is shown, found, kept and copied."""

from __future__ import annotations

import unicodedata

from reading_pane import Reading, quiet, rows, styles_of, texts
from rich.cells import cell_len
from settling import settled
from textual.app import App, ComposeResult
from textual.geometry import Region, Size
from textual.pilot import Pilot

from screens.widgets.text.view import Place, TextPane

HOSTILE = """x: list[int] = [1]  # [red]not red[/red] a[/]b
print("\x1b[31mred\x1b[0m", "\u241b")
osc = "\x1b]52;c;aGVsbG8=\x07\x1b\\\\"
if level != "user\u202e \u2066// admin\u2069 \u2066":
\tpass\u00a0# \u200b\u200d\ufeff\u061c\u200e
\t\tname = "漢字かな\t" # \x00\x7f\x85\x9b
s = "\ud800\udfff e\u0301 👍 ⚠\ufe0f \u2028\u2029"
lone\rcarriage
"""


def expected(line: str) -> str:
    """Show a line by the rules as they are told to users, one character at a time."""
    shown = ""
    for character in line:
        code, category = ord(character), unicodedata.category(character)
        if character == "\t":
            shown += " " * (4 - cell_len(shown) % 4)
        elif code < 0x20:
            shown += chr(0x2400 + code)
        elif code == 0x7F:
            shown += "\u2421"
        elif (category[0] in "CZ" and character != " ") or character == "\ufe0f":
            shown += f"<U+{code:04X}>"
        else:
            shown += character
    return shown


async def test_hostile_text_is_shown_exactly_and_harmlessly_in_every_theme() -> None:
    app = Reading()
    async with app.run_test(size=(120, 20)) as pilot:
        pane = app.pane
        for language in (None, "python"):
            pane.load(HOSTILE, language=language, title="[b]\x1b[31mtitle[/b]")
            await quiet(pilot)
            lines = HOSTILE.rstrip("\n").split("\n")
            assert texts(pane)[: len(lines)] == [expected(line).rstrip(" ") for line in lines]
            assert texts(pane)[len(lines) :] == [""] * (18 - len(lines))
            whole = pilot.app.screen.query_one(TextPane).render_lines(Region(0, 0, 120, 20))
            assert all(character.isprintable() for strip in whole for character in strip.text)
            assert "[b]\u241b[31mtitle[/b]" in whole[0].text
            assert pane.copy_text() == HOSTILE
        for theme in ("textual-light", "ansi-dark", "ansi-light", "nord"):
            app.theme = theme
            pane.search("a")
            await quiet(pilot)
            before = texts(pane)
            (current,) = [style for style in styles_of(pane, 0, "a") if style.reverse]  # type: ignore[attr-defined]
            assert current.bold
            app.theme = "textual-dark"
            await quiet(pilot)
            assert texts(pane) == before


async def test_colours_escapes_and_matches_are_told_apart_by_their_styles() -> None:
    app = Reading(lambda pane: pane.load("\x1b|\u241b"))
    async with app.run_test() as pilot:
        pane = app.pane
        await quiet(pilot)
        # A real escape is styled, and its picture is not.
        (real,) = styles_of(pane, 0, "\u241b")
        assert real.reverse  # type: ignore[attr-defined]
        assert styles_of(pane, 0, "|\u241b")
        # Colours come with the language only.
        pane.load("def f(): pass", language="python")
        await quiet(pilot)
        (style,) = styles_of(pane, 0, "def")
        assert style.bold  # type: ignore[attr-defined]
        pane.load("def f(): pass")
        await quiet(pilot)
        assert styles_of(pane, 0, "def") == []
        # A long text gets them after it is shown.
        pane.load("def f(): pass\n" * 10_000, language="python")
        assert texts(pane)[0] == "def f(): pass"
        await pilot.press("end")
        await quiet(pilot)
        assert styles_of(pane, 5, "def")
        # Matches are marked without colour.
        pane.load("one two one two\n\x1bone")
        pane.search("one")
        await quiet(pilot)
        current, other = styles_of(pane, 0, "one")
        assert current.reverse  # type: ignore[attr-defined]
        assert other.underline  # type: ignore[attr-defined]
        assert not other.reverse  # type: ignore[attr-defined]
        assert len(styles_of(pane, 1, "one")) == 1


async def test_a_line_of_200000_characters() -> None:
    line = "".join(chr(97 + at % 26) for at in range(200_000))
    app = Reading(lambda pane: pane.load(line, language="python"))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = app.pane
        width = 80 - 2 - 1 - 4
        for wrap in (False, True):
            if wrap:
                await pilot.press("home")
                pane.toggle_wrap()
            await quiet(pilot)
            assert "plain: a line of 200,000 characters" in pane.note or "200 kB" in pane.note
            # Not wrapped, the last cell says that the line goes on.
            shown = width if wrap else width - 1
            assert texts(pane)[0] == line[:shown] + ("" if wrap else "›")
            if wrap:
                assert "".join(texts(pane)[:22]) == line[: 22 * width]
                await pilot.press("end")
                await quiet(pilot)
                assert texts(pane)[-1] == line[-(200_000 % width) :]
            else:
                pane.scroll_to(100_000, animate=False, force=True)
                await quiet(pilot)
                assert texts(pane)[0] == line[100_000 : 100_000 + shown] + "›"
                assert rows(pane)[0].startswith("  1‹")


async def test_a_snippet_of_5_mb() -> None:
    lines = [f"line {number} of [x] {'y' * (number % 90)}" for number in range(80_000)]
    text = "\n".join(lines)
    assert len(text) > 5_000_000
    app = Reading(lambda pane: pane.load(text, language="python"))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = app.pane
        for searches, wrap in ((1, False), (2, True)):
            if wrap:
                await pilot.press("home")
                pane.toggle_wrap()
            await quiet(pilot)
            assert pane.note == f"plain: {len(text) / 1e6:.1f} MB"
            assert pane.jump_to_line(70_001) == 70_001
            await quiet(pilot)
            assert any(row.startswith(lines[70_000][:60]) for row in texts(pane))
            await pilot.press("end")
            await quiet(pilot)
            shown = [row.removesuffix("›") for row in texts(pane) if row]
            assert lines[-1].endswith(shown[-1]) if wrap else lines[-1].startswith(shown[-1])
            pane.search("line 79999 ")
            await quiet(pilot)
            assert app.moves == [(1, 1, False)] * searches
            assert pane.copy_text() == text
            pane.search("")


async def test_line_ends_empty_texts_and_wide_characters() -> None:
    app = Reading(lambda pane: pane.load("", empty="No test: screened as a clear [match]"))
    async with app.run_test(size=(30, 10)) as pilot:
        pane = app.pane
        await quiet(pilot)
        # An empty text says why.
        assert texts(pane)[:3] == ["No test: screened as a", "clear [match]", ""]
        assert pane.has_class("-empty")
        pane.load("x")
        await quiet(pilot)
        assert not pane.has_class("-empty")
        # Carriage returns are shown unless they end every line.
        pane.load("a\r\nb\r\n")
        await quiet(pilot)
        assert texts(pane)[:3] == ["a", "b", ""]
        assert pane.note == "CRLF"
        pane.load("a\r\nb\n10%\r20%\n")
        await quiet(pilot)
        assert texts(pane)[:4] == ["a\u240d", "b", "10%\u240d20%", ""]
        assert pane.note == ""
        # Wide characters stay in line.
        line = "漢字" * 60 + "|"
        pane.load(line)
        await pilot.resize_terminal(40, 10)
        await quiet(pilot)
        # 32 cells and a mark: a wide character that would be cut in two is left out, at either end.
        assert texts(pane)[0] == ("漢字" * 60)[:16] + "›"
        pane.scroll_to(1, animate=False, force=True)
        await quiet(pilot)
        assert texts(pane)[0] == " " + ("漢字" * 60)[1:16] + " ›"
        pane.toggle_wrap()
        await quiet(pilot)
        assert "".join(texts(pane)) == line
        assert all(cell_len(row) <= 32 for row in texts(pane))


async def test_seen_counts_the_ends_of_lines_as_well_as_rows() -> None:
    # 30 lines in 10 rows, of which the first and the 21st are longer than the 34 cells of a row.
    lines = [f"line {number}" + "." * (60 if number in (1, 21) else 0) for number in range(1, 31)]
    app = Reading(lambda pane: pane.load("\n".join(lines), tells_rest=True))
    async with app.run_test(size=(42, 13)) as pilot:
        pane = app.pane
        pane.focus()
        await quiet(pilot)
        assert pane.note == "20 lines more"
        for keys, note in (
            (["end"], "2 lines go on to the right"),
            # Only what was in sight at the right counts: of these rows the 21st.
            (["right"] * 40, "1 line goes on to the right"),
            (["home"], "1 line goes on to the right"),
            (["right"] * 40, "seen to the end ✓"),
            (["home"], "seen to the end ✓"),
        ):
            await pilot.press(*keys)
            await quiet(pilot)
            assert pane.note == note, keys
        pane.load("another", tells_rest=True)
        pane.load("\n".join(lines), tells_rest=True)
        await pilot.press("end")
        pane.toggle_wrap()
        assert pane.note == "seen to the end ✓"


async def test_scrolling_keys_scroll_and_letters_go_on_to_the_screen() -> None:
    app = Reading(lambda pane: pane.load("\n".join(f"line {at} {'-' * 100}" for at in range(1, 101))))
    async with app.run_test(size=(60, 13)) as pilot:
        pane = app.pane
        pane.focus()
        await quiet(pilot)
        await pilot.press("down", "down", "a")
        assert (pane.first_line, app.judged) == (3, 1)
        await pilot.press("pagedown")
        assert pane.first_line == 12
        await pilot.press("pageup", "up", "right")
        assert (pane.first_line, pane.place.x) == (2, 8)
        await pilot.press("left", "end")
        assert (pane.first_line, pane.place.x) == (91, 0)
        await pilot.press("home", "a")
        assert (pane.first_line, app.judged) == (1, 2)


async def test_the_place_is_kept_through_wrapping_and_resizing() -> None:
    line = "".join(f"{at:06d}" for at in range(5_000))
    app = Reading(lambda pane: pane.load(line, kind="log"))
    async with app.run_test(size=(87, 12)) as pilot:
        pane = app.pane
        await quiet(pilot)
        # A place inside a wrapped line.
        pane.scroll_to(y=100, animate=False, force=True)
        await quiet(pilot)
        assert pane.place == Place(0, 100 * 80)
        await pilot.resize_terminal(50, 12)
        await quiet(pilot)
        top = texts(pane)[0]
        assert line.index(top) <= 8_000 < line.index(top) + len(top)
        await pilot.resize_terminal(87, 12)
        await quiet(pilot)
        assert texts(pane)[0] == line[8_000:8_080]
        # The place at the end comes back after a taller screen.
        pane.load("\n".join(map(str, range(60))))
        await pilot.press("end")
        await quiet(pilot)
        assert pane.first_line == 51
        await pilot.resize_terminal(40, 42)
        await quiet(pilot)
        assert texts(pane)[-1] == "59"
        await pilot.resize_terminal(40, 12)
        await quiet(pilot)
        assert texts(pane)[0] == "50"
        # Wrapping, and other widths and heights, keep the top line.
        pane.load("\n".join(f"{at}: " + "word " * (at % 60) for at in range(300)))
        await pilot.resize_terminal(100, 20)
        pane.scroll_to(y=150, animate=False, force=True)
        await quiet(pilot)
        for step in ("wrap", (40, 20), (120, 30), (60, 8), "numbers", "wrap", (100, 20), "numbers"):
            if step == "wrap":
                pane.toggle_wrap()
            elif step == "numbers":
                pane.toggle_numbers()
            else:
                assert isinstance(step, tuple)
                await pilot.resize_terminal(*step)
            await quiet(pilot)
            assert pane.place == Place(150)
            assert texts(pane)[0].startswith("150: word")
        assert pane.scroll_y == 150


async def test_a_place_is_restored_before_the_first_layout() -> None:
    text = "\n".join(f"{at} " + "x" * 200 for at in range(100))

    def load(pane: TextPane) -> None:
        pane.load(text)
        pane.restore(Place(40, 0, 16))

    app = Reading(load)
    async with app.run_test(size=(60, 12)) as pilot:
        await quiet(pilot)
        assert app.pane.place == Place(40, 0, 16)
        assert (app.pane.scroll_x, app.pane.scroll_y) == (16, 40)


async def test_another_text_starts_at_the_top_unless_a_place_is_restored() -> None:
    text = "\n".join(map(str, range(100)))
    app = Reading(lambda pane: pane.load(text))
    async with app.run_test(size=(40, 12)) as pilot:
        pane = app.pane
        await quiet(pilot)
        # A text loaded while the pane is hidden is there when it is shown.
        pane.display = False
        await quiet(pilot)
        pane.load("\n".join(f"other {at}" for at in range(500)), language="python")
        pane.restore(Place(400))
        await quiet(pilot)
        pane.display = True
        await quiet(pilot)
        assert texts(pane)[0] == "other 400"
        assert pane.scroll_y == 400
        # The same text again keeps the place.
        pane.load(text)
        pane.restore(Place(30))
        pane.load(text, title="again")
        await quiet(pilot)
        assert (pane.first_line, pane.scroll_y) == (31, 30)
        pane.load(text + "\n")
        await quiet(pilot)
        assert (pane.first_line, pane.scroll_y) == (1, 0)


async def test_matches_landmarks_and_citations_are_gone_to_and_marked() -> None:
    text = "\n".join("needle here" if at in (5, 40, 90) else f"line {at}" for at in range(100))
    app = Reading()
    async with app.run_test(size=(40, 12)) as pilot:
        pane = app.pane
        # A search goes round, and says so.
        pane.load(text)
        pane.restore(Place(20))
        pane.search("NEEDLE")
        await quiet(pilot)
        assert pane.search_status == "no match"
        pane.search("needle")
        await quiet(pilot)
        assert (pane.search_status, pane.note) == ("2 of 3", "/needle: 2 of 3")
        assert "needle here" in texts(pane)
        for _ in range(2):
            pane.next_match()
        assert pane.search_status == "1 of 3, wrapped"
        pane.previous_match()
        await quiet(pilot)
        assert pane.search_status == "3 of 3, wrapped"
        assert app.moves == [(0, 0, False), (2, 3, False), (3, 3, False), (1, 3, True), (3, 3, True)]
        pane.search("")
        assert (pane.search_status, pane.note) == ("", "")
        # A match far to the right is brought into view.
        pane.load("x" * 500 + "漢needle" + "x" * 500)
        await quiet(pilot)
        pane.search("needle")
        await quiet(pilot)
        assert "needle" in texts(pane)[0]
        # Landmarks are gone to in their order; cited lines are marked before them.
        pane.load("\n".join(map(str, range(1, 101))), landmarks=[70, 30, 30, 400])
        assert [pane.jump_to_landmark() for _ in range(4)] == [30, 70, 30, 70]
        pane.mark_cited(frozenset({69, 70}), recorded=True)
        await quiet(pilot)
        assert [row[:6] for row in rows(pane) if row[0] != " "] == ["▌ 69 6", "▌ 70 7"]
        assert pane.cited_lines == {69, 70}
        pane.mark_cited(frozenset(), recorded=True)
        await quiet(pilot)
        assert [row[:4] for row in rows(pane) if row[0] != " "] == ["▸ 70"]
        assert pane.jump_to_line(1_000) == 100
        pane.load("no landmarks")
        assert pane.jump_to_landmark() is None


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Select with the mouse from one cell of the screen to another, both included."""
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await pilot.pause()


async def test_the_mouse_selects_original_characters() -> None:
    app = Reading(lambda pane: pane.load("abc\n\t\x1b[31m\n漢字\na\u202ebe\u0301\n"))
    async with app.run_test(size=(60, 12)) as pilot:
        pane = app.pane
        await quiet(pilot)
        # The text begins in column 5: the border, and a gutter for two digits.
        for start, end, selected, lines in (
            ((5, 1), (7, 1), "abc", range(1, 2)),
            ((7, 1), (5, 1), "abc", range(1, 2)),
            # From the ESC, which is one glyph, to the right half of a wide character.
            ((9, 2), (6, 3), "\x1b[31m\n漢", range(2, 4)),
            # Inside a glyph of several cells, and from before it to far behind the line.
            ((8, 4), (10, 4), "\u202e", range(4, 5)),
            ((5, 4), (30, 4), "a\u202ebe\u0301", range(4, 5)),
            ((14, 4), (15, 4), "be\u0301", range(4, 5)),
            # From the gutter; from a tab; to below the text.
            ((2, 1), (5, 2), "abc\n\t", range(1, 3)),
            ((7, 2), (8, 2), "\t", range(2, 3)),
            ((7, 3), (20, 8), "字\na\u202ebe\u0301", range(3, 5)),
        ):
            await drag(pilot, start, end)
            assert pane.copy_text() == selected
            assert app.screen.get_selected_text() == selected
            assert pane.selected_lines == lines
        # What no clipboard takes does not stop a copy.
        pane.load("a\ud800b")
        await quiet(pilot)
        pane.text_select_all()
        await pilot.pause()
        assert app.screen.get_selected_text() == "a\ufffdb"
        assert pane.copy_text() == "a\ud800b"
        # A selection outlives wrapping, and is dropped with its text.
        line = "".join(f"{at:04d}" for at in range(100))
        pane.load(line, kind="log")
        await pilot.resize_terminal(47, 20)
        await drag(pilot, (5, 2), (8, 3))
        assert pane.copy_text() == line[40:84]
        pane.toggle_wrap()
        await quiet(pilot)
        assert pane.copy_text() == line[40:84]
        pane.load("another")
        await quiet(pilot)
        assert pane.copy_text() == "another"
        assert pane.selected_lines is None


async def test_a_pane_that_was_never_told_its_size_lays_its_text_out_when_it_is_painted() -> None:
    class One(App[None]):
        def compose(self) -> ComposeResult:
            yield TextPane(id="one")

    app = One()
    async with app.run_test(size=(40, 10)) as pilot:
        pane = app.query_one("#one", TextPane)
        pane.load("def f():\n    return 1\n", language="python")
        await settled(pilot.app)
        assert "def f" in rows(pane)[0]
        # As Textual leaves a widget that was laid out before it was mounted.
        pane._flow = None
        pane.virtual_size = Size(0, 0)
        pane.refresh()
        await settled(pilot.app)
        assert "def f" in rows(pane)[0]
