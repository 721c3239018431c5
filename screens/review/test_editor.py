"""The modal in which a test is edited; what is in it is kept as a draft until it was run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from screens.commands import bindings
from screens.help import hint
from screens.outside import EditorGaveUp, edited_outside
from screens.review.bars import SayLine
from screens.widgets.code_area import CodeArea, can_hold
from screens.widgets.visible import one_line
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from screens.app import WorkbenchApp
    from screens.review.part import ItemView

WORDS = 300
"""Characters of the query, and of how the test reads it, that stand above the test."""


class TestEditor(ModalScreen[str | None]):
    """Edits a test; returns it when it is to be run, None when it is put aside.

    Args:
        item: The item whose test it is.
        shown: The test that the review shows; the beginning of one where it shows none.
        draft: What the rater wrote before in its place; None where there is none.
        keep: Called with the text after every change.
    """

    __test__ = False
    CSS_PATH: ClassVar[str] = "test_editor.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("editor"))
    AUTO_FOCUS = "#code"

    def __init__(self, item: ItemView, shown: str, draft: str | None, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._item = item
        self._shown = shown
        self._draft = draft
        self._keep = keep
        self._begins = shown == item.first_test

    def compose(self) -> ComposeResult:
        """Lay out what is asked, how the test reads it, and the test."""
        settings = self.workbench.context.settings
        with Vertical(id="editor") as box:
            what = "Write a test" if self._begins else "Edit the test"
            box.border_title = Content(f"{what} of {one_line(self._item.external_id, 40)}")
            yield Static(Content(one_line(self._item.prompt, WORDS)), id="query")
            if self._item.reading:
                yield Static(
                    Content(f"The test reads it as: {one_line(self._item.reading, WORDS)}"), id="reading"
                )
            yield CodeArea(self._shown if self._draft is None else self._draft, "python", id="code")
            yield SayLine(id="editor-say")
            yield Static(
                Content(
                    hint(
                        settings,
                        ("editor.run", "runs it"),
                        ("editor.leave", "keeps a draft"),
                        ("editor.outside", "in $EDITOR"),
                        ("editor.reset", "begins anew" if self._begins else "the shown test again"),
                    )
                ),
                id="editor-keys",
            )

    def on_mount(self) -> None:
        """Say what is edited."""
        if self._draft is not None:
            self._say("This is your draft.")
        elif self._begins:
            self._say("The code is the module candidate; each function test_... is run and counted.")

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

    @property
    def area(self) -> CodeArea:
        """The test as it stands."""
        return self.query_one("#code", CodeArea)

    @property
    def said(self) -> str:
        """What the line below the test says."""
        return self.query_one("#editor-say", SayLine).said

    def tell(self, text: str, *, alarm: bool = False) -> None:
        """Say what the app has to say."""
        self._say(f"! {text}" if alarm else text, alarm=alarm)

    def _say(self, text: str, *, alarm: bool = False) -> None:
        self.query_one("#editor-say", SayLine).say(text, alarm=alarm)

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._keep(self.area.text)

    def action_run(self) -> None:
        """Run the test as it stands."""
        if not self.area.text.strip():
            self._say("There is nothing to run.", alarm=True)
        elif self._begins and self.area.text == self._shown:
            self._say("This is only how a test begins: put in a call, and what must come of it.", alarm=True)
        elif self._item.item_id in self.workbench.testing:
            self._say("Another test of this item is still running; run this one when that has ended.")
        else:
            self.dismiss(self.area.text)

    def action_leave(self) -> None:
        """Put the test aside."""
        self.dismiss(None)

    def action_reset(self) -> None:
        """Put the test that the review shows into the place of what was written; undo brings that back."""
        self._replace(self._shown)
        self._say("This is how it began." if self._begins else "This is the test that the review shows.")

    def action_outside(self) -> None:
        """Go on in the editor of the environment, and come back with what was written there."""
        try:
            text = edited_outside(self.workbench, self.area.text)
        except EditorGaveUp as gave_up:
            # What was written there is not lost with an editor that failed; undo takes it back.
            self._take(gave_up.text)
            self.workbench.report_error(gave_up)
        except WorkbenchError as error:
            self.workbench.report_error(error)
        else:
            self._say("")
            self._take(text)

    def _take(self, text: str) -> None:
        """Show what came from another editor; what cannot be shown here is put aside as a draft."""
        if can_hold(text):
            self._replace(text)
        else:
            self._keep(text)
            self.dismiss(None)

    def _replace(self, text: str) -> None:
        area = self.area
        area.replace(text, (0, 0), area.document.end, maintain_selection_offset=False)
        area.move_cursor((0, 0))
