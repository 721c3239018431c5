"""Arguments and options that several commands share, and the wrapper around every command."""

from __future__ import annotations

import copy
import csv
import functools
import inspect
import itertools
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer
from typer.core import TyperCommand

from store.errors import WorkbenchError
from workbench.exit_codes import ended

if TYPE_CHECKING:
    from store.policy.scope import Shows
    from store.workspace.duckdb import Workspace as OpenWorkspace
    from workbench.config import Config

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., None])

Workspace = Annotated[Path, typer.Argument(help="The workspace file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
RaterName = Annotated[
    str | None,
    typer.Option("--rater", metavar="NAME", help="The rater's name; the configured rater by default."),
]
OwnStudy = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME",
        help="Which of the rater's open studies; by default the first in which something is left to do.",
        show_default=False,
    ),
]
RunName = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        help="The agents' run whose labels are shown: its name, how that begins or ends, or its id; by "
        "default the newest of the fullest runs.",
        show_default=False,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The configuration file.", show_default=False),
]

NICENESS = 10
"""By how much a command beside the app stands back, as `nice` counts it."""

_given: dict[str, Any] = {}


def names_in(given: str | None) -> tuple[str, ...]:
    """Return the names in a list apart by commas, each once; quotes hold a name with a comma together."""
    names = (name.strip() for name in next(csv.reader([given or ""], skipinitialspace=True), []))
    return tuple(dict.fromkeys(name for name in names if name))


def named(raters: str) -> list[str]:
    """Return the names in a list apart by commas.

    Raises:
        WorkbenchError: There are none.
    """
    names = list(names_in(raters))
    if not names:
        raise WorkbenchError("Raters missing", "No rater is named.", "Name them: dana,eli")
    return names


def several(raters: str) -> list[str]:
    """Return the two names or more in a list apart by commas.

    Raises:
        WorkbenchError: They are less than two.
    """
    names = named(raters)
    if len(set(names)) < 2:
        raise WorkbenchError(
            "Raters missing", "Two raters or more are compared.", "Name them, apart by commas: dana,eli"
        )
    return names


def in_shell(*words: object) -> str:
    """Return a command of ours as it is typed in a shell."""
    return "workbench " + shlex.join(map(str, words))


UsageError: Any = typer.BadParameter.__base__
"""The error of wrong arguments; Typer exports only the class below it."""

OLD_NAMES = {
    "accuracy": {"--against": "--policy"},
    "answer": {"--context": "--setting"},
    "prompts": {"--force": "--overwrite"},
}
"""Options that had another name, by command: those names still work, and no help shows them."""


class CommandWithOldNames(TyperCommand):
    """Takes the old names of its options, too."""

    def make_parser(self, ctx: Any) -> Any:
        """Return what reads the arguments."""
        parser = super().make_parser(ctx)
        names = OLD_NAMES.get(self.name or "", {})
        for option in self.params:
            if old := [old for old, new in names.items() if new in option.opts]:
                hidden = copy.copy(option)
                hidden.opts = old
                hidden.add_to_parser(parser, ctx)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            UsageError: An option is given under both of its names.
        """
        given = {
            argument.partition("=")[0] for argument in itertools.takewhile(lambda one: one != "--", args)
        }
        for old, new in OLD_NAMES.get(self.name or "", {}).items():
            if {old, new} <= given:
                raise UsageError(f"{old} is the old name of {new}; give one of them.", ctx)
        return super().parse_args(ctx, args)


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether JSON is among the options of a command line that was not read yet."""
    options = [*itertools.takewhile(lambda argument: argument != "--", arguments)]
    spelled = ("--format", "json") in itertools.pairwise(options)
    return spelled or "--json" in options or "--format=json" in options


def remember(**options: Any) -> None:
    """Keep what was given before the command's name (`workbench --config F items ...`)."""
    _given.clear()
    _given.update(options)


def remember_config(config: Path | None) -> None:
    """Keep a configuration file that was given before the name of a subcommand."""
    if config is not None:
        _given["config"] = config


def given_rater(rater: str | None) -> str | None:
    """Return the rater given to a command, or before its name."""
    return rater if rater is not None else _given.get("rater")


def given_config(config: Path | None) -> Path | None:
    """Return the configuration file given to a command, or before its name."""
    return config or _given.get("config")


def settings(config: Path | None) -> Config:
    """Load the configuration from the file given to a command, or before its name, or the usual one."""
    from workbench.config import load_config

    return load_config(given_config(config)).config


@contextmanager
def session(
    workspace: Path,
    loaded: Config,
    needs: Shows | None = None,
    subject: str | None = None,
    rater: str | None = None,
) -> Iterator[OpenWorkspace]:
    """Open a workspace for a command, unless the one who asks may not see what it needs.

    Args:
        workspace: The file.
        loaded: The configuration.
        needs: What the command shows or uses; None where it asks of each item.
        subject: What is refused otherwise, with its verb: "A copy contains".
        rater: The rater given to the command.

    Raises:
        HiddenData: The one who asks may not see that.
        WorkspaceError: There is no such workspace, or it is open elsewhere.
    """
    from store.workspace.duckdb import Workspace

    with Workspace.open(workspace) as opened:
        _refuse(opened, loaded, needs, subject, rater)
        yield opened


@contextmanager
def reading_session(
    workspace: Path,
    loaded: Config,
    needs: Shows | None = None,
    subject: str | None = None,
    rater: str | None = None,
) -> Iterator[tuple[OpenWorkspace, Config]]:
    """Open a workspace for a command that only reads; where another process holds it, that one answers.

    Beside the app a command asks as the app's session: as its rater, and blind where it is. It takes what
    `session` takes, and gives the configuration to ask with as well.

    Raises:
        HiddenData: The one who asks may not see what the command needs.
        WorkspaceError: There is no such workspace, or it is open elsewhere and nobody answers.
    """
    from store.errors import HiddenData, WorkspaceLocked, WorkspaceSuspended
    from store.workspace.duckdb import Workspace

    opened: OpenWorkspace
    decided = ""
    try:
        opened = Workspace.open(workspace)
    except WorkspaceSuspended:
        raise
    except WorkspaceLocked as locked:
        from store.workspace.remote import RemoteWorkspace

        opened = beside = RemoteWorkspace(workspace, locked)
        # Keys come first: `benchmarks/screen_speed.py --loads reporting` measures them beside a command.
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
        screens = replace(loaded.screens, blind=loaded.screens.blind or beside.greeting.blind)
        asking = beside.greeting.rater if beside.greeting.rater is not None else loaded.rater
        if (loaded.rater, loaded.screens) != (asking, screens):
            loaded = loaded.model_copy(update={"rater": asking, "screens": screens})
            decided = (
                f" The app that has {workspace.name} open (process {beside.greeting.process}) decides this."
            )
    try:
        with opened:
            _refuse(opened, loaded, needs, subject, rater)
            yield opened, loaded
    except HiddenData as refused:
        raise HiddenData(refused.title, refused.message, refused.hint + decided) from refused


def _refuse(
    opened: OpenWorkspace, loaded: Config, needs: Shows | None, subject: str | None, rater: str | None
) -> None:
    from store.policy.refusal import refuse
    from workbench.study_session import viewer

    if needs is not None:
        with opened.reading() as connection:
            refuse(connection, viewer(connection, loaded, given_rater(rater)), needs, subject)


class Answer:
    """The answer of a command.

    Args:
        fields: The object that `--json` prints.
        text: What people read: lines, and functions that print what is more than lines.
        code: The exit code.
        notes: Lines printed to stderr at the end, with --json too.
    """

    def __init__(
        self,
        fields: dict[str, Any],
        *text: str | Callable[[], object],
        code: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        self.fields, self.text, self.code, self.notes = fields, text, code, notes


def emit(answer: Answer, *, as_json: bool) -> int:
    """Print an answer, as text or as JSON; return the exit code."""
    from workbench.output import note, print_json, say

    if as_json:
        print_json(answer.fields)
    for part in () if as_json else answer.text:
        say(part) if isinstance(part, str) else part()
    for line in answer.notes:
        note(line)
    return answer.code


def command(function: Callable[P, Answer | None]) -> Callable[..., None]:
    """Print what a command answers, make errors that a user can mend a panel, and signals a clean end.

    A command that returns an answer has the option `--json`, in a parameter `as_json` if it needs to know.
    """
    signature = inspect.signature(function)
    knows = "as_json" in signature.parameters

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        as_json = bool(kwargs.get("as_json") if knows else kwargs.pop("as_json", False))

        def run() -> int:
            answer = function(*args, **kwargs)
            return 0 if answer is None else emit(answer, as_json=as_json)

        if code := ended(run, as_json=as_json):
            raise typer.Exit(code)

    if signature.return_annotation != "None" and not knows:
        own = inspect.signature(function, eval_str=True).parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        set_parameters(guarded, [*own, inspect.Parameter("as_json", kind, default=False, annotation=AsJson)])
    return guarded


def with_options_of(whole: Callable[..., None], *, without: Sequence[str]) -> Callable[[F], F]:
    """Give a command the arguments and options of another one, without some, to pass them on to it.

    Options of its own come behind them.
    """

    def given(function: F) -> F:
        every = inspect.signature(whole, eval_str=True).parameters
        own = inspect.signature(function, eval_str=True).parameters.values()
        set_parameters(
            function,
            [
                *(one for name, one in every.items() if name not in without),
                *(one for one in own if one.kind is one.KEYWORD_ONLY),
            ],
        )
        return function

    return given


def unseen(*names: str) -> Callable[[F], F]:
    """Keep parameters of a command from the command line: other commands pass them."""

    def given(function: F) -> F:
        every = inspect.signature(function, eval_str=True).parameters
        set_parameters(function, [one for name, one in every.items() if name not in names])
        return function

    return given


def set_parameters(function: Any, parameters: Sequence[inspect.Parameter]) -> None:
    """Set the parameters that Typer reads the arguments and options of a command from."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {one.name: one.annotation for one in parameters}
