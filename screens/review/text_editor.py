"""The modal in which a text of an item is edited; what is in it is kept as a draft until it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from screens.commands import bindings
from screens.external_programs import EditorExitError
from screens.help import hint
from screens.judging.context import JudgingContext, MessageLine
from screens.widgets.text.code_area import CodeArea, can_hold
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import TextPane
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.items.views import PaneText

BESIDE_FROM = 120
"""Columns from which a text is shown beside the one that is edited."""
WORDS = 300
"""Characters of each sentence that stands above the text."""


class TextEditor(ModalScreen[str | None]):
    """Edits a text; returns it when it is finished, None when it is put aside.

    Where a text stands beside it, both take the places that they have on the screen below.

    Args:
        text: The text to edit: the draft, where there is one.
        keep: Called with the text after every change.
    """

    CSS_PATH = "text_editor.tcss"
    BINDINGS = bindings("editor")
    AUTO_FOCUS = "#editor-text"

    LANGUAGE: ClassVar[str] = "python"
    WRAPS: ClassVar[bool] = False
    FILE: ClassVar[str]
    UNTAKEN: ClassVar[str]

    def __init__(self, context: ScreenContext, text: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self.context = context
        self._text = text
        self._keep = keep
        # The text of which an alarm says what is wrong; the alarm goes with the next change.
        self._wrong: str | None = None

    # -- texts of each editor ---------------------------------------------------------------------------

    @property
    def heading(self) -> str:
        """The title of the border."""
        raise NotImplementedError

    @property
    def about(self) -> tuple[str, str]:
        """The item's prompt, and a further sentence; empty ones are left out."""
        raise NotImplementedError

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The ids of the commands that finish the text or begin it again, with their labels."""
        raise NotImplementedError

    @property
    def beside(self) -> PaneText | None:
        """The text that stays in sight beside it where there is room; None for none."""
        return None

    @property
    def beginning(self) -> tuple[str, str]:
        """The text that a reset restores, and the message for it."""
        raise NotImplementedError

    def action_run(self) -> None:
        """Finish the text."""
        raise NotImplementedError

    def without_editor_changes(self, text: str) -> str:
        """Return what an editor left without what it added by itself."""
        return text

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the prompt, the text, the message line, and the keys."""
        finish, begin = self.endings
        keys = [finish, ("editor.leave", "keep a draft"), ("editor.outside", "in $EDITOR"), begin]
        with Vertical(id="editor") as box:
            box.border_title = Content(self.heading)
            about, further = (Content(one_line(sentence, WORDS)) for sentence in self.about)
            if about:
                yield Static(about, id="editor-about")
            with Horizontal(id="editor-body"):
                if self.beside is not None:
                    yield TextPane(id="editor-beside")
                yield CodeArea(self._text, self.LANGUAGE, wraps=self.WRAPS, id="editor-text")
            if further:
                yield Static(further, id="editor-further")
            yield MessageLine(id="editor-say")
            yield Static(Content(hint(self.context.settings, *keys)), id="editor-keys")

    def on_resize(self, event: events.Resize) -> None:
        """Show the text beside it where there is room."""
        self.set_class(self.beside is not None and event.size.width >= BESIDE_FROM, "-beside")
        # The screen below is laid out for the new size by then.
        self.call_after_refresh(self._leave_in_sight)

    def _leave_in_sight(self) -> None:
        """Take the place of the panes below; beside a text, what stands over them stays in sight."""
        body = self.app.screen_stack[-2].query("#body")
        top = body.first().region.y if self.has_class("-beside") and body else 0
        self.query_one("#editor").styles.height = self.size.height - top
        self.area.border_title = Content(self.heading) if top else None

    @on(events.Mount)
    def _show_beside(self) -> None:
        if self.beside is not None:
            pane = self.query_one("#editor-beside", TextPane)
            self.beside.load_into(pane, title=self.beside.border, empty="")

    @property
    def area(self) -> CodeArea:
        """The text area."""
        return self.query_one("#editor-text", CodeArea)

    @property
    def message(self) -> str:
        """The message below the text."""
        return self.query_one("#editor-say", MessageLine).text

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        """Show a notice of the app."""
        self._show_message(f"! {text}" if alarm else text, alarm=alarm)

    def _show_message(self, text: str, *, alarm: bool = False) -> None:
        self._wrong = self.area.text if alarm else None
        self.query_one("#editor-say", MessageLine).show(text, alarm=alarm)

    # -- editing --------------------------------------------------------------------------------------

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._keep(self.area.text)
        if self._wrong not in (None, self.area.text):
            self._show_message("")

    def action_reset(self) -> None:
        """Put what editing begins with into the place of what was written; undo brings that back."""
        text, message = self.beginning
        self._take(text)
        self._show_message(message)

    def action_outside(self) -> None:
        """Go on in the editor of the environment, and come back with what was written there."""
        try:
            text = self.context.programs.edit(self.area.text, file=self.FILE, untaken=self.UNTAKEN)
            text = self.without_editor_changes(text)
        except EditorExitError as error:
            # The text is not lost with an editor that failed; undo takes it back.
            self._take(self.without_editor_changes(error.text))
            self.context.notices.report_error(error)
        except WorkbenchError as error:
            self.context.notices.report_error(error)
        else:
            self._show_message("")
            self._take(text)

    def _take(self, text: str) -> None:
        """Show a text in place of what was written; what cannot be shown here is put aside as a draft."""
        if can_hold(text):
            area = self.area
            area.replace(text, (0, 0), area.document.end, maintain_selection_offset=False)
            area.move_cursor((0, 0))
        else:
            self._keep(text)
            self.dismiss(None)


def edit_externally(
    shared: JudgingContext,
    before: str,
    editor: type[TextEditor],
    keep: Callable[[str], None],
    has_draft: Callable[[], bool],
) -> str | None:
    """Have a text edited in `$EDITOR`; None where that failed, which is reported.

    Args:
        editor: The dialog for the same kind of text, which names its file.
        keep: Called with the text of an editor that failed, to keep it as a draft.
        has_draft: Returns whether there is a draft after that.
    """
    try:
        return shared.context.programs.edit(before, file=editor.FILE, untaken=editor.UNTAKEN)
    except EditorExitError as error:
        keep(error.text)
        shared.context.notices.report_error(error)
        if has_draft():
            shared.append_message(f"A draft is kept; {shared.key('edit')} opens it again.")
    except WorkbenchError as error:
        shared.context.notices.report_error(error)
    return None


def can_edit_here(shared: JudgingContext, text: str, word: str) -> bool:
    """Return whether a dialog can hold a text; show a message when not."""
    if can_hold(text):
        return True
    outside = shared.key("edit_outside")
    shared.show_message(
        f"This {word} is too long or has characters that cannot be edited here; use {outside}."
    )
    return False
