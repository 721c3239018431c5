"""The candidates of a query beside the code: all pairs of the query are judged in one sitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.threads import in_thread
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.text.sanitize import one_line, shortened
from store.errors import WorkbenchError
from store.kinds.pair import PAIR
from store.queries.candidates import CandidatePair, candidates_of

CANDIDATES = "candidates"
"""The id of the list, and the class of the screen while it is shown."""


class CandidateList(Static):
    """Lists the candidates of a query, a line each, and marks the one on the screen."""

    class Chosen(Message):
        """A candidate was clicked."""

        def __init__(self, item_id: int) -> None:
            super().__init__()
            self.item_id = item_id

    def __init__(self) -> None:
        super().__init__(id=CANDIDATES)
        self._candidates: Sequence[CandidatePair] = ()
        self._current = 0
        self._first = 0

    def show(self, candidates: Sequence[CandidatePair], current: int) -> None:
        """Show the candidates of a query.

        Args:
            candidates: The candidates, by rank.
            current: The one that is on the screen.
        """
        self._candidates, self._current = candidates, current
        self._draw()

    def on_resize(self) -> None:
        """Draw as many as have room."""
        self._draw()

    def _draw(self) -> None:
        width, rows = self.content_size.width, self.content_size.height
        if not width or not self._candidates:
            self.update(Content(""))
            return
        ids = [one.row.item_id for one in self._candidates]
        place = ids.index(self._current) if self._current in ids else 0
        models = self._candidates[place].similarities
        foot = [f"{one_line(name, width - 6)} {value:.2f}" for name, value in models.items()]
        foot = ["", *foot] if len(foot) > 1 and rows >= len(ids) + len(foot) + 1 else []
        shown = max(1, rows - len(foot))
        self._first = max(0, min(place - shown // 2, len(ids) - shown))
        lines = [
            self._line(one, width, is_current=one.row.item_id == self._current)
            for one in self._candidates[self._first : self._first + shown]
        ]
        lines += [Content.styled(line, "$foreground-muted") for line in foot]
        self.border_title = "Candidates"
        judged = sum(one.row.label is not None for one in self._candidates)
        self.border_subtitle = f"{judged} of {len(ids)} judged"
        self.update(Content("\n").join(lines))

    @staticmethod
    def _line(candidate: CandidatePair, width: int, *, is_current: bool) -> Content:
        row = candidate.row
        own = f"●{row.label:g}" if row.label is not None else " ○"
        theirs = f"◆{row.agent_label:g}" if row.agent_label is not None else "  "
        rank = "" if row.rank is None else f"{row.rank:,}"
        similarity = "" if row.similarity is None else f"{row.similarity:.2f}"
        mark = CURSOR if is_current else " "
        head = f"{mark}{rank:>3} {own} {theirs} {similarity:>5} "
        text = head + shortened(one_line(row.detail or row.external_id, 200), width - cell_len(head))
        return Content.styled(text, "bold" if is_current else "")

    def on_click(self, event: events.Click) -> None:
        """Go to the candidate that was clicked."""
        place = event.get_content_offset(self)
        listed = self._candidates[self._first :]
        if place is not None and place.y < len(listed):
            self.post_message(self.Chosen(listed[place.y].row.item_id))


class CandidateController:
    """Shows the list of candidates, and keeps it up to date.

    It is read when a pair of another query comes, and when a label is stored: no key waits for it.
    """

    def __init__(self, shared: JudgingContext) -> None:
        self._shared = shared
        self._read: Sequence[CandidatePair] = ()
        # The query of the list.
        self._query = ""
        self._is_shown = False

    def handlers(self) -> Handlers:
        """Return what the command does."""
        return {"review.candidates": Handler(self.toggle, self._has_candidates, of_item=True)}

    def _has_candidates(self) -> bool:
        # The order of a study is its own, and says nothing of what else there is.
        item = self._shared.item
        return self._shared.context.study is None and (item is None or item.kind == PAIR.name)

    def toggle(self) -> None:
        """Show the list of candidates, or hide it."""
        self._is_shown = not self._is_shown
        if self._is_shown:
            self._read, self._query = (), ""
        self.follow()

    def follow(self) -> None:
        """Show the candidates of the item on the screen."""
        item = self._shared.item
        shown = self._is_shown and item is not None and self._has_candidates()
        self._shared.screen.set_class(shown, f"-{CANDIDATES}")
        if item is None or not shown:
            return
        if self._query not in ("", item.prompt):
            # Whoever judges by the list alone would take its first candidate for the last one's next.
            self._shared.append_message("now candidates of another query")
        self._query = item.prompt
        if any(one.row.item_id == item.item_id for one in self._read):
            self._list.show(self._read, item.item_id)
        else:
            self._read_of(item)

    def changed(self, item_id: int) -> None:
        """Read the list again after something was recorded of an item in it."""
        item = self._shared.item
        if self._is_shown and item is not None and any(one.row.item_id == item_id for one in self._read):
            self._read_of(item)

    @property
    def _list(self) -> CandidateList:
        return self._shared.screen.query_one(CandidateList)

    def _read_of(self, item: ItemView) -> None:
        context = self._shared.context
        load: Callable[[], list[CandidatePair]] = partial(
            candidates_of, context.workspace, context.scope, item.item_id
        )
        in_thread(self._shared.screen, load, self._take, self._not_read, group=CANDIDATES)

    def _take(self, found: list[CandidatePair]) -> None:
        self._read = found
        item = self._shared.item
        if item is not None:
            self._list.show(found, item.item_id)

    def _not_read(self, error: WorkbenchError) -> None:
        self._shared.show_message(f"! The candidates could not be read: {one_line(str(error), 200)}")
