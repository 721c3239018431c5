"""The command line: a file for every group of commands. Heavy libraries are imported inside commands."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code.

    Args:
        arguments: What stands after the program's name; by default what the process was given.
    """
    from workbench.cli.program import program

    program(args=None if arguments is None else list(arguments), prog_name="workbench")
