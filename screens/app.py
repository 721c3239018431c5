"""The Textual app: holds the open workspace's context, records judgments, and moves between screens."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.signal import Signal
from textual.timer import Timer

from agents.events import JobEnded, JobEvent, JobProgressed
from screens.commands import Scope, bindings
from screens.context import AppContext
from screens.help import KeysScreen
from screens.key_guard import Bursts, TornSequences
from screens.messages import JobReported, JudgmentFailed, JudgmentSaved, UndoDone, UndoFailed
from store.errors import JudgmentRefused, WorkbenchError
from store.recording import Action, Recorder
from store.session import load_session, save_session

if TYPE_CHECKING:
    import numpy

    from agents.jobs import JobRunner

RETRY_SECONDS = 5.0
"""How long after a failed write the records that are kept are submitted again."""

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
        unsaved: What is not on disk yet, by action.
    """

    TITLE = "workbench"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("app"))
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
        self._retry: Timer | None = None
        self._torn = TornSequences()
        self._bursts = Bursts()
        self._leaving = False

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

    def _open_first_screen(self) -> None:
        from screens.home.screen import HomeScreen
        from screens.queue.screen import QueueScreen

        self.push_screen(HomeScreen())
        if self.context.start_with == "queue":
            self.push_screen(QueueScreen())
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
        """Write what is still queued, then leave; what cannot be written is in the journal or is said."""
        self._keep_place()
        workspace = self.context.workspace
        await asyncio.to_thread(workspace.lane.drain, LEAVE_SECONDS)
        if self.failures and not self._leaving:
            self._leaving = True
            self.notify(
                f"{len(self.failures)} records could not be saved: {next(iter(self.failures.values()))}\n"
                "They are tried again; quit once more to leave without them.",
                title="Not saved",
                severity="error",
                markup=False,
                timeout=30,
            )
            self._retry_failed()
            return
        self.exit()

    def _keep_place(self) -> None:
        for screen in self.screen_stack:
            keep = getattr(screen, "keep_place", None)
            if keep is not None:
                keep()

    def keep_session(self, value: dict[str, Any]) -> None:
        """Store where the rater is, so that another session can go on there."""
        if self.context.rater is not None:
            save_session(self.context.workspace, self.context.rater.id, SESSION, value)

    def kept_session(self) -> dict[str, Any]:
        """Return where the rater was, empty when nothing was kept."""
        rater = self.context.rater
        return load_session(self.context.workspace, rater.id, SESSION) if rater else {}

    # -- keys that are no key presses -----------------------------------------------------------------

    def post_message(self, message: Message) -> bool:
        """Note when keys arrive; otherwise what every Textual app does."""
        if isinstance(message, events.Key):
            self._bursts.arrived(message.time)
        return super().post_message(message)

    async def on_event(self, event: events.Event) -> None:
        """Drop what a torn escape sequence leaves behind; otherwise what every Textual app does."""
        if isinstance(event, events.Key) and self._torn.swallows(event.key, event.character, event.time):
            event.stop()
            return
        if isinstance(event, events.Key):
            self.key_time = event.time
        await super().on_event(event)

    key_time = 0.0
    """When the key that is being handled was typed, in seconds of the monotonic clock."""

    def is_burst(self) -> bool:
        """Return whether the key that is being handled came together with others, as pasted text does."""
        return self._bursts.is_burst(self.key_time)

    # -- recording ------------------------------------------------------------------------------------

    def record(self, action: Action) -> None:
        """Submit an action; `saved` or `failed` is published when its fate is known."""
        if self.recorder is None:
            self.say_no_rater()
            return
        self.unsaved[action.id] = action
        self._follow(self.recorder.submit(action), JudgmentSaved, lambda error: JudgmentFailed(action, error))

    def undo(self, *, redo: bool = False) -> None:
        """Take back the latest action, or bring back the one undone last."""
        if self.recorder is None:
            self.say_no_rater()
            return
        future = self.recorder.redo() if redo else self.recorder.undo()
        self._follow(future, lambda action: UndoDone(action, redo), UndoFailed)

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
        self.unsaved.pop(message.action.id, None)
        self.failures.pop(message.action.id, None)
        self.saved.publish(message.action)

    @on(UndoFailed)
    def _undo_failed(self, message: UndoFailed) -> None:
        self.notify(
            f"{message.error}\nNothing was changed; try again.",
            title="Not undone",
            severity="error",
            markup=False,
        )

    @on(JudgmentFailed)
    def _judgment_failed(self, message: JudgmentFailed) -> None:
        if isinstance(message.error, JudgmentRefused):
            # What the record cannot take will not be taken a second time either.
            self.unsaved.pop(message.action.id, None)
            self.report_error(message.error)
        else:
            self.failures[message.action.id] = message.error
            self.notify(
                f"{message.error}\nThe judgment is kept and tried again every {RETRY_SECONDS:.0f} s.",
                title="Not saved",
                severity="error",
                markup=False,
            )
            if self._retry is None:
                self._retry = self.set_timer(RETRY_SECONDS, self._retry_failed)
        self.failed.publish(message.action)

    def _retry_failed(self) -> None:
        self._retry = None
        for number in list(self.failures):
            self.record(self.unsaved[number])

    @on(UndoDone)
    def _undo_done(self, message: UndoDone) -> None:
        if message.action is None:
            what = "redo" if message.redo else "undo"
            self.notify(f"Nothing to {what}.", markup=False)
            return
        self.saved.publish(message.action)
        self.show_undone(message.action, redo=message.redo)

    def show_undone(self, action: Action, *, redo: bool) -> None:
        """Go to the item that an undo or redo was about."""
        show = getattr(self.screen, "show_undone", None)
        if show is not None:
            show(action, redo)
        else:
            self.notify("Brought back." if redo else "Taken back.", markup=False)

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
        text = "\n".join(part for part in (error.message, error.hint) if part)
        self.notify(text, title=error.title, severity="error", markup=False, timeout=12)

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
        from agents.jobs import AnnotationJob

        if self.context.annotation is None:
            self.report_error(
                WorkbenchError("No model", self.context.annotation_problem, "See `workbench doctor`.")
            )
            return False
        try:
            self.runner.start(AnnotationJob(self.context.annotation))
        except WorkbenchError as error:
            self.report_error(error)
            return False
        return True

    # -- moving about ---------------------------------------------------------------------------------

    def open_review(self, ids: numpy.ndarray[Any, Any], index: int, sentence: str) -> None:
        """Review the items of a queue, in its frozen order, from one of them on."""
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen([int(number) for number in ids], index, sentence))

    def resume(self) -> None:
        """Go on where the rater left off: the item, the scroll places and the draft."""
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen.resumed(self.kept_session()))

    def action_show_keys(self) -> None:
        """List the keys of the screen that is shown."""
        if not isinstance(self.screen, KeysScreen):
            scope: Scope = getattr(self.screen, "SCOPE", "app")
            self.push_screen(KeysScreen(scope, self.context.settings))

    def action_show_jobs(self) -> None:
        """Show the agents at work."""
        from screens.jobs.screen import JobsScreen

        if not isinstance(self.screen, JobsScreen):
            self.push_screen(JobsScreen())
