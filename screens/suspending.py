"""Ctrl+Z: hands the terminal back to the shell, until its `fg`."""

from __future__ import annotations

import os
import signal
from typing import Any

from textual.actions import SkipAction
from textual.app import App

UNDO_KEY = "ctrl+z"
"""The key that undoes in a field of text, whichever key suspends."""


def leave_to_field(app: App[Any], key: str) -> None:
    """Leave the key that was pressed to the text field that has the focus, where it undoes.

    Raises:
        SkipAction: There is such a field.
    """
    # Not imported before the first screen.
    from textual.widgets import Input, TextArea

    if key == UNDO_KEY and isinstance(app.focused, Input | TextArea):
        raise SkipAction


def why_not_suspended(app: App[Any]) -> str:
    """Return why the app cannot be suspended here, as a sentence; empty where it can."""
    driver = app._driver
    if driver is None or not driver.can_suspend or not hasattr(signal, "SIGTSTP"):
        return "This terminal has no shell to go to."
    if os.getpgrp() == os.getsid(0):
        # Nobody would take the terminal, and nobody could wake the app.
        return "No shell with job control has started the app, so that nothing could bring it back."
    return ""


def suspend(app: App[Any]) -> None:
    """Stop the process until the shell continues it; the driver gives the terminal back before."""
    app.app_suspend_signal.publish(app)
    os.kill(os.getpid(), signal.SIGTSTP)
