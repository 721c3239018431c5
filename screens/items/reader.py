"""Reads and lays out items for a rater, and keeps the latest, so that the next one is there at once."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from sqlalchemy import Connection

from screens.items.views import ASKED_AGAIN, GUIDELINE, ItemView, PaneText, ReviewPart, review_part
from screens.widgets.text.markdown import rendered
from screens.widgets.text.sanitize import one_line
from store.errors import UnknownName
from store.kinds.spec import task_kinds
from store.policy.scope import REVEAL, RunRef, Scope, Shows, Visibility
from store.queries.item import load_own
from store.queries.questions import kind_name
from store.queries.runs import shown_by_kind
from store.queries.sent_back import notes_for
from store.studies.studies import StudyGuideline, study_guideline
from store.workspace.duckdb import Workspace

KEPT = 24
"""How many laid-out items are kept; the neighbours of the one shown are always among them."""

RENDERED_AHEAD = 20_000
"""Characters of a Markdown text up to which it is rendered with the reading of its item."""

REVEALED = Visibility(reveals=True)
"""The visibility of an item that an answer has revealed, also after the session reveals no others."""

_TRIES = 3


class ItemReader:
    """Reads and lays out items, and keeps the latest; safe to call from thread workers.

    Args:
        scope: Who reads them. Where it reveals items, an item is read blind first, and once more where all of
            its questions have an answer on disk.
        revealed: The items that were shown revealed, in earlier sessions too: they stay so, whatever is taken
            back; None where no item is revealed, as in previews.
    """

    def __init__(self, workspace: Workspace, scope: Scope, revealed: set[int] | None = None) -> None:
        self._workspace = workspace
        self._scope = scope
        self._revealed = revealed
        self._kept: OrderedDict[int, ItemView] = OrderedDict()
        # How often each item changed: what was read before a change must not be kept after it.
        self._changes: Counter[int] = Counter()
        self._everything = 0
        self._turns: dict[int, threading.Lock] = {}
        self._runs: dict[Scope, Mapping[str, RunRef]] = {}

    def look_as(self, scope: Scope) -> None:
        """Read everything again, as another scope shows it."""
        self._everything += 1
        self._scope = scope
        self._kept.clear()
        self._runs = {}

    def kept(self, item_id: int) -> ItemView | None:
        """Return an item that is kept, without reading."""
        return self._kept.get(item_id)

    def read(self, item_id: int) -> ItemView:
        """Return an item that is kept, or read it from the workspace and keep it.

        Who asks for an item that another thread is reading waits for that read.

        Raises:
            UnknownName: There is no such item, or nothing that shows its kind is installed.
        """
        with self._turns.setdefault(item_id, threading.Lock()):
            if (kept := self.kept(item_id)) is not None:
                return kept
            for _ in range(_TRIES):
                before = self._changes[item_id], self._everything
                view = self._load(item_id)
                if (self._changes[item_id], self._everything) == before:
                    self._keep(view)
                    break
            return view

    def _load(self, item_id: int) -> ItemView:
        with self._workspace.reading() as connection:
            kind = kind_name(connection, item_id)
            part = review_part(kind)
            if part is None:
                known = kind in task_kinds()
                raise UnknownName(
                    "Cannot show item",
                    f"Items of kind {kind!r} are not shown here."
                    if known
                    else f"Unknown task kind {kind!r}.",
                    "See `workbench doctor`.",
                )
            view = part.load(connection, self._with_run(connection, self._scope, part.kind), item_id)
            if not self._scope.may(Shows.AGENTS) and self._is_revealed(view):
                view = self._revealed_view(connection, part, view)
            if self._scope.sitting is not None:
                view = _with_guideline(view, study_guideline(connection, self._scope.sitting.study))
                view = _with_note(view, notes_for(connection, self._scope).get(item_id))
        for pane in (view.subject, *view.case):
            if pane.kind == "markdown" and len(pane.text) <= RENDERED_AHEAD:
                # The panes find it ready; longer texts would keep the item from the screen.
                rendered(pane.text, pane.spans)
        return view

    def _with_run(self, connection: Connection, scope: Scope, kind: str) -> Scope:
        """Return a scope that names the run it shows of a kind, which takes longer to find than an item.

        Where all is hidden, no run is looked for.
        """
        if not scope.may(Shows.AGENTS):
            return scope
        kept = self._runs  # what is read before it is replaced is not kept after it
        if (runs := kept.get(scope)) is None:
            runs = kept[scope] = shown_by_kind(connection, scope)
        return replace(scope, run=runs.get(kind, scope.run))

    def _is_revealed(self, view: ItemView) -> bool:
        """Return whether an item that was read blind is shown with what was hidden of it."""
        if self._revealed is None:
            return False
        return view.item_id in self._revealed or (self._scope.reveals and view.is_answered)

    def _revealed_view(self, connection: Connection, part: ReviewPart, blind: ItemView) -> ItemView:
        """Return an item with what was hidden of it, and the answers of the rater that were changed since."""
        revealed = replace(self._scope, visibility=REVEALED)
        view = part.load(connection, self._with_run(connection, revealed, part.kind), blind.item_id)
        later = load_own(connection, replace(self._scope, phase=REVEAL), blind.item_id)
        undecided = blind.own.cannot_decide is not None
        stands = {one.target for one in blind.questions if undecided or one.target in blind.own.labels}
        return replace(view, own=blind.own.changed_by(later), answered_blind=frozenset(stands))

    def _keep(self, view: ItemView) -> None:
        self._kept[view.item_id] = view
        self._kept.move_to_end(view.item_id)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def forget(self, item_id: int, run_id: UUID | None = None) -> None:
        """Drop an item of which something was recorded.

        Args:
            run_id: The run of the agents that recorded it: another one than is shown may now be the one.
        """
        shown = {run.id for runs in self._runs.values() for run in runs.values()}
        if run_id is not None and run_id not in shown:
            self._runs = {}
        self._changes[item_id] += 1
        self._kept.pop(item_id, None)


def _with_guideline(view: ItemView, shown: StudyGuideline) -> ItemView:
    """Return an item of a study with the guideline of the study in place of its kind's own."""
    heading = f"Guide of {one_line(shown.study, 40)} · version {shown.version}"
    if any(pane.id == GUIDELINE for pane in view.case):
        case = tuple(
            replace(pane, text=shown.text, heading=heading) if pane.id == GUIDELINE else pane
            for pane in view.case
        )
    else:
        case = (*view.case, PaneText(GUIDELINE, "Guide", shown.text, heading=heading))
    return replace(view, case=case)


def _with_note(view: ItemView, note: str | None) -> ItemView:
    """Return an item that is asked again with what an adjudicator wrote about that; None for another one."""
    if note is None:
        return view
    text = "Judge it again; your earlier label is kept."
    part = PaneText(ASKED_AGAIN, "Asked again", f"{note}\n\n{text}".strip())
    return replace(view, case=(part, *view.case))
