"""The pane in which code, tests, logs and replies are read: scrolled, searched, selected and cited.

Markdown is shown rendered or as source. Everything about lines, such as places and citations, refers to
the source in both views.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from typing import ClassVar, Self

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.actions import SkipAction
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from screens.commands import bindings
from screens.threads import in_turns
from screens.widgets.text import highlight, markdown
from screens.widgets.text.document import NO_GLYPHS, Document, Flow, Row, SlicedWork, TextKind
from screens.widgets.text.overlay import Span, Spans
from screens.widgets.text.paint import LineMarks, Painter, places
from screens.widgets.text.sanitize import one_line, visible
from screens.widgets.text.search import TextSearch
from store.formatting import pluralize

_CODE: tuple[TextKind, ...] = ("code", "test")
_PROSE: tuple[TextKind, ...] = ("reply", "markdown")

SLICE_SECONDS = 0.005
"""Seconds that work on a large text may hold up a key."""

PAUSE_SECONDS = 0.002
"""Seconds between two turns, in which keys are answered and the screen is painted."""

RENDERED_AT_ONCE = 2_000
"""Characters of a Markdown source that is rendered before it is painted; a longer one is shown meanwhile."""

LEFT, RIGHT = "‹", "›"
"""Mark a row whose line goes on beyond the pane."""

_TITLE_WIDTH = 120
_STRIPS_KEPT = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reader is in a text, whatever the pane's size and wrapping."""

    line: int = 0
    """The source line on the top row, from 0."""
    column: int = 0
    """The offset into that line at which the top row begins (wrapped lines)."""
    x: int | None = 0
    """Cells scrolled to the right (lines that are not wrapped); None for as many as show what is marked in
    the line with which the text begins."""


@dataclass
class SearchMoved(Message):
    """A search came to a match, or to none."""

    pane: TextPane
    """The pane that was searched."""
    current: int
    """Which match is the current one, from 1; 0 when there is none."""
    total: int
    """Matches in the whole text."""
    wrapped: bool
    """Whether the search went on at the other end of the text."""

    @property
    def control(self) -> TextPane:
        """The pane that was searched."""
        return self.pane


class TextPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a text, of which only what is on the screen is made visible and coloured.

    The arrow keys scroll until lines are chosen: then there is a cursor, which they move.
    """

    ALLOW_SELECT = True
    DEFAULT_CSS = files(__package__ or "").joinpath("text.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text--muted"}
    BINDINGS = bindings("text")

    def __init__(self, *, id: str | None = None) -> None:
        # Rows that were painted; nearly all of them are seen again when the text is scrolled by one.
        self._strips: LRUCache[int, Strip] = LRUCache(_STRIPS_KEPT)
        super().__init__(id=id)
        # The text as it was given, the same as Markdown rendered, and the one of them that is shown.
        self._given = Document("")
        self._rendered: Document | None = None
        self._document = self._given
        self._language: str | None = None
        self._plain_reason = ""
        self._kind: TextKind = "code"
        # The sentence shown when there is no text, and in rows.
        self._empty = ""
        self._empty_rows: list[str] = []
        self._title = ""
        self._awaits_rendering = False
        # Whether the reader asked for the Markdown source; whether this text is shown so in any case.
        self._as_source = self._given_as_source = False
        # The reader's choices, by whether the text is compared; without one the kind of text says it.
        self._wrap: dict[bool, bool] = {}
        self._is_compared = False
        self._numbers: bool | None = None
        # The defaults for code.
        self._code_wrap, self._code_numbers = False, True
        self._flow: Flow | None = None
        self._colours = highlight.Highlighting((), ())
        # The colours of which the work was begun.
        self._coloured = self._colours
        # The place of the shown text that the reader last scrolled to; kept through resizing and wrapping.
        self._place = Place()
        # The line that is in view at first, from 0, with the offsets of what is marked in it; and whether
        # that is where the pane stands, since the reader has not gone elsewhere.
        self._beginning = (0, 0, 0)
        self._begins = False
        self._settling = False
        self._landmarks: list[int] = []
        self._marks = LineMarks()
        self._search: TextSearch | None = None
        # Whether the note tells what was not seen; whether the reader has come to the last row; and the cells
        # that were seen of lines that are not wrapped, of each that was scrolled to.
        self._tells_rest = self._is_seen = False
        self._seen_cells: dict[int, int] = {}
        self._painting = False
        self._painter = Painter(self)
        # Called when the reader has moved the cursor.
        self.cursor_moved: Callable[[], None] = lambda: None

    # -- the text -------------------------------------------------------------------------------------

    def load(
        self,
        text: str,
        *,
        language: str | None = None,
        kind: TextKind = "code",
        title: str = "",
        empty: str = "",
        landmarks: Iterable[int] = (),
        spans: Iterable[Span] = (),
        gutter: Mapping[int, str] = NO_GLYPHS,
        start: int | None = None,
        tells_rest: bool = False,
        as_source: bool = False,
        compared: bool = False,
    ) -> None:
        """Show a text; loading the same text again keeps place, search and citations.

        Args:
            text: Any text; none of it is interpreted.
            language: A language that Pygments knows, to colour the text by; none is guessed.
            kind: The type of the text: sets wrapping and line numbers until the reader toggles them. Markdown
                is shown rendered until the reader asks for its source; all lines are those of the source.
            title: The text of the border; any text.
            empty: A sentence to show when there is no text.
            landmarks: Source lines worth jumping to, from 1, such as those of failures.
            spans: Stretches of the text and how they are marked; the text stays what it is, for search,
                copies and citations. A line of Markdown in which a `rule` begins separates documents.
            gutter: Glyphs, or a few letters, shown before source lines, by the line's number, from 1, where
                the line is not cited or pointed at.
            start: The source line, from 1, that is in view when the text is first shown, sideways as far as
                something is marked in it; None for the first.
            tells_rest: Whether the border tells what was not seen yet, or that the end was seen.
            as_source: Whether Markdown is shown as source, whatever the reader asked for.
            compared: Whether it is compared with a text beside it: its lines are wrapped until the reader
                turns that off for such texts.
        """
        self._tells_rest, self._is_compared = tells_rest, compared
        laid = Spans(spans)
        another = (text, language, kind) != (self._given.text, self._language, self._kind)
        if another or laid.insets != self._given.spans.insets:
            self._given = Document(
                text,
                words=kind in _PROSE,
                spans=laid,
                glyphs=gutter,
                language=None if kind == "markdown" else language,
            )
        self._given.spans, self._given.glyphs = laid, gutter
        self._kind, self._language, self._empty = kind, language, empty
        turned = not another and as_source != self._given_as_source
        self._given_as_source = as_source
        if another:
            is_code = language is not None and kind != "markdown"
            self._plain_reason = highlight.why_plain(text, self._given.longest) if is_code else ""
            self._marks, self._search = LineMarks(), None
            self._is_seen, self._seen_cells = False, {}
            self._place, self._begins = Place(), False
            self._beginning = (0, 0, 0)
            self._rendered, self._awaits_rendering = None, False
            if kind == "markdown":
                at_once = len(text) <= RENDERED_AT_ONCE
                self._rendered = (markdown.rendered if at_once else markdown.kept)(text, laid.all)
                self._awaits_rendering = self._rendered is None and len(text) <= markdown.CHARACTERS
        if turned:
            self._turn()
        else:
            self._show_view()
        self._landmarks = sorted({line for line in landmarks if 1 <= line <= self._document.last_number})
        self._title = one_line(title, _TITLE_WIDTH) if title else ""
        if another and start:
            self.begin_at(start)
        else:
            self._reflow()
        self._update_note()

    def _show_view(self) -> None:
        """Show the text as it was given, or rendered."""
        as_source = self._as_source or self._given_as_source
        shown = self._given if as_source or self._rendered is None else self._rendered
        if (
            shown.text != self._document.text
            and self.is_attached
            and self.screen.selections.get(self) is not None
        ):
            self.screen.clear_selection()
        if shown is not self._document:
            self._document, self._flow = shown, None
            self._colours = highlight.Highlighting(shown.lines, shown.blocks)

    def on_mount(self) -> None:
        """Show the note of a text that was loaded before."""
        self._update_note()

    @property
    def text(self) -> str:
        """The text shown: as it was given, or Markdown rendered."""
        return self._document.text

    @property
    def given(self) -> str:
        """The text as it was given."""
        return self._given.text

    @property
    def line_count(self) -> int:
        """Lines of the text shown."""
        return len(self._document.lines)

    @property
    def note(self) -> str:
        """The text of the lower border: citations, search, why there is no colour, ends of lines."""
        search = f"/{one_line(self._search.pattern, 24)}: {self.search_status}" if self._search else ""
        source = ""
        if self._kind == "markdown" and not self.is_rendered and self.text:
            long = len(self.text) > markdown.CHARACTERS
            source = f"source: {len(self.text):,} characters" if long else "source"
        newline = "CRLF" if self._document.newline == "\r\n" else ""
        notes = [self._marks.note, search, source, self._plain_reason, newline, self._rest()]
        return " · ".join(filter(None, notes))

    def _rest(self) -> str:
        """Return how much was not seen, below or to the right; empty where that is not told."""
        flow, height = self._flow, self.scrollable_content_region.height
        if not self._tells_rest or not self.text or flow is None or not height:
            return ""
        bottom = round(self.scroll_y) + height
        if not self._is_seen and not (flow.done and bottom >= flow.rows):
            below = self.line_count - 1 - flow.locate(bottom - 1)[0]
            return f"{pluralize(max(1, below), 'line')} more"
        cut = self._lines_cut(flow)
        if not cut:
            return "seen to the end ✓"
        return f"{pluralize(cut, 'line goes', 'lines go')} on to the right"

    def _lines_cut(self, flow: Flow) -> int:
        """Return how many lines have an end that was not in sight yet."""
        if flow.width is not None or flow.cells <= self._text_width:
            return 0
        seen = self._seen_cells | self._cells_in_sight()
        cells, first = self._document.cells, self._text_width
        return sum(cells(line) > seen.get(line, first) for line in range(self.line_count))

    def _cells_in_sight(self) -> dict[int, int]:
        """Return the cells that were seen of each line in sight, where lines are not wrapped."""
        top, right = round(self.scroll_y), round(self.scroll_x) + self._text_width
        rows = range(top, top + self.scrollable_content_region.height)
        return {line: max(right, self._seen_cells.get(line, 0)) for line in rows}

    def _update_note(self) -> None:
        title, note = self._title, self.note
        if not self.styles.border_bottom[0]:
            title, note = " · ".join(filter(None, (title, note))), ""
        self.border_title = Content(title) if title else None
        self.border_subtitle = Content(note) if note else None

    # -- Markdown -------------------------------------------------------------------------------------

    @property
    def is_rendered(self) -> bool:
        """Whether Markdown is shown rendered, so that the lines seen are not those of the source."""
        return self._document.origins is not None

    def toggle_source(self) -> bool | None:
        """Show the Markdown source, or rendered Markdown; the place stays.

        Returns:
            Whether the source is shown now; None for a text that is no Markdown.
        """
        if self._kind != "markdown":
            return None
        self._as_source = not self._as_source
        self._turn()
        return self._as_source

    def show_source(self) -> None:
        """Show the Markdown source, for what has to do with its lines."""
        if self._kind == "markdown" and not self._as_source:
            self.toggle_source()

    def _turn(self) -> None:
        """Show the other view, at the same place, with a search for the same; a cursor chose source lines."""
        place = self.place
        self._show_view()
        self._marks.cursor = None
        self.restore(place)
        if self._search is not None:
            pattern, self._search = self._search.pattern, None
            self.search(pattern)
        self._update_note()

    async def _render_markdown(self, given: Document) -> None:
        # Keys are answered meanwhile: the interpreter goes back to them every few milliseconds.
        done = await asyncio.to_thread(markdown.rendered, given.text, given.spans.all)
        if self._kind == "markdown" and given.text == self._given.text:
            self._rendered = done
            if not (self._as_source or self._given_as_source):
                self._turn()

    # -- the place ------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the reader is in the source; `restore` goes back there in any size and either view."""
        return replace(self._place, line=self._document.origin(self._place.line))

    def restore(self, place: Place) -> None:
        """Go to a place of the source, or remember to when the pane has no size yet."""
        self._place, self._begins = replace(place, line=self._document.line_of(place.line)), False
        self._reflow()

    def begin_at(self, line: int, *, indented: bool = False) -> None:
        """Go to a source line with some lines above it, and to what is marked in it.

        It stays in view in any size of the pane until the reader scrolls.

        Args:
            line: The line's number, from 1; beyond an end the nearest line is taken.
            indented: Whether the pane begins, sideways, at the indentation of the line.
        """
        document = self._document
        line = max(0, min(document.line_of(line - 1), self.line_count - 1))
        first = document.offset_of(line, 0)
        last = first + len(document.lines[line])
        marked = [span for span in document.spans.between(first, last) if span.start >= first]
        begun = min((span.start for span in marked), default=first)
        ended = min(max((span.end for span in marked), default=first), last)
        self._beginning, self._begins = (line, begun - first, ended - first), True
        shown, text = document.shown(line), document.lines[line]
        indentation = shown.cell_at(shown.index_of(len(text) - len(text.lstrip())))
        self._place = Place(line, x=indentation if indented else None)
        self._reflow()

    @property
    def has_begun(self) -> bool:
        """Whether the text stands as it was first shown, because the reader has not scrolled in it."""
        return self._begins and self._place.x is None

    @property
    def first_line(self) -> int:
        """The source line on the top row, from 1."""
        return self.place.line + 1

    def jump_to_line(self, line: int) -> int:
        """Go to a source line and point at it.

        Args:
            line: The line's number, from 1; beyond an end the nearest line is taken.

        Returns:
            The line that was gone to.
        """
        self.show_source()
        line = max(1, min(line, self.line_count))
        self._marks.pointed = line
        self._reflow()
        self._bring_into_view(line - 1, 0, 0)
        return line

    @property
    def landmark_count(self) -> int:
        """How many lines are worth jumping to."""
        return len(self._landmarks)

    def jump_to_landmark(self) -> int | None:
        """Go to the next landmark, after the last to the first.

        Returns:
            The line that was gone to, from 1, or None when the text has no landmarks.
        """
        # Where nothing was jumped to yet, a landmark on the screen's top line counts as ahead.
        at = self._marks.pointed or self.first_line - 1
        following = [mark for mark in self._landmarks if mark > at]
        return self.jump_to_line((following or self._landmarks)[0]) if self._landmarks else None

    def _bring_into_view(self, line: int, start: int, end: int) -> None:
        """Scroll as little as shows a part of a shown line (offsets into it), with some lines around."""
        flow = self._flow
        if flow is None:
            self._place, self._begins = Place(line, start if self.wrap else 0), False
            self._reflow()
            return
        region = self.scrollable_content_region
        row = flow.row_of(line, start)
        self._fit(flow)
        x: int | None = None
        y: int | None = None
        if not self.scroll_y <= row < self.scroll_y + region.height:
            y = max(0, row - region.height // 3)
        if flow.width is None:
            shown, width = self._document.shown(line), self._text_width
            left, right = (shown.cell_at(shown.index_of(offset)) for offset in (start, end))
            if left < self.scroll_x or right > self.scroll_x + width:
                x = 0 if right <= width else max(0, left - width // 3)
        if x is not None or y is not None:
            self.scroll_to(x, y, animate=False, force=True)

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def wrap(self) -> bool:
        """Whether long lines go on in the next row."""
        chosen = self._wrap.get(self._is_compared)
        by_kind = self._is_compared or self._kind not in _CODE or self._code_wrap
        return by_kind if chosen is None else chosen

    @property
    def numbers(self) -> bool:
        """Whether lines are numbered."""
        if self._numbers is not None:
            return self._numbers
        return self._code_numbers if self._kind in _CODE else self._kind == "log"

    def begin_code(self, *, wrap: bool, numbers: bool) -> None:
        """Say how code is shown until the reader toggles it.

        Args:
            wrap: Whether long lines are wrapped.
            numbers: Whether lines are numbered.
        """
        self._code_wrap, self._code_numbers = wrap, numbers
        self._reflow()

    def toggle_wrap(self) -> bool:
        """Wrap long lines, or stop to; the top line stays. Return whether they are wrapped now."""
        wraps = self._wrap[self._is_compared] = not self.wrap
        self._reflow()
        return wraps

    def look_like(self, other: TextPane) -> None:
        """Show texts as another pane does: wrapped or not, with or without numbers, as source or not."""
        if (self._wrap, self._numbers) != (other._wrap, other._numbers):
            self._wrap, self._numbers = other._wrap.copy(), other._numbers
            self._reflow()
        if self._as_source != other._as_source:
            self._as_source = other._as_source
            self._turn()

    def toggle_numbers(self) -> bool:
        """Show line numbers, or hide them. Return whether they are shown now."""
        self._numbers = not self.numbers
        self._reflow()
        return self._numbers

    @property
    def _gutter_width(self) -> int:
        if not self.text:
            return 0
        if self.numbers:
            return max(2, len(str(self._document.last_number))) + self._lead + 1
        return self._lead + 1 if self._marks or self._landmarks or self._document.glyphs else 0

    @property
    def _lead(self) -> int:
        """Cells of the glyphs before lines."""
        return max(map(len, self._document.glyphs.values()), default=1)

    @property
    def _text_width(self) -> int:
        # Where lines are not wrapped, the last cell has the mark of those that go on.
        beside = self._gutter_width + (not self.wrap)
        return max(1, self.scrollable_content_region.width - beside)

    @property
    def rows_wanted(self) -> int | None:
        """Rows in which the whole text is seen, as it is shown; None before that is known."""
        flow = self._flow
        if flow is None or not flow.done:
            return None
        return flow.rows + (flow.width is None and flow.cells > self._text_width)

    def on_resize(self) -> None:
        """Lay the text out in the new width, at the same place."""
        self._reflow()
        self._update_note()

    def _reflow(self) -> None:
        self.refresh()
        if not self.is_attached or not self.scrollable_content_region:
            return
        document = self._document
        self.update_classes({"-wrapped": self.wrap, "-empty": not self.text})
        self._empty_rows = textwrap.wrap(visible(self._empty).text, self._text_width) or [""]
        if self._awaits_rendering:
            self._awaits_rendering = False
            in_turns(self, self._render_markdown(self._given), group="render")
        if self._coloured is not self._colours:
            self._coloured = self._colours
            self._begin_colours(self._colours)
        width = self._text_width if self.wrap else None
        flow = self._flow
        if flow is None or flow.width != width:
            flow = self._flow = Flow(document, width)
            if not flow.advance(SLICE_SECONDS):
                in_turns(self, self._measure(flow), group="measure")
        self._go_to_place(flow)
        if self._tells_rest:
            self._update_note()

    def _go_to_place(self, flow: Flow) -> None:
        """Scroll to the place, which is a third of the pane above the line that the text begins with."""
        if self._begins:
            above = self.content_size.height // 3
            row = flow.row_of(*self._beginning[:2])
            line, column = flow.first_shown(max(0, row - above))
            self._place = replace(self._place, line=line, column=column)
        row = flow.row_of(self._place.line, self._place.column)
        x = self._x_of_marked() if self._place.x is None else self._place.x
        with self._settled():
            self._fit(flow)
            self.scroll_target_y = self.scroll_y = row
            self.scroll_target_x = self.scroll_x = x if flow.width is None else 0

    def _x_of_marked(self) -> int:
        """Return how far to scroll for what is marked in the line at the beginning, or its start."""
        line, *offsets = self._beginning
        shown, width = self._document.shown(line), self._text_width
        left, right = (shown.cell_at(shown.index_of(offset)) for offset in offsets)
        # A glyph stands before what is marked, and some of what comes before that stays in sight.
        return max(0, min(right - width, left - 1 - width // 8))

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Move without taking it for the reader's own scrolling."""
        before, self._settling = self._settling, True
        try:
            yield
        finally:
            self._settling = before

    def _fit(self, flow: Flow) -> None:
        width = 0 if flow.width is not None else self._gutter_width + flow.cells + 1
        self.virtual_size = Size(width, flow.rows if self.text else len(self._empty_rows))

    async def _work(self, turns: SlicedWork, is_wanted: Callable[[], bool], show: Callable[[], None]) -> None:
        """Work in turns, between which keys are answered, and show after each of them what there is."""
        done = False
        while not done and is_wanted():
            done = turns.advance(SLICE_SECONDS)
            show()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _measure(self, flow: Flow) -> None:
        def show() -> None:
            if flow.done:
                # A place further down or to the right than what was measured before can be gone to now.
                self._go_to_place(flow)
            elif flow.cells > self._text_width > self.virtual_size.width:
                with self._settled():
                    self._fit(flow)
            if flow.done and self._tells_rest:
                self._update_note()

        await self._work(flow, lambda: flow is self._flow, show)

    # -- colours --------------------------------------------------------------------------------------

    def _begin_colours(self, colours: highlight.Highlighting) -> None:
        # Most snippets are coloured before they are painted for the first time.
        if not all(map(highlight.is_ready, colours.languages)) or not colours.advance(SLICE_SECONDS):
            in_turns(self, self._colour(colours), group="highlight")

    async def _colour(self, colours: highlight.Highlighting) -> None:
        covered = 0

        def show() -> None:
            nonlocal covered
            flow = self._flow
            # Colours that arrive below what is in sight are no reason to paint again.
            if flow is None or covered <= flow.locate(round(self.scroll_y) + self.size.height)[0]:
                self.refresh()
            covered = colours.covered

        await asyncio.to_thread(lambda: list(map(highlight.lexer_for, colours.languages)))
        await self._work(colours, lambda: colours is self._colours, show)

    def notify_style_update(self) -> None:
        """Take up the new theme."""
        super().notify_style_update()
        self._painter.restyle()
        self._strips.clear()

    # -- painting -------------------------------------------------------------------------------------

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Paint again; without a region, as scrolling gives it, rows look otherwise than before."""
        if not regions:
            self._strips.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows of the screen; a widget laid out before it was mounted never got a resize event."""
        # Where its border leaves no room nothing would come of it but being painted again, without end.
        if self._flow is None and self.is_attached and self.scrollable_content_region:
            self.call_next(self._reflow)
        self._painting = True
        try:
            blank = self._rows_below_text(crop)
            if len(blank) < 2:
                return super().render_lines(crop)
            # They look alike, and are most of the pane of a short text: one is painted for all of them, which
            # halves what painting the next item takes.
            upper, lower = crop.split_horizontal(blank.start + 1 - crop.y)
            lower = lower.shrink((len(blank) - 1, 0, 0, 0))
            strips = super().render_lines(upper)
            strips += strips[-1:] * (len(blank) - 1)
            return [*strips, *(super().render_lines(lower) if lower else [])]
        finally:
            self._painting = False

    def _rows_below_text(self, crop: Region) -> range:
        """Return the rows of a region that show only the background, counted as the region's are."""
        shown = self._flow.rows if self.text and self._flow is not None else len(self._empty_rows)
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
        number, width, base = round(self.scroll_y) + y, self.size.width, self._painter.palette.base
        if self._painting and (painted := self._strips.get(number)) is not None:
            return painted
        flow, document = self._flow, self._document
        row, gutter, text = Row(0, 0, 0), list[Segment](), list[Segment]()
        if not self.text:
            sentence = self._empty_rows[number] if number < len(self._empty_rows) else ""
            text = [Segment(sentence, base + self._painter.palette.empty)]
        elif flow is None or number >= flow.rows:
            end = document.shown(self.line_count - 1).length
            row = Row(self.line_count - 1, end, end)
        else:
            row = flow.row(number, round(self.scroll_x), self._text_width)
            gutter = self._gutter(row)
            if row.lead:
                gutter.append(Segment(" " * row.lead, base))
            if self._painting:
                text = self._painter.text(row, document, self._colours, self.text_selection, self._search)
        if self._painting:
            strip = Strip([*gutter, *text])
            if flow is not None and flow.width is None and self.text:
                strip = self._with_marks(strip, row, base)
            self._strips[number] = strip.adjust_cell_length(width, base)
            return self._strips[number]
        shown = document.shown(row.line).text(row.start, row.end)
        return places(row, shown, sum(len(segment.text) for segment in gutter), width)

    def _with_marks(self, strip: Strip, row: Row, base: Style) -> Strip:
        """Return a row of a line that is not wrapped with the marks of what is beyond its ends."""
        lead, shown = self._gutter_width, self._document.shown(row.line)
        style = base + self._painter.palette.gutter
        if lead and row.start and strip.crop(lead - 1, lead).text == " ":
            strip = Strip.join([strip.crop(0, lead - 1), Strip([Segment(LEFT, style)]), strip.crop(lead)])
        if row.end < shown.length:
            end = lead + self._text_width
            strip = Strip.join([strip.adjust_cell_length(end, base), Strip([Segment(RIGHT, style)])])
        return strip

    def _gutter(self, row: Row) -> list[Segment]:
        if not (width := self._gutter_width):
            return []
        number = self._document.number(row.line)
        glyph = self._document.glyphs.get(number or 0, "").ljust(self._lead)
        return self._marks.gutter(row, number, glyph, width, self._painter.palette)

    # -- search ---------------------------------------------------------------------------------------

    @property
    def search_status(self) -> str:
        """The state of the search, in words: `3 of 17`, `no match`; nothing without a search."""
        return "" if self._search is None else self._search.status

    def search(self, pattern: str) -> None:
        """Look for a plain substring, from the current match or the top of the screen on.

        Case matters only if the pattern has an upper-case letter. `SearchMoved` is posted when the text was
        looked through; in a large text that is some turns later.

        Args:
            pattern: The text to find; an empty one ends the search.
        """
        before = self._search
        origin = self._document.offset_of(self._place.line, self._place.column)
        if before is not None and before.current is not None:
            origin = before.starts[before.current]
        self._search = search = TextSearch(self.text, pattern, origin) if pattern else None
        if search is None or not search.advance(SLICE_SECONDS):
            self.refresh()
            self._update_note()
        else:
            self._found(search)
        if search is not None and not search.done:
            in_turns(self, self._search_on(search), group="search")

    async def _search_on(self, search: TextSearch) -> None:
        def show() -> None:
            if search.done:
                self._found(search)

        await self._work(search, lambda: search is self._search, show)

    def _found(self, search: TextSearch) -> None:
        search.go_to_first()
        self._show_match(search)

    def next_match(self) -> None:
        """Go to the next match; after the last comes the first."""
        self._step_match(1)

    def previous_match(self) -> None:
        """Go to the previous match; before the first comes the last."""
        self._step_match(-1)

    def _step_match(self, step: int) -> None:
        if self._search is not None and self._search.done:
            self._search.step(step)
            self._show_match(self._search)

    def _show_match(self, search: TextSearch) -> None:
        at = search.current
        if at is not None:
            line, column = self._document.locate(search.starts[at])
            self._bring_into_view(line, column, column + len(search.pattern))
        self.refresh()
        self._update_note()
        total = len(search.starts)
        self.post_message(SearchMoved(self, 0 if at is None else at + 1, total, search.wrapped))

    # -- selecting ------------------------------------------------------------------------------------

    def _selected(self, selection: Selection) -> tuple[int, int]:
        """Return the part of the text, as offsets, of which something is selected."""
        document = self._document
        start, end = 0, len(self.text)
        if selection.start is not None:
            line = min(selection.start.y, self.line_count - 1)
            start = document.offset_of(line, document.shown(line).source_offset(selection.start.x))
        if selection.end is not None:
            line = min(selection.end.y, self.line_count - 1)
            shown = document.shown(line)
            index = min(selection.end.x, shown.length)
            # Marks go with the character that they sit on.
            while index < shown.length and not get_character_cell_size(shown.text(index, index + 1)):
                index += 1
            end = document.offset_of(line, shown.source_end(index))
        return start, max(start, end)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the original characters under a selection, for Textual's own copying.

        Returns:
            The text and what to put after it; lone surrogates, which no clipboard takes, become U+FFFD.
        """
        if not self.text:
            return None
        start, end = self._selected(selection)
        return self.text[start:end].encode("utf-16", "surrogatepass").decode("utf-16", "replace"), "\n"

    def copy_text(self) -> str:
        """Return what is selected of the shown text, or the whole text as it was given when nothing is."""
        selection = self.text_selection if self.is_attached else None
        if selection is None:
            return self.given
        start, end = self._selected(selection)
        return self.text[start:end]

    @property
    def selected_lines(self) -> range | None:
        """The shown lines that the selection touches, from 1, or None when nothing is selected."""
        selection = self.text_selection if self.is_attached else None
        if selection is None or not self.text:
            return None
        start, end = self._selected(selection)
        return range(self._document.locate(start)[0] + 1, self._document.locate(max(start, end - 1))[0] + 2)

    # -- citing ---------------------------------------------------------------------------------------

    @property
    def cited_lines(self) -> frozenset[int]:
        """The source lines marked as cited, from 1."""
        return self._marks.cited

    def mark_cited(self, lines: frozenset[int], *, recorded: bool) -> None:
        """Mark source lines as cited, and no others.

        Args:
            lines: Line numbers, from 1.
            recorded: Whether a judgment on its way or on disk cites just these.
        """
        if (lines, recorded) != (self._marks.cited, self._marks.recorded):
            self._marks.cited, self._marks.recorded = lines, recorded
            self._reflow()
            self._update_note()

    @property
    def cursor_lines(self) -> range | None:
        """The lines that are chosen, from 1; None without a cursor."""
        return self._marks.chosen

    def begin_cursor(self) -> int:
        """Put the cursor on the line that was jumped to or found last, if it is seen, else on the top line.

        Returns:
            The line, from 1.
        """
        line = last = self.first_line
        if self._flow is not None:
            bottom = round(self.scroll_y) + self.scrollable_content_region.height - 1
            last = self._flow.locate(bottom)[0] + 1
        wanted = [self._marks.pointed]
        if self._search is not None and self._search.current is not None:
            wanted.append(self._document.locate(self._search.starts[self._search.current])[0] + 1)
        line = [line, *(each for each in wanted if each is not None and line <= each <= last)][-1]
        self.put_cursor(line, line)
        return line

    def put_cursor(self, first: int, last: int) -> None:
        """Choose lines, and bring them into view.

        Args:
            first: The first line, from 1; beyond an end the nearest line is taken.
            last: The last line.
        """
        self.show_source()
        first, last = (max(1, min(line, self.line_count)) for line in (first, last))
        self._marks.anchor, self._marks.cursor = first, last
        self._reflow()
        self._bring_into_view(last - 1, 0, 0)
        self._bring_into_view(first - 1, 0, 0)

    def end_cursor(self) -> bool:
        """Take the cursor away; return whether there was one."""
        if self._marks.cursor is None:
            return False
        self._marks.cursor = None
        self._reflow()
        return True

    def _move_cursor(self, line: int, *, extend: bool = False) -> None:
        """Move the cursor; extending, the lines from where that began stay chosen."""
        line = max(1, min(line, self.line_count))
        self._marks.cursor = line
        if not extend:
            self._marks.anchor = line
        self.refresh()
        self._bring_into_view(line - 1, 0, 0)
        self.cursor_moved()

    # -- keys: at once, since nothing should move under a reader's eyes -------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember the place that the reader scrolled to."""
        super().watch_scroll_y(old_value, new_value)
        # A value that is no longer possible was cut by a new size: the reader's place stays what it was.
        if not self._settling and old_value <= self.max_scroll_y and self._flow is not None:
            line, column = self._flow.first_shown(round(new_value))
            self._place, self._begins = replace(self._place, line=line, column=column), False
            # Not by a layout, which may be that of a moment: the reader has scrolled here.
            bottom = round(new_value) + self.scrollable_content_region.height
            self._is_seen = self._is_seen or (self._flow.done and bottom >= self._flow.rows)
        self._note_seen()

    def _note_seen(self) -> None:
        """Note what the reader has scrolled to."""
        if self._tells_rest and not self._settling and self._flow is not None:
            if self._flow.width is None:
                self._seen_cells |= self._cells_in_sight()
            self._update_note()

    def watch_show_horizontal_scrollbar(self) -> None:
        """Tell what is below once more: the bar may lie over the last line."""
        if self._tells_rest:
            self._update_note()

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Remember how far the reader scrolled to the right."""
        super().watch_scroll_x(old_value, new_value)
        if round(old_value) != round(new_value):
            self._strips.clear()
        if not self._settling and old_value <= self.max_scroll_x:
            self._place = replace(self._place, x=round(new_value))
        self._note_seen()

    def action_sideways(self, cells: int) -> None:
        """Scroll to the right, or to the left."""
        if not self.max_scroll_x:
            raise SkipAction
        self.scroll_to(round(self.scroll_x) + cells, animate=False, force=True)

    def action_page_sideways(self, pages: int) -> None:
        """Scroll by pages to the right, or to the left."""
        self.action_sideways(pages * max(1, self._text_width - 1))

    def action_go(self, lines: int) -> None:
        """Move the cursor by some lines; without one scroll by as many rows."""
        if self._marks.cursor is not None:
            self._move_cursor(self._marks.cursor + lines)
        elif not self.max_scroll_y:
            raise SkipAction
        else:
            self.scroll_to(y=round(self.scroll_y) + lines, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        """Go pages on, or back; one row stays in sight."""
        self.action_go(pages * max(1, self.scrollable_content_region.height - 1))

    def action_scroll_home(self) -> None:
        """Go to the first line, and its start."""
        if self._marks.cursor is not None:
            self._move_cursor(1)
        self.scroll_to(0, 0, animate=False, force=True)

    def action_scroll_end(self) -> None:
        """Go to the last line."""
        if self._marks.cursor is not None:
            self._move_cursor(self.line_count)
        if self._flow is not None and not self._flow.done:
            self._flow.advance(inf)
            self._fit(self._flow)
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def action_extend(self, step: int) -> None:
        """Choose one line more, or one less; without a cursor there is nothing to extend."""
        if self._marks.cursor is None:
            raise SkipAction
        self._move_cursor(self._marks.cursor + step, extend=True)
