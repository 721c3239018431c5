"""The studies of a workspace, with the keys that make, freeze, follow and close one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine, drawn_bar
from screens.reading import Reading
from screens.studies.confirm import ask_to_close, ask_to_delete, ask_to_freeze
from screens.widgets.cursor_lines import cursor_line
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.studies.dashboard import Dashboard, list_dashboards

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator

STATES = {"draft": "○ draft", "open": "▶ open", "closed": "✓ closed"}
"""States with a glyph each."""

NAME_CELLS = 22


class StudiesScreen(WorkbenchScreen):
    """Lists the studies."""

    SCOPE = "studies"
    CSS_PATH = "studies.tcss"
    BINDINGS = bindings("studies")

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.reading = Reading(self, list_dashboards, self._read_done)
        self._index = 0
        # Whether Enter was pressed before the studies were read.
        self._to_open = False

    def compose(self) -> ComposeResult:
        """Lay out the list and the keys."""
        yield TopLine("studies")
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="studies")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Follow what is recorded."""
        self.reading.follow()
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_read(self) -> None:
        """Read the studies again."""
        self.reading.again()

    def _read_done(self) -> None:
        self._index = min(self._index, max(len(self.reading.found or ()) - 1, 0))
        self._lay_out()
        if self._to_open and self.is_current:
            self.action_open_study()
        self._to_open = False

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def chosen(self) -> Dashboard | None:
        """The study under the cursor."""
        found, failure = self.reading.found, self.reading.failure
        return found[self._index] if found and failure is None else None

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        chosen = self.chosen
        if command.id in ("studies.freeze", "studies.delete"):
            return chosen is not None and chosen.study.state == "draft"
        if command.id == "studies.close":
            return chosen is not None and chosen.study.state == "open"
        if command.id in ("studies.new", "studies.compare"):
            return self.reading.failure is None
        return chosen is not None if command.id == "studies.open" else True

    def _lay_out(self) -> None:
        self.query_one("#studies", Static).update(Content("\n").join(self._lines()))
        self.refresh_bindings()

    def _lines(self) -> list[Content]:
        if why := self.reading.why_nothing():
            return why
        if not self.reading.found:
            return [
                Content("No study yet."),
                Content(""),
                Content(
                    "A study has several experts judge the same items independently, under random "
                    f"conditions. {self.key_of('new')} makes one, as a draft that is fixed once it is frozen."
                ),
            ]
        heading = f"  {'study':<{NAME_CELLS}} {'state':<9} {'items':>7} {'raters':>6}  {'done':>15}"
        lines = [Content.styled(heading, "bold")]
        room = max(self.app.size.width - Content(heading).cell_length - 6, 0)
        for place, one in enumerate(self.reading.found):
            done, total = (
                sum(getattr(each.whole, name) for each in one.raters) for name in ("done", "total")
            )
            shown = "–" if one.study.state == "draft" else f"{done:,} of {total:,}"
            name = one_line(one.study.name, NAME_CELLS)
            text = (
                f"{name:<{NAME_CELLS}} {STATES[one.study.state]:<9} {one.study.items.get('item', 0):>7,} "
                f"{len(one.study.members):>6,}  {shown:>15}  "
            )
            cells = min(room, 40) if total and one.study.state != "draft" else 0
            line = cursor_line(text, here=place == self._index)
            lines.append(Content.assemble(line, drawn_bar(done, total, cells)))
        return lines

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Go to another study."""
        if self.reading.found:
            self._index = (self._index + lines) % len(self.reading.found)
            self._lay_out()
            self.query_one("#body", VerticalScroll).scroll_to(y=max(0, self._index - 5), animate=False)

    def action_open_study(self) -> None:
        """Show how far the study under the cursor is."""
        self._to_open = self.reading.found is None
        if self.chosen is not None:
            self.navigator.open_study(self.chosen.study.name)

    def action_new_study(self) -> None:
        """Show the form of a new study."""
        if self.reading.failure is None:
            self.navigator.open_new_study()

    def action_compare(self) -> None:
        """Show the form of new comparisons."""
        if self.reading.failure is None:
            self.navigator.open_new_comparisons()

    def action_freeze(self) -> None:
        """Freeze the draft under the cursor."""
        if self.chosen is not None:
            ask_to_freeze(self, self.chosen.study, self.action_read)

    def action_delete(self) -> None:
        """Delete the draft under the cursor."""
        if self.chosen is not None:
            ask_to_delete(self, self.chosen.study, self.action_read)

    def action_close_study(self) -> None:
        """Close the open study under the cursor."""
        if self.chosen is not None:
            ask_to_close(self, self.chosen.study, self.chosen.left, self.action_read)
