"""The error of a job that has used up its budget."""

from __future__ import annotations

from store.errors import WorkbenchError
from store.formatting import dollars


class BudgetReached(WorkbenchError):
    """A run has used up its budget; nothing failed.

    `what` is the budget that was reached, a field of `Budget`; `limit` and `spent` are in its unit. `option`
    is its name in settings, options and JSON, where items are called pairs.
    """

    exit_code = 3

    def __init__(self, what: str, limit: float, spent: float) -> None:
        self.what, self.limit, self.spent = what, limit, spent
        self.option = "pairs" if what == "items" else what
        fields = [dollars(number) if what == "money" else f"{number:,} {what}" for number in (limit, spent)]
        super().__init__(
            "Budget reached",
            f"The budget of this run is {fields[0]}; all its jobs together have spent {fields[1]}.",
            f"Everything is kept. Give more with --budget-{self.option}, and the same command goes on from "
            "here.",
        )
