"""A text view: where the reader is in a text, how it is laid out and scrolled."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.strip import Strip

from screens.commands import bindings
from screens.widgets import highlight
from screens.widgets.code_blocks import CodeBlock
from screens.widgets.flow import Flow
from screens.widgets.overlay import Spans
from screens.widgets.source_text import SourceText
from screens.widgets.text_surface import PAUSE, TURN, TextKind, TextSurface
from screens.widgets.visible import visible

_SIDEWAYS = 8

_PROSE: tuple[TextKind, ...] = ("reply", "markdown")

NO_SPANS = Spans()
NO_GLYPHS: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reader is in a text, whatever the pane's size and wrapping."""

    line: int = 0
    """The source line on the top row, from 0."""
    column: int = 0
    """The offset into that line at which the top row begins (wrapped lines)."""
    x: int = 0
    """Cells scrolled to the right (lines that are not wrapped)."""


class TextView(TextSurface):
    """A text that is scrolled and wrapped, and keeps its place through all of it."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings("text"))

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._empty = ""
        # The text whose colouring was begun.
        self._coloured: SourceText | None = None
        # The place the reader last scrolled to; kept through resizing, wrapping and reloading.
        self._place = Place()
        # The line with which the text begins, from 0, until it is known how many lines are to stand above it.
        self._beginning: int | None = None
        self._settling = False

    # -- the text -------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The text shown, as it was given."""
        return self._source.text

    @property
    def plain_reason(self) -> str:
        """Why a text in a known language is shown without colours, or nothing."""
        return self._plain_reason

    def show_text(
        self,
        text: str,
        language: str | None,
        kind: TextKind,
        empty: str,
        *,
        spans: Spans = NO_SPANS,
        glyphs: Mapping[int, str] = NO_GLYPHS,
        blocks: Sequence[CodeBlock] = (),
    ) -> bool:
        """Show a text; the same text again keeps the place.

        Args:
            text: Any text.
            language: The language to colour it by, or None.
            kind: What the text is.
            empty: A sentence to show when there is no text.
            spans: What is laid over the text.
            glyphs: Glyphs before source lines, by the line's number, from 1.
            blocks: Code within the text, to be coloured in languages of its own.

        Returns:
            Whether the text is another one than before.
        """
        changed = text != self._source.text or language != self._language
        moved = spans.insets != self._spans.insets
        self._kind, self._empty = kind, empty
        self._spans, self._glyphs, self._blocks = spans, glyphs, blocks
        if changed or moved:
            self._source = SourceText(text, words=kind in _PROSE, insets=spans.insets)
            self._plain_reason = highlight.why_plain(text, self._source.longest) if language else ""
            self._language = language
            self._flow = None
            self._highlighting = None
        if changed:
            self._place = Place()
            self._beginning = None
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
        self._go_to(place)

    def _go_to(self, place: Place) -> None:
        """Go to a place of the text as it is shown."""
        self._place = place
        self._beginning = None
        self._reflow()

    def begin_at(self, line: int) -> None:
        """Go to a line with some lines above it, or remember to when the pane has no size yet.

        Args:
            line: The source line, from 1; beyond an end the nearest line is taken.
        """
        self._beginning = max(0, min(line, self.line_count) - 1)
        self._place = Place(self._beginning)
        self._reflow()

    @property
    def first_line(self) -> int:
        """The source line on the top row, from 1."""
        return self.place.line + 1

    def begin_code(self, *, wrap: bool, numbers: bool) -> None:
        """Say how code is shown until the reader toggles it.

        Args:
            wrap: Whether long lines are wrapped.
            numbers: Whether lines are numbered.
        """
        self._code_wrap, self._code_numbers = wrap, numbers
        self._reflow()

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

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint some rows; a widget that was laid out before it was mounted was never told its size."""
        # Where its border leaves no room nothing would come of it but being painted again, without end.
        if self._flow is None and self.is_attached and self.scrollable_content_region:
            self.call_next(self._reflow)
        return super().render_lines(crop)

    def _reflow(self) -> None:
        self._strips.clear()
        self.refresh()
        if not self.is_attached or not self.scrollable_content_region:
            return
        self.update_classes({"-wrapped": self.wrap, "-empty": not self._source.text})
        width = self._text_width if self.wrap else None
        self._empty_rows = textwrap.wrap(visible(self._empty).text, self._text_width) or [""]
        if self._coloured is not self._source:
            self._coloured = self._source
            self._start_highlighting()
        flow = self._flow
        if flow is None or flow.width != width:
            flow = self._flow = Flow(self._source, width)
            if not flow.advance(TURN):
                self.run_worker(self._measure(flow), group="measure")
        if self._beginning is not None:
            above = self.scrollable_content_region.height // 3
            line, _ = flow.locate(max(0, flow.row_of(self._beginning) - above))
            self._place, self._beginning = Place(line), None
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
