"""The first screen: a new workspace, a file, the demo, practice, or a workspace that is here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Paste
from textual.screen import Screen
from textual.widgets import Static

from screens.commands import bindings, command_named
from screens.help import first_key, hint
from screens.home.import_dialog import Imported, ImportScreen, pasted_file
from screens.threads import in_thread
from screens.welcome.choice import Chosen
from screens.welcome.details import Details, DetailsScreen
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from screens.welcome.choice import FirstRun

WAYS = (
    ("welcome.demo", "Look at the demo: sample data, nothing to set up"),
    ("welcome.practice", "Practise the keys on ten items with known answers"),
    ("welcome.import", "Import a file"),
    ("welcome.new", "Make an empty workspace"),
)
"""The commands of the first screen with what they do, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Way:
    """A line of the first screen: its key, what it does, and the action."""

    key: str
    words: str
    action: str


class WelcomeScreen(Screen[None]):
    """Offers the ways to a first workspace, one key each."""

    CSS_PATH = "welcome.tcss"
    BINDINGS = bindings("welcome")

    def __init__(self, first_run: FirstRun) -> None:
        super().__init__()
        self._first_run = first_run
        self._ways = [*self._here(), *self._others()]
        # Who has files here comes with them; anybody else sees first what it is.
        wanted = "import_file" if first_run.files else "open_demo"
        actions = [way.action for way in self._ways]
        self._cursor = 0 if first_run.workspaces else actions.index(wanted)

    def _here(self) -> list[Way]:
        """Return the workspaces of the folder."""
        names = [one_line(path.name, 40) for path in self._first_run.workspaces]
        return [Way("", f"Open {name}", f"open_workspace({place})") for place, name in enumerate(names)]

    def _others(self) -> list[Way]:
        settings = self._first_run.settings
        return [Way(first_key(settings, name), words, command_named(name).action) for name, words in WAYS]

    def compose(self) -> ComposeResult:
        """Lay out what the program is, the ways to begin, and the keys."""
        settings = self._first_run.settings
        with Vertical(id="welcome") as box:
            box.border_title = "workbench"
            yield Static("Check what automated agents decided about code.", id="about")
            yield Static(id="ways")
            yield Static(id="note")
        keys = hint(
            settings,
            ("welcome.open", "opens the line at the cursor"),
            ("welcome.up welcome.down", "line"),
            ("app.help", "keys"),
            ("welcome.leave", "quit"),
        )
        yield Static(Content(keys), id="keys")

    def on_mount(self) -> None:
        """Show the ways to begin; where a file is to be imported, begin with that."""
        self._lay_out()
        if self._first_run.file:
            self.action_import_file(self._first_run.file)

    def on_paste(self, event: Paste) -> None:
        """Offer to import a file whose path is pasted or dropped."""
        in_thread(self, partial(pasted_file, event.text), self._offer, group="paste")

    def _offer(self, path: str) -> None:
        if path and self.is_current:
            self.action_import_file(path)

    def _lay_out(self) -> None:
        lines = []
        for place, way in enumerate(self._ways):
            here = place == self._cursor
            mark = (CURSOR if here else " ", "bold $text-accent")
            lines.append(
                Content.assemble(
                    mark, (f" {way.key:<3}", "bold $text-accent"), (way.words, "reverse" if here else "")
                )
            )
        self.query_one("#ways", Static).update(Content("\n").join(lines))
        first_run = self._first_run
        who = f"Your judgments are recorded as {one_line(first_run.rater, 40)}." if first_run.rater else ""
        folder = f"A new workspace is one file in this folder: {first_run.new.name}."
        self.query_one("#note", Static).update(Content("\n".join(filter(None, (folder, who)))))

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the cursor to another line.

        Args:
            by: 1 or -1.
        """
        self._cursor = max(0, min(self._cursor + by, len(self._ways) - 1))
        self._lay_out()

    async def action_open(self) -> None:
        """Open the line at the cursor."""
        await self.run_action(self._ways[self._cursor].action)

    def action_open_workspace(self, place: int) -> None:
        """Open a workspace of the folder.

        Args:
            place: Which one, from 0.
        """
        path = self._first_run.workspaces[place]
        self._ask_name(lambda rater: self._choose(Chosen("workspace", rater, path)))

    def action_open_demo(self) -> None:
        """Open the demo."""
        self._with_name(lambda rater: self._choose(Chosen("demo", rater)))

    def action_practise(self) -> None:
        """Practise on ten items."""
        self._with_name(lambda rater: self._choose(Chosen("practice", rater)))

    def action_make_workspace(self) -> None:
        """Make an empty workspace."""
        self._ask("New workspace", lambda given: self._choose(Chosen("workspace", given.rater, given.path)))

    def action_import_file(self, path: str = "") -> None:
        """Import a file into a new workspace.

        Args:
            path: The path that is typed at first.
        """
        self._ask("Import into a new workspace", lambda given: self._import(given, path))

    def _import(self, given: Details, path: str) -> None:
        def imported(done: Imported | None) -> None:
            if done is not None:
                self._choose(Chosen("workspace", given.rater, given.path, judges=done.judge))

        assert given.path is not None
        dialog = ImportScreen(self._first_run.settings, self._first_run.imports(given.path), path)
        self.app.push_screen(dialog, imported)

    def _choose(self, chosen: Chosen) -> None:
        self.app.exit(chosen)

    # -- who judges -----------------------------------------------------------------------------------

    def _ask(self, title: str, then: Callable[[Details], None]) -> None:
        def given(details: Details | None) -> None:
            if details is not None:
                then(details)

        self.app.push_screen(DetailsScreen(self._first_run, title, self._first_run.new), given)

    def _ask_name(self, then: Callable[[str], None]) -> None:
        """Ask for the name where none is configured, then go on."""
        if not self._first_run.asks:
            then(self._first_run.rater)
            return

        def given(details: Details | None) -> None:
            if details is not None:
                then(details.rater)

        self.app.push_screen(DetailsScreen(self._first_run, "Who judges?", None), given)

    def _with_name(self, then: Callable[[str], None]) -> None:
        """Go on with the name that is known; for what is only tried out none is asked for."""
        if self._first_run.rater:
            then(self._first_run.rater)
        else:
            self._ask_name(then)
