"""The dashboard of a study: progress by rater and condition, pace, gold scores, looks at the agreement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine, drawn_bar
from screens.reading import Reading
from screens.studies.confirm import ConfirmScreen, ask_to_close, ask_to_freeze
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import coefficient, pluralize
from store.queries.sources import rejected_sentence
from store.record.protocol import condition_words
from store.studies.dashboard import Dashboard, Look, MemberProgress, dashboard, look
from store.studies.dashboard_text import (
    WHY_LOGGED,
    day,
    moment,
    plan_words,
    progress_words,
    stopping_words,
)
from store.studies.plan import PlanPreview, preview_draft

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.record.rater_ref import RaterRef

PART_CELLS = 26
BAR_CELLS = 24
ROWS_FOR_BLANKS = 30


class DashboardScreen(WorkbenchScreen):
    """Shows how far a study is.

    The agreement is shown at looks only, and each look is logged: one that was planned is taken as soon as it
    is due, any other one by a key.

    Attributes:
        reading: Reads the study, and the plan of a draft.
    """

    SCOPE = "study"
    CSS_PATH = "studies.tcss"
    BINDINGS = bindings("study")

    def __init__(self, context: ScreenContext, navigator: Navigator, name: str) -> None:
        super().__init__(context, navigator)
        self.reading = Reading(self, self._read, self._read_done)
        self._study = name
        self._looking = False

    @property
    def found(self) -> Dashboard | None:
        """The study; None before it is read."""
        return None if self.reading.found is None else self.reading.found[0]

    def compose(self) -> ComposeResult:
        """Lay out the study, its raters, and the agreement."""
        yield TopLine(f"studies › {one_line(self._study, 30)}")
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="facts")
            with Container(id="columns"):
                raters = Static(id="of-raters")
                raters.border_title = "Raters"
                yield raters
                looks = Static(id="agreement")
                looks.border_title = "Agreement"
                yield looks
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Follow what is recorded."""
        self.reading.follow()
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_read(self) -> None:
        """Read the study again."""
        self.reading.again()

    def _read(self, connection: Connection, reader: RaterRef | None) -> tuple[Dashboard, PlanPreview | None]:
        found = dashboard(connection, self._study, reader)
        is_draft = found.study.frozen_at is None
        return found, preview_draft(connection, found.study) if is_draft else None

    def _read_done(self) -> None:
        self._lay_out()
        found = self.found if self.reading.failure is None else None
        if found is not None and found.due is not None and found.study.state == "open":
            self._take_look()

    # -- layout ---------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        found = self.found
        state = None if found is None or self.reading.failure is not None else found.study.state
        wanted = {"study.freeze": ("draft",), "study.close": ("open",), "study.look": ("open", "closed")}
        return state in wanted[command.id] if command.id in wanted else True

    def _lay_out(self) -> None:
        read, why = self.reading.found, self.reading.why_nothing()
        self.set_class(bool(why), "-empty")
        facts = why if read is None else why or self._facts(*read)
        self.query_one("#facts", Static).update(Content("\n").join(facts))
        if read is not None:
            found, _ = read
            self.query_one("#of-raters", Static).update(Content("\n").join(self._raters(found)))
            self.query_one("#agreement", Static).update(Content("\n").join(self._looks(found)))
        self.refresh_bindings()

    def _facts(self, found: Dashboard, plan: PlanPreview | None) -> list[Content]:
        study = found.study
        dated = {"draft": study.created_at, "open": study.frozen_at, "closed": study.closed_at}[study.state]
        since = f" since {moment(dated)}" if dated is not None and study.state != "draft" else ""
        words = [f"{study.state}{since}", pluralize(study.items.get("item", 0), "item")]
        words += [f"{study.items[role]:,} {role}" for role in ("gold", "training") if study.items.get(role)]
        words.append(one_line(study.protocol.sample, 100))
        room = self.app.size.width - 6
        lines = [Content(line) for line in joined(words, room)]
        if plan is not None:
            conditions = ", ".join(map(condition_words, study.protocol.conditions))
            words = [f"conditions: {conditions}", f"stops {study.protocol.stops}"]
            lines += [Content(line) for line in (*joined(words, room), *plan_words(plan))]
            freeze = self.key_of("freeze")
            lines.append(Content(f"{freeze} freezes it: its assignments are made and its raters can begin."))
            return lines
        left = pluralize(found.left, "assignment")
        words = [f"{left} left" if found.left else "all judged"]
        words += [f"end expected {day(found.ends_at)}"] if found.ends_at else []
        lines.append(Content(" · ".join(words)))
        lines.append(Content.styled(stopping_words(found), "bold"))
        if found.looks:
            latest = found.looks[-1]
            words = ["Last look: alpha " + coefficient(latest.alpha)]
            words += (
                []
                if latest.ci_low is None
                else [f"{coefficient(latest.ci_low)} to {coefficient(latest.ci_high)}"]
            )
            lines.append(Content(" · ".join([*words, pluralize(latest.judgments, "label")])))
        if found.rejected:
            lines.append(Content(rejected_sentence(found.rejected)))
        return lines

    def _raters(self, found: Dashboard) -> list[Content]:
        lines: list[Content] = []
        for one in found.raters:
            # A blank line between them, where the screen has the rows for it.
            lines += [Content("")] if lines and self.app.size.height >= ROWS_FOR_BLANKS else []
            lines += self._rater(found, one)
        return lines

    def _rater(self, found: Dashboard, one: MemberProgress) -> list[Content]:
        """Return a rater with a bar for each condition."""
        name = f"{one_line(one.member.rater.name, 24)} ({one.member.pseudonym})"
        words = [progress_words(one, found.study.protocol)]
        if one.left and one.whole.total:
            words.append(f"{one.left:,} left")
        if one.per_hour is not None:
            words.append(f"{one.per_hour:,.0f}/h")
        if one.ends_at is not None:
            words.append(f"until {day(one.ends_at)}")
        lines = [Content.assemble((name, "bold"), f"  {words[0]}")]
        room = self._room()
        numbers = joined(words[1:], room - 2)
        if len(numbers) == 1 and lines[0].cell_length + len(numbers[0]) + 3 <= room:
            lines = [Content.assemble(lines[0], f" · {numbers[0]}")]
        else:
            lines += [Content(f"  {line}") for line in numbers]
        cells = min(max((len(part) for each in found.raters for part in each.parts), default=0), PART_CELLS)
        for part, done in one.parts.items():
            counted = f"  {done.done:,} of {done.total:,}"
            drawn = drawn_bar(done.done, done.total, min(BAR_CELLS, room - cells - len(counted) - 3))
            named = f"  {one_line(condition_words(part), cells):<{cells}} "
            lines.append(Content.assemble(named, drawn, counted))
        checks = []
        if one.gold.given:
            checks.append(f"gold {one.gold.right:,} of {one.gold.given:,} right")
        if one.training.given:
            checks.append(f"training {one.training.right:,} of {one.training.given:,} right")
        if one.too_fast:
            seconds = found.study.protocol.fast_seconds
            number = pluralize(one.decisions, "decision")
            checks.append(f"! {one.too_fast:,} of {number} in under {seconds:g} s")
        return [*lines, *(Content(f"  {line}") for line in joined(checks, room - 2))]

    def _room(self) -> int:
        """Return the cells of a line in the box of the raters."""
        width = self.app.size.width
        return (width // 2 if self.has_class("-wide") else width) - 8

    def _looks(self, found: Dashboard) -> list[Content]:
        study = found.study
        if study.frozen_at is None:
            return [Content("No judgments yet.")]
        lines = [Content(f"It stops {study.protocol.stops}.")]
        if self._looking:
            lines.append(Content("Looking …"))
        elif not found.looks:
            key = self.key_of("look")
            lines.append(Content(f"No look yet. {key} looks at the agreement; the look is logged."))
        items = study.items.get("item", 0)
        for each in reversed(found.looks):
            lines += [Content(""), *self._look(found, each, items)]
        return lines

    def _look(self, found: Dashboard, one: Look, items: int) -> list[Content]:
        """Return one look: when, at how much, and what was seen."""
        kind = "planned" if one.planned else "unplanned"
        named = f" · {one.question}" if len(found.questions) > 1 else ""
        interval = "no interval"
        if one.half_width is not None:
            ends = f"{coefficient(one.ci_low)} to {coefficient(one.ci_high)}"
            interval = f"95 % interval {ends} (±{coefficient(one.half_width)})"
        coverage = f"{one.items:,} of {pluralize(items, 'item')} with two raters or more"
        counted = joined([pluralize(one.judgments, "label"), coverage], self._room() - 2)
        return [
            Content(f"{moment(one.looked_at)} · {kind}{named}"),
            Content.assemble("  ", (f"alpha {coefficient(one.alpha)}", "bold"), f" · {interval}"),
            *(Content(f"  {line}") for line in counted),
        ]

    # -- keys -----------------------------------------------------------------------------------------

    def action_look(self) -> None:
        """Look at the agreement, after a warning where the look is no planned one."""
        found = self.found
        if found is None or found.study.frozen_at is None:
            self.context.notices.show("No look", "Freeze the study first; a draft has no labels.")
        elif found.due is not None or found.study.closed_at is not None:
            self._take_look()
        else:
            self.app.push_screen(
                ConfirmScreen(self.context.settings, "Look at the agreement", [WHY_LOGGED], "looks"),
                lambda shall: self._take_look() if shall else None,
            )

    def _take_look(self) -> None:
        if self._looking:
            return
        self._looking = True
        self._lay_out()
        work = partial(look, self.context.workspace, self._study, self.context.rater)
        in_thread(self, work, self._look_taken, self._look_failed, group="look", exclusive=False)

    def _look_taken(self, _: Dashboard) -> None:
        self._looking = False
        self._lay_out()
        # Read again, which replaces a read that began before the look was logged.
        self.reading.again()

    def _look_failed(self, error: WorkbenchError) -> None:
        self._looking = False
        self.context.notices.report_error(error)
        self._lay_out()

    def action_freeze(self) -> None:
        """Freeze the draft."""
        if self.found is not None:
            ask_to_freeze(self, self.found.study, self.action_read)

    def action_close_study(self) -> None:
        """Close the open study."""
        if self.found is not None:
            ask_to_close(self, self.found.study, self.found.left, self.action_read)

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one("#body", VerticalScroll).scroll_relative(y=lines, animate=False)


def joined(parts: Sequence[str], cells: int) -> list[str]:
    """Return phrases on as few lines as hold them, with dots between those of one line."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= cells:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines
