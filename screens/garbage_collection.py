"""Keeps Python's collector of garbage from holding up keys: it works when nobody types.

A full collection looks through everything that is alive, for a tenth of a second once the program is
imported, and Python would begin one in the middle of a judgment.
"""

from __future__ import annotations

import gc

IDLE_SECONDS = 3.0
"""How long nobody types before a full collection begins."""

MIN_COLLECTIONS = 10
"""After so many collections of younger objects a full one is worth its time."""

THRESHOLDS = (10_000, 10, 200)
"""Objects before a collection of the youngest, and how many of those before one of the older; the last one
only bounds what a session without any pause can pile up."""


def freeze_existing() -> None:
    """Take what is alive for what will stay, and let the collector look at younger objects only."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


def collect_when_idle(idle_seconds: float) -> bool:
    """Collect everything, if nobody has typed for a while and there is enough to look through.

    Args:
        idle_seconds: Since the last key.

    Returns:
        Whether it was done.
    """
    if idle_seconds < IDLE_SECONDS or gc.get_count()[2] < MIN_COLLECTIONS:
        return False
    gc.collect()
    gc.freeze()
    return True
