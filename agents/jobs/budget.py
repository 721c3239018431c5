"""The budget of a run, and its spending: counted at once, and priced at the current price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from agents.jobs.errors import BudgetReached
from agents.llm.prices import Price, price_of
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.llm.protocol import Usage
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Step


class Budget(BaseModel):
    """The budget of a work, all its jobs together; unset for no bound."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    money: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """US dollars. The price of every model must be known (`models.prices`)."""

    tokens: int | None = Field(default=None, ge=0)
    """Input and output tokens."""

    requests: int | None = Field(default=None, ge=0)
    """Requests to models, repeated ones included. 0 lets a run take replies from the workspace alone."""

    pairs: int | None = Field(default=None, ge=0)
    """Items with a label."""

    @property
    def limits(self) -> dict[str, float]:
        """The bounds that are set, by what they bound: money, tokens, requests, items."""
        found = self.model_dump(exclude_none=True)
        return {"items" if what == "pairs" else what: limit for what, limit in found.items()}

    def raised(self, what: str, limit: float) -> Budget:
        """Return the budget with another bound.

        Args:
            what: What it bounds, as in `limits`.
            limit: The bound.
        """
        return self.model_copy(update={"pairs" if what == "items" else what: limit})


class Spending:
    """The spending of one run, in this job and before, in the job's own loop."""

    def __init__(self, budget: Budget, prices: Mapping[str, Price]) -> None:
        self.budget = budget
        self._prices = prices
        self.money = 0.0
        self.tokens = 0
        self.unreported: WorkbenchError | None = None
        """Why the budget cannot be kept, once a service does not report tokens."""
        self.requests = 0
        self.items = 0

    def require_prices(self, models: tuple[str, ...]) -> None:
        """Refuse a budget in money for models whose price nobody gave.

        Raises:
            WorkbenchError: A price is not known.
        """
        unknown = sorted({model for model in models if price_of(self._prices, model) is None})
        if self.budget.money is None or not unknown:
            return
        raise WorkbenchError(
            "Price not known",
            f"A budget in money needs the price of {', '.join(unknown)}, and none is set.",
            "Set it in models.prices of the configuration (docs/annotating.md shows how), or give a budget "
            "in tokens or requests.",
        )

    def begin(self, counts: RunFigures) -> None:
        """Add the spending of the run's earlier jobs."""
        self.money = counts.money or 0.0
        self.tokens = counts.tokens_in + counts.tokens_out
        self.requests = counts.requests
        self.items = counts.labelled

    def price(self, model: str, usage: Usage) -> tuple[float | None, str]:
        """Price a usage.

        Args:
            model: The model's name with its provider.
            usage: The tokens spent.

        Returns:
            US dollars, None where that cannot be known, and the price as text, empty without one.
        """
        price = price_of(self._prices, model)
        return (None, "") if price is None else (price.money(usage), price.as_text())

    def spend(self, step: Step, usage: Usage) -> None:
        """Count what a turn cost, as soon as that is known; its requests were counted as they left."""
        self.money += step.money or 0.0
        self.tokens += step.tokens_in + step.tokens_out
        nothing = bool(step.requests) and step.outcome == "ok" and not step.tokens_out
        what = "money" if self.budget.money is not None else "tokens"
        if (usage.unreported or nothing) and getattr(self.budget, what) is not None:
            self.unreported = WorkbenchError(
                "Cost not reported",
                f"{step.model} answered without saying how many tokens that took, so a budget in {what} "
                "cannot be kept.",
                "Everything is kept. Go on with a budget in requests or items.",
            )

    def begin_item(self) -> None:
        """Count an item at its start, so that no more are started than may be labelled."""
        self.items += 1

    def release_item(self) -> None:
        """Uncount an item that got no label."""
        self.items -= 1

    def sent(self) -> None:
        """Count a request that leaves."""
        self.requests += 1

    def reached(self) -> BudgetReached | None:
        """Return the budget that is used up; None while there is something left to spend."""
        for what in ("money", "tokens", "requests"):
            limit, spent = getattr(self.budget, what), getattr(self, what)
            if limit is not None and spent >= limit:
                return BudgetReached(what, limit, spent)
        return None

    def items_reached(self) -> BudgetReached | None:
        """Return the budget of items where no further one may be begun."""
        limit = self.budget.pairs
        return None if limit is None or self.items < limit else BudgetReached("items", limit, self.items)
