"""Home of a rater in a study: the study, the sitting, how much is left, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, bindings, command_named
from screens.home.consent import ConsentScreen, not_agreed
from screens.home.panel import TALL, Line, Panel
from screens.home.panels import following
from screens.home.screen import READ_SECONDS, Step
from screens.jobs.job_line import drawn_bar
from screens.reading import Reading
from screens.review.end_card import what_is_next
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.formatting import pluralize
from store.studies.session import SittingProgress, sitting_progress
from store.studies.studies import agree

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from screens.study_place import StudyPlace
    from store.record.rater_ref import RaterRef
    from store.studies.session import StudySession

BAR_CELLS = 24


class StudyHomeScreen(WorkbenchScreen):
    """The first screen of a rater in a study. Nothing on it rests on the work of others."""

    SCOPE = "sitting"
    CSS_PATH = "home.tcss"
    BINDINGS = bindings("sitting")

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        assert context.study is not None
        self.place: StudyPlace = context.study
        self.reading = Reading(self, self._read, self._read_done)
        self._was_read = False
        self._cursor = ""

    def compose(self) -> ComposeResult:
        """Lay out the study beside what to do next."""
        yield TopLine("home")
        with VerticalScroll(id="body", can_focus=False), Container(id="columns"):
            yield Static(id="study")
            yield Panel("next", "Next", self._next)
        yield KeyLine(names_all=True)

    def on_mount(self) -> None:
        """Follow what is recorded."""
        self.reading.follow(rest=READ_SECONDS)
        self._lay_out()

    def action_read(self) -> None:
        """Read the progress, when this is what is shown."""
        self.reading.again()

    # -- reading --------------------------------------------------------------------------------------

    @property
    def found(self) -> SittingProgress | None:
        """The rater's progress; None before it is read."""
        return self.reading.found

    def _read(self, connection: Connection, _: RaterRef | None) -> SittingProgress:
        return sitting_progress(connection, self.place.session)

    def _read_done(self) -> None:
        self._lay_out()
        self._read_guide()
        if self.found is not None and not self._was_read:
            self._was_read = True
            if self.context.needs_consent:
                self.call_after_refresh(self.action_show_consent)

    def _read_guide(self) -> None:
        """Read the guide of the question that is next, where there is room for it."""
        from screens.home.next_guide import read_next_guide, show_next_guide

        show = partial(show_next_guide, self)
        has_next = self.found is not None and self.found.left and not self.context.needs_consent
        if not has_next or self.app.size.height < TALL:
            show(None)
        else:
            in_thread(self, partial(read_next_guide, self.context), show, lambda _: show(None), group="guide")

    def on_resize(self) -> None:
        """Show or hide the guide, as there is room."""
        self._read_guide()

    # -- layout ---------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        if command.id == "sitting.other":
            return self._other is not None
        if command.id == "sitting.consent":
            return bool(self.place.session.study.protocol.consent)
        return True

    @property
    def _other(self) -> str | None:
        """The rater's next open study, in which something is left where there is one."""
        others = {} if self.found is None else self.found.others
        return next((name for name, left in others.items() if left), next(iter(others), None))

    def _lay_out(self) -> None:
        self.set_class(self.reading.failure is not None, "-failed")
        box = self.query_one("#study", Static)
        box.border_title = Content(f"Study {one_line(self.place.name, 40)}")
        box.update(Content("\n").join(self._about()))
        verbs = self._verbs
        if self._cursor not in verbs:
            self._cursor = verbs[0] if verbs else ""
        self.query_one(Panel).show(self._cursor)
        self.refresh_bindings()

    def _next(self, width: int, short: bool) -> Sequence[Line]:
        # Enter belongs to the line at the cursor, wherever that is.
        keys = {"sitting.resume": self.key_of("resume") if self._resumes else ""}
        lines = [(name, keys.get(name, self.key_of(name)), words) for name, words in self._steps()]
        return following(lines, width)

    # -- the cursor -----------------------------------------------------------------------------------

    @property
    def _verbs(self) -> list[str]:
        """The commands of the lines, by their names without the scope."""
        return [name.partition(".")[2] for name, _ in self._steps()]

    @property
    def _resumes(self) -> bool:
        """Whether Enter goes on in the sitting: the cursor is there, or nowhere yet."""
        return self._cursor in ("", "resume")

    def label_now(self, command: Command) -> str:
        """Name Enter after the line at the cursor."""
        at_cursor = command.id == "sitting.resume" and not self._resumes
        return command_named(f"sitting.{self._cursor}").label if at_cursor else command.label

    def action_move(self, by: int) -> None:
        """Move the cursor to the next line, or to the one before.

        Args:
            by: 1 or -1.
        """
        verbs = self._verbs
        if self._cursor in verbs:
            self._cursor = verbs[max(0, min(verbs.index(self._cursor) + by, len(verbs) - 1))]
            self._lay_out()

    @on(Panel.Chosen)
    async def _line_clicked(self, message: Panel.Chosen) -> None:
        self._cursor = message.key
        self._lay_out()
        await self.action_resume()

    def _about(self) -> list[Content]:
        if self.reading.failure is not None:
            return [
                Content("! The study could not be read."),
                Content(one_line(str(self.reading.failure), 400)),
                Content("Your labels are safe."),
            ]
        if self.found is None:
            return [Content("Reading …")]
        shown, found = self.place.session, self.found
        done, total = found.session.done, found.session.total
        lines = [
            Content.assemble(drawn_bar(done, total, BAR_CELLS), f"  {done:,} of {total:,} done"),
            Content(
                f"Sitting {shown.sitting} of {shown.sittings}: "
                f"{found.left:,} of {pluralize(found.items, 'item')} left."
                if found.left
                else f"Sitting {shown.sitting} of {shown.sittings} is done."
            ),
        ]
        if self.context.needs_consent:
            lines += [Content(""), Content(not_agreed(self.context.settings))]
        elif found.session.finished:
            lines += [Content(""), Content.styled("Study finished, thank you.", "bold")]
        lines += [Content(line) for line in (what_is_next(found) if self._is_between(found) else ())]
        others = [(name, left) for name, left in found.others.items() if left]
        if others and not found.session.finished:
            lines.append(Content(""))
            lines += [
                Content(f"Also open for you: {one_line(name, 40)}, {pluralize(left, 'item')} left.")
                for name, left in others
            ]
        return lines

    def _is_between(self, found: SittingProgress) -> bool:
        """Return whether a sitting begins, or the study is finished."""
        session = found.session
        begins = session.sitting != self.place.session.sitting or found.left == found.items
        return session.finished or begins

    def _steps(self) -> list[Step]:
        """Return what to do next."""
        found, shown = self.found, self.place.session
        if found is None:
            return []
        following, steps = found.session, list[Step]()
        left = pluralize(found.left, "item")
        if self.context.needs_consent:
            steps.append(("sitting.resume", "Read the consent text, and begin."))
        elif found.left:
            words = "Begin" if found.left == found.items else "Go on with"
            steps.append(("sitting.resume", f"{words} sitting {shown.sitting}: {left} left."))
        elif not following.finished:
            items = pluralize(following.left, "item")
            steps.append(("sitting.resume", f"Go on with sitting {following.sitting}: {items} left."))
        if not self.context.needs_consent:
            steps.append(("sitting.queue", "List the items of the sitting with your labels."))
        if self._other is not None:
            other, number = self._other, found.others[self._other]
            steps.append(("sitting.other", f"Go to {one_line(other, 40)}: {pluralize(number, 'item')} left."))
        return steps

    # -- keys -----------------------------------------------------------------------------------------

    async def action_resume(self) -> None:
        """Do what the line at the cursor says; at first, go on in the sitting."""
        if self._resumes:
            self._go_on()
        else:
            await self.run_action(command_named(f"sitting.{self._cursor}").action)

    def _go_on(self) -> None:
        """Go on in the sitting; with the next one where nothing of it is left."""
        if self.context.needs_consent:
            self.action_show_consent()
        elif self.found is not None and not self.found.left and not self.found.session.finished:
            self._open(self.found.session)
            self.navigator.resume()
        else:
            self.navigator.resume()

    def action_open_queue(self) -> None:
        """List the items of the sitting."""
        if self.context.needs_consent:
            self.action_show_consent()
        else:
            self.navigator.open_queue()

    def action_open_sql(self) -> None:
        """Ask for what the rater may see in SQL."""
        if self.context.needs_consent:
            self.action_show_consent()
        else:
            self.navigator.open_sql()

    def action_open_other(self) -> None:
        """Go to the rater's next open study."""
        if self._other is None:
            self.context.notices.show("No other study", "No other study is open for you.")
            return
        name = self._other
        in_thread(
            self,
            lambda: self.place.read(name),
            self._open,
            self.context.notices.report_error,
            group="other",
        )

    def _open(self, session: StudySession) -> None:
        self.navigator.open_sitting(session)
        self.reading.found = None
        self._was_read = False
        self._lay_out()
        self.query_one(TopLine).lay_out()
        self.reading.again()

    # -- consent --------------------------------------------------------------------------------------

    def action_show_consent(self) -> None:
        """Show the text that the rater agrees to."""
        session = self.place.session
        if not session.study.protocol.consent:
            self.context.notices.show("No consent", "This study asks for no consent.")
            return
        if self.is_current and self.app.screen is self:
            self.app.push_screen(ConsentScreen(self.context.settings, session), self._consent_given)

    def _consent_given(self, experience: str | None) -> None:
        if experience is None:
            self._lay_out()
            return
        session = self.place.session

        def store() -> StudySession:
            agree(self.context.workspace, session.study, session.rater, experience)
            return self.place.read()

        failed = self.context.notices.report_error
        in_thread(self, store, self._consent_stored, failed, group="consent", exclusive=False)

    def _consent_stored(self, session: StudySession) -> None:
        self.place.take(session)
        self.reading.again()
        self.navigator.resume()
