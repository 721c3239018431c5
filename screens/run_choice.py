"""The run of the agents whose labels all screens show: the rater's choice, or the default one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from textual.app import App
from textual.signal import Signal

from agents.jobs.events import ItemEnded, JobEvent
from screens.threads import in_thread
from screens.widgets.text.sanitize import shortened
from store.first_look import RUN_SESSION
from store.formatting import pluralize
from store.policy.scope import Shows
from store.record.session import load_session, save_session

if TYPE_CHECKING:
    from store.policy.scope import RunRef, Scope
    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace


RUN_LEAST = 24
"""Cells in which a name beside another still says something."""

REVEALED_SESSION = "revealed"
"""The key under which the items are stored that a blind review has revealed to a rater."""


class ProgramParts(Protocol):
    """The part of the app's context from which a run is chosen (`screens.context.AppContext`)."""

    @property
    def workspace(self) -> Workspace:
        """The open workspace."""
        ...

    @property
    def rater(self) -> RaterRef | None:
        """Who judges; None without a name."""
        ...

    @property
    def run(self) -> RunRef | None:
        """The run that is shown at first."""
        ...

    @property
    def scope(self) -> Scope:
        """The scope of every query for people."""
        ...


class RunChoice:
    """Which run is shown. A blind review and a study show none, and nothing is read of any.

    Args:
        app: In whose order of messages changes are published.
        program: The workspace, the rater, and the run that is shown at first.

    Attributes:
        chosen: The rater's choice; None for the default run of each kind.
        shown: The run that is shown of each kind, by kind, as it was last read; none before that.
        reveals: Whether a blind review shows what was hidden of an item once the rater has answered it.
        revealed: The items on which it was shown, in earlier sessions too; those of them once they are read.
        changed: Published when another run is shown than was known; with True where labels that screens
            have read are those of the run before.
    """

    def __init__(self, app: App[Any], program: ProgramParts) -> None:
        self._app = app
        self._program = program
        self.chosen: RunRef | None = program.run if program.scope.may(Shows.LISTS) else None
        self.shown: Mapping[str, RunRef] = MappingProxyType({})
        self.changed: Signal[bool] = Signal(app, "run-changed")
        self.reveals = program.scope.reveals
        self.revealed: set[int] = set()
        self._heard: set[UUID] = set()

    @property
    def scope(self) -> Scope:
        """The scope of every query for people."""
        return replace(self._program.scope.revealing(reveals=self.reveals), run=self.chosen)

    def read_revealed(self) -> None:
        """Read which items were revealed to the rater before, who has seen them for good; for a thread."""
        rater = self._program.rater
        if rater is not None and not self._program.scope.may(Shows.AGENTS):
            kept = load_session(self._program.workspace, rater.id, REVEALED_SESSION).get("items")
            self.revealed.update(kept if isinstance(kept, list) else ())

    def reveal(self, item_id: int) -> None:
        """Take note that a blind review shows what was hidden of an item."""
        if item_id in self.revealed:
            return
        self.revealed.add(item_id)
        if self._program.rater is not None:
            value = {"items": sorted(self.revealed)}
            save_session(self._program.workspace, self._program.rater.id, REVEALED_SESSION, value)

    def words(self, width: int, kind: str | None = None) -> str:
        """Return what is shown as a phrase of at most so many cells; empty where no run is known.

        Args:
            width: The cells.
            kind: Of which kind; None for all.
        """
        names = list(dict.fromkeys(run.name for of, run in self.shown.items() if kind in (None, of)))
        if not names:
            return ""
        # Each by itself: the beginning of one with the end of another would name a run that is not there.
        each = (width - 2 - 2 * (len(names) - 1)) // len(names)
        if len(names) > 1 and each < RUN_LEAST:
            return f"◆ {pluralize(len(names), 'run')}"
        return f"◆ {', '.join(shortened(name, max(each, 10)) for name in names)}"

    def choose(self, run: RunRef | None) -> None:
        """Show another run, in later sessions too; None for the default one of each kind."""
        if not self._program.scope.may(Shows.LISTS) or run == self.chosen:
            return
        self.chosen = run
        if self._program.rater is not None:
            value = {} if run is None else {"id": str(run.id)}
            save_session(self._program.workspace, self._program.rater.id, RUN_SESSION, value)
        self.shown = MappingProxyType({})
        self.changed.publish(True)
        self.read()

    def follow(self, event: JobEvent) -> None:
        """Read which run is shown when a run has its first label, which can make it the default one."""
        if not isinstance(event, ItemEnded) or not event.outcomes or event.run_id in self._heard:
            return
        self._heard.add(event.run_id)
        self.read()

    def read(self) -> None:
        """Read which run is shown, in a thread; a failure is left to what reads the labels."""
        if self._program.scope.may(Shows.LISTS):
            in_thread(self._app, self.read_shown, self.take, lambda _: None, group="run")

    def read_shown(self) -> Mapping[str, RunRef]:
        """Return the run that is shown of each kind; for a thread."""
        from store.queries.runs import shown_by_kind

        if not self._program.scope.may(Shows.LISTS):
            return {}
        with self._program.workspace.reading() as connection:
            return shown_by_kind(connection, self.scope)

    def take(self, shown: Mapping[str, RunRef]) -> None:
        """Take in which run is shown, as it was read."""
        before, self.shown = self.shown, shown
        if shown != before:
            # The first time nothing else was shown before.
            self.changed.publish(any(kind in before for kind in shown))
