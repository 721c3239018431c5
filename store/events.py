"""Progress events of long operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an import, export or recovery.

    Attributes:
        stage: The operation, as a phrase to show.
        done: How much of it, in bytes, records or steps.
        total: Out of how much; None when that is not known.
    """

    stage: str
    done: int
    total: int | None


ReportProgress = Callable[[Progress], None]
"""Receives every step of progress, in the thread that does the work; an exception from it ends the work."""


def silent(_: Progress) -> None:
    """Ignore the progress."""
