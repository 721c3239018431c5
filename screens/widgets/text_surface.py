"""The surface a text is painted on: which rows are seen, in which colours, with which gutter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle

from screens.widgets import highlight
from screens.widgets.code_blocks import BlockHighlighting, CodeBlock
from screens.widgets.flow import Flow
from screens.widgets.overlay import MUTED, SPAN_STYLES, STYLE_OF_GLYPH, Spans
from screens.widgets.shown_line import ShownLine
from screens.widgets.source_text import SourceText
from screens.widgets.text_paint import Layer, Palette, Row, layered, with_offsets

TextKind = Literal["code", "test", "log", "reply", "markdown"]
"""What a text is: it sets whether lines wrap and are numbered until the reader says otherwise."""

_WRAPPED: dict[TextKind, bool] = {"code": False, "test": False, "log": True, "reply": True, "markdown": True}
_CODE: tuple[TextKind, ...] = ("code", "test")
_NUMBERED: dict[TextKind, bool] = {"code": True, "test": True, "log": True, "reply": False, "markdown": False}

TURN = 0.005
"""Seconds that work on a large text may hold up a key."""

PAUSE = 0.002
"""Seconds between two turns, in which keys are answered and the screen is painted."""

BAR = "│"
"""The glyph of a line that stands before each of its rows, not before the first one only."""

_STRIPS_KEPT = 1024


class TextSurface(ScrollView, can_focus=True, inherit_bindings=False):
    """Paints rows of a text: only what is on the screen is made visible and coloured."""

    DEFAULT_CSS = files(__package__ or "").joinpath("text_surface.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "text--gutter",
        "text--pointed",
        "text--cited",
        "text--replaced",
        "text--match",
        "text--current-match",
        "text--empty",
        *(f"text--{style}" for style in SPAN_STYLES),
    }

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
        self._plain_reason = ""
        self._spans = Spans()
        # By source line, from 1: the glyph before it.
        self._glyphs: Mapping[int, str] = {}
        # Code within another text, which has its own languages.
        self._blocks: Sequence[CodeBlock] = ()
        self._highlighting: highlight.Highlighting | BlockHighlighting | None = None
        self._kind: TextKind = "code"
        # What the reader chose; None follows the kind of text.
        self._wrap: bool | None = None
        self._numbers: bool | None = None
        # What holds for code until the reader chooses.
        self._code_wrap = _WRAPPED["code"]
        self._code_numbers = _NUMBERED["code"]
        # The sentence shown when there is no text, in rows.
        self._empty_rows: list[str] = []
        self._painting = False
        self._strips: LRUCache[int, Strip] = LRUCache(_STRIPS_KEPT)
        self._palette: Palette | None = None
        self._token_styles: dict[object, Style] = {}

    @property
    def line_count(self) -> int:
        """Source lines of the text."""
        return len(self._source.lines)

    @property
    def wrap(self) -> bool:
        """Whether long lines go on in the next row."""
        if self._wrap is not None:
            return self._wrap
        return self._code_wrap if self._kind in _CODE else _WRAPPED[self._kind]

    @property
    def numbers(self) -> bool:
        """Whether lines are numbered."""
        if self._numbers is not None:
            return self._numbers
        return self._code_numbers if self._kind in _CODE else _NUMBERED[self._kind]

    @property
    def _last_number(self) -> int:
        return self.line_count

    def _number(self, line: int) -> int | None:
        """Return the number that a line, from 0, has for a reader; None for one that has none."""
        return line + 1

    def _has_glyphs(self) -> bool:
        return bool(self._glyphs)

    @property
    def _gutter_width(self) -> int:
        if not self._source.text:
            return 0
        if self.numbers:
            return max(2, len(str(self._last_number))) + 2
        return 2 if self._has_glyphs() else 0

    @property
    def _text_width(self) -> int:
        return max(1, self.scrollable_content_region.width - self._gutter_width)

    # -- colours --------------------------------------------------------------------------------------

    @property
    def _languages(self) -> list[str]:
        """The languages of what is coloured, none where that is too large."""
        if self._plain_reason:
            return []
        blocks = [block.language for block in self._blocks]
        return blocks or ([self._language] if self._language else [])

    def _start_highlighting(self) -> None:
        languages = self._languages
        if not languages:
            return
        if all(map(highlight.is_ready, languages)):
            # Most snippets are coloured before they are painted for the first time.
            self._highlighting = self._colours(languages)
            if self._highlighting is None or self._highlighting.advance(TURN):
                return
        self.run_worker(self._highlight(self._source, languages), group="highlight")

    def _colours(self, languages: Sequence[str]) -> highlight.Highlighting | BlockHighlighting | None:
        if self._blocks:
            return BlockHighlighting(self._source.lines, self._blocks)
        lexer = highlight.lexer_for(languages[0])
        return None if lexer is None else highlight.Highlighting(self._source.lines, lexer)

    async def _highlight(self, source: SourceText, languages: Sequence[str]) -> None:
        await asyncio.to_thread(lambda: [highlight.lexer_for(language) for language in languages])
        if source is not self._source:
            return
        if self._highlighting is None:
            self._highlighting = self._colours(languages)
        done = self._highlighting is None
        while not done and source is self._source and self._highlighting is not None:
            before = self._highlighting.covered
            done = self._highlighting.advance(TURN)
            # Colours that arrive below what is in sight are no reason to paint again.
            if self._flow is None or before <= self._flow.locate(round(self.scroll_y) + self.size.height)[0]:
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
                return self.get_component_rich_style(f"text--{name}", partial=True)

            def whole(name: str) -> Style:
                # Colours with transparency exist only against a background.
                return self.get_component_rich_style(f"text--{name}")

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
                spans={style: (whole if style in MUTED else partial)(style) for style in SPAN_STYLES},
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
            below = self._rows_below_text(crop)
            if len(below) < 2:
                return super().render_lines(crop)
            # They all look alike, and most of a short snippet's pane is made of them: painting one is enough.
            upper, lower = crop.split_horizontal(below.start + 1 - crop.y)
            alike = len(below) - 1
            lower = lower.shrink((alike, 0, 0, 0))
            strips = super().render_lines(upper)
            return [*strips, *strips[-1:] * alike, *(super().render_lines(lower) if lower else [])]
        finally:
            self._painting = False

    def _rows_below_text(self, crop: Region) -> range:
        """Return which rows of a region show nothing but the pane's ground, counted as the region's are."""
        shown = self._flow.rows if self._source.text and self._flow is not None else len(self._empty_rows)
        top = self.content_offset.y
        first = top + max(0, shown - round(self.scroll_y))
        return range(max(crop.y, first), min(crop.bottom, top + self.size.height))

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
        number = f"{self._number(row.line) or ''}" if row.first and self.numbers else ""
        segments = [Segment(glyph, palette.base + glyph_style)]
        if blank := width - 2 - len(number):
            segments.append(Segment(" " * blank, palette.base))
        if number:
            segments.append(Segment(number, palette.base + palette.gutter + number_style))
        return [*segments, Segment(" ", palette.base)]

    def _glyph(self, row: Row) -> tuple[str, Style, Style]:
        """Return the glyph before a row, its style, and what the line's number is styled with besides."""
        glyph = self._glyphs.get(self._number(row.line) or 0, " ")
        # A bar goes on beside all rows of its line.
        shown = glyph if row.first or glyph == BAR else " "
        return shown, self.palette.cited, Style.null()

    def _layers(self, row: Row, shown: ShownLine) -> Iterator[Layer]:
        """Yield the styles over a row, as indices into the shown line; later ones lie on top."""
        if self._highlighting is not None:
            for start, end, key in self._highlighting.spans(row.line):
                yield shown.index_of(start), shown.index_of(end), self._token_style(key)
        yield from self._overlay(row, shown)
        for start, end in shown.marks(row.start, row.end):
            yield start, end, self.palette.replaced
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row.line)) is not None:
            yield span[0], row.end if span[1] == -1 else span[1], self.palette.selection

    def _overlay(self, row: Row, shown: ShownLine) -> Iterator[Layer]:
        base = self._source.offset_of(row.line, 0)
        first, last = base + shown.source_offset(row.start), base + shown.source_end(row.end)
        for span in self._spans.between(first, last):
            if span.start < span.end:
                start = shown.index_of(max(span.start - base, 0))
                yield start, shown.index_of(span.end - base), self.palette.spans[span.style]
        for index, glyph in shown.insets:
            yield index, index + 1, self.palette.spans[STYLE_OF_GLYPH[glyph]]
