"""Processes by number and start, their temporary folders, and how the interpreter is tuned."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# For commands. The write lane and the requests' loop hand the interpreter to and fro; each time costs both.
_SWITCH_SECONDS = 0.02
_THRESHOLDS = 10_000, 10, 10


def start_of(process: int) -> str:
    """Return when a process was started, in the kernel's clock ticks since the machine's start.

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


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a temporary folder that is removed at the end.

    Folders of the same prefix whose processes were killed are removed first.
    """
    _sweep(prefix)
    owner = f"{os.getpid()}_{start_of(os.getpid())}"
    with tempfile.TemporaryDirectory(prefix=f"{prefix}{owner}_") as folder:
        yield Path(folder)


def _sweep(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        process, started, *_ = [*folder.name.removeprefix(prefix).split("_"), "", ""]
        with suppress(OSError):
            mine = folder.lstat().st_uid == os.getuid() and folder.is_dir() and not folder.is_symlink()
            if mine and process.isdigit() and start_of(int(process)) != started:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def tuned_for_throughput() -> Iterator[None]:
    """Let threads change and garbage be collected less often: for a command that nobody types into.

    What is there now is not looked through for garbage any more, nor is it later: the process ends with the
    command.
    """
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
