"""What a first run begins with, and what is chosen on its first screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from screens.home.import_dialog import Imports
from screens.settings import ScreenSettings


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What a first run begins with; `workbench` builds it.

    Attributes:
        workspaces: The workspace files of the folder.
        files: Whether the folder holds files that can be imported.
        new: The name of a new workspace.
        rater: The rater's name, as far as it is known.
        asks: Whether the rater is asked for the name, since none is configured.
        check_name: Returns a name as it is stored; refuses one that cannot be.
        keep_name: Writes a name into the configuration file.
        imports: Returns what imports into a workspace, which is made with the first file.
        file: The file that is to be imported; empty for none.
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
    file: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen on the first screen.

    Attributes:
        opens: A workspace, the demo, or the practice.
        workspace: The workspace; None for the demo and the practice.
        judges: Whether its first item is opened.
    """

    opens: Literal["workspace", "demo", "practice"]
    rater: str
    workspace: Path | None = None
    judges: bool = False
