"""Another run of the agents beside the one that is shown: its verdict, test, log or steps, part by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from screens.dispatch import Handler, Handlers
from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.review.panes import PaneController
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line, shortened
from store.errors import WorkbenchError
from store.policy.scope import RunRef

PARTS = ("verdict", "test", "run", "steps")
"""The parts of a case that are a run's; beside any other part stands the verdict."""

MOST_NAME_CELLS = 48
"""Cells that a run's name has at most in the border of a pane."""

BORDER_CELLS = 22
"""Cells of a pane's border that the name of its part and the corners take."""

_BLIND = "You review blind: the agents' labels are not shown."


class RunComparison:
    """Shows the other run's part in the place of the subject, beside the same part of the run that is shown.

    What judges is not touched by it: the claim and what `a` accepts are those of the run that is shown, and
    lines of the other run cannot be cited.

    Args:
        show: Shows an item as it was chosen.
    """

    def __init__(
        self, shared: JudgingContext, panes: PaneController, show: Callable[[ItemView], None]
    ) -> None:
        self._shared = shared
        self._panes = panes
        self._show = show
        self._run: RunRef | None = None
        self._reader: ItemReader | None = None

    def handlers(self) -> Handlers:
        """Return what the command does that compares runs."""
        return {"review.compare": Handler(self.show_next, self._is_possible, of_item=True)}

    def _is_possible(self) -> bool:
        item = self._shared.item
        return item is None or bool(item.others) or self._run is not None

    def show_next(self) -> None:
        """Put the next run with a label of the item beside the one that is shown; after the last, none."""
        item = self._shared.item
        if item is None:
            self._shared.show_no_item()
        elif item.blind:
            self._shared.show_message(_BLIND)
        elif self._run is None and not item.others:
            self._shared.show_message("No other run of the agents has a label of this item.")
        else:
            following = item.others
            if self._run in item.others:
                following = item.others[item.others.index(self._run) + 1 :]
            elif self._run is not None:
                following = ()
            self._compare(following[0] if following else None, item)

    def _compare(self, run: RunRef | None, item: ItemView) -> None:
        self._run = run
        self._panes.comparing = run is not None
        self._reader = None
        if run is not None:
            context = self._shared.context
            self._reader = ItemReader(context.workspace, replace(context.scope.revealed, run=run))
            is_last = run == item.others[-1]
            then = "shows the item again" if is_last else "shows the next one"
            self._shared.show_message(f"Beside it: {run.name}; {self._shared.key('compare')} {then}.")
        else:
            self._shared.show_message("")
        self._show(self._panes.unswapped(item) if run is not None else item)

    def forget(self, item_id: int | None = None) -> None:
        """Drop what was read of an item; of all of them, and the comparison, without one."""
        if item_id is None:
            self._run = self._reader = None
            self._panes.comparing = False
        elif self._reader is not None:
            self._reader.forget(item_id)

    def follow(self) -> None:
        """Show the part of the other run that belongs to the part which was chosen."""
        item = self._shared.item
        if self._run is not None and item is not None:
            self._show(item)

    def as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with the other run's part in the place of the subject, once it is read."""
        if self._run is None or self._reader is None or view.blind:
            return view
        kept = self._reader.kept(view.item_id)
        if kept is None:
            self._read(self._reader, view.item_id)
            return view
        wanted = self._panes.part_shown(view)
        parts = {part.id: part for part in kept.case}
        # Of a comparison of two texts there are the judge's steps alone.
        part = parts.get(wanted if wanted in PARTS else PARTS[0]) or parts.get("steps")
        if part is None:
            return view
        shown = self._shared.context.runs.shown.get(view.kind)
        beside = replace(part, run=self._name(self._run), part=None, execution=None, links=())
        name = "" if shown is None else self._name(shown)
        return view.with_beside(beside, dict.fromkeys(PARTS, name))

    def _name(self, run: RunRef) -> str:
        """Return a run's name as it fits into the border of a pane."""
        width = self._shared.screen.app.size.width
        room = (width if self._panes.is_small else width // 2) - BORDER_CELLS
        return shortened(run.name, min(room, MOST_NAME_CELLS))

    def _read(self, reader: ItemReader, item_id: int) -> None:
        def show(_: ItemView) -> None:
            item = self._shared.item
            if self._reader is reader and item is not None and item.item_id == item_id:
                self._show(item)

        def not_read(error: WorkbenchError) -> None:
            self._shared.show_message(f"! The other run could not be read: {one_line(str(error), 200)}")

        in_thread(self._shared.screen, partial(reader.read, item_id), show, not_read, group="compare")
