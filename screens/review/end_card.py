"""The card after the last item of a review's list: its counts, and the keys of the next steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from screens.commands import command_named
from screens.help import key_name, keys_of
from screens.jobs.job_line import drawn_bar
from screens.judging.context import JudgingContext
from screens.judging.order import ReviewOrder
from screens.review.bars import ReviewHeader
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.counting import counted_kinds
from store.queries.queue import items_by_kind, queue_ids
from store.queries.rows import QueueFilter, Status
from store.studies.session import SittingProgress, StudySession, sitting_progress
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    from store.policy.scope import Scope
    from store.studies.dashboard import GoldScore

BAR_CELLS = 30

DRAIN_SECONDS = 5.0
"""Seconds to wait for the last answer of a practice to be stored before it is counted."""

_STATUSES: tuple[Status, ...] = ("judged", "cannot_decide", "skipped", "open")


@dataclass(frozen=True, slots=True)
class ListCounts:
    """A rater's progress in a list of items.

    Attributes:
        counts: How many items of the list have each status.
        elsewhere: Items in no part of the list that are not judged yet, by kind.
    """

    counts: Mapping[Status, int]
    elsewhere: Mapping[str, int]

    @property
    def left(self) -> int:
        """Items of the list that the rater has neither judged nor marked as undecidable."""
        return self.counts["skipped"] + self.counts["open"]


def count_list(workspace: Workspace, scope: Scope, item_ids: Sequence[int]) -> ListCounts:
    """Count the items of a list by status, and the open ones that it does not list; slow, so for a thread.

    Args:
        item_ids: The items of the list; some may be listed twice.
    """
    import numpy

    listed = numpy.unique(numpy.asarray(item_ids, dtype=numpy.int64))
    counts: dict[Status, int] = {}
    for status in _STATUSES:
        ids = numpy.asarray(queue_ids(workspace, scope, QueueFilter(status=status)))
        counts[status] = int(numpy.isin(ids, listed).sum())
    elsewhere = {}
    for kind in items_by_kind(workspace, scope):
        unjudged = [
            numpy.asarray(queue_ids(workspace, scope, QueueFilter(kind=kind, status=status)))
            for status in ("open", "skipped")
        ]
        number = int((~numpy.isin(numpy.concatenate(unjudged), listed)).sum())
        if number:
            elsewhere[kind] = number
    return ListCounts(counts, elsewhere)


class EndCard(Static):
    """The card in place of an item, once the list is at its end."""

    DEFAULT_CSS = """
    EndCard {
        width: 76; max-width: 100%; height: auto; margin: 1 2; padding: 1 2;
        border: round $accent; border-title-color: $text-accent;
    }
    """

    def show(self, listed: str, total: int, found: ListCounts | None, keys: Mapping[str, str]) -> None:
        """Show what is done and what is next.

        Args:
            listed: The items of the list, as a phrase: "completions".
            total: How many items it lists.
            found: The counts; None before they are read.
            keys: The first keys of the commands unjudged, previous and undo, and all of back.
        """
        self.border_title = Content(f"End of the list: {listed}")
        if found is None:
            self.update(Content("Counting …"))
            return
        counts, done = found.counts, total - found.left
        others = [f"{counts['cannot_decide']:,} cannot decide"] if counts["cannot_decide"] else []
        others += [f"{counts['skipped']:,} skipped"] if counts["skipped"] else []
        lines = [
            Content.assemble(drawn_bar(done, total, BAR_CELLS), f"  {done:,} of {total:,} done"),
            Content(" · ".join([f"{counts['judged']:,} judged", *others])),
            Content(""),
        ]
        steps = []
        if found.left:
            steps.append((keys["unjudged"], f"the next of {found.left:,} in this list without your label"))
        elif found.elsewhere:
            steps.append((keys["unjudged"], f"continue: {counted_kinds(found.elsewhere)} without your label"))
        else:
            lines.append(Content("Every item of this workspace has your label."))
        steps += [(keys["back"], "back"), (keys["previous"], "the previous item")]
        steps.append((keys["undo"], "undo your last action"))
        self.update(Content("\n").join([*lines, *_keyed(steps)]))

    def show_sitting(
        self, session: StudySession, found: SittingProgress | None, keys: Mapping[str, str]
    ) -> None:
        """Show that the list of a sitting is at its end: what is done, and what is next.

        Args:
            session: The session whose sitting it is.
            found: The progress; None before it is read.
            keys: The first keys of the commands unjudged, previous and undo, and all of back.
        """
        number = f"Sitting {session.sitting} of {session.sittings}"
        self.border_title = Content(f"{one_line(session.study.name, 30)} · {number}")
        if found is None:
            self.update(Content("Counting …"))
            return
        following, items = found.session, pluralize(found.left, "item")
        is_done = not found.left
        title = (
            "Study finished, thank you."
            if following.finished
            else f"{number} done."
            if is_done
            else f"{items} of this sitting {'is' if found.left == 1 else 'are'} left."
        )
        lines = [
            Content.styled(title, "bold"),
            Content.assemble(
                drawn_bar(following.done, following.total, BAR_CELLS),
                f"  {following.done:,} of {following.total:,} done",
            ),
        ]
        if sentences := what_is_next(found):
            lines += [Content(""), *map(Content, sentences)]
        steps = []
        if not is_done:
            steps.append((keys["unjudged"], f"the next of {items} without your label"))
        elif not following.finished:
            left = pluralize(following.left, "item")
            steps.append((keys["unjudged"], f"continue with sitting {following.sitting}: {left}"))
        steps += [(keys["back"], "back"), (keys["previous"], "the previous item")]
        steps.append((keys["undo"], "undo your last action in this sitting"))
        self.update(Content("\n").join([*lines, Content(""), *_keyed(steps)]))

    def show_practice(self, score: GoldScore | None, keys: Mapping[str, str]) -> None:
        """Show how many items of a practice were right, and that the real work follows.

        Args:
            score: The score; None before it is read.
            keys: The first keys of the commands follow, previous and undo.
        """
        self.border_title = Content("End of the practice")
        if score is None:
            self.update(Content("Counting …"))
            return
        lines = [
            Content.styled(f"{score.right:,} of {pluralize(score.given, 'item')} right.", "bold"),
            drawn_bar(score.right, score.given, BAR_CELLS),
            Content(""),
        ]
        steps = [(keys["follow"], "begin the real work"), (keys["previous"], "the previous item")]
        steps.append((keys["undo"], "undo your last answer"))
        self.update(Content("\n").join([*lines, *_keyed(steps)]))


def what_is_next(found: SittingProgress) -> list[str]:
    """Return the next steps of a rater in a study, as sentences."""
    following, lines = found.session, []
    if following.finished:
        coordinators = " or ".join(one_line(name, 30) for name in following.study.protocol.coordinators)
        lines.append(
            f"All your labels are stored. {coordinators or 'The coordinator'} closes the study when every "
            "rater is done; nothing more is asked of you until then."
        )
        lines += [
            f"{one_line(name, 30)} is open for you too: {pluralize(left, 'item')} left."
            for name, left in found.others.items()
            if left
        ]
    elif found.reveals:
        lines.append(
            "The items come again now, with everything shown. Judge each again: your earlier labels are kept."
        )
    return lines


def _keyed(steps: Sequence[tuple[str, str]]) -> list[Content]:
    """Return a line for each key, its words in one column."""
    width = max(len(key) for key, _ in steps)
    return [Content.assemble((f"{key:<{width}}", "bold $foreground"), f"  {words}") for key, words in steps]


class EndOfList:
    """Shows the card, and counts for it.

    Args:
        shared: The context shared by the screen's components; it has the card.
        header: Names the list.
        failed: Called with the error of a count.
    """

    def __init__(
        self,
        shared: JudgingContext,
        order: ReviewOrder,
        header: ReviewHeader,
        failed: Callable[[WorkbenchError], None],
    ) -> None:
        self._shared = shared
        self._order = order
        self._header = header
        self._failed = failed
        # The number of the latest count.
        self._counts = 0

    def show(self) -> None:
        """Show the card, and count for it."""
        self._lay_out(None)
        self.count()

    def count(self) -> None:
        """Update the counts on the card; an earlier, unfinished count is dropped."""
        self._counts += 1
        done = partial(self._counted, self._counts)
        in_thread(self._shared.screen, self._read, done, self._failed, group="end", exclusive=False)

    def _read(self) -> ListCounts | SittingProgress | GoldScore:
        context = self._shared.context
        if context.study is not None and context.program.lessons:
            from store.studies.practice import practice_score

            # What is on its way to the disk is counted, too.
            context.workspace.lane.drain(DRAIN_SECONDS)
            session = context.study.session
            with context.workspace.reading() as connection:
                return practice_score(connection, session.study.id, session.rater.id)
        if context.study is not None:
            with context.workspace.reading() as connection:
                return sitting_progress(connection, context.study.session)
        return count_list(context.workspace, context.scope, list(self._order.ids))

    def _counted(self, number: int, found: ListCounts | SittingProgress | GoldScore) -> None:
        if number == self._counts:
            self._lay_out(found)

    def _lay_out(self, found: ListCounts | SittingProgress | GoldScore | None) -> None:
        if not self._order.at_end:
            return
        keys = {name: self._shared.key(name) for name in ("unjudged", "previous", "undo", "follow")}
        # Here Escape goes back, too, which it does not while an item is shown.
        keys["back"] = key_name(keys_of(command_named("review.back"), self._shared.context.settings))
        card, study = self._shared.screen.query_one(EndCard), self._shared.context.study
        if self._shared.context.program.lessons:
            card.show_practice(None if isinstance(found, ListCounts | SittingProgress) else found, keys)
        elif study is not None:
            card.show_sitting(study.session, found if isinstance(found, SittingProgress) else None, keys)
        elif found is None or isinstance(found, ListCounts):
            card.show(" · ".join(self._header.listed()), self._order.total, found, keys)
