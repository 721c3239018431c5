"""Running the test of an item, and choosing which of its runs is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.parts import ScreenParts
from screens.test_runner import TestEnded
from store.evidence import Citation

_BLIND = "The agents' test is not shown in a blind review, and cannot be run in one."


class TestRuns:
    """Runs tests, and shows one run of several.

    Args:
        parts: What the parts of the screen share.
        show: Shows an item with the run that is chosen.
        forget: Drops an item that was read before, by its key.
        reload: Reads an item again if it is the one shown, by its key.
    """

    __test__ = False

    def __init__(
        self,
        parts: ScreenParts,
        show: Callable[[ItemView], None],
        forget: Callable[[int], None],
        reload: Callable[[int], None],
    ) -> None:
        self._parts = parts
        self._show = show
        self._forget = forget
        self._reload = reload
        self._chosen_runs: dict[int, UUID | None] = {}
        # What was shown before the run that is shown, and when that changed; see `execution_on_screen`.
        self._replaced: tuple[int, UUID | None, float] | None = None

    def handlers(self) -> Handlers:
        """Return what the commands do that run tests, and show their runs."""
        return {
            "review.run": Handler(self.run_shown, self._can_run, of_item=True),
            "review.other_run": Handler(self.show_other, self._has_others, of_item=True),
        }

    def _can_run(self) -> bool:
        item = self._parts.item
        return item is None or (item.has_test and self._parts.context.rater is not None)

    def _has_others(self) -> bool:
        return self._parts.item is None or len(self._parts.item.runs) > 1

    # -- running --------------------------------------------------------------------------------------

    def run_shown(self) -> None:
        """Run the test that is shown once more."""
        test = self.test_to_run("run")
        if test is not None and self._parts.item is not None:
            self.run(self._parts.item, test)

    def test_to_run(self, verb: str) -> str | None:
        """Return the test that is shown, to be edited also the beginning of one where there is none.

        None where it cannot be run now; then it is said why.
        """
        item = self._parts.item
        if self._parts.context.rater is None:
            self._parts.context.notices.say_no_rater()
        elif item is None or not self._parts.guard.is_painted:
            self._parts.say("There is no item on the screen yet.")
        elif item.blind:
            self._parts.say(_BLIND)
        elif not (test := shown_test(item) or (item.first_test if verb == "edit" else "")):
            can = f"; {self._parts.key('edit')} writes one of your own" if item.first_test else ""
            self._parts.say(f"There is no test to {verb}: the agents wrote none for this item{can}.")
        elif item.item_id in self._parts.context.tests.running:
            self._parts.say("The test of this item is running already; it is told when it has ended.")
        else:
            return test
        return None

    def run(self, item: ItemView, test: str) -> None:
        """Run a test of an item."""
        self._parts.context.tests.start(item.item_id, item.external_id, test, item.execution)
        self._parts.say("Running the test behind the review; it is told when it has ended.")

    def ended(self, test: TestEnded) -> None:
        """Show the run of a test that has ended."""
        if test.executed is not None:
            self._forget(test.item_id)
            self._chosen_runs[test.item_id] = test.executed.id
            self._reload(test.item_id)

    # -- choosing -------------------------------------------------------------------------------------

    def show_other(self) -> None:
        """Show the next run of the test, after the last one the first."""
        item = self._parts.item
        if item is None:
            self._parts.say("There is no item on the screen yet.")
        elif item.blind:
            self._parts.say(_BLIND)
        elif len(item.runs) < 2:
            self._parts.say(f"There is no other run of the test; {self._parts.key('run')} runs it again.")
        else:
            self._show_run((item.run + 1) % len(item.runs))
            self._parts.say(
                self._parts.item.runs[self._parts.item.run].panes[0].heading if self._parts.item else ""
            )

    def _show_run(self, number: int) -> None:
        """Show one of the item's runs in the panes of test and log."""
        item = self._parts.item
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
        shown = self._parts.item
        if shown is not None and shown.item_id == view.item_id and shown.execution != view.execution:
            self._replaced = (view.item_id, shown.execution, time.monotonic())
        return view

    @property
    def execution_on_screen(self) -> UUID | None:
        """The execution that was shown when the key came whose action runs."""
        item = self._parts.item
        if item is None:
            return None
        if self._replaced is not None:
            item_id, before, since = self._replaced
            if item_id == item.item_id and self._parts.context.last_key.time < since:
                return before
        return item.execution

    def bring_out(self, citation: Citation) -> None:
        """Show the execution whose test or log is cited."""
        if self._parts.item is None or citation.execution is None:
            return
        keys = [run.execution for run in self._parts.item.runs]
        if citation.execution in keys:
            self._show_run(keys.index(citation.execution))


def shown_test(item: ItemView) -> str:
    """Return the test that an item shows; empty where it shows none."""
    return next((part.text for part in item.case if part.part == "test"), "")
