"""The modal in which a test is edited; what is in it is kept as a draft until it was run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from screens.outside import TEST_FILE
from screens.review.text_editor import TextEditor
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.items.views import ItemView


class TestEditor(TextEditor):
    """Edits a test; returns it when it is to be run, None when it is put aside.

    Args:
        context: What it works with.
        item: The item whose test it is.
        shown: The test that the review shows; the beginning of one where it shows none.
        draft: What the rater wrote before in its place; None where there is none.
        keep: Called with the text after every change.
    """

    __test__ = False
    FILE = TEST_FILE
    UNTAKEN = "nothing was run"

    def __init__(
        self,
        context: ScreenContext,
        item: ItemView,
        shown: str,
        draft: str | None,
        keep: Callable[[str], None],
    ) -> None:
        super().__init__(context, shown if draft is None else draft, keep)
        self._item = item
        self._shown = shown
        self._draft = draft
        self._begins = shown == item.first_test

    @property
    def heading(self) -> str:
        """Which test is edited."""
        what = "Write a test" if self._begins else "Edit the test"
        return f"{what} of {one_line(self._item.external_id, 40)}"

    @property
    def about(self) -> tuple[str, str]:
        """What is asked for, and how the test reads it."""
        reading = self._item.reading
        return self._item.prompt, f"The test reads it as: {reading}" if reading else ""

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The keys that run the test, and begin it again."""
        again = "begins anew" if self._begins else "the shown test again"
        return (("editor.run", "runs it"), ("editor.reset", again))

    @property
    def beginning(self) -> tuple[str, str]:
        """The test that the review shows."""
        return (
            self._shown,
            "This is how it began." if self._begins else "This is the test that the review shows.",
        )

    def on_mount(self) -> None:
        """Say what is edited."""
        if self._draft is not None:
            self._say("This is your draft.")
        elif self._begins:
            self._say("The code is the module candidate; each function test_... is run and counted.")

    def action_run(self) -> None:
        """Run the test as it stands."""
        if not self.area.text.strip():
            self._say("There is nothing to run.", alarm=True)
        elif self._begins and self.area.text == self._shown:
            self._say("This is only how a test begins: put in a call, and what must come of it.", alarm=True)
        elif self._item.item_id in self.context.tests.running:
            self._say("Another test of this item is still running; run this one when that has ended.")
        else:
            self.dismiss(self.area.text)
