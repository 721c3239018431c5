"""Painting a row of text: layers of styles over the shown characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from screens.widgets.overlay import SpanStyle


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles of a pane, resolved for its theme; all but `base` are laid over it."""

    base: Style
    gutter: Style
    pointed: Style
    cited: Style
    replaced: Style
    match: Style
    current_match: Style
    selection: Style
    empty: Style
    spans: Mapping[SpanStyle, Style]


@dataclass(frozen=True, slots=True)
class Row:
    """What one row of the screen shows of a source line."""

    line: int
    """The source line, from 0."""
    start: int
    """The index into the shown line at which the row begins."""
    end: int
    """The index after its last character."""
    lead: int = 0
    """Blank cells before the text: the right half of a wide character that scrolling cut."""
    first: bool = True
    """Whether the row is the line's first, which carries the number."""


Layer = tuple[int, int, Style]
"""A stretch of a text (start, end) and the style laid over it."""


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


def with_offsets(row: Row, gutter: list[Segment], text: list[Segment], rest: list[Segment]) -> Strip:
    """Return a strip that says which place of the text is at each of its cells.

    Textual reads the place under the mouse from it; `Selection` counts in shown characters and lines then.

    Args:
        row: What the row shows.
        gutter: Segments before the text; all of a gutter stands for the row's start.
        text: Segments of the text.
        rest: Segments after the text; they stand for the row's end.

    Returns:
        A strip for looking up places; what it shows is not for painting.
    """

    def placed(segment: Segment, index: int) -> Segment:
        offset = Style.from_meta({"offset": (index, row.line)})
        return Segment(segment.text, offset if segment.style is None else segment.style + offset)

    # Textual counts on with the characters of a segment, so that blank cells go one by one to stay in place,
    # and so do the cells of wide characters, whose right half it takes for the next character.
    segments = [placed(Segment(cell, piece.style), row.start) for piece in gutter for cell in piece.text]
    index = row.start
    for segment in text:
        if all(get_character_cell_size(character) == 1 for character in segment.text):
            segments.append(placed(segment, index))
        else:
            for at, character in enumerate(segment.text, index):
                for _ in range(get_character_cell_size(character)):
                    segments.append(placed(Segment(" ", segment.style), at))
        index += len(segment.text)
    segments += [placed(Segment(cell, piece.style), index) for piece in rest for cell in piece.text]
    return Strip(segments)
