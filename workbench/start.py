"""Opens a workspace in the app, with few imports before its first screen."""

from __future__ import annotations

import difflib
import gc
import sys
import threading
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from store.errors import WorkbenchError, WorkspaceError

if TYPE_CHECKING:
    from agents.settings import JobSettings
    from screens.app import WorkbenchApp
    from store.first_look import FirstLook
    from store.record.scope import RunRef
    from store.workspace.duckdb import Workspace
    from workbench.lazy_config import LazyConfig

DEFAULT_WORKSPACE = Path("workbench.duckdb")
COMMANDS = (
    "import",
    "annotate",
    "judge-pairs",
    "agents",
    "copy",
    "merge",
    "export",
    "items",
    "views",
    "sql",
    "judge",
    "revise",
    "compare",
    "study",
    "split",
    "splits",
    "adjudicate",
    "rule",
    "packet",
    "report",
    "measure",
    "replies",
    "sandbox",
    "doctor",
    "demo",
    "recover",
)

StartWith = Literal["home", "queue", "resume", "adjudicate"]
STARTS: tuple[StartWith, ...] = ("home", "queue", "resume", "adjudicate")


def open_app(
    workspace: Path | None,
    rater: str | None,
    config: Path | None,
    start: StartWith = "home",
    *,
    run: str | None = None,
    repositories: Path | None = None,
    study: str | None = None,
    blind: bool = False,
) -> int:
    """Open a workspace in the app and show it until it ends.

    Args:
        workspace: The file; None for the configured one, or workbench.duckdb in the current folder.
        rater: The rater's name on the command line; None for the configured one.
        config: The configuration file of the command line.
        start: The screen to open on.
        run: What names the run of the agents whose labels are shown; None for the default one.
        repositories: The folder with checkouts of repositories; None for the configured one.
        study: The study that the rater works in; None for the first open one with something left to do.
        blind: Whether the session is blind; without it the configuration says that.

    Returns:
        The exit code.

    Raises:
        WorkbenchError: It cannot be opened, there is no terminal, the configuration is wrong, or a run was
            named that is not there or that a blind review does not show.
    """
    from workbench.lazy_config import LazyConfig

    configured = LazyConfig(config, blind=blind)
    path = chosen_workspace(workspace, configured)
    if run is not None:
        from workbench.run_option import refuse_blind

        refuse_blind(run, blind=configured.screens.blind)
    if repositories is not None and not repositories.is_dir():
        raise WorkbenchError(
            "No folder of repositories",
            f"There is no folder {repositories}.",
            "--repositories names the folder in which the checkouts are.",
        )
    if not in_terminal():
        raise WorkbenchError(
            "No terminal",
            f"The app needs a terminal; {' and '.join(_elsewhere())} is none.",
            "Commands work without one: workbench items, judge, annotate, report (see workbench --help).",
        )
    return run_app(path, configured, rater, start_with=start, run=run, repositories=repositories, study=study)


def in_terminal() -> bool:
    """Return whether keys come from a terminal and what is drawn can go to one."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _elsewhere() -> list[str]:
    """Return which of the streams that the app needs are no terminal."""
    streams = {"what it reads from": sys.stdin, "what it writes to": sys.stdout}
    return [name for name, stream in streams.items() if stream is None or not stream.isatty()]


def chosen_workspace(given: Path | None, config: LazyConfig) -> Path:
    """Return the workspace to open: the one given, the configured one, or workbench.duckdb here.

    A new file is made when its name says that it is one; anything else is taken for a slip of the hand.

    Raises:
        WorkspaceError: There is no such file, and its name is not that of a workspace.
    """
    if given is None:
        return config.workspace.expanduser() if config.workspace else DEFAULT_WORKSPACE
    if not given.exists() and given.suffix != ".duckdb":
        close = difflib.get_close_matches(str(given), COMMANDS, n=1)
        hint = f"Did you mean `workbench {close[0]}`? " if close else ""
        raise WorkspaceError(
            "No workspace",
            f"There is no file {given}, and no command of that name.",
            f"{hint}A new workspace's name ends in .duckdb: workbench {given}.duckdb",
        )
    return given


def run_app(
    path: Path,
    config: LazyConfig,
    rater: str | None,
    *,
    annotation: JobSettings | None = None,
    start_with: StartWith = "home",
    run: str | None = None,
    repositories: Path | None = None,
    study: str | None = None,
) -> int:
    """Open a workspace, show the app until it ends, and close what was opened.

    Args:
        path: The workspace file; made when it is missing.
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        annotation: A job that begins behind the first screen; None for none.
        start_with: The screen to open on.
        run: What names the run of the agents whose labels are shown; None for the default one.
        repositories: The folder with checkouts of repositories; None for the configured one.
        study: The study that the rater works in; None for the first open one with something left to do.

    Returns:
        The exit code.

    Raises:
        HiddenData: The review is blind, or the rater is in an open study, and a run was named; or the
            configured rater is in one, and another was named.
        UnknownName: No run, or more than one, is called so.
    """
    from workbench.rater import rater_name

    name, blind = rater_name(rater, config), config.screens.blind  # refused before a workspace is made
    # The collector would look through all that is imported several times over; the app takes it up again.
    gc.disable()
    opening = _Opening(path, name, blind=blind, queue=start_with == "queue" and run is None)
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
            from store.first_look import is_in_study
            from workbench.study_session import another_rater

            if is_in_study(workspace, own):
                raise another_rater()
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
            annotation=annotation,
            start_with=start_with,
            repositories=repositories,
            study=study,
        )
        return show(WorkbenchApp(context))


def show(app: WorkbenchApp) -> int:
    """Run the app and return its exit code."""
    from workbench.signals import ignore_further_signals

    drawn_on = sys.__stderr__
    if drawn_on is None or not drawn_on.isatty():
        # Textual draws on stderr. Where that is kept in a file, the terminal is at stdout.
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    try:
        app.run()
    finally:
        sys.__stderr__ = drawn_on  # type: ignore[misc]
        gc.enable()
        ignore_further_signals()
    return app.return_code or 0


class _Opening:
    """Opens the workspace and reads its first lines in a thread, while the screens are imported."""

    def __init__(self, path: Path, rater: str | None, *, blind: bool, queue: bool) -> None:
        self._path, self._rater, self._blind, self._queue = path, rater, blind, queue
        self._result: Future[tuple[Workspace, FirstLook]] = Future()
        # Not a daemon: a file must not be left half opened.
        threading.Thread(target=self._open, name="opening").start()

    def _open(self) -> None:
        try:
            from store.first_look import LINES, look
            from store.workspace.duckdb import Workspace

            workspace = Workspace.open(self._path, create=True)
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
