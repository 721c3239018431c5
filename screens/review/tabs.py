"""The parts of a case by name, of which as many are in sight as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static


class CaseTabs(Static):
    """The parts of the case by name; the one that is shown stands in brackets as well as in colour."""

    @dataclass
    class Chosen(Message):
        """A part was chosen with the mouse."""

        pane_id: str

    _tabs: tuple[tuple[str, str], ...] = ()
    _active = ""
    # Which of the tabs are in sight, and where the first of them stands.
    _sight = range(0)
    _begun = 0

    def show(self, tabs: Sequence[tuple[str, str]], active: str) -> None:
        """Show tabs as (pane id, title), one of them active."""
        if (tuple(tabs), active) == (self._tabs, self._active):
            return
        self._tabs, self._active = tuple(tabs), active
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the tabs out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        self._sight = self._in_sight()
        before, after = self._sight.start, len(self._tabs) - self._sight.stop
        left = f"‹{before} " if before else ""
        self._begun = _width(left)
        parts = [Content.styled(left, "$text-muted")]
        for place in self._sight:
            pane_id, title = self._tabs[place]
            if pane_id == self._active:
                parts.append(Content.styled(f"[{title}]", "bold $text-accent reverse"))
            else:
                parts.append(Content.styled(f" {title} ", "$text-muted"))
        parts.append(Content.styled(f" {after}›" if after else "", "$text-muted"))
        self.update(Content("").join(parts), layout=False)

    def _in_sight(self) -> range:
        """Return which tabs fit: all of them, or some with the active one and the next."""
        widths = [_width(title) + 2 for _, title in self._tabs]
        width = self.size.width
        if not width or sum(widths) <= width:
            return range(len(widths))
        active = next((place for place, (pane_id, _) in enumerate(self._tabs) if pane_id == self._active), 0)
        # Beside them stands how many there are to the left and to the right.
        room = width - 2 * len(f"‹{len(widths)} ")
        last = min(active + 2, len(widths))
        first = active
        if sum(widths[active:last]) > room:
            last = active + 1
        while first and sum(widths[first - 1 : last]) <= room:
            first -= 1
        while last < len(widths) and sum(widths[first : last + 1]) <= room:
            last += 1
        return range(first, last)

    def on_click(self, event: events.Click) -> None:
        """Choose the part under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        place = self._begun
        for pane_id, title in (self._tabs[number] for number in self._sight):
            if offset.x < place:
                return
            place += _width(title) + 2
            if offset.x < place:
                self.post_message(self.Chosen(pane_id))
                return


def _width(text: str) -> int:
    return Content(text).cell_length
