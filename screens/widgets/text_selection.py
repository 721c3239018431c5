"""Selecting in a text: which original characters lie under what is marked on the screen."""

from __future__ import annotations

from rich.cells import get_character_cell_size
from textual.selection import Selection

from screens.widgets.text_view import TextView


class SelectableText(TextView):
    """A text view whose selection is a part of the text exactly as it was given."""

    ALLOW_SELECT = True

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
            index = min(selection.end.x, shown.length)
            # Marks go with the character that they sit on.
            while index < shown.length and not get_character_cell_size(shown.text(index, index + 1)):
                index += 1
            end = source.offset_of(line, shown.source_end(index))
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
