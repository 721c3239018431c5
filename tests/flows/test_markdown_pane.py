"""Markdown in a pane: rendered, or as it stands, with everything about lines meaning those of the source."""

from __future__ import annotations

from reading_pane import Reading, quiet, rows, styles_of, texts

from screens.widgets.text.markdown import CHARACTERS
from screens.widgets.text.view import Place

SOURCE = "# A *title*\n\nSome **bold** words\n\n```python\ndef f(): pass\n```\n\n- one\n- two\n"


async def test_the_source_and_what_it_says_are_one_key_apart() -> None:
    app = Reading(lambda pane: pane.load(SOURCE, kind="markdown"))
    async with app.run_test(size=(60, 20)) as pilot:
        pane = app.pane
        await quiet(pilot)
        assert [row for row in texts(pane) if row] == [
            "A title",
            "═══════",
            "Some bold words",
            "── python " + "─" * 30,
            "  def f(): pass",
            "─" * 40,
            "• one",
            "• two",
        ]
        assert (pane.is_rendered, pane.copy_text(), pane.note) == (True, SOURCE, "")
        assert all(style.bold for style in styles_of(pane, 6, "def"))  # type: ignore[attr-defined]
        assert styles_of(pane, 6, "def")
        assert pane.toggle_source() is True
        await quiet(pilot)
        assert texts(pane)[: SOURCE.count("\n")] == SOURCE.removesuffix("\n").split("\n")
        assert (pane.is_rendered, pane.copy_text(), pane.note) == (False, SOURCE, "source")
        assert pane.toggle_source() is False
        pane.load(SOURCE)
        await quiet(pilot)
        assert texts(pane)[0] == "# A *title*"
        assert pane.toggle_source() is None
        # A search goes on in the other view.
        pane.load(SOURCE, kind="markdown")
        pane.search("**bold")
        await quiet(pilot)
        assert pane.search_status == "no match"
        pane.toggle_source()
        await quiet(pilot)
        assert pane.search_status == "1 of 1"


async def test_a_long_source_is_shown_until_it_is_rendered_and_places_are_those_of_the_source() -> None:
    source = "".join(f"- item *{number}*\n" for number in range(5_000))
    app = Reading(lambda pane: pane.load(source, kind="markdown", start=4_000))
    async with app.run_test(size=(60, 20)) as pilot:
        pane = app.pane
        assert any("- item *3999*" in row for row in texts(pane))
        await quiet(pilot)
        assert any("• item 3999" in row for row in texts(pane))
        assert pane.is_rendered
        # The next time it is there at once.
        pane.load("other", kind="markdown")
        pane.load(source, kind="markdown")
        assert texts(pane)[0] == "• item 0"
        pane.load("*a* " * CHARACTERS, kind="markdown")
        await quiet(pilot)
        assert not pane.is_rendered
        assert pane.note == "source: 1,600,000 characters"
        # Places are those of the source in both views.
        parts = "\n\n".join(f"## Part {number}\n\ntext {number}" for number in range(200))
        place = Place(parts[: parts.index("text 150")].count("\n"))
        pane.load(parts, kind="markdown")
        pane.restore(place)
        await quiet(pilot)
        for _ in range(3):
            assert texts(pane)[0] == "text 150"
            assert pane.place == place
            pane.toggle_source()
            await quiet(pilot)
        pane.load(parts.replace("text", "words"), kind="markdown")
        await quiet(pilot)
        assert pane.place == Place()


async def test_lines_are_numbered_and_cited_as_those_of_the_source() -> None:
    app = Reading(lambda pane: pane.load(SOURCE, kind="markdown"))
    async with app.run_test(size=(60, 20)) as pilot:
        pane = app.pane
        pane.toggle_numbers()
        pane.mark_cited(frozenset({3, 10}), recorded=True)
        await quiet(pilot)
        shown = [row.rstrip() for row in rows(pane) if row.strip()]
        assert [row for row in shown if row.startswith("▌")] == ["▌ 3 Some bold words", "▌10 • two"]
        # Whoever goes to a line is shown the source, in which the line is.
        pane.put_cursor(10, 10)
        await quiet(pilot)
        assert not pane.is_rendered
        assert [row.rstrip() for row in rows(pane)][9] == "▌10▸- two"
        pane.toggle_source()
        await quiet(pilot)
        assert (pane.is_rendered, pane.cursor_lines) == (True, None)
        assert pane.jump_to_line(9) == 9
        assert not pane.is_rendered


async def test_hostile_markdown_is_harmless() -> None:
    source = "> \x1b[31mred\x1b[0m \u202e[a](b\u2066)\n\n```\u202e\n\x00\n```\n\n<b onclick='[red]'>[/b]"
    app = Reading(lambda pane: pane.load(source, kind="markdown"))
    async with app.run_test(size=(60, 20)) as pilot:
        for theme in ("textual-light", "ansi-dark"):
            app.theme = theme
            await quiet(pilot)
            shown = "\n".join(texts(app.pane))
            assert all(character.isprintable() or character == "\n" for character in shown)
            for part in (
                "▌ ␛[31mred␛[0m <U+202E>a (b<U+2066>)",
                "── <U+202E> ──",
                "  ␀",
                "<b onclick='[red]'>[/b]",
            ):
                assert part in shown
