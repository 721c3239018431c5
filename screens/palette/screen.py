"""The palette: a line to type into over what answers to it, the best first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agents.pipelines.registry import kinds_with_agents
from screens.commands import WHERE, Command, bindings, command_named, commands_of
from screens.help import help_on, hint, key_name, keys_of
from screens.palette.entry import EXACT, FOUND, SURE, Entry, ranked
from screens.palette.places import (
    ELSEWHERE,
    HOME,
    PLACES,
    QUEUE,
    Place,
    close_dialogs,
    do_elsewhere,
    go_and_name,
    go_to,
    is_possible_elsewhere,
    may_open,
    may_use,
    named_elsewhere,
)
from screens.threads import Soon, in_thread
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.workbench_screen import WorkbenchScreen, scopes_of
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.spec import task_kinds
from store.policy.scope import Shows
from store.queries.rows import QueueFilter

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.queries.finding import FoundGroup, FoundItem
    from store.queries.saved_views import ViewDetails
    from store.reports.spec import ReportSpec

LEAST = 2
"""From so many characters on, queries and items are searched."""
REST_SECONDS = 0.1
"""Seconds after the last key before the search begins."""
MOST_ITEMS, MOST_GROUPS = 20, 10
"""The most items, and the most queries or prompts of a kind, that are listed."""
LISTED = 60
"""The most entries that are listed for a typed text."""
LABEL_CELLS, ID_CELLS, MIN_CELLS = 20, 36, 50
"""Cells of a label, which a long id may exceed by some; those of a line at least."""

_END = ("quit", "app.quit", "app.ask_to_quit")
"""The actions that end the app; it is listed once."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a workspace holds that has a name."""

    views: Sequence[ViewDetails] = ()
    studies: Sequence[str] = ()
    reports: Sequence[ReportSpec] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Queries, prompts and items with what was typed."""

    groups: Sequence[FoundGroup] = ()
    items: Sequence[FoundItem] = ()


class Palette(ModalScreen[None]):
    """Finds screens, actions, saved views, queries and items, as far as the session may see them.

    Args:
        below: The screen or dialog whose actions it lists first.

    Attributes:
        entries: The actions and the screens that it lists.
    """

    BINDINGS = bindings("palette")
    CSS_PATH = "palette.tcss"

    def __init__(self, context: ScreenContext, navigator: Navigator, below: Screen[Any]) -> None:
        super().__init__()
        self.context = context
        self._navigator = navigator
        self._below = below
        self.entries: list[Entry] = []
        self._stored: list[Entry] = []
        self._found: list[Entry] = []
        self._shown: list[tuple[float, Entry]] = []
        # What the list answers to; None before the first one.
        self._typed: str | None = None
        self._is_searching = False
        # Whether Enter was pressed before what it means was found.
        self._to_run = False
        self._soon = Soon(self, REST_SECONDS, group="find")

    def compose(self) -> ComposeResult:
        """Lay out the line over the list."""
        settings = self.context.settings
        with Vertical() as box:
            box.border_title = "Palette"
            box.border_subtitle = hint(
                settings,
                ("palette.run", "open"),
                ("palette.up palette.down", "line"),
                ("palette.leave", "close"),
            )
            yield LineInput(placeholder="a screen, an action, a view, a query or an item")
            answers = OptionList(id="answers", compact=True, markup=False)
            answers.can_focus = False
            yield answers
            yield Static(id="state")

    def on_mount(self) -> None:
        """List what there is, and read what the workspace holds."""
        self.entries = list(self._actions())
        self._answer("")
        if not self.context.needs_consent:
            in_thread(self, self._read, self._take_stored, self._fail, group="stored")

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self.call_after_refresh(self._draw)

    # -- actions and screens --------------------------------------------------------------------------

    def _actions(self) -> Iterator[Entry]:
        """Yield the actions of the screen below and of every screen, the screens, and what else there is."""
        context, app = self.context, self.app
        scopes = scopes_of(self._below)
        opening = {name for place in PLACES for name in place.commands}
        ends, moving = False, list[Entry]()
        for command in commands_of(*scopes) + commands_of("app"):
            if command.action in _END:
                ends = True
            elif (
                command.id not in opening
                and command.action != "command_palette"
                and may_use(context, command)
                and self._offers(command)
            ):
                entry = self._entry_of(command)
                if entry is not None and command.on_line:
                    yield entry
                elif entry is not None:
                    moving.append(entry)
        for place in PLACES:
            if may_open(context, app, place):
                run = partial(go_to, app, self._navigator, place)
                yield Entry(place.name, place.about, run, self._key_to(place), place.names)
        for at, names in ELSEWHERE:
            for command in map(command_named, names):
                if command.scope not in scopes and is_possible_elsewhere(context, app, at, command):
                    yield self._entry_elsewhere(at, command)
        for place in PLACES:
            if place not in (HOME, QUEUE) and may_open(context, app, place):
                for command in named_elsewhere(place):
                    if (
                        command.scope not in scopes
                        and command.id not in opening
                        and may_use(context, command)
                    ):
                        yield self._entry_named(place, command)
        yield Entry("theme", "Choose the colours.", app.search_themes)
        # What has no place in the line of keys, such as moving in a list.
        yield from moving
        if ends:
            end = command_named("app.quit")
            key = key_name(keys_of(end, context.settings).split(",")[0])
            run = partial(app.run_action, end.action, app)
            yield Entry(end.label, "Save and quit.", run, key, "exit leave save and", only_names=True)

    def _offers(self, command: Command) -> bool:
        """Return whether a command of the screen below has an effect now."""
        below = self._below
        if command.scope == "app" or not isinstance(below, WorkbenchScreen):
            return True
        return below.command_state.offers(command)

    def _entry_of(self, command: Command) -> Entry | None:
        """Return what a command of the screen below does; None of one that gives no value of the question."""
        below, about, label = self._below, command.help, command.label
        keys = keys_of(command, self.context.settings)
        if isinstance(below, WorkbenchScreen):
            state = below.command_state
            about = command.help if state.scale is None else help_on(command, state.scale)
            label = state.label_now(command)
        if not about:
            return None
        where = self.app if command.scope == "app" else below
        key, run = key_name(keys.split(",")[0]), partial(self.app.run_action, command.action, where)
        # The shell is not what one looks for by a word of its help.
        return Entry(label, about, run, key, only_names=command.id == "app.suspend")

    def _entry_elsewhere(self, place: Place, command: Command) -> Entry:
        run = partial(do_elsewhere, self.app, self._navigator, place, command)
        key = key_name(keys_of(command, self.context.settings).split(",")[0])
        return Entry(command.label, command.help, run, f"{key} · {WHERE[place.scopes[0]]}")

    def _entry_named(self, place: Place, command: Command) -> Entry:
        key, where = key_name(keys_of(command, self.context.settings).split(",")[0]), WHERE[place.scopes[0]]
        tell = partial(self.context.notices.show, where, f"{key} does it here: {command.help}")
        run = partial(go_and_name, self.app, self._navigator, place, tell)
        return Entry(command.label, command.help, run, f"{key} · {where}")

    def _key_to(self, place: Place) -> str:
        """Return the key that opens a place, and on which screen; empty where none does."""
        here = (*scopes_of(self._below), "app")
        home = "home" if self.context.study is None else "sitting"
        commands = [command_named(name) for name in place.commands]
        commands = [command for command in commands if command.scope in (*here, home, "studies", "splits")]
        commands.sort(key=lambda command: command.scope not in here)
        if not commands:
            return ""
        key = key_name(keys_of(commands[0], self.context.settings).split(",")[0])
        scope = commands[0].scope
        return key if scope in here else f"{key} · {WHERE['home' if scope == 'sitting' else scope]}"

    # -- what the workspace holds ---------------------------------------------------------------------

    def _read(self) -> Stored:
        from store.analysis.labels import kinds_of_items
        from store.queries.saved_views import list_views
        from store.queries.studies import list_studies
        from store.reports.catalogue import offered_reports

        context, scope = self.context, self.context.scope
        with context.workspace.reading() as connection:
            views = [
                view
                for view in list_views(connection, scope)
                if scope.may(Shows.LISTS) or not view.query.by_agents
            ]
            if not scope.may(Shows.WHOLE):
                return Stored(views)
            studies = [study.name for study in list_studies(connection)]
            kinds = [kind.name for kind in kinds_of_items(connection)]
            blind = not scope.may(Shows.OTHERS)
            return Stored(
                views, studies, offered_reports(kinds, blind=blind, named=context.rater is not None)
            )

    def _take_stored(self, stored: Stored) -> None:
        self._stored = [
            *(
                Entry(
                    one_line(view.name, 60),
                    f"Saved view: {one_line(view.query.wanted.sentence((), kinds_with_agents()), 200)}",
                    partial(self._open_view, view),
                    "view",
                )
                for view in stored.views
            ),
            *(
                Entry(
                    one_line(name, 60),
                    "The progress of this study.",
                    partial(self._open_study, name),
                    "study",
                )
                for name in stored.studies
            ),
            *(
                Entry(
                    report.name.replace("_", " "),
                    f"{report.title}: {report.about}",
                    partial(self._open_report, report.name),
                    "report",
                )
                for report in stored.reports
            ),
        ]
        self._list_again()

    async def _open_view(self, view: ViewDetails) -> None:
        if await go_to(self.app, self._navigator, QUEUE):
            self._navigator.list_view(view.query)

    async def _open_study(self, name: str) -> None:
        if await close_dialogs(self.app):
            self._navigator.open_study(name)

    async def _open_report(self, name: str) -> None:
        from store.reports.options import Options

        if await close_dialogs(self.app):
            self._navigator.open_report(name, Options())

    # -- queries and items ----------------------------------------------------------------------------

    def _search(self) -> None:
        typed = self._typed or ""
        read = partial(self._find, typed)
        in_thread(self, read, partial(self._take_found, typed), self._fail, group="find")

    def _find(self, typed: str) -> Found:
        from store.queries.finding import find_groups, find_items

        workspace, scope = self.context.workspace, self.context.scope
        return Found(
            find_groups(workspace, scope, typed, MOST_GROUPS), find_items(workspace, scope, typed, MOST_ITEMS)
        )

    def _take_found(self, typed: str, found: Found) -> None:
        if typed != self._typed:
            return
        self._is_searching = False
        self._found = [*map(self._entry_of_group, found.groups), *map(self._entry_of_item, found.items)]
        self._list_again()
        if self._to_run:
            self._to_run = False
            self.action_run()

    def _fail(self, error: WorkbenchError) -> None:
        self._is_searching = False
        self._say(f"! {one_line(f'{error.title}: {error.message}', 200)}")

    def _entry_of_item(self, item: FoundItem) -> Entry:
        is_named = item.external_id.casefold() == (self._typed or "").casefold()
        kind = task_kinds().get(item.kind)
        what = item.kind if kind is None else kind.singular
        run = partial(self._open_item, item.item_id)
        return Entry(item.external_id, item.title, run, what, score=EXACT + 1 if is_named else FOUND)

    def _entry_of_group(self, group: FoundGroup) -> Entry:
        kind = task_kinds()[group.kind]
        number = pluralize(len(group.items), kind.singular, kind.plural)
        return Entry(group.word, group.text, partial(self._open_group, group), number, score=FOUND)

    async def _open_item(self, item_id: int) -> None:
        if await close_dialogs(self.app):
            self._navigator.open_item(item_id)

    async def _open_group(self, group: FoundGroup) -> None:
        if await close_dialogs(self.app):
            named = f"{group.word} “{one_line(group.text, 60)}”"
            self._navigator.open_queue(QueueFilter(items=group.items, named=named))

    # -- the list -------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._answer(event.value.strip())

    def _answer(self, typed: str) -> None:
        """List what answers to a text, and have the workspace searched for it."""
        if typed == self._typed:
            return
        self._typed, self._found, self._to_run = typed, [], False
        self._is_searching = len(typed) >= LEAST and not self.context.needs_consent
        self._list()
        if self._is_searching:
            self._soon.call(self._search, again=True)
        else:
            self._soon.stop()

    def _list(self, keep: Entry | None = None) -> None:
        typed = self._typed or ""
        answering = ranked([*self.entries, *(self._stored if typed else ()), *self._found], typed)
        self._shown = answering[:LISTED] if typed else answering
        self._draw()
        entries = [entry for _, entry in self._shown]
        place = entries.index(keep) if keep is not None and keep in entries else 0
        self._answers.highlighted = place if entries else None
        self._say("" if entries else "Searching …" if self._is_searching else "Nothing found.")

    def _list_again(self) -> None:
        """List what else was found; a line that was gone to stays chosen."""
        at = self._answers.highlighted
        self._list(self._shown[at][1] if at and at < len(self._shown) else None)

    @property
    def _answers(self) -> OptionList:
        return self.query_one("#answers", OptionList)

    def _draw(self) -> None:
        answers = self._answers
        at, width = answers.highlighted, max(MIN_CELLS, self.query_one(LineInput).size.width - 2)
        answers.set_options(Option(_line(entry, width)) for _, entry in self._shown)
        answers.highlighted = at if at is not None and at < len(self._shown) else None

    def _say(self, text: str) -> None:
        state = self.query_one("#state", Static)
        state.display = bool(text)
        state.update(Content(text))

    # -- keys -----------------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Open or do what is under the cursor; what is still searched is waited for where nothing is sure."""
        self._answer(self.query_one(Input).value.strip())
        at = self._answers.highlighted
        chosen = self._shown[at] if at is not None and at < len(self._shown) else None
        if self._is_searching and not at and (chosen is None or chosen[0] < SURE):
            self._to_run = True
        elif chosen is not None:
            self._run(chosen[1].run)

    def _run(self, run: Callable[[], object]) -> None:
        self.dismiss()
        self.app.call_later(run)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._run(self._shown[event.option_index][1].run)

    def action_move(self, lines: int) -> None:
        """Go to another line."""
        if self._shown:
            self._to_run = False
            self._answers.highlighted = ((self._answers.highlighted or 0) + lines) % len(self._shown)

    def action_page(self, pages: int) -> None:
        """Go some pages up or down."""
        if self._shown:
            to = (self._answers.highlighted or 0) + pages * max(1, self._answers.size.height - 1)
            self._answers.highlighted = max(0, min(to, len(self._shown) - 1))


def _line(entry: Entry, width: int) -> Content:
    """Return an entry as a line: what it is called, what it does, and its key at the end."""
    key, label = one_line(entry.key, 24), one_line(entry.label, min(ID_CELLS, width // 2))
    label += " " * (LABEL_CELLS - cell_len(label))
    room = max(0, width - cell_len(label) - cell_len(key) - 4)
    about = one_line(entry.about, room)
    about += " " * (room - cell_len(about))
    return Content.assemble((label, "bold"), "  ", (about, "$foreground-muted"), "  ", (key, "$text-accent"))
