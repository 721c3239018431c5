"""Imports the modules of the first item behind the first screen, in one thread at a time.

A module of its own, since both the app and the queue call it before any of them is imported.
"""

from __future__ import annotations

import threading
from importlib import import_module

MODULES = (
    "duckdb_sqlalchemy",
    "store.record.actions",
    "screens.review.screen",
    "screens.items.pair",
    "numpy",
)

_importing = threading.Lock()


def import_for_first_item() -> None:
    """Import them, or wait until another thread has: two that import at once only hinder each other."""
    with _importing:
        for name in MODULES:
            import_module(name)
