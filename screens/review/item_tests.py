"""Running, choosing and editing the test of an item."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from screens.dispatch import Handler, Handlers
from screens.external_programs import TEST_FILE
from screens.items.views import ItemView, PaneText
from screens.judging.context import JudgingContext
from screens.judging.drafts import text_drafts
from screens.judging.judgment_builder import IDLE_SECONDS, Stopwatch
from screens.review.panes import PaneController
from screens.review.text_editor import TextEditor, can_edit_here, edit_externally
from screens.test_runner import TestEnded
from screens.widgets.text.sanitize import one_line
from store.record.evidence import Citation

if TYPE_CHECKING:
    from screens.context import ScreenContext

_BLIND = "The agents' test is not shown in a blind review and cannot be run."
_NO_TESTS = "Tests are not shown for this item and cannot be run."
_DRAFT = "Your draft · not run yet"
_NO_PYTHON = "Tests are written in Python, and this code is not."


class TestEditor(TextEditor):
    """Edits a test; returns it when it is to be run, None when it is put aside.

    Args:
        shown: The test that the review shows; the beginning of one where it shows none.
        draft: The rater's draft; None where there is none.
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
        super().__init__(context, shown if draft is None else draft, self._kept)
        self._keep_draft = keep
        self._item = item
        self._watch = Stopwatch(IDLE_SECONDS if context.study is None else context.study.idle_seconds)
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
        """The prompt, and how the test reads it."""
        reading = self._item.reading
        return self._item.prompt, f"The test reads it as: {reading}" if reading else ""

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The keys that run the test, and begin it again."""
        again = "original test" if self._begins else "shown test"
        return (("editor.run", "runs it"), ("editor.reset", again))

    @property
    def beside(self) -> PaneText:
        """The code that is tested."""
        return self._item.subject

    @property
    def beginning(self) -> tuple[str, str]:
        """The test that the review shows."""
        return (
            self._shown,
            "This is the original test." if self._begins else "This is the shown test.",
        )

    @property
    def time(self) -> tuple[int, int]:
        """For how many milliseconds it has been open, and for how many of these the rater was active."""
        return self._watch.read()

    def _kept(self, text: str) -> None:
        self._watch.touch()
        self._keep_draft(text)

    def on_mount(self) -> None:
        """Say what is edited."""
        if self._draft is not None:
            self._show_message("This is your draft.")
        elif self._begins:
            self._show_message("The code is the module candidate; each function test_... is run and counted.")

    def action_run(self) -> None:
        """Run the test."""
        if not self.area.text.strip():
            self._show_message("There is nothing to run.", alarm=True)
        elif self._begins and self.area.text == self._shown:
            self._show_message("This is only a skeleton: add a call and the expected result.", alarm=True)
        elif self._item.item_id in self.context.tests.running:
            self._show_message("Another test of this item is still running; run this one after it.")
        else:
            self.dismiss(self.area.text)


class ItemTests:
    """Runs and edits the test of an item, and shows one of its runs.

    An edited test stays a draft, kept like that of a comment, until its run is on disk.

    Args:
        show: Shows an item with the run that is chosen.
        forget: Drops an item that was read before, by its key.
        reload: Reads an item again if it is the one shown, by its key.
        changed: Called when a draft has changed.

    Attributes:
        drafts: The edited tests.
    """

    __test__ = False

    def __init__(
        self,
        shared: JudgingContext,
        show: Callable[[ItemView], None],
        forget: Callable[[int], None],
        reload: Callable[[int], None],
        changed: Callable[[], None],
        *,
        panes: PaneController,
    ) -> None:
        self._shared = shared
        self._panes = panes
        # The items whose edited test runs, so that its result is brought into view.
        self._edited_items: set[int] = set()
        self._show = show
        self._forget = forget
        self._reload = reload
        self._changed = changed
        self.drafts = text_drafts("tests")
        self._chosen_runs: dict[int, UUID | None] = {}
        # For how many milliseconds the test of an item was edited since its last run.
        self._edited_ms: Counter[int] = Counter()
        # The item and the value of the label without a test that was asked about.
        self._asked_without: tuple[int, float] | None = None
        # The execution shown before the current one, and when that changed; see `execution_on_screen`.
        self._replaced: tuple[int, UUID | None, float] | None = None

    def handlers(self) -> Handlers:
        """Return what the commands do that run tests, and show their runs."""
        return {
            "review.run": Handler(self.run_shown, self._can_run, of_item=True),
            "review.other_run": Handler(self.show_other, self._has_others, of_item=True),
        }

    def _can_run(self) -> bool:
        item = self._shared.item
        return item is None or bool(self._runnable(item) and self._shared.context.rater is not None)

    def _has_others(self) -> bool:
        return self._shared.item is None or len(self._shared.item.runs) > 1

    # -- running --------------------------------------------------------------------------------------

    def run_shown(self) -> None:
        """Run the test that is shown once more."""
        test = self.test_to_run("run")
        if test is not None and self._shared.item is not None:
            self.run(self._shared.item, test)

    def test_to_run(self, verb: str) -> str | None:
        """Return the test that is shown, to be edited also the beginning of one where there is none.

        None where it cannot be run now; then it is said why.
        """
        item = self._shared.item
        if self._shared.context.rater is None:
            self._shared.context.notices.show_no_rater()
        elif item is None or not self._shared.guard.is_painted:
            self._shared.show_no_item()
        elif item.tests == "none":
            self._shared.show_message(_BLIND if item.blind else _NO_TESTS)
        elif not (test := shown_test(item) if verb == "edit" else self._runnable(item)) and (
            verb == "run" or not item.first_test
        ):
            self._shared.show_message(self._why_no_test(item, verb))
        elif item.item_id in self._shared.context.tests.running:
            self._shared.show_message(
                "The test of this item is already running; you will be told when it ends."
            )
        else:
            return test or item.first_test
        return None

    def _runnable(self, item: ItemView) -> str:
        """Return the test that a key runs: the shown one, or the draft of a first one of one's own."""
        return shown_test(item) or (self.drafts.get(item.item_id) or "" if item.lacks_own_test else "")

    def _why_no_test(self, item: ItemView, verb: str) -> str:
        """Say why there is no test to run or edit."""
        edit = self._shared.key("edit")
        if item.tests == "own":
            return f"You have no test of it yet; {edit} writes one." if item.first_test else _NO_PYTHON
        can = f"; {edit} writes one of your own" if item.first_test else ""
        return f"There is no test to {verb}: the agents wrote none for this item{can}."

    def run(self, item: ItemView, test: str) -> None:
        """Run a test of an item."""
        if self._shared.context.tests.start(item, test, self._edited_ms[item.item_id]):
            del self._edited_ms[item.item_id]
        self._shared.show_message("The test runs in the background; you will be told when it ends.")

    def ended(self, test: TestEnded) -> None:
        """Show the run of a test that has ended, and drop the draft of it."""
        if test.executed is not None:
            if self.drafts.get(test.item_id) == test.test:
                self.drafts.put(test.item_id, None)
                self._changed()
            self._forget(test.item_id)
            self._chosen_runs[test.item_id] = test.executed.id
            self._show_result(test.item_id)
            self._reload(test.item_id)

    def _show_result(self, item_id: int) -> None:
        """Bring the result of an edited test into view, if its item is on the screen and no line is open."""
        item = self._shared.item
        is_shown = item is not None and item.item_id == item_id
        if item_id in self._edited_items and is_shown and not self._shared.is_writing:
            self._panes.show_pane("run")
        self._edited_items.discard(item_id)

    # -- choosing -------------------------------------------------------------------------------------

    def show_other(self) -> None:
        """Show the next run of the test, after the last one the first."""
        item = self._shared.item
        if item is None:
            self._shared.show_no_item()
        elif item.tests == "none":
            self._shared.show_message(_BLIND if item.blind else _NO_TESTS)
        elif len(item.runs) < 2:
            self._shared.show_message(
                f"There is no other run of the test; {self._shared.key('run')} runs it again."
            )
        else:
            self._show_run((item.run + 1) % len(item.runs))
            self._shared.show_message(
                self._shared.item.runs[self._shared.item.run].panes[0].heading if self._shared.item else ""
            )

    def _show_run(self, number: int) -> None:
        """Show one of the item's runs in the panes of test and log."""
        item = self._shared.item
        if item is None or number == item.run:
            return
        self._chosen_runs[item.item_id] = item.runs[number].execution
        self._show(item)

    def as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with the run of its test shown that the rater chose."""
        chosen = self._chosen_runs.get(view.item_id)
        keys = [run.execution for run in view.runs]
        if chosen in keys and keys.index(chosen) != view.run:
            view = view.with_run(keys.index(chosen))
        if view.lacks_own_test and (draft := self.drafts.get(view.item_id)):
            view = view.with_first_test(draft, _DRAFT)
        shown = self._shared.item
        if shown is not None and shown.item_id == view.item_id and shown.execution != view.execution:
            self._replaced = (view.item_id, shown.execution, time.monotonic())
        return view

    @property
    def execution_on_screen(self) -> UUID | None:
        """The execution that was shown when the key came whose action runs."""
        item = self._shared.item
        if item is None:
            return None
        if self._replaced is not None:
            item_id, before, since = self._replaced
            if item_id == item.item_id and self._shared.context.last_key.time < since:
                return before
        return item.execution

    def show_execution(self, citation: Citation) -> None:
        """Show the execution whose test or log is cited."""
        if self._shared.item is None or citation.execution is None:
            return
        keys = [run.execution for run in self._shared.item.runs]
        if citation.execution in keys:
            self._show_run(keys.index(citation.execution))

    # -- editing --------------------------------------------------------------------------------------

    def edit(self) -> None:
        """Edit the test that is shown, or the draft of it."""
        test, item = self.test_to_run("edit"), self._shared.item
        if test is None or item is None:
            return
        draft = self.drafts.get(item.item_id)
        if not can_edit_here(self._shared, test if draft is None else draft, "test"):
            return
        editor = TestEditor(
            self._shared.context, item, test, draft, lambda text: self._keep_test(item, test, text)
        )
        self._shared.screen.app.push_screen(editor, lambda text: self._edited(item, text, editor.time))

    def _edited(self, item: ItemView, text: str | None, time: tuple[int, int]) -> None:
        elapsed, active = time
        self._edited_ms[item.item_id] += active
        self._shared.guard.watch.touch(away=(elapsed - active) / 1000)
        if text is not None:
            self._run_edited(item, text)
        elif item.item_id in self.drafts:
            self._shared.show_message(f"Draft kept; {self._shared.key('edit')} opens it again.")
        else:
            began = self._shared.item is not None and not shown_test(self._shared.item)
            self._shared.show_message("No test was started." if began else "The test is unchanged.")
        self._show_draft(item)

    def _show_draft(self, item: ItemView) -> None:
        """Show the current draft of the rater's own test."""
        shown = self._shared.item
        if shown is not None and shown.item_id == item.item_id and shown.lacks_own_test:
            self._reload(item.item_id)

    def edit_outside(self) -> None:
        """Edit the test that is shown, or the draft of it, in `$EDITOR`, and run what comes back."""
        test, item = self.test_to_run("edit"), self._shared.item
        if test is None or item is None:
            return
        draft = self.drafts.get(item.item_id)
        before, began = test if draft is None else draft, time.monotonic()
        text = edit_externally(
            self._shared,
            before,
            TestEditor,
            lambda text: self._keep_test(item, test, text),
            lambda: item.item_id in self.drafts,
        )
        self._edited_ms[item.item_id] += round((time.monotonic() - began) * 1000)
        self._shared.guard.watch.touch(away=0)
        if text is None:
            return
        self._keep_test(item, test, text)
        if text == item.first_test:
            self._shared.show_message("Nothing was written; no test was run.")
        elif text == before and draft is None:
            self._shared.show_message(f"The test is unchanged; {self._shared.key('run')} runs it.")
        elif not text.strip():
            self._shared.show_message("There is nothing to run.", alarm=True)
        else:
            self._run_edited(item, text)

    def _run_edited(self, item: ItemView, test: str) -> None:
        self._edited_items.add(item.item_id)
        self.run(item, test)

    def _keep_test(self, item: ItemView, shown: str, text: str) -> None:
        """Keep what was written for a test as the draft of it."""
        self.drafts.put(item.item_id, text if text != shown else None)
        self._changed()

    def mention_draft(self, item: ItemView) -> None:
        """Say that an item that has come onto the screen has a draft, or is to have a test."""
        edit = self._shared.key("edit")
        if item.item_id in self._shared.context.tests.running:
            return
        if item.item_id in self.drafts:
            self._shared.append_message(f"Your edited test is kept: {edit} opens it again.")
        elif item.lacks_own_test:
            self._shared.append_message(f"Write a test: {edit}; then judge.")

    # -- labels without a test ------------------------------------------------------------------------

    def ask_without(self, item: ItemView, value: float) -> str:
        """Return what is asked before an item is judged without a test of one's own; empty where it may be.

        The same label, given again, is the answer; another one is asked about again.
        """
        if not item.lacks_own_test or self._asked_without == (item.item_id, value):
            return ""
        self._asked_without = item.item_id, value
        if item.item_id in self._shared.context.tests.running:
            return "Your test is still running. Press again to label without its result."
        return "No test of yours was run. Press again to label without one."


def shown_test(item: ItemView) -> str:
    """Return the test that an item shows; empty where it shows none."""
    return next((part.text for part in item.case if part.part == "test"), "")
