"""The dialog of saved views: one is chosen, saved, renamed or deleted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agents.pipelines.registry import kinds_with_agents
from screens.commands import bindings
from screens.help import first_key, hint
from screens.notices import error_line
from screens.queue.fields import order_phrase
from screens.studies.confirm import ConfirmScreen
from screens.threads import in_thread
from screens.widgets.cursor_lines import cursor_lines
from screens.widgets.line_input import UndoInput
from screens.widgets.text.sanitize import one_line
from store.errors import HiddenData, WorkbenchError
from store.queries.rows import QueueSort, ViewQuery
from store.queries.saved_views import ViewDetails, list_views, refuse_hidden_view, view_ids
from store.saved_views import (
    LONGEST_NAME,
    delete_view,
    refuse_single_items,
    rename_view,
    save_view,
)

if TYPE_CHECKING:
    from screens.context import ScreenContext

LISTED = 10
"""Views that are listed at once."""

NAME_CELLS = 20

KEYS: tuple[tuple[str, str], ...] = (
    ("views.apply", "open"),
    ("views.save", "save filter"),
    ("views.rename", "rename"),
    ("views.delete", "delete"),
    ("views.leave", "cancel"),
)
"""The keys of the dialog, with what they do."""

WITHOUT_VIEWS = ("views.save", "views.leave")
"""Those that do something while there is no view."""


class CountedView(NamedTuple):
    """A saved view with how many items it holds; None where the session may not know."""

    view: ViewDetails
    items: int | None


class ViewsScreen(ModalScreen[ViewQuery | None]):
    """Chooses a saved view; None when the queue stays as it is.

    Args:
        query: What the queue lists, which can be saved.
        saves: Whether a name for that is asked at once.
    """

    CSS_PATH = "modals.tcss"
    BINDINGS = bindings("views")
    AUTO_FOCUS = ""

    def __init__(self, context: ScreenContext, query: ViewQuery, *, saves: bool = False) -> None:
        super().__init__()
        self.context = context
        self._query = query
        self._views: list[CountedView] | None = None
        self._index = 0
        self._message = ""
        self._saves = saves
        # The view that gets another name; None while a new one is named.
        self._renamed: ViewDetails | None = None

    def compose(self) -> ComposeResult:
        """Lay out a line for each view, what the one under the cursor is, and a line for a name."""
        with Vertical(classes="modal") as box:
            box.border_title = "Saved views"
            yield Static(id="views")
            yield Static(id="about")
            yield UndoInput(id="name", max_length=LONGEST_NAME)
            yield Static(id="keys", classes="keys")

    def on_mount(self) -> None:
        """Read the views; ask for the name of a new one."""
        self._lay_out()
        self._read()
        if self._saves:
            self.action_save()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    # -- reading --------------------------------------------------------------------------------------

    def _read(self, then: str = "") -> None:
        self._message = ""
        in_thread(self, self._read_views, partial(self._take, then), self._fail, group="views")

    def _read_views(self) -> list[CountedView]:
        workspace, scope = self.context.workspace, self.context.scope
        with workspace.reading() as connection:
            views = list_views(connection, scope)
        found = []
        for view in views:
            number = None
            with suppress(HiddenData):
                number = len(view_ids(workspace, scope, view.query))
            found.append(CountedView(view, number))
        return found

    def _take(self, then: str, views: list[CountedView]) -> None:
        self._views = views
        names = [each.view.name for each in views]
        self._index = names.index(then) if then in names else max(0, min(self._index, len(views) - 1))
        self._lay_out()

    def _fail(self, error: WorkbenchError) -> None:
        self._message = error_line(error, 300)
        self._lay_out()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def chosen(self) -> CountedView | None:
        """The view under the cursor."""
        return self._views[self._index] if self._views else None

    def _lay_out(self) -> None:
        self.query_one("#views", Static).update(Content("\n").join(self._lines()))
        self.query_one("#about", Static).update(Content(self._about()))
        keys = KEYS if self._views else tuple(each for each in KEYS if each[0] in WITHOUT_VIEWS)
        if self.query_one("#name", Input).display:
            keys = (("views.apply", "save"), ("views.leave", "cancel"))
        self.query_one("#keys", Static).update(Content(hint(self.context.settings, *keys)))

    def _lines(self) -> list[Content]:
        if self._views is None:
            return [Content("" if self._message else "Reading …")]
        if not self._views:
            key = first_key(self.context.settings, "views.save")
            return [Content(f"No saved view yet. {key} saves the filter and order of the queue.")]
        width = min(86, self.app.size.width * 96 // 100 - 4) - 2
        texts = []
        for each in self._views:
            name = one_line(each.view.name, NAME_CELLS)
            name += " " * (NAME_CELLS - cell_len(name))
            number = "hidden" if each.items is None else f"{each.items:,}"
            words = one_line(self._words(each.view.query), max(10, width - NAME_CELLS - 13))
            texts.append(f"{name} {number:>9}  {words}")
        room = min(LISTED, max(3, self.app.size.height - 12))
        return cursor_lines(texts, self._index, room=room, noun="more view")

    @staticmethod
    def _words(query: ViewQuery) -> str:
        return query.wanted.sentence((), kinds_with_agents())

    def _about(self) -> str:
        """Say what happened, what is named, or what the view under the cursor is."""
        if self._message:
            return self._message
        if self.query_one("#name", Input).display:
            if self._renamed is not None:
                return f"Another name for {one_line(self._renamed.name, NAME_CELLS)}:"
            return f"A name for: {one_line(self._words(self._query), 200)}"
        if self.chosen is None:
            return ""
        view = self.chosen.view
        parts = [f"made by {one_line(view.rater, 24)}"]
        parts += [order_phrase(view.query.sort)] if view.query.sort != QueueSort() else []
        parts += [] if view.query.grouped else ["one by one"]
        parts += [f"without {', '.join(view.query.hidden)}"] if view.query.hidden else []
        return " · ".join([*parts, one_line(self._words(view.query), 200)])

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Go to another view."""
        if self._views:
            self._index, self._message = (self._index + lines) % len(self._views), ""
            self._lay_out()

    def action_apply(self) -> None:
        """List the view under the cursor."""
        if self.chosen is None:
            return
        query = self.chosen.view.query
        try:
            refuse_hidden_view(self.context.scope, query)
        except HiddenData as error:
            self._fail(error)
        else:
            self.dismiss(query)

    def action_save(self) -> None:
        """Ask for a name for what the queue lists, where it can be a view."""
        try:
            refuse_single_items(self._query)
        except WorkbenchError as error:
            self._fail(error)
        else:
            self._ask(None)

    def action_rename(self) -> None:
        """Ask for another name for the view under the cursor."""
        if self.chosen is not None:
            self._ask(self.chosen.view)

    def _ask(self, renamed: ViewDetails | None) -> None:
        self._renamed, self._message = renamed, ""
        box = self.query_one("#name", Input)
        box.value = renamed.name if renamed else ""
        box.cursor_position = len(box.value)
        box.placeholder = "name"
        box.display = True
        box.focus()
        self._lay_out()

    @on(Input.Submitted, "#name")
    def _named(self, event: Input.Submitted) -> None:
        event.stop()
        workspace, scope, name = self.context.workspace, self.context.scope, event.value.strip()
        if self._renamed is None:
            work: Callable[[], object] = partial(save_view, workspace, scope, name, self._query)
        else:
            work = partial(rename_view, workspace, scope, self._renamed, name)
        in_thread(self, work, lambda _: self._stored(name), self._fail, group="store", exclusive=False)

    def _stored(self, name: str) -> None:
        self._close_name()
        self._read(name)

    def _close_name(self) -> None:
        self.query_one("#name", Input).display = False
        self.set_focus(None)
        self._message = ""
        self._lay_out()

    def action_delete(self) -> None:
        """Delete the view under the cursor, after a question."""
        if self.chosen is None:
            return
        view = self.chosen.view
        lines = [
            f"The view {one_line(view.name, 60)}, made by {one_line(view.rater, 24)}.",
            "Its items stay.",
        ]

        def answered(agreed: bool | None) -> None:
            if agreed:
                work = partial(delete_view, self.context.workspace, view)
                in_thread(self, work, lambda _: self._read(), self._fail, group="store", exclusive=False)

        self.app.push_screen(
            ConfirmScreen(self.context.settings, "Delete the view?", lines, "deletes it"), answered
        )

    def action_leave(self) -> None:
        """Close the line for a name, else leave."""
        if self.query_one("#name", Input).display:
            self._close_name()
        else:
            self.dismiss(None)
