"""Prices of tokens by model, as the user gives them, and the cost of a usage."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from agents.llm.protocol import Usage

TOKENS_OF_A_PRICE = 1_000_000
"""Prices are per so many tokens."""


class Price(BaseModel):
    """The price of a model, in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    """Input tokens that were not in the service's cache."""

    output: float = Field(ge=0, allow_inf_nan=False)
    """Output tokens, a model's own reasoning included."""

    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Input tokens that were read from the service's cache. Unset: as `input`."""

    written: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Input tokens that were put into the service's cache. Unset: as `input`."""

    def money(self, usage: Usage) -> float | None:
        """Return what a usage costs.

        Returns:
            US dollars; None where a service did not report how many tokens an answer took.
        """
        if usage.unreported:
            return None
        # A service that counts wrongly must not be paid by us for it.
        cached = min(usage.tokens_cached, usage.tokens_in)
        written = min(usage.tokens_written, usage.tokens_in - cached)
        parts = (
            (usage.tokens_in - cached - written, self.input),
            (cached, self.input if self.cached is None else self.cached),
            (written, self.input if self.written is None else self.written),
            (usage.tokens_out, self.output),
        )
        return sum(tokens * price for tokens, price in parts) / TOKENS_OF_A_PRICE

    def as_text(self) -> str:
        """Return the price as it is kept with a step: JSON."""
        return self.model_dump_json(exclude_none=True)


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """Find a model's price.

    Args:
        prices: Prices by the model's name with its provider; `*` matches any letters.
        model: The name, such as "openai:gpt-4o-mini".

    Returns:
        The price under the name itself, otherwise the one of the longest pattern that fits; None where
        there is none.
    """
    if model in prices:
        return prices[model]
    fitting = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    return prices[max(fitting, key=lambda pattern: (len(pattern), pattern))] if fitting else None
