"""How a screen opens another one: at once, so that the next key reaches the screen that was opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from screens.queue.query import QueueQuery
    from store.queries.rows import Ids, QueueFilter, ViewQuery
    from store.rankings.comparison import ComparedQueries, MethodPair
    from store.reports.options import Options
    from store.studies.session import StudySession


@dataclass(frozen=True, slots=True)
class LoadedText:
    """A text to show.

    Attributes:
        language: The Pygments name of its language; None where it is not known.
        lines: The lines to put the cursor on, from 1; None for no cursor.
    """

    text: str
    language: str | None
    title: str
    lines: range | None = None


class OpenedReview(Protocol):
    """A review that was opened from a list."""

    @property
    def nearest_item(self) -> int | None:
        """The item that it shows or showed last; None without any."""

    def complete_order(self, ids: Ids) -> None:
        """Go on through the whole queue, of which only the beginning was known when the review was opened."""


class Navigator(Protocol):
    """Opens screens. The app implements it; no message is posted, since a key could come before that."""

    def go_home(self) -> None:
        """Show the first screen, under which there is none; what lies over it is closed."""

    def open_queue(self, wanted: QueueFilter | None = None) -> None:
        """Show the queue as it was left; the first time, as it was in the session before.

        Args:
            wanted: The items behind a figure, say; they get a list of their own, from which one comes back.
        """

    def list_view(self, view: ViewQuery) -> None:
        """List the items of a view in the queue, which is shown."""

    def open_adjudication(self) -> None:
        """Show what raters disagree about."""

    def open_review(
        self, ids: Ids, index: int, query: QueueQuery | None = None, *, whole: bool = True
    ) -> OpenedReview:
        """Review the items of a queue, in its frozen order, from one of them on.

        Args:
            ids: The items in their order.
            index: The place of the one to begin with.
            query: The query of the queue; all items in the order of import by default.
            whole: Whether these are all; of the first ones `complete_order` is called with the others.
        """

    def open_item(self, item_id: int) -> None:
        """Review all items in the order of the queue, from one of them on."""

    def open_text(self, what: str, title: str, load: Callable[[], LoadedText]) -> None:
        """Show a text.

        Args:
            what: What it is, for the first line.
            title: The title while it is loaded, and where it cannot be.
            load: Loads it; called in a thread.
        """

    def resume(self) -> None:
        """Go on where the rater left off: the item, the scroll places and the draft."""

    def open_jobs(self, run_id: UUID | None = None) -> None:
        """Show the runs of the agents and other works; nothing to a rater of an open study.

        Args:
            run_id: The run under the cursor at first; None for the one at work, or the latest.
        """

    def open_studies(self) -> None:
        """List the studies; a rater of an open study is refused."""

    def open_study(self, name: str) -> None:
        """Show how far a study is."""

    def open_new_study(self) -> None:
        """Show the form of a new study."""

    def open_sql(self) -> None:
        """Ask the workspace in SQL."""

    def open_search(self, query: str = "", repository: str = "") -> None:
        """Search a repository for the functions that answer a query; a rater of an open study is refused.

        Args:
            query: The query to begin with; empty for the latest search.
            repository: The repository to begin with; empty for that of the latest search.
        """

    def open_reports(self) -> None:
        """List the reports; a rater of an open study is refused."""

    def open_report(self, name: str, options: Options) -> None:
        """Show a report; a rater of an open study is refused."""

    def open_by_query(self, asked: MethodPair) -> None:
        """Compare two methods of retrieval query by query; a rater of an open study is refused.

        Args:
            asked: Which two, and by whose labels.
        """

    def open_ranked(self, queries: ComparedQueries, index: int, went: Callable[[int], object]) -> None:
        """Show the codes that two methods have for a query, side by side.

        Args:
            queries: The methods, and the queries in their order.
            index: The one that is shown.
            went: Called with the place of another query that is shown.
        """

    def open_new_comparisons(self) -> None:
        """Show the form of new comparisons."""

    def open_splits(self) -> None:
        """List the splits with their figures; a rater of an open study is refused."""

    def open_new_split(self) -> None:
        """Show the form of a new split."""

    def open_export(self, listed: ViewQuery | None = None) -> None:
        """Show the form of an export; a rater of an open study is refused.

        Args:
            listed: The queue whose items can be chosen; None for none.
        """

    def open_sitting(self, session: StudySession) -> None:
        """Go to another sitting of a study, or to another study; what shows the one before is closed."""

    def practise(self) -> None:
        """Leave for the practice, from which one comes back."""

    def begin_work(self) -> None:
        """Leave the practice for what one came from."""
