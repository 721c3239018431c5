"""The contexts of the app and of its screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from store.policy.scope import Scope, Shows, Visibility
from store.record.session import load_session, save_session, session_key

if TYPE_CHECKING:
    from agents.jobs.events import JobEvent
    from agents.jobs.expert_tests import ExpertTests
    from agents.jobs.runner import JobRunner
    from agents.jobs.work import WorkSettings
    from agents.settings import JobSettings
    from screens.external_programs import ExternalPrograms
    from screens.input_guard.guard import LastKey
    from screens.jobs.jobs import Jobs
    from screens.lesson import Lesson
    from screens.notices import Notices
    from screens.run_choice import RunChoice
    from screens.session_recorder import SessionRecorder
    from screens.settings import ScreenSettings
    from screens.study_place import StudyPlace
    from screens.test_runner import TestRunner
    from store.events import ReportProgress
    from store.first_look import FirstLook
    from store.ingest.choices import ImportChoices
    from store.ingest.preview import FilePreview
    from store.ingest.report import ImportReport
    from store.policy.scope import RunRef
    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace

SEALED = "While the study is open, the work of agents and other raters is hidden from you."
"""The notice on a key that would show such work."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run started from the app.

    Attributes:
        annotation: The model, the sandbox, the limits; None when no run can be started. A role may lack a
            model, which `problem` says.
        problem: Why it cannot be started as it is, empty when it can.
        sandbox: A sentence about where test programs run.
        names: The configurations of agents that can be chosen instead; none where there is no choice.
        models: The models that are configured, the sample's replies last where the workspace holds it.
    """

    annotation: JobSettings | None
    problem: str = ""
    sandbox: str = ""
    names: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class AppContext:
    """Everything the app works with; `workbench` builds it.

    Attributes:
        workspace: The open workspace; the program closes it when the app has ended.
        rater: Who judges; None when there is no name, and then nothing can be judged.
        prepare: Does what a start has put off, once; everything that reads or records beyond the first
            lines comes after it. Called in a thread.
        make_runner: Makes the job runner, given where its events go.
        make_work_settings: Makes the settings of works; the whole configuration is loaded for them.
        make_expert_runs: Makes what runs the tests that the rater asks for. Called in a thread.
        make_plan: Composes what a run over items of a kind, started from the app, does, given the kind, the
            name of the agents' configuration and the model, empty for the configured ones; see `plan`.
        import_file: Imports a file, given its path, a callback for progress, and what was chosen for it.
        look_at_file: Looks at the beginning of a file, given its path and a callback for progress.
        check_file: Does all that an import of a file does but import it, given what that is given.
        load_sample: Loads the sample data into an empty workspace and returns what annotates it.
        is_sample: Whether the workspace holds the sample data, whose replies are scripted by hand.
        example_search: Returns the query and the repository that the first code search begins with; empty
            ones where there is no sample.
        first_look: The first reads of the workspace, made before there was a screen; None for none.
        start_with: The screen to open on: home, queue, adjudicate, or resume for where the rater left off.
        file: The file that is to be imported once the first screen is shown; empty for none.
        begin_with: A run to start once the first screen is shown; None for none.
        run: The run of the agents whose labels are shown at first; None for the default one of each kind.
        study: The open study that the rater works in; None for none. Its items are all that screens show.
        lessons: The items of a practice, whose answers are known; empty for real work.
        serve: Has commands beside the app answered that only read. Called once the first screen is shown.
    """

    workspace: Workspace
    rater: RaterRef | None
    settings: ScreenSettings
    prepare: Callable[[], None]
    make_runner: Callable[[Callable[[JobEvent], None]], JobRunner]
    make_work_settings: Callable[[], WorkSettings]
    make_expert_runs: Callable[[], ExpertTests]
    make_plan: Callable[[str, str, str], Plan]
    import_file: Callable[[Path, ReportProgress, ImportChoices], ImportReport]
    look_at_file: Callable[[Path, ReportProgress], FilePreview]
    check_file: Callable[[Path, ReportProgress, ImportChoices], ImportReport]
    load_sample: Callable[[], JobSettings]
    is_sample: Callable[[], bool]
    example_search: Callable[[], tuple[str, str]] = lambda: ("", "")
    first_look: FirstLook | None = None
    start_with: Literal["home", "queue", "resume", "adjudicate"] = "home"
    file: str = ""
    begin_with: JobSettings | None = None
    run: RunRef | None = None
    study: StudyPlace | None = None
    lessons: tuple[Lesson, ...] = ()
    serve: Callable[[], None] = lambda: None

    @property
    def scope(self) -> Scope:
        """Whose judgments are made and read, which run is shown, and what of others' work is shown."""
        if self.study is not None:
            return self.study.scope
        visibility = Visibility(self.settings.blind, self.settings.reveal_after_answer)
        return Scope(self.rater, visibility=visibility, run=self.run)

    @cached_property
    def plan(self) -> Plan:
        """The plan of a run over pairs; the first time the whole configuration is loaded for it."""
        return self.make_plan("pair", "", "")


class ReviewSession:
    """Where a rater is in a review, for another session to go on there; each sitting has a place of its own.

    Args:
        program: The workspace, and who judges in which scope; what nobody does is kept until the app ends.
    """

    NAME = "review"

    def __init__(self, program: AppContext) -> None:
        self._program = program
        self._values: dict[str, dict[str, Any]] = {}

    @property
    def _key(self) -> str:
        return session_key(self.NAME, self._program.scope)

    def keep(self, value: dict[str, Any]) -> None:
        """Store where the rater is."""
        key, rater = self._key, self._program.rater
        self._values[key] = value
        if rater is not None:
            save_session(self._program.workspace, rater.id, key, value)

    @property
    def kept(self) -> dict[str, Any]:
        """Where the rater was, empty when nothing was kept."""
        key, rater = self._key, self._program.rater
        if key not in self._values:
            self._values[key] = load_session(self._program.workspace, rater.id, key) if rater else {}
        return self._values[key]


@dataclass(frozen=True, slots=True)
class ScreenContext:
    """The context of every screen.

    Attributes:
        last_key: The key whose action runs.
    """

    program: AppContext
    recorder: SessionRecorder
    tests: TestRunner
    jobs: Jobs
    session: ReviewSession
    notices: Notices
    last_key: LastKey
    programs: ExternalPrograms
    runs: RunChoice

    @property
    def workspace(self) -> Workspace:
        """The open workspace."""
        return self.program.workspace

    @property
    def rater(self) -> RaterRef | None:
        """Who judges; None when there is no name."""
        return self.program.rater

    @property
    def settings(self) -> ScreenSettings:
        """How the app looks and which keys it has."""
        return self.program.settings

    @property
    def study(self) -> StudyPlace | None:
        """The open study that the rater works in; None for none."""
        return self.program.study

    def refuses(self, shows: Shows) -> bool:
        """Return whether a study keeps something from the rater; say so."""
        hidden = self.scope.sealed and not self.scope.may(shows)
        if hidden:
            self.notices.show("Sealed session", SEALED)
        return hidden

    @property
    def needs_consent(self) -> bool:
        """Whether the rater has yet to agree to take part in the study."""
        return self.study is not None and self.study.session.needs_consent

    @property
    def scope(self) -> Scope:
        """The scope of every query for people."""
        return self.runs.scope
