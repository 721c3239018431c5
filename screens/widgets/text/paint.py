"""Painting a row of text: its gutter, and layers of styles over the shown characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widget import Widget

from screens.widgets.text import highlight
from screens.widgets.text.document import Document, Row
from screens.widgets.text.overlay import MUTED, SPAN_STYLES, STYLE_OF_GLYPH, STYLE_OF_SIGN, SpanStyle
from screens.widgets.text.search import TextSearch
from store.formatting import pluralize

BAR = "│"
"""The glyph of a line that is shown before each of its rows, not before the first one only."""

_CITED = "▌"
_POINTED = "▸"

STYLES: Mapping[str, str] = {
    "pointed": "reverse",
    "cited": "$text-accent bold",
    "replaced": "$text-error reverse",
    "match": "$text-warning on $warning-muted underline",
    "current-match": "$text-warning on $background bold reverse underline",
    "cursor": "$text-accent bold",
    "reference": "on $success-muted underline",
    "changed": "on $warning-muted bold underline",
    "removed": "$text-error strike",
    "missing": "$text-error bold",
    "heading": "$text-primary bold underline",
    "strong": "bold",
    "emphasis": "italic",
    "struck": "strike",
    "code": "$text-secondary",
    "link": "$text-primary underline",
    "passed": "$text-success",
    "failed": "$text-error bold",
    "error": "$text-error",
    "weak": "$text-warning",
}
"""The styles that are laid over a text, never different by colour alone."""

ANSI_STYLES: Mapping[str, str] = {
    **STYLES,
    "replaced": "ansi_red reverse",
    "match": "ansi_default on ansi_default bold underline",
    "current-match": "ansi_default on ansi_default bold reverse underline",
    "reference": "on ansi_default underline",
    "changed": "on ansi_default bold underline",
}
"""The same in the sixteen colours of the terminal."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles of a pane, resolved for its theme; all but `base` are laid over it.

    Only the muted colour is a component class of the pane: Textual styles each component class of each pane
    again whenever a class of the screen changes.
    """

    base: Style
    selection: Style
    gutter: Style
    empty: Style
    pointed: Style
    cited: Style
    replaced: Style
    match: Style
    current_match: Style
    spans: Mapping[SpanStyle, Style]

    @classmethod
    def of(cls, widget: Widget) -> Palette:
        """Return the styles of a widget with the component class `text--muted`, in the current theme."""
        styles = ANSI_STYLES if widget.app.native_ansi_color else STYLES
        found = {part: VisualStyle.parse(style).rich_style for part, style in styles.items()}
        muted = widget.get_component_rich_style("text--muted")
        spans: dict[SpanStyle, Style] = dict.fromkeys(MUTED, muted)
        spans |= {style: found.pop(style) for style in SPAN_STYLES if style not in MUTED}
        return cls(
            base=widget.rich_style,
            selection=widget.screen.get_component_rich_style("screen--selection"),
            gutter=muted,
            empty=muted + Style(italic=True),
            spans=spans,
            **{part.replace("-", "_"): style for part, style in found.items()},
        )


Layer = tuple[int, int, Style]
"""A stretch of a text (start, end) and the style laid over it."""


@dataclass
class LineMarks:
    """The lines of a text that are cited, jumped to or chosen, by their numbers, from 1.

    Attributes:
        cited: Those that are cited.
        recorded: Whether a judgment on its way or on disk cites just these.
        pointed: The one last jumped to.
        cursor: The one under the cursor; without a cursor None.
        anchor: The line at which choosing several began; the cursor's own for one.
    """

    cited: frozenset[int] = frozenset()
    recorded: bool = True
    pointed: int | None = None
    cursor: int | None = None
    anchor: int = 0

    @property
    def chosen(self) -> range | None:
        """The lines that are chosen, None without a cursor."""
        if self.cursor is None:
            return None
        return range(min(self.cursor, self.anchor), max(self.cursor, self.anchor) + 1)

    @property
    def note(self) -> str:
        """How much is cited, in words; nothing where nothing is, as recorded."""
        if not self.cited and self.recorded:
            return ""
        cited = f"{_CITED} {pluralize(len(self.cited), 'line')} cited" if self.cited else "none cited"
        return cited + ("" if self.recorded else ", not recorded yet")

    def __bool__(self) -> bool:
        return bool(self.cited or self.pointed or self.cursor)

    def gutter(self, row: Row, number: int | None, glyph: str, width: int, palette: Palette) -> list[Segment]:
        """Return the gutter of a row: a glyph, the number, and the cursor.

        Args:
            number: The number of its line, None for a line without one.
            glyph: The glyph of the line, filled with blanks to the length of the longest; where the line is
                cited or jumped to, the first cell is another one.
            width: Cells, at least one more than of the glyph; in just that there is no room for a number.
        """
        pointed = number is not None and number == self.pointed
        chosen = self.chosen is not None and number in self.chosen
        lead = len(glyph)
        mark = _CITED if number in self.cited else _POINTED if pointed else glyph[:1]
        sign = STYLE_OF_SIGN.get(mark)
        shown = (mark if row.first or mark in (_CITED, BAR) else " ") + (glyph[1:] if row.first else "")
        written = str(number or "") if row.first and width > lead + 1 else ""
        base, cited = palette.base, palette.base + palette.cited
        segments = [
            Segment(shown.ljust(lead), cited if sign is None else base + palette.spans[sign]),
            Segment(" " * (width - lead - 1 - len(written)), base),
            Segment(written, base + palette.gutter + (palette.pointed if pointed or chosen else Style())),
            # Beside the text, so that a line can be seen to be cited and chosen.
            Segment(_POINTED if chosen and row.first else " ", cited if chosen else base),
        ]
        return [segment for segment in segments if segment.text]


class Painter:
    """Paints rows of text in the styles of a widget.

    Args:
        widget: The widget, which has the component class `text--muted`.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._palette: Palette | None = None
        self._token_styles: dict[object, Style] = {}

    def restyle(self) -> None:
        """Take up another theme."""
        self._palette = None
        self._token_styles.clear()

    @property
    def palette(self) -> Palette:
        """The styles of the current theme."""
        if self._palette is None:
            self._palette = Palette.of(self._widget)
        return self._palette

    def _token_style(self, key: object) -> Style:
        style = self._token_styles.get(key)
        if style is None:
            theme = highlight.ANSI_THEME if self._widget.app.native_ansi_color else highlight.THEME
            style = (self._widget.visual_style + VisualStyle.parse(theme[key])).rich_style
            self._token_styles[key] = style
        return style

    def text(
        self,
        row: Row,
        document: Document,
        colours: highlight.Highlighting,
        selection: Selection | None,
        search: TextSearch | None,
    ) -> list[Segment]:
        """Return the text of a row in the styles that are laid over it."""
        shown = document.shown(row.line)
        layers = self._layers(row, document, colours, selection, search)
        within = ((start - row.start, end - row.start, style) for start, end, style in layers)
        return layered(shown.text(row.start, row.end), self.palette.base, within)

    def _layers(
        self,
        row: Row,
        document: Document,
        colours: highlight.Highlighting,
        selection: Selection | None,
        search: TextSearch | None,
    ) -> Iterator[Layer]:
        """Yield the styles over a row, as indices into the shown line; later ones lie on top."""
        palette, shown = self.palette, document.shown(row.line)
        for start, end, key in colours.spans(row.line):
            yield shown.index_of(start), shown.index_of(end), self._token_style(key)
        base = document.offset_of(row.line, 0)
        first, last = base + shown.source_offset(row.start), base + shown.source_end(row.end)
        for span in document.spans.between(first, last):
            if span.start < span.end:
                start = shown.index_of(max(span.start - base, 0))
                yield start, shown.index_of(span.end - base), palette.spans[span.style]
        for index, glyph in shown.insets:
            yield index, index + 1, palette.spans[STYLE_OF_GLYPH[glyph]]
        for start, end in shown.marks(row.start, row.end):
            yield start, end, palette.replaced
        selected = selection.get_span(row.line) if selection is not None else None
        if selected is not None:
            yield selected[0], row.end if selected[1] == -1 else selected[1], palette.selection
        if search is not None and row.start < row.end:
            for index in search.between(first, last):
                start = search.starts[index] - base
                style = palette.current_match if index == search.current else palette.match
                yield shown.index_of(start), shown.index_of(start + len(search.pattern)), style


def layered(text: str, base: Style, layers: Iterable[Layer]) -> list[Segment]:
    """Cut a text into segments by the styles laid over it.

    Args:
        text: The text of a row.
        base: The style under all layers.
        layers: Stretches (start, end, style) of the text, later ones on top; what reaches over an end of the
            text is cut.

    Returns:
        Segments that together have the text.
    """
    size = len(text)
    styles = [base] * size
    for start, end, style in layers:
        under, both = base, base + style
        for index in range(max(start, 0), min(end, size)):
            if styles[index] is not under:
                under = styles[index]
                both = under + style
            styles[index] = both
    segments = []
    start = 0
    for index in range(1, size + 1):
        if index == size or styles[index] is not styles[start]:
            segments.append(Segment(text[start:index], styles[start]))
            start = index
    return segments


def places(row: Row, text: str, before: int, width: int) -> Strip:
    """Return a strip with the text's offset at each of its cells; it is not for painting.

    Textual reads the place under the mouse from it; `Selection` counts in shown characters and lines then.
    Both cells of a wide character lead to it, what is before the text to its start, all behind it to its end.

    Args:
        row: The part of the text on the row.
        before: Cells before it.
        width: Cells of the row.
    """
    indices = [row.start] * before
    for index, character in enumerate(text, row.start):
        indices += [index] * get_character_cell_size(character)
    indices += [row.end] * (width - len(indices))
    return Strip([Segment(" ", Style.from_meta({"offset": (index, row.line)})) for index in indices])
