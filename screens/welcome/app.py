"""The app of the first run, before there is a workspace; what was chosen is opened after it."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import on
from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver

from screens.commands import BEFORE_A_WORKSPACE, binding, commands_of, key_map
from screens.control_keys import (
    ASKED_SECONDS,
    UNDO_KEY,
    copy_or_cancel,
    leave_to_field,
    suspend,
    why_not_suspended,
)
from screens.help import first_key
from screens.keys_screen import KeysScreen
from screens.welcome.choice import Chosen, FirstRun
from screens.welcome.screen import WelcomeScreen


class WelcomeApp(App[Chosen]):
    """Shows the first screen, and returns what was chosen; None where nothing was."""

    TITLE = "workbench"
    CSS_PATH = "../app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        binding(command) for command in commands_of("app") if command.id in BEFORE_A_WORKSPACE
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, first_run: FirstRun) -> None:
        super().__init__()
        self.first_run = first_run
        # When the user was asked whether to quit.
        self._asked_to_quit = float("-inf")

    def on_mount(self) -> None:
        """Take over the settings, and show the first screen."""
        settings = self.first_run.settings
        self.set_keymap(key_map(settings.keys))
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        self.push_screen(WelcomeScreen(self.first_run))

    async def action_copy_or_cancel(self) -> None:
        """Copy the selection, else cancel what is open, else quit, at the second press."""
        if await copy_or_cancel(self, lambda title, text: self.notify(text, title=title, markup=False)):
            return
        now = time.monotonic()
        if now - self._asked_to_quit <= ASKED_SECONDS:
            self.exit()
        self._asked_to_quit = now
        key = first_key(self.first_run.settings, "app.cancel")
        self.notify(f"Press {key} once more to quit.", markup=False)

    def action_suspend(self) -> None:
        """Stop until the shell's `fg`; in a text field the key is left to that, where it undoes."""
        leave_to_field(self, UNDO_KEY)
        if why := why_not_suspended(self):
            self.notify(why, title="Not suspended", markup=False)
        else:
            suspend(self)

    @on(Driver.SignalResume)
    def _came_back(self) -> None:
        """Paint everything again."""
        self.refresh(layout=True)

    def action_show_keys(self) -> None:
        """List the keys of the first screen."""
        if not isinstance(self.screen, KeysScreen):
            self.push_screen(KeysScreen("welcome", self.first_run.settings, None))
