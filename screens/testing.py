"""The app's way of running tests: behind the screens, at most one at a time for an item."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from textual import on, work
from textual.signal import Signal

from screens.context import AppContext
from screens.messages import TestEnded
from screens.recording import RecordingApp
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.expert_runs import ExpertRuns


class TestingApp(RecordingApp):
    """An app that runs tests for the rater, and tells what came of them wherever the rater is then.

    Attributes:
        test_ended: Published with every test that has ended.
        testing: The items whose test is running.
    """

    __test__ = False

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.test_ended: Signal[TestEnded] = Signal(self, "test-ended")
        self.testing: set[int] = set()
        self._making = threading.Lock()

    @cached_property
    def _expert_runs(self) -> ExpertRuns:
        return self.context.make_expert_runs()

    def start_test(self, item_id: int, name: str, test: str, like: UUID | None) -> bool:
        """Run a test of an item behind the screens.

        Args:
            item_id: The item.
            name: What the item is called.
            test: The test program, exactly.
            like: The execution in whose environment it runs; None where there is none.

        Returns:
            Whether it was begun: a test of this item may be running already.
        """
        rater = self.context.rater
        if rater is None or item_id in self.testing:
            return False
        self.testing.add(item_id)
        self._start_test(item_id, name, test, like)
        return True

    @work(thread=True, group="tests")
    def _start_test(self, item_id: int, name: str, test: str, like: UUID | None) -> None:
        """Begin a run, in a thread: what it needs is loaded with the first one."""
        from agents.expert_runs import ExpertRun

        assert self.context.rater is not None
        try:
            with self._making:
                runs = self._expert_runs
            future = runs.start(ExpertRun(item_id, self.context.rater, test, like))
        except (WorkbenchError, OSError) as error:
            self._post(TestEnded(item_id, name, test, None, error))
            return
        self._follow(
            future,
            lambda executed: TestEnded(item_id, name, test, executed),
            lambda error: TestEnded(item_id, name, test, None, error),
        )

    @on(TestEnded)
    def _test_ended(self, message: TestEnded) -> None:
        self.testing.discard(message.item_id)
        name = one_line(message.name, 24)
        if message.executed is not None:
            # A start does without: the tables that it reads take longer to import than the first screen.
            from screens.review.runs import results

            self.tell(f"Test of {name}", " · ".join(results(message.executed.report)))
        else:
            self.tell(f"Test of {name} not run", _why(message.error), alarm=True)
        self.test_ended.publish(message)


def _why(error: BaseException | None) -> str:
    if isinstance(error, WorkbenchError):
        return " ".join(filter(None, (f"{error.title}: {error.message}", error.hint)))
    return f"{type(error).__name__}: {error}. Nothing was recorded; try again."
