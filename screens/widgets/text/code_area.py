"""A text area for code and Markdown: coloured like the panes, for texts that it keeps exactly."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import events
from textual.style import Style as VisualStyle
from textual.widgets import TextArea

from screens.widgets.text import highlight
from screens.widgets.text.overlay import CodeBlock
from screens.widgets.text.sanitize import HIDDEN

HIGHLIGHTED = 50_000
"""Characters up to which the text is coloured: all of it is lexed again after every key."""

CHARACTERS = 200_000
"""Characters up to which a text is edited here."""

_INDENT = 4


def can_hold(text: str) -> bool:
    """Return whether a text area shows every character of a text, and gives it back as it was.

    Control and other invisible characters would act on the terminal or be lost, and an area has one kind of
    line ends.
    """
    return len(text) <= CHARACTERS and all(_is_plain(each) for each in set(text))


def _is_plain(character: str) -> bool:
    return character == "\n" or (character.isprintable() and character not in HIDDEN)


class CodeArea(TextArea):
    """An area in which code is written.

    Args:
        text: The code, which `can_hold` takes.
        language: The Pygments name of its language.
        wraps: Whether long lines go on in the next row, and lines have no numbers: for prose.
    """

    def __init__(self, text: str, language: str, *, wraps: bool = False, id: str | None = None) -> None:
        # The line of the cursor is not marked: its mark would take the place of its colours.
        super().__init__(
            text,
            id=id,
            soft_wrap=wraps,
            tab_behavior="indent",
            show_line_numbers=not wraps,
            highlight_cursor_line=False,
        )
        self._code_language = language
        self._coloured: tuple[str, highlight.Highlighting] | None = None
        self._token_styles: dict[object, Style] = {}

    def get_line(self, line_index: int) -> Text:
        """Return a line with its colours."""
        line = super().get_line(line_index)
        spans = self._highlighting()
        for start, end, key in spans.spans(line_index) if spans is not None else ():
            line.stylize(self._token_style(key), start, end)
        return line

    def notify_style_update(self) -> None:
        """Take over the colours of another theme."""
        self._token_styles.clear()
        super().notify_style_update()

    def _highlighting(self) -> highlight.Highlighting | None:
        text = self.text
        if len(text) > HIGHLIGHTED:
            return None
        if self._coloured is None or self._coloured[0] != text:
            lines = text.split("\n")
            spans = highlight.Highlighting(lines, [CodeBlock(0, len(lines), 0, self._code_language)])
            spans.advance(float("inf"))
            self._coloured = (text, spans)
        return self._coloured[1]

    def _token_style(self, key: object) -> Style:
        style = self._token_styles.get(key)
        if style is None:
            theme = highlight.ANSI_THEME if self.app.native_ansi_color else highlight.THEME
            whole = (self.visual_style + VisualStyle.parse(theme[key])).rich_style
            # Without its background, which would hide the line of the cursor and what is selected.
            style = Style(color=whole.color, bold=whole.bold, italic=whole.italic)
            self._token_styles[key] = style
        return style

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        """Begin a new line where the one before begins, in code one step further after a colon."""
        if event.key != "enter":
            return
        event.stop()
        event.prevent_default()
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        indent = " " * (len(before) - len(before.lstrip(" ")))
        if before.rstrip().endswith(":") and not self.soft_wrap:
            indent += " " * _INDENT
        self._insert(f"\n{indent}")

    def _on_paste(self, event: events.Paste) -> None:  # type: ignore[override]
        """Take what is pasted, without the characters that the area cannot show."""
        event.stop()
        event.prevent_default()
        lines = "\n".join(event.text.splitlines()) + ("\n" if event.text.endswith(("\n", "\r")) else "")
        self._insert("".join(each for each in lines.expandtabs(_INDENT) if _is_plain(each)))

    def _insert(self, text: str) -> None:
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)
