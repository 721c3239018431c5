"""The tail of a log, in which a repeated line is shown once, with its count."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Log

from screens.jobs.jobs import LogLine
from screens.widgets.text.sanitize import one_line

LINE_CELLS = 400
"""Cells of a line that are shown at most."""

_INDENT = "    "


class LogPane(Log):
    """Shows lines folded to its width. It follows the tail, unless one has scrolled away from it."""

    can_focus = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._told: tuple[LogLine, ...] = ()
        self._shown: tuple[int, tuple[LogLine, ...]] | None = None

    def on_resize(self) -> None:
        """Fold the lines to the width."""
        self._fold()

    def show(self, lines: Sequence[LogLine], empty: str) -> None:
        """Show lines, or a sentence in the border without any.

        Args:
            lines: The lines, the latest last.
            empty: The sentence for no lines.
        """
        self.border_subtitle = None if lines else empty
        self._told = tuple(lines)
        self._fold()

    def _fold(self) -> None:
        # The room beside a scrollbar, also before there is one: no line is laid out twice.
        width = max(20, (self.size.width or self.app.size.width) - self.styles.scrollbar_size_vertical)
        shown = (width, self._told)
        if shown == self._shown:
            return
        self._shown = shown
        at_end, place = self.is_vertical_scroll_end, self.scroll_y
        self.clear()
        self.write_lines([part for line in self._told for part in folded(line, width)], scroll_end=False)
        if at_end:
            self.scroll_end(animate=False, immediate=True, x_axis=False)
        else:
            self.scroll_to(y=place, animate=False, immediate=True)


def folded(line: LogLine, width: int) -> list[str]:
    """Return a line in lines of at most `width` cells, the first with its mark, the others indented."""
    mark = "  " if line.level == "info" else "! "
    times = f"{line.count:,} × " if line.count > 1 else ""
    name = one_line(line.latest, 40)
    head = f"{line.when} " if line.when else ""
    head += times or (f"{name}: " if name else "")
    tail = f" · last {name}" if name and line.count > 1 else ""
    shown = one_line(head + line.text, LINE_CELLS) + tail
    parts = [part.plain.rstrip() for part in Content(shown).wrap(width - len(_INDENT))]
    return [(mark if number == 0 else _INDENT) + part for number, part in enumerate(parts or [""])]
