"""The app of the first run, before there is a workspace; what was chosen is opened after it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from screens.commands import BEFORE_A_WORKSPACE, binding, commands_of, key_map
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

    def on_mount(self) -> None:
        """Take over the settings, and show the first screen."""
        settings = self.first_run.settings
        self.set_keymap(key_map(settings.keys))
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        self.push_screen(WelcomeScreen(self.first_run))

    def action_show_keys(self) -> None:
        """List the keys of the first screen."""
        if not isinstance(self.screen, KeysScreen):
            self.push_screen(KeysScreen("welcome", self.first_run.settings, None))
