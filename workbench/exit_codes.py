"""Runs a command to its exit code: expected errors are printed and give 2, signals end it cleanly."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

from store.errors import WorkbenchError, WorkspaceError, not_written
from workbench.signals import exit_code, handle_signals

_PLACE = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP)
"""The path of our file is taken by something else, or cannot be written."""

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, *_PLACE)


def ended(run: Callable[[], int | None], *, as_json: bool = False) -> int:
    """Run a command.

    Args:
        run: The command; what it returns is its exit code, None for 0.
        as_json: Whether errors are printed as JSON too.

    Returns:
        The exit code.
    """
    try:
        with handle_signals():
            return run() or 0
    except WorkbenchError as error:
        return _show(error, as_json=as_json)
    except KeyboardInterrupt as stop:
        from workbench.output import note

        note("Stopped. What was recorded before is kept.")
        return exit_code(stop)
    except Exception as error:
        trouble = _disk_trouble(error)
        if trouble is None:
            raise
        return _show(trouble, as_json=as_json)


def _show(error: WorkbenchError, *, as_json: bool) -> int:
    from workbench.output import show_error

    show_error(error, as_json=as_json)
    return error.exit_code


def _disk_trouble(error: Exception) -> WorkspaceError | None:
    """Return the error for a failure of the disk; None for any other."""
    databases = sys.modules.get("sqlalchemy.exc")
    cause = error
    if databases is not None and isinstance(error, databases.OperationalError) and error.orig is not None:
        cause = error.orig
    elif not isinstance(error, OSError) or error.errno not in _DISK:
        return None
    if isinstance(cause, OSError) and cause.errno in _PLACE:
        return WorkspaceError(
            "Cannot write here",
            f"{cause.filename}: {cause.strerror}. What was acknowledged before is kept.",
            "Fix its permissions, or move away what is there.",
        )
    return not_written(cause)
