"""The dialog that says what will happen, and asks whether it shall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import bindings
from screens.help import hint
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line
from screens.workbench_screen import WorkbenchScreen
from store.formatting import pluralize
from store.queries.studies import StudyDetails
from store.record.protocol import condition_words
from store.studies.studies import close_study, delete_draft, freeze_study

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


class ConfirmScreen(ModalScreen[bool]):
    """Asks before something that cannot be taken back; True where it shall be done.

    Args:
        title: What would be done.
        lines: What that means.
        does: What the key does, in a word or two.
    """

    CSS_PATH = "studies.tcss"
    BINDINGS = bindings("confirm")

    def __init__(self, settings: ScreenSettings, title: str, lines: Sequence[str], does: str) -> None:
        super().__init__()
        self._settings = settings
        self._title = title
        self._lines = lines
        self._does = does

    def compose(self) -> ComposeResult:
        """Lay out what it means, and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = Content(self._title)
            yield Static(Content("\n".join(self._lines)))
            keys = hint(self._settings, ("confirm.do", self._does), ("confirm.leave", "cancel"))
            yield Static(Content(keys), classes="keys")

    def action_do(self) -> None:
        """Do it."""
        self.dismiss(True)


def ask_to_freeze(screen: WorkbenchScreen, study: StudyDetails, then: Callable[[], object]) -> None:
    """Freeze a draft after a confirmation that says what will be fixed; `then` is called once it is."""
    notices = screen.context.notices
    if study.state != "draft":
        notices.show("Not a draft", f"{one_line(study.name, 40)} is {study.state}; only a draft is frozen.")
        return
    protocol = study.protocol
    raters = ", ".join(one_line(member.rater.name, 24) for member in study.members)
    conditions = ", ".join(map(condition_words, protocol.conditions))
    lines = [
        "This cannot be changed after it:",
        f"  · {pluralize(study.items.get('item', 0), 'item')}, {study.items.get('gold', 0):,} gold, "
        f"{study.items.get('training', 0):,} training: {one_line(protocol.sample, 80)}",
        f"  · raters: {raters}; {protocol.overlap or len(study.members)} for each item",
        f"  · conditions: {conditions}; repeats: {protocol.repeats:,}; "
        f"revealed at the end: {condition_words(protocol.reveal or 'no')}",
        "  · each rater's items, their order and conditions, by the seed " + str(protocol.seed),
        "  · guide and consent text",
        f"  · it stops {protocol.stops}",
        "",
        "Its raters see only their own items until it is closed.",
    ]
    reader = screen.context.rater
    if reader is not None and any(member.rater.id == reader.id for member in study.members):
        lines.append("You are one of its raters: restart the workbench after this to judge.")

    workspace = screen.context.workspace
    title = f"Freeze {one_line(study.name, 40)}"
    ask(screen, title, lines, verb="freeze it", change=lambda: freeze_study(workspace, study.name), then=then)


def ask_to_close(screen: WorkbenchScreen, study: StudyDetails, left: int, then: Callable[[], object]) -> None:
    """Close an open study after a confirmation; `then` is called once it is."""
    notices = screen.context.notices
    if study.state != "open":
        notices.show("Not open", f"{one_line(study.name, 40)} is {study.state}; only an open one is closed.")
        return
    lines = [
        f"{pluralize(left, 'assignment')} of it {'is' if left == 1 else 'are'} not judged."
        if left
        else "Everything is judged.",
        "Judging in it ends, and its raters see the work of others again.",
        "A closed study cannot be opened again.",
    ]

    workspace = screen.context.workspace
    title = f"Close {one_line(study.name, 40)}"
    ask(screen, title, lines, verb="close it", change=lambda: close_study(workspace, study.name), then=then)


def ask_to_delete(screen: WorkbenchScreen, study: StudyDetails, then: Callable[[], object]) -> None:
    """Delete a draft after a confirmation; `then` is called once it is deleted."""
    notices, name = screen.context.notices, one_line(study.name, 40)
    if study.state != "draft":
        notices.show("Not a draft", f"{name} is {study.state}; only a draft is deleted.")
        return
    lines = [
        f"Its {pluralize(study.items.get('item', 0), 'item')}, raters and options are deleted.",
        "Nothing was judged in it yet. This cannot be undone.",
    ]
    workspace = screen.context.workspace
    change = partial(delete_draft, workspace, study.name)
    ask(screen, f"Delete the draft {name}", lines, verb="delete it", change=change, then=then)


def ask(
    screen: WorkbenchScreen,
    title: str,
    lines: list[str],
    *,
    verb: str,
    change: Callable[[], object],
    then: Callable[[], object],
) -> None:
    """Make a change in a thread after a confirmation.

    Args:
        title: What would be done.
        lines: What that means.
        verb: What the key does, in a word or two.
        change: Does it. Called in a thread.
        then: Called once it is done.
    """

    def answered(shall: bool | None) -> None:
        if shall:
            in_thread(
                screen,
                change,
                lambda _: then(),
                screen.context.notices.report_error,
                group="study-change",
                exclusive=False,
            )

    screen.app.push_screen(ConfirmScreen(screen.context.settings, title, lines, verb), answered)
