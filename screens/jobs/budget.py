"""The modal in which a run that paused at its budget is given more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.commands import bindings
from screens.form import Problem
from screens.help import hint
from screens.jobs.job_line import format_amount
from screens.widgets.line_input import UndoInput
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.jobs.budget import Budget
    from agents.jobs.errors import BudgetReached
    from agents.jobs.events import JobProgressed
    from screens.settings import ScreenSettings

UNITS = {
    "money": "US dollars, such as 12.50",
    "tokens": "input and output tokens",
    "requests": "requests to models",
    "items": "items with a label",
}


# A comma stands before three digits: what "12,50" means is not guessed.
_NUMBER = re.compile(r"\$?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?P<cents>\.\d+)?")


class InvalidBudget(WorkbenchError):
    """The input is not a valid budget."""


def raised(budget: Budget, used_up: BudgetReached, typed: str) -> Budget:
    """Return a budget of which the part that was used up is raised.

    Args:
        used_up: Which part of it was reached.
        typed: The new bound as a person writes it: "12.50", "$12.50", "20,000".

    Raises:
        InvalidBudget: It is no number, or the run would pause again at once.
    """
    what = used_up.what
    found = _NUMBER.fullmatch(typed.strip())
    if found is None or (found["cents"] and what != "money"):
        kind = "an amount of dollars, such as 12.50" if what == "money" else "a whole number, such as 20,000"
        raise InvalidBudget("Not a budget", f"Type {kind}.")
    text = found[0].removeprefix("$").replace(",", "")
    limit = float(text) if what == "money" else int(text)
    if limit <= used_up.spent:
        raise InvalidBudget(
            "Not more",
            f"{format_amount(what, used_up.spent)} are spent already; the budget must be higher than that.",
        )
    return budget.raised(what, limit)


class BudgetScreen(ModalScreen["Budget | None"]):
    """Shows what was spent and takes a higher budget; None when it is left as it was.

    Args:
        progress: The progress with the spending of the run; None before any.
    """

    CSS_PATH = "budget.tcss"
    BINDINGS = bindings("budget")

    def __init__(
        self, settings: ScreenSettings, budget: Budget, used_up: BudgetReached, progress: JobProgressed | None
    ) -> None:
        super().__init__()
        self._settings = settings
        self._budget = budget
        self._used_up = used_up
        self._progress = progress

    def compose(self) -> ComposeResult:
        """Lay out what was spent of which budget, and the field for the new one."""
        what = self._used_up.what
        with Vertical(classes="modal") as box:
            box.border_title = "The budget is used up"
            yield Static(Content("\n").join(self._lines()), id="spent")
            yield Static(Content(f"New budget of the run: {UNITS[what]}"), id="asked")
            yield UndoInput(id="limit", placeholder=f"more than {format_amount(what, self._used_up.spent)}")
            yield Problem(id="wrong")
            keys = hint(self._settings, ("budget.give", "continue with it"), ("budget.leave", "cancel"))
            yield Static(Content(keys), classes="keys")

    def _lines(self) -> list[Content]:
        spent = dict.fromkeys(UNITS, 0.0)
        if (progress := self._progress) is not None:
            spent = {
                "money": progress.spent.money or 0.0,
                "tokens": progress.spent.tokens,
                "requests": progress.spent.requests,
                "items": progress.labelled,
            }
        spent[self._used_up.what] = self._used_up.spent
        limits = self._budget.limits
        lines = [Content.styled(f"{'all jobs of the run':<25}{'spent':>15}{'budget':>15}", "bold")]
        for what, unit in UNITS.items():
            limit = _number(what, limits[what]) if what in limits else "none"
            line = f"{unit.split(',')[0]:<25}{_number(what, spent[what]):>15}{limit:>15}"
            if what == self._used_up.what:
                lines.append(Content.styled(f"{line}  used up", "bold $text-accent"))
            else:
                lines.append(Content(line))
        return lines

    @on(Input.Changed)
    def _typed(self) -> None:
        self.query_one(Problem).show()

    def action_give(self) -> None:
        """Go on with the typed budget, or show what is wrong with it."""
        try:
            budget = raised(self._budget, self._used_up, self.query_one("#limit", Input).value)
        except InvalidBudget as error:
            self.query_one(Problem).show(error)
        else:
            self.dismiss(budget)


def _number(what: str, number: float) -> str:
    return format_amount(what, number).split()[0]
