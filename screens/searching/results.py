"""The list of a search's results: rank, name, score, and the streams that found each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len

from agents.code_search.searching import SearchResult
from agents.code_search.streams import STREAMS, Stream
from screens.rankings.row_list import RowList
from screens.widgets.text.sanitize import one_line

PLACES_FROM = 70
"""Cells of the list from which a line has the place of its result."""
PLACE_CELLS = 34


class ResultList(RowList, can_focus=True):
    """Lists results; while it has the focus no line moves, and what comes later is put at its end.

    Attributes:
        ranked: The results of the streams that are on, best first.
        filed: Those that were filed in this session.
    """

    def __init__(self) -> None:
        super().__init__(id="results")
        self.ranked: Sequence[SearchResult] = ()
        self.filed: set[Place] = set()
        self._rows: list[SearchResult] = []
        self.is_active = False

    @property
    def current(self) -> SearchResult | None:
        """The result at the cursor; None without any."""
        return self._rows[self.cursor] if self._rows else None

    @property
    def in_order(self) -> bool:
        """Whether the lines are in the order of the ranks."""
        return [place_of(one) for one in self._rows] == [place_of(one) for one in self.ranked]

    def show_results(self, ranked: Sequence[SearchResult], *, sort: bool = False) -> None:
        """Show the results so far.

        Args:
            ranked: The results, best first.
            sort: Whether lines may move though the list has the focus.
        """
        here = self.current
        self.ranked = ranked
        by_place = {place_of(one): one for one in ranked}
        stay = self._rows if self.has_focus and not sort else ()
        shown = [by_place.pop(place_of(one), None) for one in stay]
        self._rows = [*(one for one in shown if one is not None), *by_place.values()]
        places = [place_of(one) for one in self._rows]
        follows = here is not None and (self.has_focus or sort) and place_of(here) in places
        self.cursor = places.index(place_of(here)) if follows and here is not None else 0
        self.show_rows(len(self._rows), self._text)

    def forget(self) -> None:
        """Show nothing, for another search."""
        self._rows, self.cursor = [], 0
        self.show_results(())

    def on_focus(self) -> None:
        """Show the cursor."""
        self.is_active = True
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.is_active = False
        self.refresh()

    def _text(self, row: int, cells: int) -> str:
        one = self._rows[row]
        rank = 1 + next(place for place, each in enumerate(self.ranked) if each is one)
        by = "".join(digit if stream in one.streams else " " for digit, stream in _DIGITS)
        end = f" {one.score:5.2f} {by} {'✓' if place_of(one) in self.filed else ' '}"
        room = max(cells - 3 - len(end), 4)
        place = ""
        if cells >= PLACES_FROM:
            place = one_line(f"{one.unit.path}:{one.unit.line}", PLACE_CELLS)
            place = " " + place + " " * (PLACE_CELLS - cell_len(place))
            room -= PLACE_CELLS + 1
        name = _named(one.unit.name, room)
        return f"{rank:>2} {name}{' ' * (room - cell_len(name))}{place}{end}"


def _named(name: str, cells: int) -> str:
    """Return a name in so many cells, without what it is nested in where there is no room for that."""
    shown = name
    while cell_len(shown) > cells and "." in shown:
        shown = shown.partition(".")[2]
    return one_line(shown, cells)


_DIGITS = tuple((str(number), stream) for number, stream in enumerate(STREAMS, start=1))


Place = tuple[str, int, int, str, str]


def place_of(one: SearchResult) -> Place:
    """Return what tells results apart: file, lines, name and kind; several can be on one line."""
    unit = one.unit
    return unit.path, unit.line, unit.end_line, unit.name, unit.kind


def stream_words(on: Collection[Stream]) -> str:
    """Return the streams with their keys, and whether each is on."""
    return " ".join(f"[{digit} {stream} {'●' if stream in on else '○'}]" for digit, stream in _DIGITS)
