"""What the program hands to the app: the workspace, who judges, the settings, and what Home may start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from agents.events import JobEvent
    from agents.jobs import JobRunner
    from agents.settings import AnnotationSettings
    from screens.settings import ScreenSettings
    from store.import_report import ImportReport
    from store.tables.people import Rater
    from store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AppContext:
    """Everything the screens work with; `workbench` builds it.

    Attributes:
        workspace: The open workspace; the program closes it when the app has ended.
        rater: Who judges; None when there is no name, and then nothing can be judged.
        settings: How the app looks and which keys it has.
        make_runner: Makes the job runner, given where its events go.
        annotation: What a run started from the app does: the configured model, the sandbox, the limits.
        annotation_problem: Why no run can be started (no model set), empty when one can.
        import_file: Imports a file, given its path.
        load_sample: Loads the sample data into an empty workspace and returns what annotates it.
        is_sample: Whether the workspace holds the sample data, whose replies are scripted by hand.
        sandbox: A sentence about where test programs run.
        start_with: The screen to open on: home, queue, or resume for where the rater left off.
        begin_with: A run to start once the first screen is shown; None for none.
    """

    workspace: Workspace
    rater: Rater | None
    settings: ScreenSettings
    make_runner: Callable[[Callable[[JobEvent], None]], JobRunner]
    annotation: AnnotationSettings | None
    annotation_problem: str
    import_file: Callable[[Path], ImportReport]
    load_sample: Callable[[], AnnotationSettings]
    is_sample: Callable[[], bool]
    sandbox: str = ""
    start_with: Literal["home", "queue", "resume"] = "home"
    begin_with: AnnotationSettings | None = None
