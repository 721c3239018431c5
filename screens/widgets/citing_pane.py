"""A text pane with a line cursor, by which lines are chosen to be cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.actions import SkipAction

from screens.widgets.overlay import Span
from screens.widgets.text_paint import Row
from screens.widgets.text_pane import TextPane
from screens.widgets.text_surface import TextKind
from screens.widgets.text_view import NO_GLYPHS
from store.counted import counted

_CURSOR = "▸"


class CitingPane(TextPane):
    """A text pane in which lines can be chosen; until then it has no cursor, and the arrow keys scroll."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._cursor: int | None = None
        # The line at which choosing several began; the cursor's own for one.
        self._anchor = 0
        self._recorded = True

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
        """Show a text (see `TextPane.load`); another text has no cursor."""
        if text != self.given:
            self._cursor = None
        super().load(
            text,
            language=language,
            kind=kind,
            title=title,
            empty=empty,
            landmarks=landmarks,
            spans=spans,
            gutter=gutter,
            start=start,
        )

    # -- citations ------------------------------------------------------------------------------------

    def mark_cited(self, lines: frozenset[int], *, recorded: bool) -> None:
        """Mark lines as cited, and no others.

        Args:
            lines: Line numbers, from 1.
            recorded: Whether a judgment on its way or on disk cites just these.
        """
        if (lines, recorded) == (self.cited_lines, self._recorded):
            return
        self._recorded = recorded
        self.highlight_lines(lines)
        self._say()

    @property
    def note(self) -> str:
        """What stands in the lower border: how much is cited, then what every text pane says."""
        if not self.cited_lines and self._recorded:
            return super().note
        cited = f"▌ {counted(len(self.cited_lines), 'line')} cited" if self.cited_lines else "none cited"
        state = "" if self._recorded else ", not recorded yet"
        return " · ".join(filter(None, [cited + state, super().note]))

    # -- the cursor -----------------------------------------------------------------------------------

    @property
    def cursor_lines(self) -> range | None:
        """The lines that are chosen, from 1; None without a cursor."""
        if self._cursor is None:
            return None
        return range(min(self._cursor, self._anchor), max(self._cursor, self._anchor) + 1)

    def begin_cursor(self) -> int:
        """Put the cursor on the line that was jumped to or found last, if it is seen, else on the top line.

        Returns:
            The line, from 1.
        """
        seen = self._seen_lines
        line = self.first_line
        if self.pointed_line is not None and self.pointed_line in seen:
            line = self.pointed_line
        if self._search is not None and self._current is not None:
            found = self._source.locate(self._search.starts[self._current])[0] + 1
            line = found if found in seen else line
        self.put_cursor(line, line)
        return line

    @property
    def _seen_lines(self) -> range:
        """The lines that are on the screen, at least in part."""
        last = self.first_line
        if self._flow is not None:
            last = self._flow.locate(round(self.scroll_y) + self.scrollable_content_region.height - 1)[0] + 1
        return range(self.first_line, last + 1)

    def put_cursor(self, first: int, last: int) -> None:
        """Choose lines, and bring them into view.

        Args:
            first: The first line, from 1; beyond an end the nearest line is taken.
            last: The last line.
        """
        self.show_source()
        first, last = (max(1, min(line, self.line_count)) for line in (first, last))
        self._anchor, self._cursor = first, last
        self._reflow()
        self._bring_into_view(last - 1, 0, 0)
        self._bring_into_view(first - 1, 0, 0)

    def _view_turned(self) -> None:
        """Take the cursor away: it chose lines of the source."""
        super()._view_turned()
        self._cursor = None

    def end_cursor(self) -> bool:
        """Take the cursor away; return whether there was one."""
        if self._cursor is None:
            return False
        self._cursor = None
        self._reflow()
        return True

    def _move(self, line: int, *, extend: bool = False) -> None:
        """Move the cursor; extending, the lines from where that began stay chosen."""
        line = max(1, min(line, self.line_count))
        self._cursor = line
        if not extend:
            self._anchor = line
        self._repaint()
        self._bring_into_view(line - 1, 0, 0)

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def action_scroll_up(self) -> None:
        """Go to the line above; without a cursor scroll one row up."""
        if self._cursor is None:
            super().action_scroll_up()
        else:
            self._move(self._cursor - 1)

    def action_scroll_down(self) -> None:
        """Go to the line below; without a cursor scroll one row down."""
        if self._cursor is None:
            super().action_scroll_down()
        else:
            self._move(self._cursor + 1)

    def action_page_up(self) -> None:
        """Go up by a page of lines; without a cursor scroll."""
        if self._cursor is None:
            super().action_page_up()
        else:
            self._move(self._cursor - self._page)

    def action_page_down(self) -> None:
        """Go down by a page of lines; without a cursor scroll."""
        if self._cursor is None:
            super().action_page_down()
        else:
            self._move(self._cursor + self._page)

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        if self._cursor is not None:
            self._move(1)
        super().action_scroll_home()

    def action_scroll_end(self) -> None:
        """Go to the last line."""
        if self._cursor is not None:
            self._move(self.line_count)
        super().action_scroll_end()

    def action_extend(self, step: int) -> None:
        """Choose one line more, or one less; without a cursor there is nothing to extend."""
        if self._cursor is None:
            raise SkipAction
        self._move(self._cursor + step, extend=True)

    # -- painting -------------------------------------------------------------------------------------

    def _has_glyphs(self) -> bool:
        return self._cursor is not None or super()._has_glyphs()

    def _is_chosen(self, row: Row) -> bool:
        lines = self.cursor_lines
        return lines is not None and row.line + 1 in lines

    def _glyph(self, row: Row) -> tuple[str, Style, Style]:
        glyph, style, number = super()._glyph(row)
        return glyph, style, self.palette.pointed if self._is_chosen(row) else number

    def _gutter(self, row: Row) -> list[Segment]:
        segments = super()._gutter(row)
        if segments and self._is_chosen(row):
            # The cell beside the text, so that a line can be seen to be cited and chosen.
            segments[-1] = Segment(_CURSOR if row.first else " ", self.palette.base + self.palette.cited)
        return segments
