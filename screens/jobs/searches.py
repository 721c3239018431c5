"""The searches for candidate pairs behind the screens: starting one, and following it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.message import Message
from textual.signal import Signal

from screens.notices import Notices
from store.errors import WorkbenchError
from store.formatting import pluralize

if TYPE_CHECKING:
    from agents.retrieval.candidate_request import CandidateRequest
    from agents.retrieval.candidate_search import CandidateSearch, CandidateSearches, SearchEvent


class Searches:
    """Starts searches, and follows them.

    Args:
        app: To whose messages their events are added.
        make_runner: Makes what runs them, given where its events go.
        notices: Says how one ended.

    Attributes:
        events: Published with every event of a search.
    """

    def __init__(
        self,
        app: App[Any],
        make_runner: Callable[[Callable[[SearchEvent], None]], CandidateSearches],
        notices: Notices,
    ) -> None:
        self.events: Signal[SearchEvent] = Signal(app, "search-events")
        self._app = app
        self._make_runner = make_runner
        self._notices = notices

    @cached_property
    def runner(self) -> CandidateSearches:
        """Runs the searches; made when the first one is asked for."""
        return self._make_runner(self._report)

    def _report(self, event: SearchEvent) -> None:
        if self._app.is_running:
            self._app.post_message(SearchReported(event))

    def take(self, event: SearchEvent) -> None:
        """Say how a search ended, and publish the event."""
        search = event.search
        if event.what == "end" and search.error is not None:
            self._notices.report_error(search.error)
        elif event.what == "end" and search.added is not None:
            known = f", {search.added.known:,} already there" if search.added.known else ""
            self._notices.show("Candidates", f"{pluralize(search.added.added, 'pair')} added{known}.")
        self.events.publish(event)

    @property
    def started(self) -> Sequence[CandidateSearch]:
        """The searches of this session, the latest last."""
        return self.runner.started if "runner" in self.__dict__ else ()

    @property
    def running(self) -> CandidateSearch | None:
        """The search that is at work or paused, None when there is none."""
        return self.runner.running if "runner" in self.__dict__ else None

    @property
    def latest(self) -> CandidateSearch | None:
        """The search that was started last, ended or not; None before any."""
        return self.started[-1] if self.started else None

    def check(self, request: CandidateRequest) -> None:
        """Refuse what cannot be searched. Called in a thread.

        Raises:
            WorkbenchError: See `CandidateSearches.check`.
        """
        self.runner.check(request)

    def start(self, request: CandidateRequest) -> CandidateSearch | None:
        """Start a search behind the screens; say why not where that is not possible."""
        try:
            return self.runner.start(request)
        except WorkbenchError as error:
            self._notices.report_error(error)
            return None


@dataclass
class SearchReported(Message):
    """An event of a search.

    Attributes:
        event: The event.
    """

    event: SearchEvent

    def can_replace(self, message: Message) -> bool:
        """Let a newer report of progress take the place of one not yet handled."""
        if not isinstance(message, SearchReported):
            return False
        return self.event.what == message.event.what == "progress"
