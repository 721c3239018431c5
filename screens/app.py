"""The Textual app: holds the open workspace's context, records judgments, and moves between screens."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.message import Message
from textual.screen import Screen
from textual.signal import Signal
from textual.timer import Timer
from textual.widget import Widget

from agents.events import JobEnded, JobEvent, JobProgressed
from screens.commands import Scope, bindings
from screens.context import AppContext
from screens.help import KeysScreen
from screens.key_guard import Bursts, TornSequences
from screens.messages import JobReported, JudgmentFailed, JudgmentSaved, UndoDone, UndoFailed, UndoWanted
from screens.palette import CatalogueProvider
from screens.widgets.visible import one_line
from store.errors import JudgmentRefused, WorkbenchError
from store.recording import Action, Recorder
from store.session import load_session, save_session

if TYPE_CHECKING:
    from agents.jobs import JobRunner
    from agents.settings import AnnotationSettings
    from store.queries.queue import Ids

LEAVE_SECONDS = 10.0
"""How long a lost terminal may hold up the end of the program."""

SESSION = "review"


class WorkbenchApp(App[None]):
    """The workbench on a terminal.

    Attributes:
        context: What the program handed over.
        recorder: Records the rater's actions; None without a rater, and then nothing can be judged.
        runner: Runs the agents behind the screens.
        saved: Published with every action that is on disk.
        job_events: Published with every event of the job runner.
        job_state: The latest progress of a running job, None when none runs.
        unsaved: What is not on disk yet, by the id of its first record.
        failures: Why some of that could not be written, by the same ids.
    """

    TITLE = "workbench"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("app"))
    COMMANDS = App.COMMANDS | {CatalogueProvider}
    RETRY_SECONDS: ClassVar[float] = 5.0
    """How long after a failed write the records that are kept are submitted again."""
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of App
        (0, "-narrow"),
        (100, "-medium"),
        (120, "-wide"),
    ]

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.recorder = Recorder(context.workspace, context.rater) if context.rater else None
        self.runner: JobRunner = context.make_runner(lambda event: self._post(JobReported(event)))
        self.saved: Signal[Action] = Signal(self, "saved")
        self.failed: Signal[Action] = Signal(self, "failed")
        self.job_events: Signal[JobEvent] = Signal(self, "job-events")
        self.job_state: JobProgressed | None = None
        self.unsaved: dict[UUID, Action] = {}
        self.failures: dict[UUID, BaseException] = {}
        self._submitted: dict[UUID, Future[Action]] = {}
        self._retry: Timer | None = None
        self._session: dict[str, Any] | None = None
        self._torn = TornSequences()
        self._bursts = Bursts()
        self._leaving = False
        self._warned = False

    # -- starting and leaving -------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Take over the settings, listen to signals, and show the first screen."""
        settings = self.context.settings
        self.set_keymap(settings.keys)
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave_at_once, number)
        self._open_first_screen()
        if self.context.begin_with is not None:
            # Only now is there somebody to hear what the job tells.
            self.call_after_refresh(self._begin, self.context.begin_with)

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal; on Linux and macOS the one that tells pasting from keys."""
        found = super().get_driver_class()
        if found.__name__ == "LinuxDriver":
            from screens.terminal import CarefulDriver

            return CarefulDriver
        return found

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Offer Textual's choice of themes in the palette; everything else there comes from the catalogue."""
        return (command for command in super().get_system_commands(screen) if command.title == "Theme")

    def _open_first_screen(self) -> None:
        from screens.home.screen import HomeScreen
        from screens.queue.screen import open_queue

        self.push_screen(HomeScreen())
        if self.context.start_with == "queue":
            open_queue(self)
        elif self.context.start_with == "resume":
            self.resume()

    def _leave_at_once(self, number: int) -> None:
        """End as after a quit key, and in any case soon: the terminal may be gone."""
        if self._leaving:
            return
        self._leaving = True

        def end_anyway() -> None:
            self.context.workspace.close()
            os._exit(128 + number)

        watchdog = threading.Timer(LEAVE_SECONDS, end_anyway)
        watchdog.daemon = True
        watchdog.start()
        self._keep_place()
        self.exit(return_code=128 + number)

    async def action_quit(self) -> None:
        """Write what is still queued, then leave; what cannot be written is said first."""
        self._keep_place()
        await asyncio.to_thread(self.context.workspace.lane.drain, LEAVE_SECONDS)
        problem = self._what_failed()
        if problem is not None and not self._warned:
            self._warned = True
            self.tell(
                "Not saved",
                f"{len(self.unsaved):,} records are not on disk: {problem}. They are tried again; "
                "quit once more to leave without them.",
                alarm=True,
            )
            self._retry_failed()
            return
        self.exit()

    def _what_failed(self) -> BaseException | None:
        """Return why a record is not on disk, None when all of them are; the lane must have been drained."""
        for future in self._submitted.values():
            if not future.done():
                return TimeoutError("the disk takes long")
            error = future.exception()
            if error is not None and not isinstance(error, JudgmentRefused):
                return error
        return None

    def _keep_place(self) -> None:
        for screen in self.screen_stack:
            keep = getattr(screen, "keep_place", None)
            if keep is not None:
                keep()

    def keep_session(self, value: dict[str, Any]) -> None:
        """Store where the rater is, so that another session can go on there."""
        self._session = value
        if self.context.rater is not None:
            save_session(self.context.workspace, self.context.rater.id, SESSION, value)

    def kept_session(self) -> dict[str, Any]:
        """Return where the rater was, empty when nothing was kept."""
        rater = self.context.rater
        if self._session is None:
            self._session = load_session(self.context.workspace, rater.id, SESSION) if rater else {}
        return self._session

    # -- keys that are no key presses -----------------------------------------------------------------

    def post_message(self, message: Message) -> bool:
        """Note when keys arrive; otherwise what every Textual app does."""
        if isinstance(message, events.Key):
            self._bursts.arrived(message.time)
        return super().post_message(message)

    async def on_event(self, event: events.Event) -> None:
        """Drop what a torn escape sequence leaves behind; otherwise what every Textual app does."""
        if isinstance(event, events.Key):
            # A key that bubbled up from a widget was looked at before, and others may have come since.
            if not event.is_forwarded and self._torn.swallows(event.key, event.character, event.time):
                event.stop()
                self.tell(
                    "Torn key", "What looks like the rest of a torn key was left out; press the key again."
                )
                return
            self.key_time, self.key_name = event.time, event.key
        await super().on_event(event)

    key_time = 0.0
    """When the key whose action runs was typed, in seconds of the monotonic clock."""

    key_name = ""
    """What Textual calls that key."""

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._bursts.came_together(times)

    def is_burst(self, time: float | None = None) -> bool:
        """Return whether a key came together with others, as pasted text does.

        Args:
            time: When the key was typed; None for the key whose action runs.
        """
        return self._bursts.is_burst(self.key_time if time is None else time)

    # -- recording ------------------------------------------------------------------------------------

    def record(self, action: Action) -> None:
        """Submit an action; `saved` or `failed` is published when its fate is known."""
        if self.recorder is None:
            self.say_no_rater()
            return
        # A label and its reason are two writes of one action, so the action's id does not tell them apart.
        number = action.records[0].id
        self.unsaved[number] = action
        self._submitted[number] = future = self.recorder.submit(action)
        self._follow(future, JudgmentSaved, lambda error: JudgmentFailed(action, error))

    def undo(self, *, redo: bool = False) -> None:
        """Take back the latest action, or bring back the one undone last."""
        if self.recorder is None:
            self.say_no_rater()
            return
        pending = [future for future in self._submitted.values() if not future.done()]
        if pending:
            # Whether the latest action is on disk must be known before it can be taken back.
            pending[-1].add_done_callback(lambda _: self._post(UndoWanted(redo)))
            return
        if self.failures and not redo:
            self._drop_latest_failed()
            return
        future = self.recorder.redo() if redo else self.recorder.undo()
        self._follow(future, lambda action: UndoDone(action, redo), UndoFailed)

    @on(UndoWanted)
    def _undo_wanted(self, message: UndoWanted) -> None:
        self.undo(redo=message.redo)

    def _drop_latest_failed(self) -> None:
        """Take back an action that never came to disk."""
        number = max(self.failures)
        action = self.unsaved[number]
        self._settle(number)
        self.failed.publish(action)
        self.show_undone(action, redo=False, stored=False)

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
                self.tell(
                    "Not saved",
                    f"{message.error}. The record is kept and tried again every {self.RETRY_SECONDS:.0f} s.",
                    alarm=True,
                )
            if self._retry is None:
                self._retry = self.set_timer(self.RETRY_SECONDS, self._retry_failed)
        self.failed.publish(message.action)

    def _retry_failed(self) -> None:
        if self._retry is not None:
            self._retry.stop()
            self._retry = None
        for number in list(self.failures):
            self.record(self.unsaved[number])

    @on(UndoDone)
    def _undo_done(self, message: UndoDone) -> None:
        if message.action is None:
            self.tell("Nothing to redo" if message.redo else "Nothing to undo", "")
            return
        self.saved.publish(message.action)
        self.show_undone(message.action, redo=message.redo)

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
            self.tell("Brought back" if redo else "Taken back", "")

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

    # -- jobs -----------------------------------------------------------------------------------------

    @on(JobReported)
    def _job_reported(self, message: JobReported) -> None:
        event = message.event
        if isinstance(event, JobProgressed):
            self.job_state = event
        elif isinstance(event, JobEnded):
            self.job_state = None
            if event.error is not None:
                self.report_error(event.error)
        self.job_events.publish(event)

    def start_annotation(self) -> bool:
        """Start the configured run behind the screens; return whether it was started."""
        if self.context.annotation is None:
            self.report_error(
                WorkbenchError("No model", self.context.annotation_problem, "See `workbench doctor`.")
            )
            return False
        return self._begin(self.context.annotation)

    def _begin(self, annotation: AnnotationSettings) -> bool:
        from agents.jobs import AnnotationJob

        try:
            self.runner.start(AnnotationJob(annotation))
        except WorkbenchError as error:
            self.report_error(error)
            return False
        return True

    # -- moving about ---------------------------------------------------------------------------------

    def open_review(self, ids: Ids, index: int, sentence: str) -> None:
        """Review the items of a queue, in its frozen order, from one of them on."""
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen(ids.tolist(), index, sentence))

    def resume(self) -> None:
        """Go on where the rater left off: the item, the scroll places and the draft."""
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen.resumed(self.kept_session()))

    def action_show_keys(self) -> None:
        """List the keys of the screen that is shown, and of what has the focus there."""
        from screens.review.screen import label_keys

        if not isinstance(self.screen, KeysScreen):
            scope: Scope = getattr(self.screen, "SCOPE", "app")
            labels = label_keys() if scope == "review" else ()
            self.push_screen(KeysScreen(scope, self.context.settings, labels, _keys_of_widget(self.focused)))

    def action_show_jobs(self) -> None:
        """Show the agents at work."""
        from screens.jobs.screen import JobsScreen

        if not isinstance(self.screen, JobsScreen):
            self.push_screen(JobsScreen())


def _keys_of_widget(widget: Widget | None) -> list[tuple[str, str]]:
    """Return the keys that a widget listens to, with what they do, where that is said."""
    if widget is None:
        return []
    listed = [each for each in type(widget).BINDINGS if isinstance(each, Binding)]
    return [(binding.key, f"{binding.tooltip}.") for binding in listed if binding.tooltip]
