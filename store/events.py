"""What long operations of the store tell those who wait for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import, export or recovery is.

    Attributes:
        stage: What is being done, as a phrase to show.
        done: How much of it, in bytes, records or steps.
        total: Out of how much; None when that is not known.
    """

    stage: str
    done: int
    total: int | None


Report = Callable[[Progress], None]
"""Is called with every step of progress, in the thread that does the work; what it raises ends the work."""


def silent(_: Progress) -> None:
    """Report to nobody."""
