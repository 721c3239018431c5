"""Has the actions of a session recorded: failed writes are kept and tried again, and can be undone before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from textual.app import App
from textual.signal import Signal
from textual.timer import Timer

from screens.notices import Notices
from screens.threads import deliver, follow
from store.errors import JudgmentRefused
from store.policy.scope import ADJUDICATE
from store.record.ids import now

if TYPE_CHECKING:
    from screens.items.views import ItemView
    from store.policy.scope import Sitting
    from store.record.actions import Action, Recorder
    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace

KEY_SECONDS = 0.05
"""How long handling a key and painting what it changed takes at most, nearly always."""


@dataclass(frozen=True, slots=True)
class Override:
    """An override for which a reason may still be given.

    Attributes:
        about: Its item, in words.
        codes: The reasons that there are, by their codes.
        item: Its item, as that was left.
        is_last: Whether nothing was recorded after it, so that the next undo takes it back.
    """

    action: Action
    about: str
    codes: Mapping[str, str]
    item: ItemView
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo or redo.

    Attributes:
        action: The recorded action; the dropped one where it was never written.
        redo: Whether it was brought back.
        stored: Whether there is a record of it.
    """

    action: Action
    redo: bool
    stored: bool = True


class SessionRecorder:
    """Has the actions of a rater's session recorded in the order of the keys.

    Args:
        app: In whose order of messages results are delivered.
        rater: Who records; None where nobody does, and then nothing can be judged.
        prepare: Completes a workspace that an earlier version made; called before the first record.
        sitting: Returns the sitting of a study that is worked on: undo and redo keep to it.

    Attributes:
        saved: Published with every action that is on disk.
        failed: Published with every action that could not be written, or was given up.
        unsaved: The actions that are not on disk yet, by the id of their first record.
        failures: Why some of that could not be written, by the same ids.
        last_override: The override that was recorded last, while nothing else was; None without one.
        signs: The signs of the session's judgments by their actions, in order (`screens.judging.recent`).
        taken_back: The actions of this session that an undo took back, and no redo brought back.
        warned: Whether the rater, about to leave, was warned of unsaved records.
    """

    RETRY_SECONDS: ClassVar[float] = 5.0
    """How long after a failed write the records that are kept are submitted again."""

    def __init__(
        self,
        app: App[Any],
        *,
        workspace: Workspace,
        rater: RaterRef | None,
        prepare: Callable[[], None],
        notices: Notices,
        show_undo_result: Callable[[UndoResult], None],
        sitting: Callable[[], Sitting | None] = lambda: None,
    ) -> None:
        self.began = now()
        self.saved: Signal[Action] = Signal(app, "saved")
        self.failed: Signal[Action] = Signal(app, "failed")
        self.unsaved: dict[UUID, Action] = {}
        self.failures: dict[UUID, BaseException] = {}
        self.last_override: Override | None = None
        self.signs: dict[UUID, str] = {}
        self.taken_back: set[UUID] = set()
        self.warned = False
        self._app = app
        self._workspace = workspace
        self._rater = rater
        self._prepare = prepare
        self._notices = notices
        self._show_undone = show_undo_result
        self._sitting = sitting
        self._submitted: dict[UUID, Future[Action]] = {}
        # What was undone before it was saved, until the journal says so.
        self._dropped: dict[UUID, tuple[Action, Future[None]]] = {}
        self._retrying: Timer | None = None

    @cached_property
    def _store(self) -> Recorder | None:
        if self._rater is None:
            return None
        from store.record.actions import Recorder

        # A workspace that an earlier version made may lack the questions of what is judged.
        self._prepare()
        return Recorder(self._workspace, self._rater)

    @property
    def question_names(self) -> Mapping[int, str]:
        """The names of all questions by their keys."""
        from store.queries.item import question_names

        with self._workspace.reading() as connection:
            return question_names(connection)

    def waiting(self, item_id: int) -> list[Action]:
        """Return what was recorded of an item and is not on disk yet, in the order of the keys."""
        waiting = [each for each in self.unsaved.values() if each.item_id == item_id]
        return sorted(waiting, key=lambda action: action.records[0].id)

    # -- submitting -----------------------------------------------------------------------------------

    def submit(self, action: Action) -> None:
        """Submit an action; `saved` or `failed` is published when its fate is known."""
        if self._store is None:
            self._notices.show_no_rater()
            return
        # A label and its reason are two writes of one action, so the action's id does not identify them.
        number = action.records[0].id
        self.unsaved[number] = action
        # The effect of the key is painted first: both need the interpreter, and only painting is waited for.
        self._workspace.lane.hold(KEY_SECONDS)
        self._submitted[number] = future = self._store.submit(action)
        follow(self._app, future, self._submit_saved, partial(self._submit_failed, action))

    def _submit_saved(self, action: Action) -> None:
        number = action.records[0].id
        was_failing = number in self.failures
        self._settle(number)
        self.saved.publish(action)
        if was_failing and not self.failures:
            self._notices.show("Saved", "All records are saved now.")

    def _submit_failed(self, action: Action, error: BaseException) -> None:
        number = action.records[0].id
        if isinstance(error, JudgmentRefused):
            # A record that was refused would be refused again.
            self._settle(number)
            self._notices.report_error(error)
        elif number in self.unsaved:
            again = number in self.failures
            self.failures[number] = error
            if not again:
                what = str(error).rstrip(".")
                self._notices.show(
                    "Not saved",
                    f"{what}. The record is kept; saving is tried again every {self.RETRY_SECONDS:.0f} s.",
                    alarm=True,
                )
            self._retry_later()
        self.failed.publish(action)

    def _settle(self, number: UUID) -> None:
        """Forget an action that is on disk, or that never will be."""
        self.unsaved.pop(number, None)
        self._submitted.pop(number, None)
        self.failures.pop(number, None)
        if not self.unsaved:
            self.warned = False

    # -- retrying -------------------------------------------------------------------------------------

    def retry(self) -> None:
        """Submit again what could not be written."""
        self._hold_retry()
        for number in list(self.failures):
            # On a slow disk another one may still be waiting for its turn.
            if self._submitted[number].done():
                self.submit(self.unsaved[number])
        if self._dropped:
            self._drop([action for action, _ in self._dropped.values()])

    def _retry_later(self) -> None:
        if (self.failures or self._dropped) and self._retrying is None:
            self._retrying = self._app.set_timer(self.RETRY_SECONDS, self.retry)

    def _hold_retry(self) -> None:
        if self._retrying is not None:
            self._retrying.stop()
            self._retrying = None

    @property
    def count_unsaved(self) -> int:
        """The number of unsaved records, with those undone before they were saved but perhaps journaled."""
        return len(self.unsaved) + len(self._dropped)

    @property
    def problem(self) -> BaseException | None:
        """Why a record is not on disk, None when all of them are; the lane must have been drained."""
        futures: list[Future[Any]] = [*self._submitted.values()]
        futures += [future for _, future in self._dropped.values()]
        for future in futures:
            if not future.done():
                return TimeoutError("the disk is slow")
            error = future.exception()
            if error is not None and not isinstance(error, JudgmentRefused):
                return error
        return None

    # -- undoing --------------------------------------------------------------------------------------

    def redo(self) -> None:
        """Bring back the action undone last."""
        self.undo(redo=True)

    def undo(self, *, redo: bool = False, before: UUID | None = None, rulings: bool = False) -> None:
        """Take back the rater's latest action, or bring back the one undone last.

        The latest action may be one that waits for the disk, or one that was stored after it.

        Args:
            redo: Whether one is brought back.
            before: The id of the undo, where its key was pressed earlier; what was done since stays.
            rulings: Whether it is a ruling of an adjudicator, and not what the rater did elsewhere.
        """
        if self._store is None:
            self._notices.show_no_rater()
            return
        meant = [
            number
            for number in self._submitted
            if (before is None or self.unsaved[number].id < before)
            and _is_ruling(self.unsaved[number]) == rulings
        ]
        pending = [self._submitted[number] for number in meant if not self._submitted[number].done()]
        if pending:
            # Whether the latest action is on disk must be known before it can be taken back.
            moment = before or self._workspace.ids.next()
            again = partial(self.undo, redo=redo, before=moment, rulings=rulings)
            pending[-1].add_done_callback(lambda _: deliver(self._app, again))
            return
        # No part of an action may come to disk while the action is being taken back.
        self._hold_retry()
        failed = [self.unsaved[number].id for number in self.failures if number in meant]
        since = max(failed, default=None)
        store, sitting = self._store, self._sitting()
        if redo:
            future = store.redo(sitting=sitting, rulings=rulings)
        else:
            future = store.undo(since, before, sitting=sitting, rulings=rulings)
        since = None if redo else since
        done = partial(self._undo_done, redo=redo, since=since, before=before, rulings=rulings)
        follow(self._app, future, done, self._undo_failed)

    def _undo_failed(self, error: BaseException) -> None:
        self._retry_later()
        self._notices.show("Not undone", f"{error}. Nothing was changed; try again.", alarm=True)

    def _undo_done(
        self, action: Action | None, *, redo: bool, since: UUID | None, before: UUID | None, rulings: bool
    ) -> None:
        """Tell what an undo came to; nothing stored, it is the action that waits for the disk since."""
        if action is not None:
            target = action.records[0].target_action
            if target is not None and redo:
                self.taken_back.discard(target)
            elif target is not None:
                self.taken_back.add(target)
                # Of an action that is only partly on disk the rest goes with it.
                self._drop_failed(target)
            self.saved.publish(action)
            self._show_undone(UndoResult(action, redo))
        elif since is None:
            self._notices.show("Nothing to redo" if redo else "Nothing to undo", "")
        elif (dropped := self._drop_failed(since)) is not None:
            self.taken_back.add(since)
            self._show_undone(UndoResult(dropped, redo=False, stored=False))
        else:
            # Another undo has taken it back meanwhile.
            self.undo(before=before, rulings=rulings)
        self._retry_later()

    def _drop_failed(self, action: UUID) -> Action | None:
        """Give up what waits for the disk of an action; return all of it as one, None when there is none."""
        from store.record.actions import Action

        numbers = sorted(number for number in self.failures if self.unsaved[number].id == action)
        dropped = [self.unsaved[number] for number in numbers]
        for number in numbers:
            self._settle(number)
        for each in dropped:
            self.failed.publish(each)
        self._drop(dropped)
        return Action(action, tuple(one for each in dropped for one in each.records)) if dropped else None

    def _drop(self, actions: Sequence[Action]) -> None:
        """Have the journal say that what may be in it was taken back; that is tried until it is written."""
        if self._store is None or not actions:
            return
        future = self._store.drop(actions)
        self._dropped |= {each.records[0].id: (each, future) for each in actions}

        def written(_: None) -> None:
            for each in actions:
                self._dropped.pop(each.records[0].id, None)

        follow(self._app, future, written, lambda _: self._retry_later())


def _is_ruling(action: Action) -> bool:
    """Return whether an action was made in an adjudication."""
    return action.records[0].phase == ADJUDICATE
