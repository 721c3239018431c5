"""The Textual app: starts and leaves, follows the jobs, and moves between screens."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.signal import Signal

from agents.events import JobEnded, JobEvent
from screens.commands import Scope, bindings, key_map
from screens.context import AppContext
from screens.memory import collect_when_idle, keep_what_is_there
from screens.messages import JobReported
from screens.testing import TestingApp
from store.counted import counted
from store.errors import WorkbenchError
from store.session import load_session, save_session

if TYPE_CHECKING:
    from uuid import UUID

    from textual.command import Provider

    from agents.jobs import Job, JobRunner
    from agents.settings import AnnotationSettings
    from screens.queue.asked import Asked
    from store.queries.rows import Ids

LEAVE_SECONDS = 10.0
"""How long a lost terminal may hold up the end of the program."""

AFTER_SECONDS = 0.5
"""How long after another program had the terminal an interrupt is one that was meant for it."""

SESSION = "review"

BEHIND = ("store.recording", "screens.review.screen", "screens.review.pair")
"""What the first judgment needs, imported behind the first screen."""

SWITCH_SECONDS = 0.001
"""How long a thread keeps the interpreter while the keys' thread wants it; Python's own choice is 5 ms, and
a key is handled in several turns."""


def _catalogue() -> type[Provider]:
    from screens.palette import CatalogueProvider

    return CatalogueProvider


class WorkbenchApp(TestingApp):
    """The workbench on a terminal.

    Attributes:
        job_events: Published with every event of the job runner.
    """

    TITLE = "workbench"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("app"))
    COMMANDS = App.COMMANDS | {_catalogue}
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of App
        (0, "-narrow"),
        (100, "-medium"),
        (120, "-wide"),
    ]

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.job_events: Signal[JobEvent] = Signal(self, "job-events")
        self._session: dict[str, Any] | None = None
        self._leaving = False

    # -- starting and leaving -------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Take over the settings, listen to signals, and show the first screen."""
        settings = self.context.settings
        self.set_keymap(key_map(settings.keys))
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        sys.setswitchinterval(SWITCH_SECONDS)
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave_at_once, number)
        self._open_first_screen()
        self.call_after_refresh(self._first_screen_shown)

    def _first_screen_shown(self) -> None:
        if self.context.begin_with is not None:
            # Only now is there somebody to hear what the job tells.
            self._begin(self.context.begin_with)
        self._warm_up()

    @work(thread=True, group="warm-up")
    def _warm_up(self) -> None:
        """Do what the first screen was shown without, so that the keys that need it do not wait."""
        try:
            self.context.prepare()
        except (WorkbenchError, OSError) as error:
            self.call_later(self.tell, "Not prepared", str(error), alarm=True)
        for name in BEHIND:
            import_module(name)
        if not gc.isenabled():
            # The start has put the collector off; see workbench.opening.
            keep_what_is_there()
            self.call_later(self.set_interval, 1.0, self._collect_when_idle)

    def _collect_when_idle(self) -> None:
        collect_when_idle(time.monotonic() - self.key_time)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Offer Textual's choice of themes in the palette; everything else there comes from the catalogue."""
        return (command for command in super().get_system_commands(screen) if command.title == "Theme")

    def _open_first_screen(self) -> None:
        if self.context.start_with == "queue":
            from screens.queue.screen import open_queue

            open_queue(self)
            return
        self.go_home()
        if self.context.start_with == "resume":
            self.resume()

    def _leave_at_once(self, number: int) -> None:
        """End as after a quit key, and in any case soon: the terminal may be gone."""
        if self._leaving or (number == signal.SIGINT and time.monotonic() - self.back_at < AFTER_SECONDS):
            # Ctrl-C in an editor or a pager is meant for that, and reaches the app as well.
            return
        self._leaving = True
        # A last try for what could not be written; the lane is drained when the workspace is closed.
        self._retry_failed()

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
        selected: str = getattr(self.focused, "selected_text", "")
        if self.key_name == "ctrl+c" and selected:
            await self.run_action("focused.copy")
            return
        self._keep_place()
        await asyncio.to_thread(self.context.workspace.lane.drain, LEAVE_SECONDS)
        problem = self._what_failed()
        if problem is not None and not self._warned:
            self._warned = True
            self.tell(
                "Not saved",
                f"Not on disk: {counted(len(self.unsaved), 'record')}, {problem}. That is tried again; "
                "quit once more to leave without it.",
                alarm=True,
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
        self._session = value
        if self.context.rater is not None:
            save_session(self.context.workspace, self.context.rater.id, SESSION, value)

    def kept_session(self) -> dict[str, Any]:
        """Return where the rater was, empty when nothing was kept."""
        rater = self.context.rater
        if self._session is None:
            self._session = load_session(self.context.workspace, rater.id, SESSION) if rater else {}
        return self._session

    # -- jobs -----------------------------------------------------------------------------------------

    @cached_property
    def runner(self) -> JobRunner:
        """Runs the agents behind the screens; made when the first run is started."""
        return self.context.make_runner(lambda event: self._post(JobReported(event)))

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs that were started, the latest last."""
        return self.runner.jobs if "runner" in self.__dict__ else ()

    @property
    def running(self) -> Job | None:
        """The job that is at work or paused, None when there is none."""
        return self.runner.running if "runner" in self.__dict__ else None

    @on(JobReported)
    def _job_reported(self, message: JobReported) -> None:
        event = message.event
        if isinstance(event, JobEnded) and event.error is not None:
            self.report_error(event.error)
        self.job_events.publish(event)

    def start_annotation(
        self, again: tuple[UUID, Sequence[int]] | None = None, *, then: Callable[[], None] | None = None
    ) -> bool:
        """Start agents behind the screens; those of a new run after a dialog that says what it will take.

        Args:
            again: A run, and those of its items that it is to try again; None for all without a label.
            then: Called when the dialog has started the run.

        Returns:
            Whether it was started already.
        """
        from agents.kinds import kinds_with_agents
        from screens.jobs.start import StartScreen
        from store.queries.runs import kind_for_agents, kind_of_run

        with self.context.workspace.reading() as connection:
            if again is None:
                kind = kind_for_agents(connection, kinds_with_agents())
            else:
                kind = kind_of_run(connection, again[0])
        if kind is None:
            self.tell("Nothing for the agents", "No agents work on items of the kinds that are here.")
            return False
        plan = self.context.plan
        if plan.annotation is None:
            self.report_error(WorkbenchError("No model", plan.problem, "See `workbench doctor`."))
            return False
        annotation = replace(plan.annotation, kind=kind)
        if again is None:

            def confirmed(settings: AnnotationSettings | None) -> None:
                if settings is not None and self._begin(settings) and then is not None:
                    then()

            self.push_screen(StartScreen(annotation, plan.sandbox), confirmed)
            return False
        run_id, item_ids = again
        return self._begin(replace(annotation, run_id=run_id, item_ids=tuple(item_ids)))

    def _begin(self, annotation: AnnotationSettings) -> bool:
        from agents.jobs import AnnotationJob

        try:
            self.runner.start(AnnotationJob(annotation))
        except WorkbenchError as error:
            self.report_error(error)
            return False
        return True

    # -- moving about ---------------------------------------------------------------------------------

    def go_home(self) -> None:
        """Show the first screen, under which there is none; what lies over it is closed."""
        from screens.home.screen import HomeScreen

        if any(isinstance(screen, HomeScreen) for screen in self.screen_stack):
            while not isinstance(self.screen, HomeScreen):
                self.pop_screen()
        elif len(self.screen_stack) > 1:
            self.switch_screen(HomeScreen())
        else:
            self.push_screen(HomeScreen())

    def open_review(self, ids: Ids, index: int, asked: Asked | None = None) -> None:
        """Review the items of a queue, in its frozen order, from one of them on.

        Args:
            ids: The items in their order.
            index: The place of the one to begin with.
            asked: Which queue it is; all items in the order of import by default.
        """
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen(ids.tolist(), index, asked))

    def resume(self) -> None:
        """Go on where the rater left off: the item, the scroll places and the draft."""
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen.resumed(self.kept_session()))

    def action_show_keys(self) -> None:
        """List the keys of the screen that is shown, and of its parts and dialogs."""
        from screens.keys_screen import KeysScreen

        if not isinstance(self.screen, KeysScreen):
            scope: Scope = getattr(self.screen, "SCOPE", "app")
            asked = getattr(self.screen, "scale", None)
            self.push_screen(KeysScreen(scope, self.context.settings, asked))

    def action_show_jobs(self) -> None:
        """Show the agents at work."""
        from screens.jobs.screen import JobsScreen

        if not isinstance(self.screen, JobsScreen):
            self.push_screen(JobsScreen())
