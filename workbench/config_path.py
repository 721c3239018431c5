"""The path of the configuration file, and whether anything is configured at all."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_config_dir

PREFIX = "WORKBENCH_"
FILE_VARIABLE = "WORKBENCH_CONFIG"


def config_path(given: Path | None = None) -> Path:
    """Return the file that is read: the one given, that of $WORKBENCH_CONFIG, or the user's own."""
    if given is not None:
        return given
    named = os.environ.get(FILE_VARIABLE, "")
    return Path(named) if named else Path(user_config_dir("workbench", appauthor=False)) / "config.toml"


def is_anything_set(given: Path | None = None) -> bool:
    """Return whether a file or a variable may differ from the defaults."""
    named = any(name.upper().startswith(PREFIX) for name in os.environ)
    return named or given is not None or os.path.lexists(config_path())
