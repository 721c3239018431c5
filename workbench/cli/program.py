"""The program's command line as a whole: its commands, and `workbench WORKSPACE`, which opens the app."""

from __future__ import annotations

import difflib
import glob
import itertools
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from workbench import __version__
from workbench.cli import (
    adjudicating,
    agents,
    annotate,
    candidates,
    collecting,
    comparing,
    completing,
    copies,
    demo,
    doctor,
    evaluating,
    exchange,
    items,
    judging,
    measuring,
    opening,
    packets,
    replies,
    reporting,
    revising,
    searching,
    splitting,
    sql,
    studying,
    training,
    viewing,
)
from workbench.cli.options import (
    CommandWithOldNames,
    ConfigFile,
    RaterName,
    UsageError,
    remember,
    wants_json,
)
from workbench.cli.sandbox import sandbox_command, sandbox_commands

OPEN = "open"
WORKSPACE = ".duckdb"


def _no_command(args: Sequence[str]) -> str:
    """Return the error for arguments that begin with no command's name."""
    names = [name for name, _, _ in itertools.chain(*COMMANDS.values())]
    if args[1] in names:
        return f"The command comes first: workbench {args[1]} {args[0]}"
    close = difflib.get_close_matches(args[0], names, n=1)
    return f"There is no command {args[0]!r}" + (f"; did you mean {close[0]}?" if close else ".")


class WorkspaceOrCommand(TyperGroup):
    """Takes a first argument that is no command's name for the workspace to open."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments call, with what is left of them."""
        if self.get_command(ctx, args[0]) is None:
            if len(args) > 1 and not args[1].startswith("-") and not ctx.resilient_parsing:
                # A workspace to open comes alone, so this was meant to be a command.
                ctx.fail(_no_command(args))
            args = [OPEN, *args]
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        """Run the command line; errors in the arguments are printed as JSON where JSON was asked for."""
        given = sys.argv[1:] if args is None else list(args)
        if not wants_json(given):
            return super().main(args, *others, **options)
        try:
            ended = super().main(args, *others, **{**options, "standalone_mode": False})
        except UsageError as error:
            print_usage_error(
                error.format_message(),
                error.ctx.command_path.removesuffix(f" {OPEN}") if error.ctx else "workbench",
            )
            raise SystemExit(error.exit_code) from error
        raise SystemExit(ended if isinstance(ended, int) else 0)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that go on from what is typed, and files as a workspace has the same place.

        Where no command does, the shell completes files by itself.
        """
        found = super().shell_complete(ctx, incomplete)
        if not found or incomplete.startswith("-"):
            return found
        # With nothing typed only workspaces: other files would hide the commands.
        paths = sorted(Path().glob(f"{glob.escape(incomplete)}*" if incomplete else f"*{WORKSPACE}"))
        # Shells quote names differently; those that need it are completed where no command is in the way.
        names = [f"{path}/" if path.is_dir() else str(path) for path in paths]
        return [*found, *(type(found[0])(name) for name in names if shlex.quote(name) == name)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show in the usage line that a workspace can replace a command."""
        return ["[OPTIONS]", "[WORKSPACE | COMMAND ...]"]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under the name of their group."""
        width = max(map(len, self.commands))
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), summary) for name, _, summary in commands])


program = typer.Typer(
    name="workbench",
    cls=WorkspaceOrCommand,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_usage_error(message: str, command: str) -> None:
    """Print on stdout, for programs, what is wrong with the arguments of a command."""
    from workbench.output import print_json

    hint = f"See what it takes: {command} --help"
    print_json({"error": {"title": "Usage", "message": message, "hint": hint}})


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"workbench {__version__}")
        raise typer.Exit


@program.callback()
def root(
    context: typer.Context,
    rater: RaterName = None,
    config: ConfigFile = None,
    _version_wanted: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Check what automated agents decided about code, in the terminal.

    `workbench WORKSPACE` opens a workspace; without one it opens the configured workspace, or
    workbench.duckdb in the current folder, or asks how to begin where there is neither. `workbench demo`
    shows everything with sample data.
    """
    remember(rater=rater, config=config)
    if context.invoked_subcommand is None:
        opening.open_workspace(None, rater, config)


COMMANDS: dict[str, tuple[tuple[str, Callable[..., None], str], ...]] = {
    "Data": (
        ("import", exchange.import_command, "Import items, responses and labels from files."),
        (
            "candidates",
            candidates.candidates_command,
            "Find the best codes of each query, as pairs to label.",
        ),
        ("search", searching.search_command, "Find the functions of a repository that answer a query."),
        ("collect", collecting.collect_command, "Collect repositories and issues of GitHub."),
        ("construct", completing.construct_command, "Construct completion tasks from repositories."),
        (
            "retrieve",
            completing.retrieve_command,
            "Retrieve the context of tasks and questions.",
        ),
        ("items", items.items_command, "List items with their labels."),
        ("views", viewing.views_command, "List, save and delete filters under a name."),
        ("sql", sql.sql_command, "Run a SELECT over the views of a workspace."),
        ("split", splitting.split_command, "Split the ground truth into parts that share no query."),
        ("splits", splitting.splits_command, "List splits; show one with its leaks."),
        ("export", exchange.export_command, "Write judgments to a file."),
    ),
    "Agents": (
        ("annotate", annotate.annotate_command, "Run the agents without the app."),
        ("judge-pairs", annotate.judge_pairs_command, "Have a model judge comparisons, in both orders."),
        ("complete", annotate.complete_command, "Have a model complete tasks of cross-file completion."),
        ("write-questions", annotate.write_questions_command, "Have agents turn issues into questions."),
        ("answer", annotate.answer_command, "Have a model answer questions about repositories."),
        ("judge-answers", annotate.judge_answers_command, "Have a model score answers to questions."),
        ("agents", agents.agents_command, "List the configurations of agents; print their prompts."),
        ("replies", replies.replies_command, "List the cached replies of models."),
        ("sandbox", sandbox_command, "Check, build and use sandboxes."),
        ("copy", copies.copy_command, "Copy a workspace, for agents to work in."),
        ("merge", copies.merge_command, "Merge what agents recorded in a copy."),
    ),
    "Judging": (
        ("judge", judging.judge_command, "Record a judgment, or many from standard input."),
        ("revise", revising.revise_command, "Rewrite a question or a reference answer."),
        ("adjudicate", adjudicating.adjudicate_command, "List what raters disagree about."),
        ("rule", adjudicating.rule_command, "Record a ruling on a disagreement."),
    ),
    "Studies": (
        ("study", studying.study_command, "Make and run studies of several experts."),
        ("packet", packets.packet_command, "Give a rater their part of a study in a file."),
        ("compare", comparing.compare_command, "Make comparisons of two candidates, and studies of them."),
    ),
    "Measures": (
        ("report", reporting.report_command, "Print progress, agreement or the agents' figures."),
        ("finetune", training.finetune_command, "Train an encoder on labelled pairs."),
        ("evaluate", evaluating.evaluate_command, "Measure methods that find codes for queries."),
        ("measure", measuring.measure_command, "Compute measures of files, without a workspace."),
    ),
    "Upkeep": (
        ("demo", demo.demo_command, "Show everything with sample data."),
        ("doctor", doctor.doctor_command, "Check the installation and a workspace."),
        ("recover", exchange.recover_command, "Restore judgments from the journal."),
    ),
}
"""The commands, grouped by what one does with them: name, function, one line of help."""

_GROUPS = {
    sandbox_command: sandbox_commands,
    studying.study_command: studying.study_commands,
    comparing.compare_command: comparing.compare_commands,
    collecting.collect_command: collecting.collect_commands,
    packets.packet_command: packets.packet_commands,
    agents.agents_command: agents.agents_commands,
    evaluating.evaluate_command: evaluating.evaluate_commands,
    measuring.measure_command: measuring.measure_commands,
    reporting.report_command: reporting.report_commands,
}

program.command(OPEN, hidden=True)(opening.open_workspace)
for _name, _function, _summary in itertools.chain(*COMMANDS.values()):
    if _function in _GROUPS:
        program.add_typer(_GROUPS[_function], name=_name, short_help=_summary)
    else:
        named = _function in (exchange.import_command, exchange.export_command)
        kind = exchange.FormatsInHelp if named else CommandWithOldNames
        program.command(_name, cls=kind, short_help=_summary)(_function)
