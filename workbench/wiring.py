"""Wires the floors together: builds the context of the app from workspace, agents and settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from screens.context import AppContext, Plan
from store.errors import WorkbenchError
from workbench.job_settings import (
    NO_MODEL,
    SAMPLE_KINDS,
    NoModel,
    annotation_settings,
    expert_run_settings,
    sample_agents,
    sample_annotation,
    sandbox_sentence,
)
from workbench.rater import rater_name_in
from workbench.sample import SEARCH, holds_sample, import_sample, sample_folder

if TYPE_CHECKING:
    from agents.jobs.events import JobEvent
    from agents.jobs.expert_tests import ExpertTests
    from agents.jobs.runner import JobRunner
    from agents.jobs.work import WorkSettings
    from agents.settings import ExpertRunSettings, JobSettings
    from screens.lesson import Lesson
    from screens.study_place import StudyPlace
    from store.events import ReportProgress
    from store.first_look import FirstLook
    from store.ingest.choices import ImportChoices
    from store.ingest.preview import FilePreview
    from store.ingest.report import ImportReport
    from store.policy.scope import RunRef
    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace
    from workbench.config import Config
    from workbench.lazy_config import LazyConfig

NO_MODEL_IN_APP = (
    'No model is set. Name one in {path}, under [agents]: model = "openai:NAME" or model = "anthropic:NAME".'
)


class Once:
    """Does something once, however often and from however many threads it is asked for."""

    def __init__(self, what: Callable[[], object]) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._done = False

    def __call__(self) -> None:
        """Do it, or wait until it is done."""
        with self._lock:
            if not self._done:
                self._what()
                self._done = True


def make_context(
    workspace: Workspace,
    config: LazyConfig,
    rater: str | None,
    closing: ExitStack,
    *,
    first_look: FirstLook | None = None,
    run: RunRef | None = None,
    annotation: JobSettings | None = None,
    start_with: Literal["home", "queue", "resume", "adjudicate"] = "home",
    repositories: Path | None = None,
    study: str | None = None,
    lessons: tuple[Lesson, ...] = (),
    file: str = "",
) -> AppContext:
    """Compose what the app works with.

    Args:
        workspace: The open workspace.
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        closing: Closes the runners of jobs and tests, before the workspace is closed.
        first_look: The part of the workspace that was read already; it may know the rater.
        run: The run of the agents whose labels are shown; None for the one that the rater chose last, or else
            the default one of each kind.
        annotation: A job that begins once the first screen is shown, and what later ones do; None for
            none, and for what the configuration says.
        start_with: The screen to open on.
        repositories: The folder with checkouts of repositories; None for the configured one.
        study: The study that the rater works in; None for the first open one with something left to do.
        lessons: The items of a practice; empty for real work.
        file: A file that is to be imported once the first screen is shown; empty for none.
    """
    settings = config.screens if repositories is None else replace(config.screens, repositories=repositories)
    prepare = Once(lambda: _register_kinds(workspace))
    name = rater_name_in(workspace, rater, config)
    who: RaterRef | None = first_look.rater if first_look else None
    if name and who is None:
        prepare()
        who = _ensure_rater(workspace, name)

    def make_plan(kind: str, agents: str, model: str) -> Plan:
        return _plan(workspace, config, annotation, kind, agents=agents, model=model)

    def make_runner(emit: Callable[[JobEvent], None]) -> JobRunner:
        from agents.jobs.runner import JobRunner

        agents = config.whole.agents
        # Two runs have as many sandboxes as one, unless it is said otherwise.
        shared = agents.limits.sandboxes or agents.concurrency
        limits = agents.limits.model_copy(update={"sandboxes": shared})
        return closing.enter_context(JobRunner(workspace, emit, limits))

    def make_work_settings() -> WorkSettings:
        from workbench.job_settings import work_settings

        return work_settings(config.whole, sample=holds_sample(workspace))

    def example_search() -> tuple[str, str]:
        return (SEARCH, str(sample_folder())) if holds_sample(workspace) else ("", "")

    def make_expert_tests() -> ExpertTests:
        from agents.jobs.expert_tests import ExpertTests

        def settings() -> ExpertRunSettings:
            return expert_run_settings(config.whole, make_plan("pair", "", "").annotation)

        tests = ExpertTests(workspace, settings)
        closing.callback(tests.close)
        return tests

    def load_sample() -> JobSettings:
        import_sample(workspace)
        return sample_annotation(config.whole)

    def serve() -> None:
        from store.workspace.serving import serving

        closing.enter_context(serving(workspace, who.name if who else None, blind=settings.blind))

    return AppContext(
        workspace=workspace,
        rater=who,
        settings=settings,
        prepare=prepare,
        make_runner=make_runner,
        make_work_settings=make_work_settings,
        make_expert_runs=make_expert_tests,
        make_plan=make_plan,
        import_file=partial(import_file, workspace),
        look_at_file=look_at_file,
        check_file=partial(import_file, workspace, dry_run=True),
        load_sample=load_sample,
        is_sample=lambda: holds_sample(workspace),
        example_search=example_search,
        first_look=first_look,
        start_with=start_with,
        begin_with=annotation,
        lessons=lessons,
        file=file,
        run=run or (first_look.run if first_look else None),
        study=None
        if first_look and not first_look.in_study and study is None
        else _study_place(workspace, who, study),
        serve=serve,
    )


def _study_place(workspace: Workspace, rater: RaterRef | None, name: str | None) -> StudyPlace | None:
    from screens.study_place import StudyPlace
    from store.studies.session import study_session

    with workspace.reading() as connection:
        session = study_session(connection, rater, name)
    return None if session is None else StudyPlace(workspace, session)


def _register_kinds(workspace: Workspace) -> None:
    from store.record.raters import register_kinds

    register_kinds(workspace)


def _ensure_rater(workspace: Workspace, name: str) -> RaterRef:
    from store.record.raters import ensure_rater

    return ensure_rater(workspace, name)


def _plan(
    workspace: Workspace,
    config: LazyConfig,
    annotation: JobSettings | None,
    kind: str,
    *,
    agents: str,
    model: str,
) -> Plan:
    """Return the plan of a run over a kind.

    Args:
        workspace: The open workspace.
        config: The configuration.
        annotation: The demo's job, whose other work is scripted as well, whatever model is configured; None
            outside the demo.
        kind: The task kind of the items.
        agents: The name of the agents' configuration; empty for the configured one.
        model: The model; empty for the configured one.
    """
    whole, found, problem = config.whole, None, ""
    is_scripted = False
    names: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    try:
        names, models = whole.agents.names_for(kind), whole.agents.models()
        has_replies = kind in SAMPLE_KINDS and (annotation is not None or holds_sample(workspace))
        scripted = SAMPLE_KINDS[kind]() if has_replies else ""
        models = (*models, scripted) if scripted else models
        is_scripted = bool(scripted) and (model == scripted if model else annotation is not None)
        if not is_scripted:
            try:
                found = annotation_settings(whole, kind=kind, agents=agents or None, model=model or None)
            except NoModel as error:
                # In the demo's workspace the scripted model needs no setting.
                if error is not NO_MODEL or not scripted:
                    raise
        if found is None:
            found = _scripted(whole, annotation, kind, agents)
    except NoModel as error:
        found = annotation_settings(whole, kind=kind, agents=agents or None, complete=False)
        # Not the configured one where the sample's replies were asked for.
        found = replace(found, model="") if is_scripted else found
        problem = f"{error.message} {error.hint}"
        if error is NO_MODEL:
            problem = NO_MODEL_IN_APP.format(path=config.path.absolute())
    except WorkbenchError as error:
        problem = f"{error.message} {error.hint}"
    return Plan(found, problem, sandbox_sentence(whole), names, models)


def _scripted(config: Config, annotation: JobSettings | None, kind: str, agents: str) -> JobSettings:
    """Return the plan in which the sample's replies answer.

    Raises:
        NoModel: They are those of other agents.
    """
    if agents not in ("", sample_agents(kind)):
        raise NoModel(
            "No replies of these agents",
            f"The sample's replies are those of the agents {sample_agents(kind)}.",
            "Choose a model for others.",
        )
    return annotation if annotation and annotation.kind == kind else sample_annotation(config, kind)


def look_at_file(path: Path, report: ReportProgress) -> FilePreview:
    """Look at the beginning of a file, for the import dialog."""
    from store.ingest.preview import preview_file, preview_sources
    from workbench.python_sources import read_python_sources

    sources, _ = read_python_sources([str(path)], None, report)
    return preview_sources(sources[0]) if sources else preview_file(path, report)


def import_file(
    workspace: Workspace,
    path: Path,
    report: ReportProgress,
    choices: ImportChoices,
    *,
    dry_run: bool = False,
) -> ImportReport:
    """Import a file for the import dialog, or do everything but that."""
    from store.ingest.choices import parse_label_words
    from store.ingest.importing import import_files
    from workbench.python_sources import read_python_sources

    sources, paths = read_python_sources([str(path)], None, report)
    return import_files(
        workspace,
        paths,
        sources=sources,
        label_as=choices.label_as or None,
        mapping=choices.mapping,
        label_words=parse_label_words([choices.label_words]) if choices.label_words else None,
        prefix=choices.prefix,
        licence=choices.licence,
        progress=report,
        dry_run=dry_run,
    )
