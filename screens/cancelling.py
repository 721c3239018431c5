"""What Ctrl+C does before it quits: copies what is selected, or cancels what is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen

from screens.clipboard import to_clipboard, to_file
from screens.commands import COMMANDS

ASKED_SECONDS = 5.0
"""How long a second press of the key that asked whether to quit does so: as long as the notice is shown."""

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
