"""Wires the floors together: what the app is given of the workspace, the agents and the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from screens.context import AppContext
from store.errors import WorkbenchError
from store.raters import ensure_rater, register_kinds
from workbench.jobs import annotation_settings, sample_annotation, sandbox_sentence
from workbench.rater import rater_name
from workbench.sample import holds_sample, import_sample, scripted_model

if TYPE_CHECKING:
    from agents.events import JobEvent
    from agents.jobs import JobRunner
    from agents.settings import AnnotationSettings
    from store.import_report import ImportReport
    from store.workspace import Workspace
    from workbench.config import Config

NO_MODEL_IN_APP = "name a model in the configuration: agents.model, such as openai:NAME or anthropic:NAME"


class Runners:
    """Makes the job runner that the app asks for, and closes it before the workspace is closed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._made: list[JobRunner] = []

    def make(self, emit: Callable[[JobEvent], None]) -> JobRunner:
        """Make a runner that tells its events to `emit`."""
        from agents.jobs import JobRunner

        runner = JobRunner(self._workspace, emit)
        self._made.append(runner)
        return runner

    def close(self) -> None:
        """Stop what is at work; closing twice is harmless."""
        for runner in self._made:
            runner.close()

    def __enter__(self) -> Runners:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_context(
    workspace: Workspace,
    config: Config,
    rater: str | None,
    runners: Runners,
    *,
    annotation: AnnotationSettings | None = None,
    start_with: Literal["home", "queue", "resume"] = "home",
) -> AppContext:
    """Compose what the app works with.

    Args:
        workspace: The open workspace.
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        runners: Makes and closes the job runner.
        annotation: A job that begins once the first screen is shown, and what later ones do; None for
            none, and for what the configuration says.
        start_with: The screen to open on.
    """
    register_kinds(workspace)
    name = rater_name(rater, config)
    problem, begin_with = "", annotation
    if annotation is None:
        try:
            annotation = _configured(workspace, config)
        except WorkbenchError:
            problem = NO_MODEL_IN_APP

    def load_sample() -> AnnotationSettings:
        import_sample(workspace)
        return sample_annotation(config)

    return AppContext(
        workspace=workspace,
        rater=ensure_rater(workspace, name) if name else None,
        settings=config.screens,
        make_runner=runners.make,
        annotation=annotation,
        annotation_problem=problem,
        import_file=lambda path: _import_file(workspace, path),
        load_sample=load_sample,
        is_sample=lambda: holds_sample(workspace),
        sandbox=sandbox_sentence(config),
        start_with=start_with,
        begin_with=begin_with,
    )


def _configured(workspace: Workspace, config: Config) -> AnnotationSettings:
    """Return what the configuration says; in the demo's workspace the scripted model needs no setting."""
    if config.agents.model is None and holds_sample(workspace):
        return annotation_settings(config, model=scripted_model())
    return annotation_settings(config)


def _import_file(workspace: Workspace, path: Path) -> ImportReport:
    from store.importing import import_files

    return import_files(workspace, [path])
