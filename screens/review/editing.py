"""Editing the test of an item, here or in an editor of the environment, and running what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.navigator import Navigator
from screens.outside import EditorGaveUp
from screens.queue.asked import Asked
from screens.review.beside import ChoosingSides
from screens.review.keeping import DRAFTS_KEPT
from screens.review.test_editor import TestEditor
from screens.test_runner import TestEnded
from screens.widgets.code_area import can_hold
from store.errors import WorkbenchError


class EditingTests(ChoosingSides):
    """The part of a review screen in which tests are edited.

    What was written stays a draft, kept like that of a comment, until its run is on disk.
    """

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator, ids, index, asked)
        self._test_drafts: dict[int, str] = {}

    # -- editing --------------------------------------------------------------------------------------

    def action_edit(self) -> None:
        """Edit the test that is shown, or the draft of it."""
        test, item = self._test_to_run("edit"), self.item
        if test is None or item is None:
            return
        draft = self._test_drafts.get(item.item_id)
        if not can_hold(test if draft is None else draft):
            outside = self._key("edit_outside")
            self._say(f"This test is too long, or has characters that cannot be edited here; {outside} can.")
            return
        editor = TestEditor(self.context, item, test, draft, lambda text: self._keep_test(item, test, text))
        self.app.push_screen(editor, lambda text: self._edited(item, text))

    def _edited(self, item: ItemView, text: str | None) -> None:
        if text is not None:
            self._run_test(item, text)
        elif item.item_id in self._test_drafts:
            self._say(f"Draft kept; {self._key('edit')} goes on with it.")
        else:
            began = self.item is not None and not self._shown_test(self.item)
            self._say("No test was begun." if began else "The test is as it was.")

    def action_edit_outside(self) -> None:
        """Edit the test that is shown, or the draft of it, in `$EDITOR`, and run what comes back."""
        test, item = self._test_to_run("edit"), self.item
        if test is None or item is None:
            return
        draft = self._test_drafts.get(item.item_id)
        before = test if draft is None else draft
        try:
            text = self.context.others.edit(before, file=TestEditor.FILE, untaken=TestEditor.UNTAKEN)
        except EditorGaveUp as gave_up:
            self._keep_test(item, test, gave_up.text)
            self.context.notices.report_error(gave_up)
            if item.item_id in self._test_drafts:
                self._say_also(f"A draft is kept; {self._key('edit')} goes on with it.")
        except WorkbenchError as error:
            self.context.notices.report_error(error)
        else:
            self._keep_test(item, test, text)
            if text == item.first_test:
                self._say("Nothing was written; no test was run.")
            elif text == before and draft is None:
                self._say(f"The test is as it was; {self._key('run')} runs it.")
            elif not text.strip():
                self._say("There is nothing to run.", alarm=True)
            else:
                self._run_test(item, text)

    def _keep_test(self, item: ItemView, shown: str, text: str) -> None:
        """Keep what was written for a test as the draft of it."""
        self._test_drafts.pop(item.item_id, None)
        if text != shown:
            self._test_drafts[item.item_id] = text
        self.keep_place_soon()

    def _test_ended(self, message: TestEnded) -> None:
        super()._test_ended(message)
        if message.executed is not None and self._test_drafts.get(message.item_id) == message.test:
            del self._test_drafts[message.item_id]
            self.keep_place_soon()

    # -- keeping --------------------------------------------------------------------------------------

    def _restore_places(self, view: ItemView) -> None:
        super()._restore_places(view)
        if view.item_id in self._test_drafts and view.item_id not in self.context.tests.running:
            self._say_also(f"Your edited test is kept: {self._key('edit')} goes on with it.")

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        super().take_session(session)
        kept = session.get("tests")
        for number, text in (kept if isinstance(kept, dict) else {}).items():
            self._test_drafts.setdefault(int(number), str(text))

    def _further_drafts(self) -> dict[str, Any]:
        drafts = list(self._test_drafts.items())[-DRAFTS_KEPT:]
        return {**super()._further_drafts(), "tests": {str(number): text for number, text in drafts}}
