"""Telling a process from a later one that has the same number."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def start_of(process: int) -> str:
    """Return when a process was started, in the kernel's clock ticks since the machine's start.

    Args:
        process: Its number.

    Returns:
        The ticks; "dead" where there is no such process, "-" where its start cannot be known.
    """
    with suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return "dead"
    except PermissionError:
        pass
    return "-"
