"""The pane in which code, tests, logs and replies are read: a text view with search, jumps and citations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rich.style import Style
from textual.content import Content
from textual.message import Message

from screens.widgets.markdown_view import MarkdownView
from screens.widgets.overlay import Span, Spans
from screens.widgets.shown_line import ShownLine
from screens.widgets.text_paint import Layer, Row
from screens.widgets.text_search import TextSearch
from screens.widgets.text_surface import PAUSE, TURN, TextKind
from screens.widgets.text_view import NO_GLYPHS, Place
from screens.widgets.visible import one_line

__all__ = ["Place", "SearchMoved", "TextKind", "TextPane"]

NO_MATCH = "no match"
"""What is said of a search that went through the whole text and found nothing."""

_CITED = "▌"
_POINTED = "▸"
_TITLE_WIDTH = 120


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


class TextPane(MarkdownView):
    """Shows a text, finds things in it, and marks lines that were cited."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._landmarks: list[int] = []
        self._cited: frozenset[int] = frozenset()
        self._pointed: int | None = None
        self._search: TextSearch | None = None
        self._current: int | None = None
        self._search_wrapped = False
        # Where a search looks first: the match it was on, or the top of the screen.
        self._origin = 0

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
    ) -> None:
        """Show a text; loading the same text again keeps place, search and citations.

        Args:
            text: Any text; none of it is interpreted.
            language: A language that Pygments knows, to colour the text by; none is guessed.
            kind: What the text is: sets wrapping and line numbers until the reader toggles them. Markdown is
                shown rendered until the reader asks for its source; all lines are those of the source.
            title: What stands in the border; any text.
            empty: A sentence to show when there is no text.
            landmarks: Source lines worth jumping to, from 1, such as those of failures.
            spans: Stretches of the text and how they are marked; the text stays what it is, for search,
                copies and citations.
            gutter: Glyphs of one cell that stand before source lines, by the line's number, from 1, where
                the line is not cited or pointed at.
            start: The source line, from 1, that is in view when the text is first shown; None for the first.
        """
        if text != self.given or language != self._language:
            self._cited = frozenset()
            self._pointed = None
            self._forget_search()
        self._landmarks = sorted(landmarks)
        if self.show_text(text, language, kind, empty, spans=Spans(spans), glyphs=gutter) and start:
            self.begin_at(start)
        self._landmarks = sorted({line for line in self._landmarks if 1 <= line <= self._last_number})
        self.border_title = Content(one_line(title, _TITLE_WIDTH)) if title else None
        self._say()

    def on_mount(self) -> None:
        """Say what there is to say about a text that was loaded before."""
        self._say()

    # -- the line below -------------------------------------------------------------------------------

    @property
    def search_status(self) -> str:
        """Where the search stands, in words: `3 of 17`, `no match`; nothing without a search."""
        search = self._search
        if search is None:
            return ""
        total = f"{len(search.starts):,}" + ("" if search.done else "+")
        if self._current is None:
            return NO_MATCH if search.done else "searching"
        status = f"{self._current + 1:,} of {total}"
        return f"{status}, wrapped" if self._search_wrapped else status

    @property
    def note(self) -> str:
        """What stands in the lower border: the search, why there is no colour, what ends the lines."""
        search = f"/{one_line(self._search.pattern, 24)}: {self.search_status}" if self._search else ""
        newline = "CRLF" if self._source.newline == "\r\n" else ""
        return " · ".join(filter(None, [search, self.source_note, self.plain_reason, newline]))

    def _say(self) -> None:
        self.border_subtitle = Content(self.note) if self.note else None

    # -- jumps and citations --------------------------------------------------------------------------

    @property
    def pointed_line(self) -> int | None:
        """The source line last jumped to, from 1."""
        return self._pointed

    @property
    def cited_lines(self) -> frozenset[int]:
        """The source lines marked as cited, from 1."""
        return self._cited

    def highlight_lines(self, lines: Iterable[int]) -> None:
        """Mark source lines as cited, and no others.

        Args:
            lines: Line numbers, from 1.
        """
        self._cited = frozenset(lines)
        self._reflow()

    def jump_to_line(self, line: int) -> int:
        """Go to a source line and point at it.

        Args:
            line: The line's number, from 1; beyond an end the nearest line is taken.

        Returns:
            The line that was gone to.
        """
        self.show_source()
        line = max(1, min(line, self.line_count))
        self._pointed = line
        self._reflow()
        self._bring_into_view(line - 1, 0, 0)
        return line

    @property
    def landmark_count(self) -> int:
        """How many lines are worth jumping to."""
        return len(self._landmarks)

    def jump_to_landmark(self, step: int = 1) -> int | None:
        """Go to the next landmark, or the previous one; after the last comes the first.

        Args:
            step: 1 for the next landmark, -1 for the previous one.

        Returns:
            The line that was gone to, from 1, or None when the text has no landmarks.
        """
        marks = self._landmarks
        if not marks:
            return None
        at = self._pointed
        if at is None:
            # Nothing was jumped to yet: a landmark on the screen's top line counts as ahead.
            at = self.first_line - 1 if step > 0 else self.first_line
        if step > 0:
            line = next((mark for mark in marks if mark > at), marks[0])
        else:
            line = next((mark for mark in reversed(marks) if mark < at), marks[-1])
        return self.jump_to_line(line)

    def _bring_into_view(self, line: int, start: int, end: int) -> None:
        """Scroll as little as shows a part of a line (offsets into it), with some lines around."""
        flow = self._flow
        if flow is None:
            self._go_to(Place(line, start if self.wrap else 0))
            return
        region = self.scrollable_content_region
        row = flow.row_of(line, start)
        self._fit(flow)
        x: int | None = None
        y: int | None = None
        if not self.scroll_y <= row < self.scroll_y + region.height:
            y = max(0, row - region.height // 3)
        if flow.width is None:
            shown, width = self._source.shown(line), self._text_width
            left, right = (shown.cell_at(shown.index_of(offset)) for offset in (start, end))
            if left < self.scroll_x or right > self.scroll_x + width:
                x = 0 if right <= width else max(0, left - width // 3)
        if x is not None or y is not None:
            self.scroll_to(x, y, animate=False, force=True)

    # -- search ---------------------------------------------------------------------------------------

    def search(self, pattern: str) -> None:
        """Look for a plain substring, from the current match or the top of the screen on.

        Case matters only if the pattern has an upper-case letter. `SearchMoved` is posted when the text was
        looked through; in a large text that is some turns later.

        Args:
            pattern: What to look for; an empty one ends the search.
        """
        if self._search is not None and self._current is not None:
            self._origin = self._search.starts[self._current]
        else:
            self._origin = self._source.offset_of(self._place.line, self._place.column)
        self._forget_search()
        if not pattern:
            self._repaint()
            self._say()
            return
        self._search = search = TextSearch(self.text, pattern)
        if search.advance(TURN):
            self._found(search)
        else:
            self._say()
            self.run_worker(self._search_on(search), group="search")

    def next_match(self) -> None:
        """Go to the next match; after the last comes the first, which is said."""
        self._step(1)

    def previous_match(self) -> None:
        """Go to the previous match; before the first comes the last, which is said."""
        self._step(-1)

    def _forget_search(self) -> None:
        self._search = None
        self._current = None
        self._search_wrapped = False

    async def _search_on(self, search: TextSearch) -> None:
        while search is self._search:
            if search.advance(TURN):
                self._found(search)
                return
            await asyncio.sleep(PAUSE)

    def _found(self, search: TextSearch) -> None:
        total = len(search.starts)
        index = search.at_or_after(self._origin)
        self._go_to_match(index % total if total else None, wrapped=total > 0 and index == total)

    def _step(self, step: int) -> None:
        search = self._search
        if search is None or not search.done:
            return
        total = len(search.starts)
        if not total or self._current is None:
            self._go_to_match(None, wrapped=False)
            return
        index = self._current + step
        self._go_to_match(index % total, wrapped=not 0 <= index < total)

    def _go_to_match(self, index: int | None, *, wrapped: bool) -> None:
        search = self._search
        if search is None:
            return
        self._current = index
        self._search_wrapped = wrapped
        if index is not None:
            line, column = self._source.locate(search.starts[index])
            self._bring_into_view(line, column, column + search.length)
        self._repaint()
        self._say()
        self.post_message(SearchMoved(self, 0 if index is None else index + 1, len(search.starts), wrapped))

    def _view_turned(self) -> None:
        """Look for the same in the text that is shown now."""
        if self._search is not None:
            pattern = self._search.pattern
            self._forget_search()
            self.search(pattern)
        self._say()

    # -- painting -------------------------------------------------------------------------------------

    def _has_glyphs(self) -> bool:
        return bool(self._cited or self._landmarks or self._pointed) or super()._has_glyphs()

    def _glyph(self, row: Row) -> tuple[str, Style, Style]:
        palette, line = self.palette, self._number(row.line)
        pointed = line is not None and line == self._pointed
        number = palette.pointed if pointed else Style.null()
        if line in self._cited:
            return _CITED, palette.cited, number
        if pointed:
            return _POINTED if row.first else " ", palette.cited, number
        return super()._glyph(row)

    def _layers(self, row: Row, shown: ShownLine) -> Iterator[Layer]:
        yield from super()._layers(row, shown)
        search = self._search
        if search is None or row.start == row.end:
            return
        base = self._source.offset_of(row.line, 0)
        first, last = base + shown.source_offset(row.start), base + shown.source_end(row.end)
        for index in search.between(first, last):
            start = search.starts[index] - base
            style = self.palette.current_match if index == self._current else self.palette.match
            yield shown.index_of(start), shown.index_of(start + search.length), style
