"""Showing a text exactly and harmlessly, however large it is: layout, painting, scrolling, selection."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as VisualStyle

from screens.widgets import highlight
from screens.widgets.flow import Flow
from screens.widgets.source_text import ShownLine, SourceText
from screens.widgets.text_paint import Layer, Palette, Row, layered, with_offsets
from screens.widgets.visible import visible

TextKind = Literal["code", "test", "log", "reply"]
"""What a text is: it sets whether lines wrap and are numbered until the reader says otherwise."""

_WRAPPED: dict[TextKind, bool] = {"code": False, "test": False, "log": True, "reply": True}
_NUMBERED: dict[TextKind, bool] = {"code": True, "test": True, "log": True, "reply": False}

TURN = 0.006
"""Seconds that work on a large text may hold up a key."""

PAUSE = 0.002
"""Seconds between two turns, in which keys are answered and the screen is painted."""

_SIDEWAYS = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reader is in a text, whatever the pane's size and wrapping."""

    line: int = 0
    """The source line on the top row, from 0."""
    column: int = 0
    """The offset into that line at which the top row begins (wrapped lines)."""
    x: int = 0
    """Cells scrolled to the right (lines that are not wrapped)."""


class TextView(ScrollView, can_focus=True, inherit_bindings=False):
    """A text by rows: only what is on the screen is made visible, coloured and painted."""

    ALLOW_SELECT = True
    DEFAULT_CSS = files(__package__ or "").joinpath("text_view.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "text-view--gutter",
        "text-view--pointed",
        "text-view--cited",
        "text-view--replaced",
        "text-view--match",
        "text-view--current-match",
        "text-view--empty",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", "Line up", show=False, id="text.up", tooltip="Scroll one row up"),
        Binding(
            "down", "scroll_down", "Line down", show=False, id="text.down", tooltip="Scroll one row down"
        ),
        Binding("left", "scroll_left", "Left", show=False, id="text.left", tooltip="Scroll to the left"),
        Binding("right", "scroll_right", "Right", show=False, id="text.right", tooltip="Scroll to the right"),
        Binding("pageup", "page_up", "Page up", show=False, id="text.page_up", tooltip="One page up"),
        Binding(
            "pagedown", "page_down", "Page down", show=False, id="text.page_down", tooltip="One page down"
        ),
        Binding(
            "ctrl+pageup", "page_left", "Page left", show=False, id="text.page_left", tooltip="One page left"
        ),
        Binding(
            "ctrl+pagedown",
            "page_right",
            "Page right",
            show=False,
            id="text.page_right",
            tooltip="One page right",
        ),
        Binding("home", "scroll_home", "Top", show=False, id="text.home", tooltip="Go to the first line"),
        Binding("end", "scroll_end", "End", show=False, id="text.end", tooltip="Go to the last line"),
    ]

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._source = SourceText("")
        self._flow: Flow | None = None
        self._language: str | None = None
        self._highlighting: highlight.Highlighting | None = None
        self._coloured: SourceText | None = None
        self._kind: TextKind = "code"
        # What the reader chose; None follows the kind of text.
        self._wrap: bool | None = None
        self._numbers: bool | None = None
        self._empty = ""
        self._empty_rows: list[str] = []
        # The place the reader last scrolled to; kept through resizing, wrapping and reloading.
        self._place = Place()
        self._settling = False
        self._painting = False
        self._strips: LRUCache[int, Strip] = LRUCache(1024)
        self._palette: Palette | None = None
        self._token_styles: dict[object, Style] = {}

    # -- the text -------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The text shown, as it was given."""
        return self._source.text

    @property
    def line_count(self) -> int:
        """Source lines of the text."""
        return len(self._source.lines)

    def show_text(self, text: str, language: str | None, kind: TextKind, empty: str) -> bool:
        """Show a text; the same text again keeps the place.

        Args:
            text: Any text.
            language: The language to colour it by, or None.
            kind: What the text is.
            empty: A sentence to show when there is no text.

        Returns:
            Whether the text is another one than before.
        """
        changed = text != self._source.text or language != self._language
        self._kind, self._empty = kind, empty
        if changed:
            self._source = SourceText(text)
            self._language = language
            self._flow = None
            self._highlighting = None
            self._place = Place()
            if self.is_attached and self.screen.selections.get(self) is not None:
                self.screen.clear_selection()
        self._reflow()
        return changed

    # -- the place ------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the reader is; `restore` goes back there in any size."""
        return self._place

    def restore(self, place: Place) -> None:
        """Go to a place, or remember to when the pane has no size yet.

        Args:
            place: A place of this text.
        """
        self._place = place
        self._reflow()

    @property
    def first_line(self) -> int:
        """The source line on the top row, from 1."""
        return self._place.line + 1

    @property
    def wrap(self) -> bool:
        """Whether long lines go on in the next row."""
        return _WRAPPED[self._kind] if self._wrap is None else self._wrap

    @property
    def numbers(self) -> bool:
        """Whether lines are numbered."""
        return _NUMBERED[self._kind] if self._numbers is None else self._numbers

    def toggle_wrap(self) -> bool:
        """Wrap long lines, or stop to; the top line stays.

        Returns:
            Whether lines are wrapped now.
        """
        self._wrap = not self.wrap
        self._reflow()
        return self._wrap

    def toggle_numbers(self) -> bool:
        """Show line numbers, or hide them.

        Returns:
            Whether lines are numbered now.
        """
        self._numbers = not self.numbers
        self._reflow()
        return self._numbers

    # -- layout ---------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Lay the text out in the new width, at the same place."""
        self._reflow()

    def _has_glyphs(self) -> bool:
        return False

    @property
    def _gutter_width(self) -> int:
        if not self._source.text:
            return 0
        if self.numbers:
            return max(2, len(str(self.line_count))) + 2
        return 2 if self._has_glyphs() else 0

    @property
    def _text_width(self) -> int:
        return max(1, self.scrollable_content_region.width - self._gutter_width)

    def _reflow(self) -> None:
        self._strips.clear()
        self.refresh()
        if not self.is_attached or not self.scrollable_content_region:
            return
        self.set_class(self.wrap, "-wrapped")
        self.set_class(not self._source.text, "-empty")
        width = self._text_width if self.wrap else None
        self._empty_rows = textwrap.wrap(visible(self._empty).text, self._text_width) or [""]
        if self._coloured is not self._source:
            self._coloured = self._source
            self._start_highlighting()
        flow = self._flow
        if flow is None or flow.width != width:
            flow = self._flow = Flow(self._source, width)
            if not flow.advance(TURN):
                self.run_worker(self._measure(flow), group="measure", exclusive=True)
        row = flow.row_of(self._place.line, self._place.column)
        with self._settled():
            self._fit(flow)
            self.scroll_target_y = self.scroll_y = row
            if width is None:
                self.scroll_target_x = self.scroll_x = self._place.x
            else:
                self.scroll_target_x = self.scroll_x = 0

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Move without taking it for the reader's own scrolling."""
        before, self._settling = self._settling, True
        try:
            yield
        finally:
            self._settling = before

    def _fit(self, flow: Flow) -> None:
        width = 0 if flow.width is not None else self._gutter_width + flow.cells
        self.virtual_size = Size(width, flow.rows if self._source.text else len(self._empty_rows))

    async def _measure(self, flow: Flow) -> None:
        while flow is self._flow:
            done = flow.advance(TURN)
            if done or flow.cells > self._text_width > self.virtual_size.width:
                with self._settled():
                    self._fit(flow)
            if done:
                return
            await asyncio.sleep(PAUSE)

    def _complete_flow(self) -> None:
        if self._flow is not None and not self._flow.done:
            self._flow.advance(inf)
            self._fit(self._flow)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember the place that the reader scrolled to."""
        super().watch_scroll_y(old_value, new_value)
        # A value that is no longer possible was cut by a new size: the reader's place stays what it was.
        if not self._settling and old_value <= self.max_scroll_y and self._flow is not None:
            line, part = self._flow.locate(round(new_value))
            column = 0
            if part and self._flow.width is not None:
                shown = self._source.shown(line)
                column = shown.source_offset(shown.breaks(self._flow.width)[part])
            self._place = replace(self._place, line=line, column=column)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Remember how far the reader scrolled to the right."""
        super().watch_scroll_x(old_value, new_value)
        if round(old_value) != round(new_value):
            self._strips.clear()
        if not self._settling and old_value <= self.max_scroll_x:
            self._place = replace(self._place, x=round(new_value))

    # -- scrolling: at once, since nothing should move under a reader's eyes ----------------------------

    def _scroll_by(self, x: int = 0, y: int = 0) -> None:
        if (x and not self.max_scroll_x) or (y and not self.max_scroll_y):
            raise SkipAction
        self.scroll_to(
            round(self.scroll_x) + x if x else None,
            round(self.scroll_y) + y if y else None,
            animate=False,
            force=True,
        )

    def action_scroll_up(self) -> None:
        """Scroll one row up."""
        self._scroll_by(y=-1)

    def action_scroll_down(self) -> None:
        """Scroll one row down."""
        self._scroll_by(y=1)

    def action_scroll_left(self) -> None:
        """Scroll to the left."""
        self._scroll_by(x=-_SIDEWAYS)

    def action_scroll_right(self) -> None:
        """Scroll to the right."""
        self._scroll_by(x=_SIDEWAYS)

    def action_page_up(self) -> None:
        """Scroll one page up; one row stays in sight."""
        self._scroll_by(y=-max(1, self.scrollable_content_region.height - 1))

    def action_page_down(self) -> None:
        """Scroll one page down; one row stays in sight."""
        self._scroll_by(y=max(1, self.scrollable_content_region.height - 1))

    def action_page_left(self) -> None:
        """Scroll one page to the left."""
        self._scroll_by(x=-max(1, self._text_width - 1))

    def action_page_right(self) -> None:
        """Scroll one page to the right."""
        self._scroll_by(x=max(1, self._text_width - 1))

    def action_scroll_home(self) -> None:
        """Go to the first line, and its start."""
        self.scroll_to(0, 0, animate=False, force=True)

    def action_scroll_end(self) -> None:
        """Go to the last line."""
        self._complete_flow()
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    # -- colours --------------------------------------------------------------------------------------

    @property
    def plain_reason(self) -> str:
        """Why a text in a known language is shown without colours, or nothing."""
        if self._language is None:
            return ""
        if len(self.text) > highlight.CHARACTERS:
            size = len(self.text.encode("utf-8", "surrogatepass"))
            return f"plain: {size / 1e6:.1f} MB" if size >= 1e6 else f"plain: {size / 1e3:.0f} kB"
        if self._source.longest > highlight.LINE_CHARACTERS:
            return f"plain: a line of {self._source.longest:,} characters"
        return ""

    def _start_highlighting(self) -> None:
        if self._language is None or self.plain_reason:
            return
        if highlight.is_ready(self._language):
            # Most snippets are coloured before they are painted for the first time.
            self._highlighting = self._lexed(self._source, highlight.lexer_for(self._language))
            if self._highlighting is None or self._highlighting.advance(TURN):
                return
        self.run_worker(self._highlight(self._source, self._language), group="highlight", exclusive=True)

    @staticmethod
    def _lexed(source: SourceText, lexer: highlight.Lexer | None) -> highlight.Highlighting | None:
        return None if lexer is None else highlight.Highlighting(source.lines, lexer)

    async def _highlight(self, source: SourceText, language: str) -> None:
        lexer = await asyncio.to_thread(highlight.lexer_for, language)
        if source is not self._source:
            return
        if self._highlighting is None:
            self._highlighting = self._lexed(source, lexer)
        done = self._highlighting is None
        while not done and source is self._source and self._highlighting is not None:
            before = self._highlighting.covered
            done = self._highlighting.advance(TURN)
            if before <= self._place.line + self.size.height:
                self._repaint()
            await asyncio.sleep(PAUSE)

    def notify_style_update(self) -> None:
        """Take up the new theme."""
        super().notify_style_update()
        self._palette = None
        self._token_styles.clear()
        self._strips.clear()

    @property
    def palette(self) -> Palette:
        """The styles of this pane in the current theme."""
        if self._palette is None:

            def partial(name: str) -> Style:
                return self.get_component_rich_style(f"text-view--{name}", partial=True)

            def whole(name: str) -> Style:
                # Colours with transparency exist only against a background.
                return self.get_component_rich_style(f"text-view--{name}")

            self._palette = Palette(
                base=self.rich_style,
                gutter=whole("gutter"),
                pointed=partial("pointed"),
                cited=partial("cited"),
                replaced=partial("replaced"),
                match=partial("match"),
                current_match=partial("current-match"),
                selection=self.screen.get_component_rich_style("screen--selection"),
                empty=whole("empty"),
            )
        return self._palette

    def _token_style(self, key: object) -> Style:
        style = self._token_styles.get(key)
        if style is None:
            theme = highlight.ANSI_THEME if self.app.native_ansi_color else highlight.THEME
            style = (self.visual_style + VisualStyle.parse(theme[key])).rich_style
            self._token_styles[key] = style
        return style

    # -- painting -------------------------------------------------------------------------------------

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows of the screen.

        Args:
            crop: The region to paint.

        Returns:
            A strip a row.
        """
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """Paint one row.

        Args:
            y: The row of the screen, from 0.

        Returns:
            A strip as wide as the pane. Asked outside of painting, as Textual does to find the text under the
            mouse, its segments carry their places.
        """
        number = round(self.scroll_y) + y
        if not self._painting:
            return self._placed(number)
        strip = self._strips.get(number)
        if strip is None:
            _, gutter, text, rest = self._segments(number)
            strip = self._strips[number] = Strip([*gutter, *text, *rest], self.size.width)
        return strip

    def _placed(self, number: int) -> Strip:
        row, gutter, text, rest = self._segments(number)
        return with_offsets(row, gutter, text, rest)

    def _row(self, flow: Flow, number: int) -> tuple[Row, ShownLine]:
        line, part = flow.locate(number)
        shown = self._source.shown(line)
        if flow.width is not None:
            breaks = shown.breaks(flow.width)
            end = breaks[part + 1] if part + 1 < len(breaks) else shown.length
            return Row(line, breaks[part], end, first=part == 0), shown
        left = round(self.scroll_x)
        start, end = shown.index_at(left), shown.index_at(left + self._text_width)
        lead = 0
        if not shown.narrow and start < shown.length:
            cell = shown.cell_at(start)
            if cell < left:
                start += 1
                lead = shown.cell_at(start) - left
        return Row(line, start, max(start, end), lead), shown

    def _segments(self, number: int) -> tuple[Row, list[Segment], list[Segment], list[Segment]]:
        """Return what a row shows, and its segments: gutter, text, and what fills the rest of the row."""
        width, palette, flow = self.size.width, self.palette, self._flow
        if not self._source.text:
            sentence = self._empty_rows[number] if number < len(self._empty_rows) else ""
            blank = " " * max(0, width - Segment(sentence).cell_length)
            return (
                Row(0, 0, 0),
                [Segment(sentence, palette.base + palette.empty), Segment(blank, palette.base)],
                [],
                [],
            )
        if flow is None or number >= flow.rows:
            last = self.line_count - 1
            end = self._source.shown(last).length
            return Row(last, end, end), [], [], [Segment(" " * width, palette.base)]
        row, shown = self._row(flow, number)
        gutter = self._gutter(row)
        content = shown.text(row.start, row.end)
        layers = [
            (start - row.start, end - row.start, style) for start, end, style in self._layers(row, shown)
        ]
        text = layered(content, palette.base, layers)
        filled = self._gutter_width + row.lead
        filled += len(content) if shown.narrow else cell_len(content)
        if row.lead:
            gutter.append(Segment(" " * row.lead, palette.base))
        rest = [Segment(" " * (width - filled), palette.base)] if filled < width else []
        return row, gutter, text, rest

    def _gutter(self, row: Row) -> list[Segment]:
        width = self._gutter_width
        if not width:
            return []
        palette = self.palette
        glyph, glyph_style, number_style = self._glyph(row)
        number = f"{row.line + 1}" if row.first and self.numbers else ""
        segments = [Segment(glyph, palette.base + glyph_style)]
        if blank := width - 2 - len(number):
            segments.append(Segment(" " * blank, palette.base))
        if number:
            segments.append(Segment(number, palette.base + palette.gutter + number_style))
        return [*segments, Segment(" ", palette.base)]

    def _glyph(self, row: Row) -> tuple[str, Style, Style]:
        """Return the glyph before a row, its style, and what the line's number is styled with besides."""
        return " ", Style.null(), Style.null()

    def _layers(self, row: Row, shown: ShownLine) -> Iterator[Layer]:
        """Yield the styles over a row, as indices into the shown line; later ones lie on top."""
        if self._highlighting is not None:
            for start, end, key in self._highlighting.spans(row.line):
                yield shown.index_of(start), shown.index_of(end), self._token_style(key)
        for start, end in shown.marks(row.start, row.end):
            yield start, end, self.palette.replaced
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row.line)) is not None:
            yield span[0], row.end if span[1] == -1 else span[1], self.palette.selection

    # -- selection ------------------------------------------------------------------------------------

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the new selection.

        Args:
            selection: What is selected of this pane.
        """
        self._repaint()

    def _selected(self, selection: Selection) -> tuple[int, int]:
        source = self._source
        start, end = 0, len(source.text)
        if selection.start is not None:
            line = min(selection.start.y, self.line_count - 1)
            start = source.offset_of(line, source.shown(line).source_offset(selection.start.x))
        if selection.end is not None:
            line = min(selection.end.y, self.line_count - 1)
            shown = source.shown(line)
            end = source.offset_of(line, shown.source_end(min(selection.end.x, shown.length)))
        return start, max(start, end)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the original characters under a selection, for Textual's own copying.

        Args:
            selection: What is selected.

        Returns:
            The text and what to put after it; lone surrogates, which no clipboard takes, become U+FFFD.
        """
        if not self.text:
            return None
        start, end = self._selected(selection)
        return self.text[start:end].encode("utf-16", "surrogatepass").decode("utf-16", "replace"), "\n"

    def copy_text(self) -> str:
        """Return the original characters that are selected, or the whole text when nothing is.

        Returns:
            A part of the text exactly as it was given.
        """
        selection = self.text_selection if self.is_attached else None
        if selection is None:
            return self.text
        start, end = self._selected(selection)
        return self.text[start:end]

    @property
    def selected_lines(self) -> range | None:
        """The source lines that the selection touches, from 1, or None when nothing is selected."""
        selection = self.text_selection if self.is_attached else None
        if selection is None or not self.text:
            return None
        start, end = self._selected(selection)
        return range(self._source.locate(start)[0] + 1, self._source.locate(max(start, end - 1))[0] + 2)
