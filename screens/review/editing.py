"""Editing the test of an item, here or in an editor of the environment, and running what was written."""

from __future__ import annotations

from collections.abc import Callable

from screens.items.views import ItemView
from screens.judging.drafts import text_drafts
from screens.judging.parts import ScreenParts
from screens.outside import EditorGaveUp
from screens.review.test_editor import TestEditor
from screens.review.test_runs import TestRuns, shown_test
from screens.test_runner import TestEnded
from screens.widgets.text.code_area import can_hold
from store.errors import WorkbenchError


class TestEditing:
    """Edits tests; what was written stays a draft, kept like that of a comment, until its run is on disk.

    Args:
        parts: What the parts of the screen share.
        runs: Runs what was written.
        changed: Called when a draft has changed.

    Attributes:
        drafts: What was written.
    """

    __test__ = False

    def __init__(self, parts: ScreenParts, runs: TestRuns, changed: Callable[[], None]) -> None:
        self._parts = parts
        self._runs = runs
        self._changed = changed
        self.drafts = text_drafts("tests")

    def edit(self) -> None:
        """Edit the test that is shown, or the draft of it."""
        test, item = self._runs.test_to_run("edit"), self._parts.item
        if test is None or item is None:
            return
        draft = self.drafts.get(item.item_id)
        if not can_hold(test if draft is None else draft):
            outside = self._parts.key("edit_outside")
            self._parts.say(
                f"This test is too long, or has characters that cannot be edited here; {outside} can."
            )
            return
        editor = TestEditor(
            self._parts.context, item, test, draft, lambda text: self._keep_test(item, test, text)
        )
        self._parts.screen.app.push_screen(editor, lambda text: self._edited(item, text))

    def _edited(self, item: ItemView, text: str | None) -> None:
        if text is not None:
            self._runs.run(item, text)
        elif item.item_id in self.drafts:
            self._parts.say(f"Draft kept; {self._parts.key('edit')} goes on with it.")
        else:
            began = self._parts.item is not None and not shown_test(self._parts.item)
            self._parts.say("No test was begun." if began else "The test is as it was.")

    def edit_outside(self) -> None:
        """Edit the test that is shown, or the draft of it, in `$EDITOR`, and run what comes back."""
        test, item = self._runs.test_to_run("edit"), self._parts.item
        if test is None or item is None:
            return
        draft = self.drafts.get(item.item_id)
        before = test if draft is None else draft
        try:
            text = self._parts.context.others.edit(before, file=TestEditor.FILE, untaken=TestEditor.UNTAKEN)
        except EditorGaveUp as gave_up:
            self._keep_test(item, test, gave_up.text)
            self._parts.context.notices.report_error(gave_up)
            if item.item_id in self.drafts:
                self._parts.saying.say_also(f"A draft is kept; {self._parts.key('edit')} goes on with it.")
        except WorkbenchError as error:
            self._parts.context.notices.report_error(error)
        else:
            self._keep_test(item, test, text)
            if text == item.first_test:
                self._parts.say("Nothing was written; no test was run.")
            elif text == before and draft is None:
                self._parts.say(f"The test is as it was; {self._parts.key('run')} runs it.")
            elif not text.strip():
                self._parts.say("There is nothing to run.", alarm=True)
            else:
                self._runs.run(item, text)

    def _keep_test(self, item: ItemView, shown: str, text: str) -> None:
        """Keep what was written for a test as the draft of it."""
        self.drafts.put(item.item_id, text if text != shown else None)
        self._changed()

    def ended(self, test: TestEnded) -> None:
        """Drop the draft of a test whose run is on disk."""
        if test.executed is not None and self.drafts.get(test.item_id) == test.test:
            self.drafts.put(test.item_id, None)
            self._changed()

    # -- keeping --------------------------------------------------------------------------------------

    def say_kept(self, item_id: int) -> None:
        """Say that an item that has come onto the screen has a draft."""
        if item_id in self.drafts and item_id not in self._parts.context.tests.running:
            edit = self._parts.key("edit")
            self._parts.saying.say_also(f"Your edited test is kept: {edit} goes on with it.")
