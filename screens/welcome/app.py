"""The app of the first run, before there is a workspace; what was chosen is opened after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import App
from textual.binding import BindingType

from screens.commands import bindings, key_map
from screens.home.import_dialog import Imports
from screens.keys_screen import KeysScreen
from screens.settings import ScreenSettings


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What a first run begins with; `workbench` builds it.

    Attributes:
        settings: How the app looks and which keys it has.
        workspaces: The workspace files of the folder.
        files: Whether the folder holds files that can be imported.
        new: The name of a new workspace.
        rater: The rater's name, as far as it is known.
        asks: Whether the rater is asked for the name, since none is configured.
        config: The configuration file.
        check_name: Returns a name as it is stored; refuses one that cannot be.
        keep_name: Writes a name into the configuration file.
        imports: Returns what imports into a workspace, which is made with the first file.
    """

    settings: ScreenSettings
    workspaces: tuple[Path, ...]
    files: bool
    new: Path
    rater: str
    asks: bool
    config: Path
    check_name: Callable[[str], str]
    keep_name: Callable[[str], None]
    imports: Callable[[Path], Imports]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen on the first screen.

    Attributes:
        opens: A workspace, the demo, or the practice.
        rater: The rater's name.
        workspace: The workspace; None for the demo and the practice.
        judges: Whether its first item is opened.
    """

    opens: Literal["workspace", "demo", "practice"]
    rater: str
    workspace: Path | None = None
    judges: bool = False


class WelcomeApp(App[Chosen]):
    """Shows the first screen, and returns what was chosen; None where nothing was."""

    TITLE = "workbench"
    CSS_PATH: ClassVar[str] = "../app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        one for one in bindings("app") if one.id in ("app.help", "app.quit")
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, first_run: FirstRun) -> None:
        super().__init__()
        self.first_run = first_run

    def on_mount(self) -> None:
        """Take over the settings, and show the first screen."""
        from screens.welcome.screen import WelcomeScreen

        settings = self.first_run.settings
        self.set_keymap(key_map(settings.keys))
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        self.push_screen(WelcomeScreen(self.first_run))

    def action_show_keys(self) -> None:
        """List the keys of the first screen."""
        if not isinstance(self.screen, KeysScreen):
            self.push_screen(KeysScreen("welcome", self.first_run.settings, None))
