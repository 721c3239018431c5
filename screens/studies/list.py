"""The studies of a workspace, with the keys that make, freeze, follow and close one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.base_screen import BaseScreen
from screens.commands import Command, Scope, bindings
from screens.studies.confirm import ask_to_close, ask_to_freeze
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from store.errors import WorkbenchError
from store.formatting import block_bar
from store.studies.dashboard import Dashboard, list_dashboards

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.record.actions import Action

STATES = {"draft": "○ draft", "open": "▶ open", "closed": "✓ closed"}
"""States with a glyph each."""

NAME_CELLS = 22


class StudiesScreen(BaseScreen):
    """Lists the studies.

    Attributes:
        found: The studies with their progress; None before they are read.
        failure: Why they could not be read, or may not be.
    """

    SCOPE: ClassVar[Scope] = "studies"
    CSS_PATH: ClassVar[str] = "studies.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("studies"))

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.found: list[Dashboard] | None = None
        self.failure: WorkbenchError | None = None
        self._index = 0
        # Whether Enter was pressed before the studies were read.
        self._to_open = False

    def compose(self) -> ComposeResult:
        """Lay out the list and the keys."""
        yield TopLine("studies")
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="studies")
        yield KeyLine()

    def on_mount(self) -> None:
        """Follow what is recorded."""
        self.context.recorder.saved.subscribe(self, self._recorded)
        self._lay_out()

    def _recorded(self, action: Action) -> None:
        if self.is_current:
            self.action_read()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def on_screen_resume(self) -> None:
        """Read the studies, when they are what is shown."""
        if self.is_current:
            self.action_read()

    def action_read(self) -> None:
        """Read the studies in a thread."""
        in_thread(self, self._read, self._read_done, self._read_failed, group="studies")

    def _read(self) -> list[Dashboard]:
        with self.context.workspace.reading() as connection:
            return list_dashboards(connection, self.context.rater)

    def _read_done(self, found: list[Dashboard]) -> None:
        self.found, self.failure = found, None
        self._index = min(self._index, max(len(found) - 1, 0))
        self._lay_out()
        if self._to_open and self.is_current:
            self.action_open_study()
        self._to_open = False

    def _read_failed(self, error: WorkbenchError) -> None:
        self.failure = error
        self._lay_out()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def chosen(self) -> Dashboard | None:
        """The study under the cursor."""
        return self.found[self._index] if self.found and self.failure is None else None

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        chosen = self.chosen
        if command.id == "studies.freeze":
            return chosen is not None and chosen.study.state == "draft"
        if command.id == "studies.close":
            return chosen is not None and chosen.study.state == "open"
        if command.id in ("studies.new", "studies.compare"):
            return self.failure is None
        return chosen is not None if command.id == "studies.open" else True

    def _lay_out(self) -> None:
        self.query_one("#studies", Static).update(Content("\n").join(self._lines()))
        self.refresh_bindings()

    def _lines(self) -> list[Content]:
        if self.failure is not None:
            parts = (self.failure.title, self.failure.message, self.failure.hint)
            return [Content(one_line(part, 400)) for part in parts if part]
        if self.found is None:
            return [Content("Reading …")]
        if not self.found:
            return [
                Content("There is no study yet."),
                Content(""),
                Content(
                    "A study has several experts judge the same items independently, under conditions drawn "
                    f"at random. {self.key_of('new')} makes one, as a draft that is fixed once it is frozen."
                ),
            ]
        heading = f"  {'study':<{NAME_CELLS}} {'state':<9} {'items':>7} {'raters':>6}  {'done':>15}"
        lines = [Content.styled(heading, "bold")]
        room = max(self.app.size.width - Content(heading).cell_length - 6, 0)
        for place, one in enumerate(self.found):
            done, total = (
                sum(getattr(each.whole, name) for each in one.raters) for name in ("done", "total")
            )
            shown = "–" if one.study.state == "draft" else f"{done:,} of {total:,}"
            name = one_line(one.study.name, NAME_CELLS)
            line = (
                f"{'▸' if place == self._index else ' '} {name:<{NAME_CELLS}} "
                f"{STATES[one.study.state]:<9} {one.study.items.get('item', 0):>7,} "
                f"{len(one.study.members):>6,}  {shown:>15}  "
            )
            style = "bold $text-accent" if place == self._index else ""
            cells = min(room, 40) if total and one.study.state != "draft" else 0
            drawn = block_bar(done / total, cells) if cells > 0 else ""
            rest = ("·" * (cells - len(drawn)), "$text-muted")
            lines.append(Content.assemble((line, style), (drawn, "$text-accent"), rest))
        return lines

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Go to another study."""
        if self.found:
            self._index = (self._index + lines) % len(self.found)
            self._lay_out()
            self.query_one("#body", VerticalScroll).scroll_to(y=max(0, self._index - 5), animate=False)

    def action_open_study(self) -> None:
        """Show how far the study under the cursor is."""
        self._to_open = self.found is None
        if self.chosen is not None:
            self.navigator.open_study(self.chosen.study.name)

    def action_new_study(self) -> None:
        """Show the form of a new study."""
        if self.failure is None:
            self.navigator.open_new_study()

    def action_compare(self) -> None:
        """Show the form of new comparisons."""
        if self.failure is None:
            self.navigator.open_new_comparisons()

    def action_freeze(self) -> None:
        """Freeze the draft under the cursor."""
        if self.chosen is not None:
            ask_to_freeze(self, self.chosen.study, self.action_read)

    def action_close_study(self) -> None:
        """Close the open study under the cursor."""
        if self.chosen is not None:
            ask_to_close(self, self.chosen.study, self.chosen.left, self.action_read)

    def action_back(self) -> None:
        """Go back to the screen below."""
        self.dismiss()
