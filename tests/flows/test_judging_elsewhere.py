"""What records judgments works on another screen than the review: a tiny one that shows each item in a line."""

from __future__ import annotations

import time
from uuid import UUID

from apps import app_of
from review_bench import CASES, judgments, marks
from settling import settled
from textual import events, on
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from screens.commands import bindings
from screens.context import ScreenContext
from screens.dispatch import Dispatcher
from screens.items.reader import ItemReader
from screens.judging.context import JudgingContext, MessageLine
from screens.judging.controller import JudgingController
from screens.judging.drafts import COMMENT, CommentEditor
from screens.judging.judgment_builder import JudgmentBuilder
from screens.judging.keys import JudgingKeyLine
from screens.judging.order import ReviewOrder
from screens.judging.paint_guard import PaintGuard
from screens.navigator import Navigator
from screens.session_recorder import UndoResult
from screens.widgets.line_input import LineInput
from screens.workbench_screen import WorkbenchScreen
from store.record.actions import Action
from store.record.evidence import Citation
from store.workspace.duckdb import Workspace


class TinyScreen(WorkbenchScreen):
    """Shows the name of each item, and has it judged."""

    SCOPE = "review"
    BINDINGS = bindings("review")
    AUTO_FOCUS = ""

    def __init__(self, context: ScreenContext, navigator: Navigator, ids: list[int]) -> None:
        super().__init__(context, navigator)
        self.reader = ItemReader(context.workspace, context.scope)
        self.order = ReviewOrder(ids)
        self.guard = PaintGuard(self, lambda: [self.query_one("#item")], lambda: None)
        self.shared = shared = JudgingContext(self, context, self.guard)
        self.comments = CommentEditor(shared, lambda: None, lambda: self.set_focus(None))
        self.judging = JudgingController(self, shared, self.order, self.comments, lambda cited: "")
        self.dispatcher = Dispatcher(shared, self.judging.judge, self.judging.handlers())

    def compose(self) -> ComposeResult:
        yield Static(id="item")
        yield LineInput(id=COMMENT)
        yield MessageLine()
        yield JudgingKeyLine(self.shared.keys)

    def on_mount(self) -> None:
        self.query_one(f"#{COMMENT}").display = False
        context = self.context
        self.judging.builder = JudgmentBuilder.read(context.workspace, context.scope)
        context.recorder.saved.subscribe(self, lambda action: self.reader.forget(action.item_id))
        self.show_item()

    def show_item(self) -> None:
        place = self.guard.wanted = self.order.place
        if place is None:
            self.guard.show_no_item()
            return
        before = self.guard.item_at(place)
        view = self.judging.with_unsaved(self.reader.read(place.item_id), before)
        self.guard.put(view, place)
        self.query_one("#item", Static).update(view.external_id)
        if before is None:
            self.judging.complete_undo_message(view)
        self.guard.follow(before)

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        return (), None

    @property
    def pane_in_use(self) -> str:
        return ""

    def without_test(self, item, value):
        return "", ""

    def show_recorded(self, action: Action) -> None:
        self.query_one(JudgingKeyLine).update_keys()

    def ask_question(self, place: int) -> None:
        raise AssertionError("pairs are asked one question")

    def go_on(self) -> None:
        self.order.move(1)
        self.show_item()

    def leave_for(self, undone: UndoResult) -> None:
        self.reader.forget(undone.action.item_id)

    def show_undo_result(self, undone: UndoResult) -> None:
        self.judging.show_undo_result(undone)

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        self.shared.show_notice(text, alarm=alarm)

    def on_key(self, event: events.Key) -> None:
        if not self.shared.is_writing and self.judging.reasons.take_key(event):
            event.stop()
            event.prevent_default()

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.judging.comment_given(event.value)


async def pressed(pilot: Pilot[None], screen: TinyScreen, *keys: str) -> str:
    """Press keys, each when the item before it was seen; what is said then."""
    for key in keys:
        await settled(pilot.app)
        assert not screen.guard.missing_at(time.monotonic()) or screen.guard.is_bare
        await pilot.press(key)
    await settled(pilot.app)
    assert not screen.context.recorder.unsaved
    return screen.shared.message


async def test_a_screen_of_its_own_judges_gives_reasons_comments_and_undoes(workspace: Workspace) -> None:
    app = app_of(workspace)
    names = [case.name for case in CASES]
    async with app.run_test(size=(80, 24)) as pilot:
        screen = TinyScreen(app.context, app, [1, 2, 3, 4])
        app.push_screen(screen)
        await settled(pilot.app)
        assert screen.guard.is_painted
        assert await pressed(pilot, screen, "1") == f"● 1 match · accepts ◆ · {names[0]} · u undo"
        assert (await pressed(pilot, screen, "1")).startswith(f"● 1 match · overrides ◆ · {names[1]} · why?")
        assert "b boundary case" in str(screen.query_one(JudgingKeyLine).content)
        assert (await pressed(pilot, screen, "b")).startswith("Reason: boundary case")
        await pressed(pilot, screen, "m", *"odd", "enter")
        assert await pressed(pilot, screen, "s") == f"» skipped {names[2]}; it comes back at the end · u undo"
        assert screen.order.ids == [1, 2, 3, 4, 3]
        assert str(screen.query_one("#item", Static).content) == names[3]
        # Undone are the skip, the comment, and the label with its reason; each time its item is shown again.
        await pressed(pilot, screen, "u")
        await settled(pilot.app)
        assert screen.shared.message == "Undone: skip · U redo"
        assert screen.order.ids == [1, 2, 3, 4]
        assert str(screen.query_one("#item", Static).content) == names[2]
        await pressed(pilot, screen, "u")
        await settled(pilot.app)
        assert screen.shared.message == "Undone: comment: odd · U redo"
        await pressed(pilot, screen, "u")
        await settled(pilot.app)
        assert str(screen.query_one("#item", Static).content) == names[1]
        assert screen.guard.item is not None
        assert screen.guard.item.label is None
        # What the screen does not have does nothing.
        said = screen.shared.message
        assert await pressed(pilot, screen, "z", "right_square_bracket") == said
    assert [row[:3] for row in judgments(workspace)] == [
        (1, 1, "accept"),
        (2, 1, "override"),
        (2, 1, "override"),
        (2, None, "undo"),
    ]
    assert (3, "comment", True, "odd", "independent") in marks(workspace)


async def test_a_key_that_came_before_the_item_was_seen_judges_nothing_there_either(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = TinyScreen(app.context, app, [1, 2])
        app.push_screen(screen)
        await settled(pilot.app)
        assert screen.guard.is_painted
        screen.guard.await_paint("item")
        await pilot.press("1")
        said = "Not recorded: the item was not on the screen when you pressed. Press again."
        assert screen.shared.message == said
        screen.guard.notify_when_painted()
        await pressed(pilot, screen, "1")
    assert [row[:2] for row in judgments(workspace)] == [(1, 1)]
