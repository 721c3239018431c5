"""Shows the app over a workspace: opened, shown, closed; with few imports before its first screen."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

if TYPE_CHECKING:
    from textual.app import App

    from agents.settings import JobSettings
    from screens.app import Then, WorkbenchApp
    from screens.lesson import Lesson
    from screens.welcome.choice import Chosen, FirstRun
    from store.first_look import FirstLook
    from store.policy.scope import RunRef
    from store.workspace.duckdb import Workspace
    from workbench.lazy_config import LazyConfig

StartWith = Literal["home", "queue", "resume", "adjudicate"]


class AppOptions(TypedDict, total=False):
    """How the app begins.

    Attributes:
        annotation: A job that begins behind the first screen; None for none.
        start_with: The screen to open on; Home by default.
        run: What names the run of the agents whose labels are shown; None for the default one.
        repositories: The folder with checkouts of repositories; None for the configured one.
        study: The study that the rater works in; None for the first open one with something left to do.
        file: A file that is to be imported; empty for none.
        make: Makes and opens the workspace, in a thread; None to open the file, or make an empty one.
        lessons: The items to practise on; none outside the practice.
    """

    annotation: JobSettings | None
    start_with: StartWith
    run: str | None
    repositories: Path | None
    study: str | None
    file: str
    make: Callable[[], Workspace] | None
    lessons: tuple[Lesson, ...]


def run_app(path: Path, config: LazyConfig, rater: str | None, **options: Unpack[AppOptions]) -> int:
    """Open a workspace, show the app until it ends, and close what was opened.

    Args:
        path: The workspace file; made when it is missing.
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        options: How the app begins.

    Returns:
        The exit code.

    Raises:
        HiddenData: The review is blind, or the rater is in an open study, and a run was named; or the
            configured rater is in one, and another was named.
        UnknownName: No run, or more than one, is called so.
    """
    code, then = _run_once(path, config, rater, **options)
    while then == "practice":
        code, goes_on = run_practice(config, rater)
        if not goes_on:
            break
        # What was to be made is there now.
        options["make"] = None
        code, then = _run_once(path, config, rater, **options)
    return code


def run_practice(config: LazyConfig, rater: str | None) -> tuple[int, bool]:
    """Let a rater practise in a workspace that is deleted afterwards.

    Args:
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.

    Returns:
        The exit code, and whether the rater goes on with what the practice was for.
    """
    from store.processes import temporary_folder
    from workbench.practice import FILE_NAME, lessons, make_practice
    from workbench.rater import rater_name

    name = rater_name(rater, config) or "you"
    with temporary_folder("workbench-practice-") as folder:
        path = folder / FILE_NAME
        code, then = _run_once(
            path,
            config,
            name,
            start_with="resume",
            make=partial(make_practice, path, name),
            lessons=lessons(),
        )
    return code, then == "work"


def _run_once(
    path: Path, config: LazyConfig, rater: str | None, **options: Unpack[AppOptions]
) -> tuple[int, Then]:
    """Show the app once, with the arguments of `run_app`.

    Returns:
        The exit code, and what follows.
    """
    from workbench.rater import rater_name

    name, blind = rater_name(rater, config), config.screens.blind  # refused before a workspace is made
    # The collector would look through all that is imported several times over; the app takes it up again.
    gc.disable()
    start_with, run = options.get("start_with", "home"), options.get("run")
    queue = start_with == "queue" and run is None
    opening = _Opening(path, name, blind=blind, queue=queue, make=options.get("make"))
    try:
        from screens.app import WorkbenchApp
        from workbench.wiring import make_context

        workspace, first_look = opening.opened()
    except BaseException:
        opening.abandon()
        raise
    with workspace, ExitStack() as closing:
        chosen: RunRef | None = None
        own = name if rater is None else rater_name(None, config)
        if own and own != name:
            from store.policy.refusal import refuse
            from store.policy.scope import Scope, Shows
            from store.policy.sealing import is_in_study
            from store.record.rater_ref import RaterRef

            rater_of = Scope(RaterRef(0, "human", own), sealed=is_in_study(workspace, own))
            refuse(None, rater_of, Shows.RATER, name)
        if run is not None:
            from workbench.study_session import open_session

            with workspace.reading() as connection:
                chosen = open_session(connection, config, rater, run).scope.run
        context = make_context(
            workspace,
            config,
            rater,
            closing,
            first_look=first_look,
            run=chosen,
            annotation=options.get("annotation"),
            start_with=start_with,
            repositories=options.get("repositories"),
            study=options.get("study"),
            lessons=options.get("lessons", ()),
            file=options.get("file", ""),
        )
        app = WorkbenchApp(context)
        code = show(app)
        return code, app.then if code == 0 else ""


def show_first_screen(first_run: FirstRun) -> Chosen | None:
    """Show the first screen of a first run, and return what was chosen; None for nothing."""
    from screens.welcome.app import WelcomeApp

    app = WelcomeApp(first_run)
    _on_terminal(app)
    return app.return_value


def show(app: WorkbenchApp) -> int:
    """Run the app and return its exit code."""
    from workbench.signals import ignore_further_signals

    try:
        _on_terminal(app)
    finally:
        gc.enable()
        if not app.then:
            ignore_further_signals()
    return app.return_code or 0


def _on_terminal(app: App[Any]) -> None:
    drawn_on = sys.__stderr__
    if drawn_on is None or not drawn_on.isatty():
        # Textual draws on stderr. Where that is kept in a file, the terminal is at stdout.
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    try:
        app.run()
    finally:
        sys.__stderr__ = drawn_on  # type: ignore[misc]


class _Opening:
    """Opens the workspace and reads its first lines in a thread, while the screens are imported."""

    def __init__(
        self,
        path: Path,
        rater: str | None,
        *,
        blind: bool,
        queue: bool,
        make: Callable[[], Workspace] | None = None,
    ) -> None:
        self._path, self._rater, self._blind, self._queue = path, rater, blind, queue
        self._make = make
        self._result: Future[tuple[Workspace, FirstLook]] = Future()
        # Not a daemon: a file must not be left half opened.
        threading.Thread(target=self._open, name="opening").start()

    def _open(self) -> None:
        try:
            from store.first_look import LINES, look
            from store.workspace.duckdb import Workspace

            workspace = self._make() if self._make else Workspace.open(self._path, create=True)
            try:
                workspace.share_cores()
                found = look(workspace, self._rater, blind=self._blind, lines=LINES if self._queue else 0)
            except BaseException:
                workspace.close()
                raise
            self._result.set_result((workspace, found))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
            self._result.set_exception(error)

    def opened(self) -> tuple[Workspace, FirstLook]:
        """Return the workspace, once it is open.

        Raises:
            WorkspaceError: It cannot be opened.
        """
        return self._result.result()

    def abandon(self) -> None:
        """Close what was opened, if it was."""
        gc.enable()
        with suppress(BaseException):
            self._result.result()[0].close()
