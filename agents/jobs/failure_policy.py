"""Decides whether failures concern single items or the whole job."""

from __future__ import annotations

from agents.llm.errors import ModelError
from store.errors import WorkbenchError
from store.formatting import pluralize

# A request that the service rejects can be the item's fault (too long); three at the start are the settings'.
_REJECTED_AT_ONCE = 3


class FailurePolicy:
    """Watches the items of a job fail.

    Args:
        most: So many failures in a row are too many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_a_row = 0
        self._rejected = 0
        self._answered = False

    def answered(self) -> None:
        """A model has answered: it is the right one, and takes what it is sent."""
        self._answered = True

    def stopped(self) -> None:
        """An item went well, or somebody has looked."""
        self._in_a_row = 0

    def count(self) -> None:
        """An item failed by itself."""
        self._in_a_row += 1

    def affects_all_items(self, failure: WorkbenchError, total: int) -> bool:
        """Tell whether all of the job's `total` items would fail in the same way."""
        if not isinstance(failure, ModelError):
            return False
        if failure.kind == "bad_request" and not self._answered:
            self._rejected += 1
            return self._rejected >= min(_REJECTED_AT_ONCE, total)
        return failure.kind == "unauthorised"

    def too_many(self, last: WorkbenchError) -> WorkbenchError | None:
        """Return the error that stops the job; None while it can go on."""
        if self._in_a_row < self._most:
            return None
        return WorkbenchError(
            "Agents keep failing",
            f"{pluralize(self._in_a_row, 'item')} in a row failed, at last: {last.title}: {last.message}",
            last.hint or "Mend the cause, then go on: items that failed are tried again by the next job.",
        )
