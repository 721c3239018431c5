"""The command line: a file for every group of commands. Heavy libraries are imported inside commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

COMPLETING = "_WORKBENCH_COMPLETE"
"""The variable that is set where a shell asks how a command line can go on."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code.

    Args:
        arguments: The arguments after the program's name; those of the process by default.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if any("\ud800" <= letter <= "\udfff" for argument in given for letter in argument):
        from workbench.cli.options import wants_json
        from workbench.cli.program import print_usage_error

        if wants_json(given):
            print_usage_error("An argument is not UTF-8; nothing was done.", "workbench")
        else:
            sys.stderr.write("workbench: an argument is not UTF-8; nothing was done.\n")
        raise SystemExit(2)
    if given in (["-V"], ["--version"]):
        from workbench import __version__

        sys.stdout.write(f"workbench {__version__}\n")
        raise SystemExit(0)
    from workbench.cli.quick_parse import parse_opening

    # A shell that completes a command line gives it in the environment, and no arguments.
    opening = None if COMPLETING in os.environ else parse_opening(given)
    if opening is not None:
        from workbench.exit_codes import ended
        from workbench.start import open_app

        raise SystemExit(ended(lambda: open_app(**opening._asdict())))
    from workbench.cli.program import program

    program(args=None if arguments is None else list(arguments), prog_name="workbench")
