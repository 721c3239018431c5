"""The program's command line as a whole: its commands, and `workbench WORKSPACE`, which opens the app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from workbench import __version__
from workbench.cli import annotate, demo, doctor, exchange, judging, opening
from workbench.cli.options import ConfigFile, RaterName, command, remember

OPEN = "open"


class WorkspaceOrCommand(TyperGroup):
    """Takes a first argument that is no command's name for the workspace to open."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments call, with what is left of them."""
        if self.get_command(ctx, args[0]) is None:
            args = [OPEN, *args]
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Say in the usage line that a workspace can stand in place of a command."""
        return ["[OPTIONS]", "[WORKSPACE | COMMAND ...]"]


program = typer.Typer(
    name="workbench",
    cls=WorkspaceOrCommand,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Check what automated agents decided about code, in the terminal.

    `workbench WORKSPACE` opens a workspace; without one it opens the configured workspace, or
    workbench.duckdb in the current folder. `workbench demo` shows it all with sample data.
    """
    remember(rater=rater, config=config)
    if context.invoked_subcommand is None:
        opening.open_workspace(None, rater, config)


def _name(value: Path | None) -> Path | None:
    return value


program.command(OPEN, hidden=True)(opening.open_workspace)
program.command("import")(exchange.import_command)
program.command("annotate")(annotate.annotate_command)
program.command("export")(exchange.export_command)
program.command("items")(judging.items_command)
program.command("judge")(judging.judge_command)
program.command("report")(judging.report_command)
program.command("doctor")(doctor.doctor_command)
program.command("demo")(demo.demo_command)
program.command("recover")(exchange.recover_command)

__all__ = ["command", "program"]
