"""Selected text can be read, and be told from what is not selected, in every theme that the app offers."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from rich.style import Style
from settling import settled
from textual.app import App, ComposeResult
from textual.color import Color
from textual.selection import SELECT_ALL
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget
from textual.widgets import Input, Log, Static

from screens.app import WorkbenchApp
from screens.widgets.line_input import LineInput
from screens.widgets.text.code_area import CodeArea
from screens.widgets.text.view import TextPane

CODE = "def seen(text):\n    return 'me', 7  # not hidden\n"
LEAST = 4.5
"""The contrast that WCAG 2 asks of text (success criterion 1.4.3)."""


class Selected(App[None]):
    """Every kind of widget whose text can be selected, with all of it selected, in the styles of the app."""

    CSS_PATH: ClassVar[Path] = WorkbenchApp.CSS_PATH
    # A field shows its selection while it has the focus.
    AUTO_FOCUS = "#line"
    CSS = "Static, Input, Log, CodeArea, TextPane { height: 6; }"

    def compose(self) -> ComposeResult:
        yield Static("words on a screen", id="words")
        yield Log(id="log")
        yield LineInput("a comment", id="line")
        yield CodeArea(CODE, "python", id="area")
        for name in ("code", "markdown", "cited"):
            yield TextPane(id=name)

    def on_mount(self) -> None:
        self.query_one("#log", Log).write(CODE)
        self.query_one("#code", TextPane).load(CODE, language="python")
        self.query_one("#markdown", TextPane).load("# Title\n\n`code` and *words*\n", kind="markdown")
        cited = self.query_one("#cited", TextPane)
        cited.load("\x1b a control character\n")
        cited.mark_cited(frozenset({1}), recorded=True)

    async def select(self, *, chosen: bool) -> None:
        field = self.query_one(LineInput)
        field.cursor_blink = False
        field.select_all() if chosen else field.action_end()
        area = self.query_one(CodeArea)
        area.select_all() if chosen else area.move_cursor(area.document.end)
        await settled(self)
        # A selection in a field ends one by the mouse.
        others = [widget for widget in self.screen.children if not isinstance(widget, Input | CodeArea)]
        self.screen.selections = dict.fromkeys(others, SELECT_ALL) if chosen else {}
        await settled(self)


def cells(widget: Widget) -> list[tuple[str, Style]]:
    """The characters of a widget as they are painted, with their styles."""
    strips = widget.screen._compositor.render_strips()
    region = widget.region
    shown = [strips[row].crop(region.x, region.right) for row in range(region.y, region.bottom)]
    return [
        (character, segment.style or Style())
        for strip in shown
        for segment in strip
        for character in segment.text
    ]


def luminance(color: Color) -> float:
    """The relative luminance as WCAG 2 defines it."""
    parts = [part / 255 for part in (color.r, color.g, color.b)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", BUILTIN_THEMES)
async def test_selected_text_is_read_in_every_widget(theme: str) -> None:
    app = Selected()
    async with app.run_test(size=(60, 48)) as _:
        app.theme = theme
        await app.select(chosen=False)
        plain = {widget.id: cells(widget) for widget in app.screen.children}
        await app.select(chosen=True)
        for widget in app.screen.children:
            pairs = zip(plain[widget.id], cells(widget), strict=True)
            changed = [
                (old, new, letter) for (letter, old), (_, new) in pairs if old != new and letter.isalnum()
            ]
            assert len(changed) >= 6, (widget.id, changed)
            for old, new, letter in changed:
                assert new.color, (widget.id, letter)
                assert new.bgcolor, (widget.id, letter)
                if theme.startswith("ansi"):
                    # The terminal's own two colours, the other way round.
                    assert new.reverse, (widget.id, letter)
                    assert new.color.is_default, (widget.id, letter, new)
                    continue
                fore, back = (Color.from_rich_color(one) for one in (new.color, new.bgcolor))
                assert contrast(fore, back) >= LEAST, (widget.id, letter, fore, back)
                before = Color.from_rich_color(old.bgcolor)
                assert contrast(back, before) >= 3, (widget.id, letter, back, before)
