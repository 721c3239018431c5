"""What the program hands to the app: the workspace, who judges, the settings, and what Home may start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from store.scope import Scope, Visibility

if TYPE_CHECKING:
    from agents.events import JobEvent
    from agents.expert_runs import ExpertRuns
    from agents.jobs import JobRunner
    from agents.settings import AnnotationSettings
    from screens.settings import ScreenSettings
    from store.events import Report
    from store.first_look import FirstLook
    from store.ingest.report import ImportReport
    from store.who import AnyRater
    from store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run started from the app does.

    Attributes:
        annotation: The configured model, the sandbox, the limits; None when no run can be started.
        problem: Why none can be (no model set), empty when one can.
        sandbox: A sentence about where test programs run.
    """

    annotation: AnnotationSettings | None
    problem: str = ""
    sandbox: str = ""


@dataclass(frozen=True)
class AppContext:
    """Everything the screens work with; `workbench` builds it.

    Attributes:
        workspace: The open workspace; the program closes it when the app has ended.
        rater: Who judges; None when there is no name, and then nothing can be judged.
        settings: How the app looks and which keys it has.
        prepare: Does what a start has put off, once; everything that reads or records beyond the first
            lines comes after it. Called in a thread.
        make_runner: Makes the job runner, given where its events go.
        make_expert_runs: Makes what runs the tests that the rater asks for. Called in a thread.
        make_plan: Composes what a run started from the app does; see `plan`.
        import_file: Imports a file, given its path and what is told how far it is.
        load_sample: Loads the sample data into an empty workspace and returns what annotates it.
        is_sample: Whether the workspace holds the sample data, whose replies are scripted by hand.
        first_look: What was read of the workspace before there was a screen; None for nothing.
        start_with: The screen to open on: home, queue, or resume for where the rater left off.
        begin_with: A run to start once the first screen is shown; None for none.
    """

    workspace: Workspace
    rater: AnyRater | None
    settings: ScreenSettings
    prepare: Callable[[], None]
    make_runner: Callable[[Callable[[JobEvent], None]], JobRunner]
    make_expert_runs: Callable[[], ExpertRuns]
    make_plan: Callable[[], Plan]
    import_file: Callable[[Path, Report], ImportReport]
    load_sample: Callable[[], AnnotationSettings]
    is_sample: Callable[[], bool]
    first_look: FirstLook | None = None
    start_with: Literal["home", "queue", "resume"] = "home"
    begin_with: AnnotationSettings | None = None

    @property
    def scope(self) -> Scope:
        """Whose judgments are made and read, and what of others' work is shown."""
        return Scope(self.rater, visibility=Visibility(self.settings.blind))

    @cached_property
    def plan(self) -> Plan:
        """What a run started from the app does; the first time the whole configuration is loaded for it."""
        return self.make_plan()
