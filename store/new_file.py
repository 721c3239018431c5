"""New files: written whole or not at all, and never over another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from store.errors import ExportFailed


def write_new(
    path: Path, write: Callable[[IO[bytes]], object], failures: tuple[type[Exception], ...] = (OSError,)
) -> None:
    """Write a new file; where that fails, nothing of it is left.

    The file is not there yet; `failures` are what `write` may raise where it cannot.

    Raises:
        ExportFailed: The file is there, or cannot be written.
    """
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise ExportFailed("File exists", f"{path} is already there.", "Choose another name.") from error
    except OSError as error:
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place.") from error
    try:
        with file:
            write(file)
    except failures as error:
        path.unlink(missing_ok=True)
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place or format.") from error
