"""Paths that people name: what cannot be looked at, such as a name that is too long, is not there."""

from __future__ import annotations

from pathlib import Path


def is_there(path: Path) -> bool:
    """Return whether there is something at a path that can be looked at."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is a folder at a path that can be looked at."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
