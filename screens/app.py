"""The Textual app: starts and leaves, and moves between screens."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual import events, on
from textual.app import App
from textual.driver import Driver
from textual.message import Message

from screens.commands import CommandScope, bindings, command_named, key_map
from screens.context import AppContext, ReviewSession, ScreenContext
from screens.control_keys import (
    ASKED_SECONDS,
    copy_or_cancel,
    leave_to_field,
    suspend,
    why_not_suspended,
)
from screens.external_programs import ExternalPrograms
from screens.first_item import import_for_first_item
from screens.garbage_collection import collect_when_idle, freeze_existing
from screens.help import first_key, key_name, keys_of
from screens.input_guard.guard import InputGuard
from screens.jobs.jobs import JobReported, Jobs
from screens.notices import Notices
from screens.run_choice import RunChoice
from screens.session_recorder import KEY_SECONDS, SessionRecorder, UndoResult
from screens.test_runner import TestRunner
from screens.threads import Deliver, in_parts
from screens.workbench_screen import WorkbenchScreen, scopes_of
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.policy.scope import Shows

if TYPE_CHECKING:
    from uuid import UUID

    from screens.judging.paint_guard import PaintGuard
    from screens.navigator import LoadedText, OpenedReview
    from screens.queue.query import QueueQuery
    from store.queries.rows import Ids, QueueFilter, ViewQuery
    from store.rankings.comparison import ComparedQueries, MethodPair
    from store.reports.options import Options
    from store.studies.session import StudySession

LEAVE_SECONDS = 10.0
"""How long a lost terminal may hold up the end of the program."""

AFTER_SECONDS = 0.5
"""How long after another program had the terminal an interrupt is one that was meant for it."""

QUEUE = "queue"
"""The name under which the queue is kept, so that it is as it was when one comes back."""

SWITCH_SECONDS = 0.001
"""How long a thread keeps the interpreter while the keys' thread wants it; Python's own choice is 5 ms, and
a key is handled in several turns."""


Then = Literal["", "practice", "work"]


class WorkbenchApp(App[None]):
    """The workbench on a terminal; it implements `Navigator`.

    Attributes:
        then: What follows when the app has ended: the practice, or what one practised for; empty for nothing.
    """

    TITLE = "workbench"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    BINDINGS = bindings("app")
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of App
        (0, "-narrow"),
        (100, "-medium"),
        (120, "-wide"),
    ]

    def __init__(self, program: AppContext) -> None:
        super().__init__()
        notices = Notices(self)
        self._guard = InputGuard(self._is_typing, notices.show)
        self.context = ScreenContext(
            program,
            recorder=SessionRecorder(
                self,
                workspace=program.workspace,
                rater=program.rater,
                prepare=program.prepare,
                notices=notices,
                show_undo_result=self._show_undone,
                sitting=lambda: program.scope.sitting,
            ),
            tests=TestRunner(self, program.rater, program.make_expert_runs, notices),
            jobs=Jobs(self, program.make_runner, program.make_work_settings, notices),
            session=ReviewSession(program),
            notices=notices,
            last_key=self._guard.last_key,
            programs=ExternalPrograms(self),
            runs=RunChoice(self, program),
        )
        self._leaving = False
        # When the user was asked whether to quit, by the clock of keys.
        self._asked_to_quit = float("-inf")
        self.then: Then = ""

    # -- keys -----------------------------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal; on Linux and macOS the one that distinguishes pasting from keys."""
        found = super().get_driver_class()
        if found.__name__ == "LinuxDriver":
            from screens.input_guard.terminal import GuardedDriver

            return GuardedDriver
        return found

    def post_message(self, message: Message) -> bool:
        """Note when keys arrive, and let the agents' records wait while one is handled."""
        if isinstance(message, events.Key):
            self.context.workspace.lane.give_way(KEY_SECONDS)
            self._guard.note_arrival(message)
        return super().post_message(message)

    async def on_event(self, event: events.Event) -> None:
        """Drop keys that no person pressed."""
        if isinstance(event, events.Key) and self._guard.refuses(event):
            event.stop()
            return
        if isinstance(event, events.Key) and self.screen.is_modal and self._asks_for_keys(event):
            # The bindings of the app do not reach into a dialog.
            event.stop()
            self.action_show_keys()
            return
        await super().on_event(event)

    def _asks_for_keys(self, event: events.Key) -> bool:
        """Return whether a key lists the keys, and is not typed."""
        is_typed = self.focused is not None and self.focused.check_consume_key(event.key, event.character)
        wanted = keys_of(command_named("app.help"), self.context.settings)
        return not is_typed and event.key in wanted.split(",")

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._guard.keys_came_together(times)

    def _is_typing(self) -> bool:
        return self.focused is not None and self.focused.check_consume_key("x", "x")

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
        self.context.jobs.events.subscribe(self, self.context.runs.follow)
        self._open_first_screen()
        self.call_after_refresh(self._first_screen_shown)

    def _first_screen_shown(self) -> None:
        in_parts(self, self._warm_up, group="warm-up")

    def _warm_up(self, deliver: Deliver) -> None:
        """Do what the first screen was shown without, so that the keys that need it do not wait."""
        import_for_first_item()
        try:
            self.context.program.prepare()
        except (WorkbenchError, OSError) as error:
            deliver(partial(self.context.notices.show, "Not prepared", str(error), alarm=True))
        self.context.program.serve()
        if not gc.isenabled():
            # The start has put the collector off; see workbench.start.
            freeze_existing()
            deliver(self._collect_from_now_on)
        if self.context.program.begin_with is not None:
            # Only now: the agents' work would keep the first judgment waiting for what it needs.
            deliver(self.context.jobs.start, self.context.program.begin_with)

    def _collect_from_now_on(self) -> None:
        self.set_interval(1.0, self._collect_when_idle)

    def _collect_when_idle(self) -> None:
        collect_when_idle(time.monotonic() - self.context.last_key.time)

    def _open_first_screen(self) -> None:
        if self.context.needs_consent:
            self.go_home()
            return
        if self.context.program.start_with == "queue":
            self.open_queue()
            return
        self.go_home()
        if self.context.program.start_with == "resume":
            self.resume()
        elif self.context.program.start_with == "adjudicate":
            self.open_adjudication()
        elif self.context.program.file:
            self.call_later(self.run_action, f"screen.import_file({self.context.program.file!r})")

    def _leave_at_once(self, number: int) -> None:
        """End as after a quit key, and in any case soon: the terminal may be gone."""
        if self._leaving or (
            number == signal.SIGINT and time.monotonic() - self.context.programs.back_at < AFTER_SECONDS
        ):
            # Ctrl-C in an editor or a pager is meant for that, and reaches the app as well.
            return
        self._leaving = True
        # A last try for what could not be written; the lane is drained when the workspace is closed.
        self.context.recorder.retry()

        def end_anyway() -> None:
            self.context.workspace.close()
            os._exit(128 + number)

        watchdog = threading.Timer(LEAVE_SECONDS, end_anyway)
        watchdog.daemon = True
        watchdog.start()
        self._keep_place()
        self.exit(return_code=128 + number)

    async def action_ask_to_quit(self) -> None:
        """Quit at the second press; the first one asks, as the same key goes back on other screens."""
        if self._may_quit(key_name(self.context.last_key.name)):
            await self._leave()

    async def action_quit(self) -> None:
        """Quit; at the second press where work in the background ends with the app."""
        if not self._ended_by_quitting() or self._may_quit(first_key(self.context.settings, "app.quit")):
            await self._leave()

    async def action_copy_or_cancel(self) -> None:
        """Copy the selection, else cancel what is open, else quit, at the second press."""
        if await copy_or_cancel(self, self.context.notices.show):
            return
        if self._may_quit(first_key(self.context.settings, "app.cancel")):
            await self._leave()

    def _may_quit(self, key: str) -> bool:
        """Return whether the user was just asked whether to quit, and ask if not.

        Args:
            key: The key that quits, as a person reads it.
        """
        now = self.context.last_key.time
        if now - self._asked_to_quit <= ASKED_SECONDS:
            return True
        self._asked_to_quit = now
        words = (*self._ended_by_quitting(), f"Press {key} once more to quit.")
        self.context.notices.show("Quit", " ".join(words))
        return False

    def _ended_by_quitting(self) -> list[str]:
        """Return what ends with the app, as sentences."""
        said, jobs = [], self.context.jobs
        if jobs.runs_at_work:
            said.append("The agents are at work. Quitting stops them; what they finished is kept.")
        if others := [job.title for job in jobs.at_work if job.record is not None]:
            said.append(f"At work: {', '.join(others)}. Quitting stops that; it can go on later.")
        return said

    async def _leave(self) -> None:
        """Write queued records, then leave; records that cannot be written are reported first."""
        self._keep_place()
        await asyncio.to_thread(self.context.workspace.lane.drain, LEAVE_SECONDS)
        recorder, problem = self.context.recorder, self.context.recorder.problem
        if problem is not None and not recorder.warned:
            recorder.warned = True
            self.context.notices.show(
                "Not saved",
                f"Not on disk: {pluralize(recorder.count_unsaved, 'record')}, {problem}. "
                "That is tried again; quit once more to leave without it.",
                alarm=True,
            )
            recorder.retry()
            self.then = ""
            return
        self.exit()

    def _keep_place(self) -> None:
        for screen in self.screen_stack:
            keep = getattr(screen, "keep_place", None)
            if keep is not None:
                keep()

    # -- suspending -----------------------------------------------------------------------------------

    async def action_suspend(self) -> None:
        """Stop until the shell's `fg`; in a text field the key is left to that, where it undoes."""
        leave_to_field(self, self.context.last_key.name)
        if why := why_not_suspended(self) or self._why_not_stopped():
            self.context.notices.show("Not suspended", why)
            return
        self._keep_place()
        for guard in self._guards():
            guard.given_away()
        # What was judged is on disk before the shell has the terminal.
        await asyncio.to_thread(self.context.workspace.lane.drain, LEAVE_SECONDS)
        suspend(self)

    def _why_not_stopped(self) -> str:
        """Return why the process must not stop now, in words: what it waits for would count as timed out."""
        if self.context.tests.running:
            return "A test is running, and could count as timed out. Suspend when it has ended."
        if any(job.state != "paused" for job in self.context.jobs.at_work):
            jobs, pause = (first_key(self.context.settings, name) for name in ("app.jobs", "jobs.pause"))
            return (
                "Work behind the screen would stop midway, and tests and requests time out. "
                f"Pause it first ({jobs}, {pause}), and let end what is under way."
            )
        return ""

    @on(Driver.SignalResume)
    def _came_back(self) -> None:
        """Paint everything again, and take no key for an item before that can be seen."""
        for guard in self._guards():
            guard.came_back()
        self.refresh(layout=True)

    def _guards(self) -> list[PaintGuard]:
        """Return what guards the keys of the screens that judge."""
        guards = (getattr(screen, "guard", None) for screen in self.screen_stack)
        return [guard for guard in guards if guard is not None]

    # -- results -------------------------------------------------------------------------------------

    @on(JobReported)
    def _job_reported(self, message: JobReported) -> None:
        self.context.jobs.take(message.event)

    def _show_undone(self, undone: UndoResult) -> None:
        """Have the screen go to the item of an undo or redo; other screens show a notice."""
        show = getattr(self.screen, "show_undo_result", None)
        if show is not None:
            show(undone)
        else:
            from screens.judging.undo_text import describe_undo

            recorder, blind = self.context.recorder, not self.context.scope.may(Shows.AGENTS)
            what = describe_undo(undone.action, recorder.question_names, blind=blind, since=recorder.began)
            self.context.notices.show("Redone" if undone.redo else "Undone", what)

    # -- moving about ---------------------------------------------------------------------------------

    def go_home(self) -> None:
        """Show the first screen, under which there is none; what lies over it is closed."""
        home: type[WorkbenchScreen]
        if self.context.study is None:
            from screens.home.screen import HomeScreen as home
        else:
            from screens.home.study import StudyHomeScreen as home

        if any(isinstance(screen, home) for screen in self.screen_stack):
            while not isinstance(self.screen, home):
                self.pop_screen()
        elif len(self.screen_stack) > 1:
            self.switch_screen(home(self.context, self))
        else:
            self.push_screen(home(self.context, self))

    def open_sitting(self, session: StudySession) -> None:
        """Go to another sitting of a study, or to another study; what shows the one before is closed."""
        self.go_home()
        if self.is_screen_installed(QUEUE):
            queue = self.get_screen(QUEUE)
            self.uninstall_screen(QUEUE)
            queue.remove()
        if self.context.study is not None:
            self.context.study.take(session)

    def open_jobs(self, run_id: UUID | None = None) -> None:
        """Show the runs of the agents and other works, with one of them under the cursor."""
        from screens.jobs.screen import JobsScreen

        if not isinstance(self.screen, JobsScreen) and not self.context.refuses(Shows.WHOLE):
            self.push_screen(JobsScreen(self.context, self, run_id))

    def open_studies(self) -> None:
        """List the studies; a rater of an open study is refused."""
        from screens.studies.list import StudiesScreen

        self.push_screen(StudiesScreen(self.context, self))

    def open_study(self, name: str) -> None:
        """Show how far a study is."""
        from screens.studies.dashboard import DashboardScreen

        self.push_screen(DashboardScreen(self.context, self, name))

    def open_new_study(self) -> None:
        """Show the form of a new study."""
        from screens.studies.new import NewStudyScreen

        self.push_screen(NewStudyScreen(self.context, self))

    def open_sql(self) -> None:
        """Ask the workspace in SQL, as far as the session may see it."""
        from screens.sql.screen import SqlScreen

        self.push_screen(SqlScreen(self.context, self))

    def open_search(self, query: str = "", repository: str = "") -> None:
        """Search a repository for the functions that answer a query; a rater of an open study is refused."""
        if not self.context.refuses(Shows.WHOLE):
            from screens.searching.screen import SearchScreen

            self.push_screen(SearchScreen(self.context, self, query, repository))

    def open_reports(self) -> None:
        """List the reports; a rater of an open study is refused."""
        from screens.reports.screen import ReportsScreen

        listed = (screen for screen in self.screen_stack if isinstance(screen, ReportsScreen))
        if all(screen.shows_part for screen in listed):
            self.push_screen(ReportsScreen(self.context, self))

    def open_report(self, name: str, options: Options) -> None:
        """Show a report; a rater of an open study is refused."""
        from screens.reports.screen import ReportsScreen

        self.push_screen(ReportsScreen(self.context, self, (name, options)))

    def open_by_query(self, asked: MethodPair) -> None:
        """Compare two methods of retrieval query by query; a rater of an open study is refused."""
        from screens.rankings.by_query import ByQueryScreen

        self.push_screen(ByQueryScreen(self.context, self, asked))

    def open_ranked(self, queries: ComparedQueries, index: int, went: Callable[[int], object]) -> None:
        """Show the codes that two methods have for a query, side by side."""
        from screens.rankings.ranked import RankedScreen

        self.push_screen(RankedScreen(self.context, self, queries, index, went))

    def open_new_comparisons(self) -> None:
        """Show the form of new comparisons."""
        from screens.studies.compare import NewComparisonsScreen

        self.push_screen(NewComparisonsScreen(self.context, self))

    def open_splits(self) -> None:
        """List the splits with their figures; a rater of an open study is refused."""
        from screens.splits.screen import SplitsScreen

        self.push_screen(SplitsScreen(self.context, self))

    def open_new_split(self) -> None:
        """Show the form of a new split."""
        from screens.splits.new import NewSplitScreen

        self.push_screen(NewSplitScreen(self.context, self))

    def open_export(self, listed: ViewQuery | None = None) -> None:
        """Show the form of an export; a rater of an open study is refused."""
        if not self.context.refuses(Shows.WHOLE):
            from screens.exporting.screen import ExportScreen

            self.push_screen(ExportScreen(self.context, self, listed))

    def open_queue(self, wanted: QueueFilter | None = None) -> None:
        """Show the queue as it was left; the first time, as it was in the session before."""
        from screens.queue.screen import QueueScreen

        if wanted is not None:
            self.push_screen(QueueScreen(self.context, self, wanted))
            return
        if not self.is_screen_installed(QUEUE):
            self.install_screen(QueueScreen(self.context, self), QUEUE)
        self.push_screen(QUEUE)

    def list_view(self, view: ViewQuery) -> None:
        """List the items of a view in the queue, which is shown."""
        from screens.queue.screen import QueueScreen

        if isinstance(self.screen, QueueScreen):
            self.screen.list_view(view)

    def open_adjudication(self) -> None:
        """Show what raters disagree about."""
        from screens.adjudicate.screen import AdjudicateScreen

        self.push_screen(AdjudicateScreen(self.context, self))

    def open_review(
        self, ids: Ids, index: int, query: QueueQuery | None = None, *, whole: bool = True
    ) -> OpenedReview:
        """Review the items of a queue, in its frozen order, from one of them on."""
        import_for_first_item()
        from screens.review.screen import ReviewScreen

        review = ReviewScreen(self.context, self, ids.tolist(), index, query, whole=whole)
        self.push_screen(review)
        return review

    def open_item(self, item_id: int) -> None:
        """Review all items in the order of the queue, from one of them on.

        Not read in a thread, so that the next key reaches the review. A review that is open is closed first:
        two at once would overwrite each other's drafts.
        """
        import_for_first_item()
        from screens.review.screen import ReviewScreen
        from store.queries.queue import queue_ids

        ids = queue_ids(self.context.workspace, self.context.scope)
        listed = ids.tolist()
        if item_id not in listed:
            self.context.notices.show("Not listed", "That item is not among those that you may see now.")
            return
        if any(isinstance(screen, ReviewScreen) for screen in self.screen_stack):
            self._keep_place()
            while any(isinstance(screen, ReviewScreen) for screen in self.screen_stack):
                self.pop_screen()
        self.open_review(ids, listed.index(item_id))

    def open_text(self, what: str, title: str, load: Callable[[], LoadedText]) -> None:
        """Show a text."""
        from screens.text_screen import TextScreen

        self.push_screen(TextScreen(self.context, self, what, title, load))

    def resume(self) -> None:
        """Go on where the rater left off: the item, the scroll places and the draft."""
        import_for_first_item()
        from screens.review.screen import ReviewScreen

        self.push_screen(ReviewScreen.resumed(self.context, self))

    def practise(self) -> None:
        """Leave for the practice, from which one comes back."""
        self._leave_for("practice")

    def begin_work(self) -> None:
        """Leave the practice for what one came from."""
        self._leave_for("work")

    def _leave_for(self, then: Then) -> None:
        self.then = then
        self.call_later(self._leave)

    def action_command_palette(self) -> None:
        """Find a screen, an action, a saved view, a query or an item."""
        from screens.palette.screen import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(self.context, self, self.screen))

    def action_show_keys(self) -> None:
        """List the keys of the screen that is shown, and of its parts and dialogs."""
        from screens.keys_screen import KeysScreen

        if isinstance(self.screen, KeysScreen):
            return
        scope: CommandScope = next(iter(scopes_of(self.screen)), "app")
        scale = self.screen.command_state.scale if isinstance(self.screen, WorkbenchScreen) else None
        self.push_screen(KeysScreen(scope, self.context.settings, scale))

    def action_show_jobs(self) -> None:
        """Show the agents at work."""
        self.open_jobs()

    def action_show_reports(self) -> None:
        """Show the reports."""
        self.open_reports()
