"""The app's way of recording: actions go to the lane, and their fate is told, also when it is a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from textual import events, on
from textual.message import Message
from textual.signal import Signal
from textual.timer import Timer

from screens.context import AppContext
from screens.guarded import GuardedApp
from screens.messages import JudgmentFailed, JudgmentSaved, UndoDone, UndoFailed, UndoWanted
from screens.widgets.text.sanitize import one_line
from store.errors import JudgmentRefused, WorkbenchError
from store.ids import now

if TYPE_CHECKING:
    from store.recording import Action, Recorder


KEY_SECONDS = 0.05
"""How long handling a key and painting what it changed takes at most, nearly always."""


@dataclass(frozen=True, slots=True)
class Override:
    """An override for which a reason may still be given.

    Attributes:
        action: What was recorded.
        about: What it is of, in words.
        codes: The reasons that there are, by their codes.
    """

    action: Action
    about: str
    codes: Mapping[str, str]


class RecordingApp(GuardedApp):
    """An app that records one rater's actions; what cannot be written is kept and tried again.

    Attributes:
        context: What the program handed over.
        began: When the session began.
        saved: Published with every action that is on disk.
        failed: Published with every action that could not be written, or was given up.
        unsaved: What is not on disk yet, by the id of its first record.
        failures: Why some of that could not be written, by the same ids.
        last_override: The override that was recorded last, while nothing else was; None without one.
        taken_back: The actions of this session that an undo took back, and no redo brought back.
    """

    RETRY_SECONDS: ClassVar[float] = 5.0
    """How long after a failed write the records that are kept are submitted again."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.began = now()
        self.saved: Signal[Action] = Signal(self, "saved")
        self.failed: Signal[Action] = Signal(self, "failed")
        self.unsaved: dict[UUID, Action] = {}
        self.failures: dict[UUID, BaseException] = {}
        self.last_override: Override | None = None
        self.taken_back: set[UUID] = set()
        self._submitted: dict[UUID, Future[Action]] = {}
        self._retry: Timer | None = None
        self._warned = False

    @cached_property
    def recorder(self) -> Recorder | None:
        """Records the rater's actions; None without a rater, and then nothing can be judged."""
        if self.context.rater is None:
            return None
        from store.recording import Recorder

        # A workspace that an earlier version made may lack the questions of what is judged.
        self.context.prepare()
        return Recorder(self.context.workspace, self.context.rater)

    @property
    def question_names(self) -> Mapping[int, str]:
        """The names of all questions by their keys, read anew: one about a response can come at any time."""
        from store.queries.item import question_names

        with self.context.workspace.reading() as connection:
            return question_names(connection)

    def post_message(self, message: Message) -> bool:
        """Let the agents' records wait while a key is handled; otherwise what every Textual app does."""
        if isinstance(message, events.Key):
            self.context.workspace.lane.give_way(KEY_SECONDS)
        return super().post_message(message)

    def record(self, action: Action) -> None:
        """Submit an action; `saved` or `failed` is published when its fate is known."""
        if self.recorder is None:
            self.say_no_rater()
            return
        # A label and its reason are two writes of one action, so the action's id does not tell them apart.
        number = action.records[0].id
        self.unsaved[number] = action
        # What the key did is painted first: both need the interpreter, and only one of them is waited for.
        self.context.workspace.lane.hold(KEY_SECONDS)
        self._submitted[number] = future = self.recorder.submit(action)
        self._follow(future, JudgmentSaved, lambda error: JudgmentFailed(action, error))

    def undo(self, *, redo: bool = False, before: UUID | None = None) -> None:
        """Take back the rater's latest action, or bring back the one undone last.

        The latest action may be one that waits for the disk, or one that was stored after it.

        Args:
            redo: Whether one is brought back.
            before: The id of the undo, where its key was pressed earlier; what was done since stays.
        """
        if self.recorder is None:
            self.say_no_rater()
            return
        meant = [number for number in self._submitted if before is None or self.unsaved[number].id < before]
        pending = [self._submitted[number] for number in meant if not self._submitted[number].done()]
        if pending:
            # Whether the latest action is on disk must be known before it can be taken back.
            asked = before or self.context.workspace.ids.next()
            pending[-1].add_done_callback(lambda _: self._post(UndoWanted(redo, asked)))
            return
        # No part of an action may come to disk while the action is being taken back.
        self._hold_retry()
        failed = [self.unsaved[number].id for number in self.failures if number in meant]
        since = max(failed, default=None)
        future = self.recorder.redo() if redo else self.recorder.undo(since, before)
        self._follow(
            future, lambda action: UndoDone(action, redo, None if redo else since, before), UndoFailed
        )

    @on(UndoWanted)
    def _undo_wanted(self, message: UndoWanted) -> None:
        self.undo(redo=message.redo, before=message.number)

    def _drop_failed(self, action: UUID) -> Action | None:
        """Give up what waits for the disk of an action; return all of it as one, None when there is none."""
        from store.recording import Action

        numbers = sorted(number for number in self.failures if self.unsaved[number].id == action)
        dropped = [self.unsaved[number] for number in numbers]
        for number in numbers:
            self._settle(number)
        for each in dropped:
            self.failed.publish(each)
        return Action(action, tuple(one for each in dropped for one in each.records)) if dropped else None

    def _settle(self, number: UUID) -> None:
        """Forget an action that is on disk, or that never will be."""
        self.unsaved.pop(number, None)
        self._submitted.pop(number, None)
        self.failures.pop(number, None)
        if not self.unsaved:
            self._warned = False

    def _follow(
        self,
        future: Future[Any],
        succeeded: Callable[[Any], Message],
        failed: Callable[[BaseException], Message],
    ) -> None:
        def report(done: Future[Any]) -> None:
            if done.cancelled():
                # Only the end of the app cancels; there is nobody left to be told.
                return
            error = done.exception()
            self._post(failed(error) if error else succeeded(done.result()))

        future.add_done_callback(report)

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    @on(JudgmentSaved)
    def _judgment_saved(self, message: JudgmentSaved) -> None:
        number = message.action.records[0].id
        was_failing = number in self.failures
        self._settle(number)
        self.saved.publish(message.action)
        if was_failing and not self.failures:
            self.tell("Saved", "What could not be saved before is on disk now.")

    @on(UndoFailed)
    def _undo_failed(self, message: UndoFailed) -> None:
        self._retry_later()
        self.tell("Not undone", f"{message.error}. Nothing was changed; try again.", alarm=True)

    @on(JudgmentFailed)
    def _judgment_failed(self, message: JudgmentFailed) -> None:
        number = message.action.records[0].id
        if isinstance(message.error, JudgmentRefused):
            # What the record cannot take will not be taken a second time either.
            self._settle(number)
            self.report_error(message.error)
        elif number in self.unsaved:
            again = number in self.failures
            self.failures[number] = message.error
            if not again:
                what = str(message.error).rstrip(".")
                self.tell(
                    "Not saved",
                    f"{what}. The record is kept and tried again every {self.RETRY_SECONDS:.0f} s.",
                    alarm=True,
                )
            self._retry_later()
        self.failed.publish(message.action)

    def _retry_later(self) -> None:
        if self.failures and self._retry is None:
            self._retry = self.set_timer(self.RETRY_SECONDS, self._retry_failed)

    def _hold_retry(self) -> None:
        if self._retry is not None:
            self._retry.stop()
            self._retry = None

    def _retry_failed(self) -> None:
        self._hold_retry()
        for number in list(self.failures):
            self.record(self.unsaved[number])

    @on(UndoDone)
    def _undo_done(self, message: UndoDone) -> None:
        action, waiting = message.action, message.since
        if action is not None:
            target = action.records[0].target_action
            if target is not None and message.redo:
                self.taken_back.discard(target)
            elif target is not None:
                self.taken_back.add(target)
                # Of an action that is only partly on disk the rest goes with it.
                self._drop_failed(target)
            self.saved.publish(action)
            self.show_undone(action, redo=message.redo)
        elif waiting is None:
            self.tell("Nothing to redo" if message.redo else "Nothing to undo", "")
        elif (dropped := self._drop_failed(waiting)) is not None:
            self.taken_back.add(waiting)
            self.show_undone(dropped, redo=False, stored=False)
        else:
            # Another undo has taken it back meanwhile.
            self.undo(before=message.before)
        self._retry_later()

    def show_undone(self, action: Action, *, redo: bool, stored: bool = True) -> None:
        """Go to the item that an undo or redo was about.

        Args:
            action: What was recorded; what was dropped when it never came to disk.
            redo: Whether it was brought back.
            stored: Whether there is a record of it.
        """
        show = getattr(self.screen, "show_undone", None)
        if show is not None:
            show(action, redo, stored)
        else:
            from screens.review.undone import undone_in_words

            blind = self.context.settings.blind
            what = undone_in_words(action, self.question_names, blind=blind, since=self.began)
            self.tell("Brought back" if redo else "Taken back", what)

    def say_no_rater(self) -> None:
        """Say why nothing can be judged."""
        self.report_error(
            JudgmentRefused(
                "No rater",
                "Judgments need a rater's name.",
                "Start with --rater NAME, or set rater in the config.",
            )
        )

    def report_error(self, error: WorkbenchError) -> None:
        """Show an error that the user can mend."""
        self.tell(error.title, " ".join(filter(None, (error.message, error.hint))), alarm=True)

    def tell(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say something where it covers nothing: in the screen's own line if it has one, else in a toast.

        Args:
            title: What it is, in a word or two.
            text: The sentence; may hold data, and is never interpreted.
            alarm: Whether something went wrong.
        """
        told = getattr(self.screen, "tell", None)
        if told is not None:
            told(f"{title}: {text}" if text else f"{title}.", alarm=alarm)
        else:
            self.notify(
                one_line(text or f"{title}.", 600),
                title=title if text else "",
                severity="error" if alarm else "information",
                markup=False,
                timeout=12 if alarm else 5,
            )

    def _what_failed(self) -> BaseException | None:
        """Return why a record is not on disk, None when all of them are; the lane must have been drained."""
        for future in self._submitted.values():
            if not future.done():
                return TimeoutError("the disk takes long")
            error = future.exception()
            if error is not None and not isinstance(error, JudgmentRefused):
                return error
        return None
