"""Running the test of an item again, and choosing which of its runs is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.review.citing import CitingLines
from screens.test_runner import TestEnded
from store.evidence import Citation

_BLIND = "The agents' test is not shown in a blind review, and cannot be run in one."


class RunningTests(CitingLines):
    """The part of a review screen that runs tests, and shows one run of several."""

    # What the whole screen gives to this part: reads an item anew if it is the one shown.
    _reload: Callable[[int], None]

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator, ids, index, asked)
        self._chosen_runs: dict[int, UUID | None] = {}
        # What was shown before the run that is shown, and when that changed; see `execution_on_screen`.
        self._replaced: tuple[int, UUID | None, float] | None = None

    def on_mount(self) -> None:
        """Follow the tests that are running."""
        self.context.tests.ended.subscribe(self, self._test_ended)

    # -- running --------------------------------------------------------------------------------------

    def action_run_test(self) -> None:
        """Run the test that is shown once more."""
        test = self._test_to_run("run")
        if test is not None and self.item is not None:
            self._run_test(self.item, test)

    def _test_to_run(self, verb: str) -> str | None:
        """Return the test that is shown, to be edited also the beginning of one where there is none.

        None where it cannot be run now; then it is said why.
        """
        item = self.item
        if self.context.rater is None:
            self.context.notices.say_no_rater()
        elif item is None or not self.is_painted:
            self._say("There is no item on the screen yet.")
        elif self._is_blind:
            self._say(_BLIND)
        elif not (test := self._shown_test(item) or (item.first_test if verb == "edit" else "")):
            can = f"; {self._key('edit')} writes one of your own" if item.first_test else ""
            self._say(f"There is no test to {verb}: the agents wrote none for this item{can}.")
        elif item.item_id in self.context.tests.running:
            self._say("The test of this item is running already; it is told when it has ended.")
        else:
            return test
        return None

    @staticmethod
    def _shown_test(item: ItemView) -> str:
        return next((part.text for part in item.case if part.part == "test"), "")

    def _run_test(self, item: ItemView, test: str) -> None:
        self.context.tests.start(item.item_id, item.external_id, test, item.execution)
        self._say("Running the test behind the review; it is told when it has ended.")

    def _test_ended(self, message: TestEnded) -> None:
        if message.executed is None:
            return
        self.reader.forget(message.item_id)
        self._chosen_runs[message.item_id] = message.executed.id
        self._reload(message.item_id)

    # -- choosing -------------------------------------------------------------------------------------

    def action_other_run(self) -> None:
        """Show the next run of the test, after the last one the first."""
        item = self.item
        if item is None:
            self._say("There is no item on the screen yet.")
        elif self._is_blind:
            self._say(_BLIND)
        elif len(item.runs) < 2:
            self._say(f"There is no other run of the test; {self._key('run')} runs it again.")
        else:
            self._show_run((item.run + 1) % len(item.runs))
            self._say(self.item.runs[self.item.run].panes[0].heading if self.item else "")

    def _show_run(self, number: int) -> None:
        """Show one of the item's runs in the panes of test and log."""
        item = self.item
        if item is None or number == item.run:
            return
        self._chosen_runs[item.item_id] = item.runs[number].execution
        view = self._with_citations(self._as_chosen(item))
        self.show_as(view)
        with self.app.batch_update():
            self._fill(view)
            self._show_active()
        self._panes.fill()

    def _as_chosen(self, view: ItemView) -> ItemView:
        chosen = self._chosen_runs.get(view.item_id)
        keys = [run.execution for run in view.runs]
        if chosen in keys and keys.index(chosen) != view.run:
            view = view.with_run(keys.index(chosen))
        shown = self.item
        if shown is not None and shown.item_id == view.item_id and shown.execution != view.execution:
            self._replaced = (view.item_id, shown.execution, time.monotonic())
        return view

    @property
    def execution_on_screen(self) -> UUID | None:
        """The execution that was shown when the key came whose action runs."""
        item = self.item
        if item is None:
            return None
        if self._replaced is not None:
            item_id, before, since = self._replaced
            if item_id == item.item_id and self.context.last_key.time < since:
                return before
        return item.execution

    def _bring_out(self, citation: Citation) -> None:
        if self.item is None or citation.execution is None:
            return
        keys = [run.execution for run in self.item.runs]
        if citation.execution in keys:
            self._show_run(keys.index(citation.execution))
