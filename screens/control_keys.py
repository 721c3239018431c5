"""Ctrl+C and Ctrl+Z: copying or cancelling before quitting, and suspending to the shell."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from textual import events
from textual.actions import SkipAction
from textual.app import App
from textual.screen import Screen

from screens.clipboard import to_clipboard, to_file
from screens.commands import COMMANDS

ASKED_SECONDS = 5.0
"""Seconds in which a second press of the key quits; the notice that asks is shown as long."""

UNDO_KEY = "ctrl+z"
"""The key that undoes in a field of text, whichever key suspends."""

_CLOSING = frozenset(
    command.id
    for command in COMMANDS
    if "escape" in command.key.split(",")
    and not command.id.endswith(".back")
    and command.action != "app.quit"
)
"""The commands that close a dialog, a form or a line of text, and leave no screen."""


async def copy_or_cancel(app: App[Any], show_notice: Callable[[str, str], object]) -> bool:
    """Copy the selection, or close what is open as its own key does.

    Args:
        show_notice: Shows a sentence under a title.

    Returns:
        Whether something was selected or open.
    """
    screen = app.screen
    if getattr(app.focused, "selected_text", ""):
        await app.run_action("focused.copy")
        # The next press cancels what is open, also where a field selects its text by itself.
        _unselect(app.focused)
        show_notice("Copied", "The selected text was copied; once more cancels.")
        return True
    if text := screen.get_selected_text():
        # The next press cancels what is open.
        screen.clear_selection()
        show_notice("Copied", f"{to_clipboard(app, text) or to_file(text)}.")
        return True
    if key := _closing_key(screen):
        await app.on_event(events.Key(key, None))
        return True
    end = getattr(screen, "end_what_is_open", None)
    return end is not None and bool(end())


def _unselect(field: object) -> None:
    # Not imported before the first screen.
    from textual.widgets import Input, TextArea
    from textual.widgets.input import Selection as InputSelection
    from textual.widgets.text_area import Selection as AreaSelection

    if isinstance(field, Input):
        field.selection = InputSelection.cursor(field.cursor_position)
    elif isinstance(field, TextArea):
        field.selection = AreaSelection.cursor(field.cursor_location)


def _closing_key(screen: Screen[Any]) -> str:
    """Return the key that closes the dialog, form or line that has the focus; empty without one."""
    active = screen.active_bindings
    escape = active.get("escape")
    if escape is not None and escape.binding.id is None and escape.node is not screen:
        return "escape"  # an open list of Textual's own
    keys = [key for key, one in active.items() if one.binding.id in _CLOSING]
    if keys:
        return "escape" if "escape" in keys else keys[0]
    return "escape" if screen.is_modal else ""


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
