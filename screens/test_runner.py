"""Running tests for the rater: behind the screens, at most one at a time for an item."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.signal import Signal

from screens.notices import Notices
from screens.threads import follow, in_thread
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.jobs.expert_tests import ExpertTests
    from agents.jobs.step_recorder import RecordedExecution
    from screens.items.views import ItemView
    from store.record.rater_ref import RaterRef


@dataclass(frozen=True, slots=True)
class TestEnded:
    """A test that the rater had run has ended, or could not be run.

    Attributes:
        executed: The execution that is on disk; None when there is none.
        error: Why there is none.
    """

    __test__: ClassVar[bool] = False

    item_id: int
    name: str
    test: str
    executed: RecordedExecution | None
    error: BaseException | None = None


class TestRunner:
    """Runs tests, and reports their results on whichever screen is shown then.

    Args:
        app: In whose order of messages results are delivered.
        rater: Who has them run; None where nobody can.
        make_expert_runs: Makes what runs them; called in a thread, with the first one.

    Attributes:
        ended: Published with every test that has ended.
    """

    __test__ = False

    def __init__(
        self,
        app: App[Any],
        rater: RaterRef | None,
        make_expert_runs: Callable[[], ExpertTests],
        notices: Notices,
    ) -> None:
        self.ended: Signal[TestEnded] = Signal(app, "test-ended")
        self.running: set[int] = set()
        self._app = app
        self._rater = rater
        self._make_expert_runs = make_expert_runs
        self._notices = notices
        self._making = threading.Lock()

    @cached_property
    def _expert_runs(self) -> ExpertTests:
        return self._make_expert_runs()

    def start(self, item: ItemView, test: str, editing_ms: int = 0) -> bool:
        """Run a test of an item behind the screens.

        Args:
            item: The item; the test runs in the environment of the execution that is shown.
            test: The test program, exactly.
            editing_ms: How long it was edited, in milliseconds.

        Returns:
            Whether it was begun: a test of this item may be running already.
        """
        if self._rater is None or item.item_id in self.running:
            return False
        self.running.add(item.item_id)
        item_id, name = item.item_id, item.external_id

        def succeeded(executed: RecordedExecution) -> None:
            self._report_ended(TestEnded(item_id, name, test, executed))

        def failed(error: BaseException) -> None:
            self._report_ended(TestEnded(item_id, name, test, None, error))

        begin = partial(self._begin, self._rater, item, test, editing_ms)
        begun = partial(follow, self._app, succeeded=succeeded, failed=failed, group="tests")
        in_thread(self._app, begin, begun, group="tests", exclusive=False)
        return True

    def _begin(
        self, rater: RaterRef, item: ItemView, test: str, editing_ms: int
    ) -> Future[RecordedExecution]:
        """Begin a run, in a thread: what it needs is loaded with the first one."""
        from agents.jobs.expert_tests import ExpertRun

        wanted = ExpertRun(
            item.item_id,
            rater,
            test,
            item.execution,
            assignment_id=item.assignment_id,
            own=item.tests == "own",
            editing_ms=editing_ms,
        )

        try:
            with self._making:
                runs = self._expert_runs
            return runs.start(wanted)
        except (WorkbenchError, OSError) as error:
            failed: Future[RecordedExecution] = Future()
            failed.set_exception(error)
            return failed

    def _report_ended(self, test: TestEnded) -> None:
        self.running.discard(test.item_id)
        name = one_line(test.name, 24)
        if test.executed is not None:
            # A start does without: the tables that it reads take longer to import than the first screen.
            from screens.items.runs import results

            self._notices.show(f"Test of {name}", " · ".join(results(test.executed.report)))
        else:
            self._notices.show(f"Test of {name} not run", _why(test.error), alarm=True)
        self.ended.publish(test)


def _why(error: BaseException | None) -> str:
    if isinstance(error, WorkbenchError):
        return " ".join(filter(None, (f"{error.title}: {error.message}", error.hint)))
    return f"{type(error).__name__}: {error}. Nothing was recorded; try again."
