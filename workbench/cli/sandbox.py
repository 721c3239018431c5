"""`workbench sandbox`: builds the image for test programs, checks the sandboxes, runs a program in one."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.json_fields import json_fields
from workbench.cli.options import Answer, ConfigFile, command, settings
from workbench.cli.snapshots import snapshots_command

if TYPE_CHECKING:
    from agents.sandbox.docker.image import Source
    from agents.sandbox.protocol import ExecutionReport, Sandbox, TestOutcome, TestProgram
    from workbench.config import Config

sandbox_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


_NO_TESTS = "none: no function whose name begins with test was found, so it was run as a program"


class ImageSource(StrEnum):
    """The sources of an image."""

    auto = "auto"
    registry = "registry"
    local = "local"


@sandbox_commands.callback()
def sandbox_command() -> None:
    """Make, examine and use the sandboxes that test programs run in."""


sandbox_commands.command("snapshots", short_help="List repaired environments, and remove what can go.")(
    snapshots_command
)


@sandbox_commands.command("build", short_help="Make the image for Docker.")
@command
def build_command(
    source: Annotated[
        ImageSource,
        typer.Option(
            "--from",
            help="registry: on sandbox.base_image, or the official image of Python; local: a copy of this "
            "machine's Python (Linux); auto: the first that can be had.",
        ),
    ] = ImageSource.auto,
    config: ConfigFile = None,
) -> Answer:
    """Make the image that test programs run in with Docker, under the name of sandbox.image."""
    from agents.sandbox.docker.image import build_image
    from workbench.output import print_facts

    wanted: Source | None = None
    if source is not ImageSource.auto:
        wanted = "registry" if source is ImageSource.registry else "local"
    built = build_image(settings(config).sandbox, wanted)
    facts = {
        "image": built.name,
        "digest": built.digest,
        "from": built.source,
        "base": built.base,
        "python": built.python,
        "note": built.note,
    }
    return Answer(facts, partial(print_facts, "", facts.items()))


@sandbox_commands.command(
    "check", short_help="List the sandboxes that work here, and the problems of the others."
)
@command
def check_command(config: ConfigFile = None) -> Answer:
    """Run a small program in every sandbox and say which of them work here, and why not.

    Ends with exit code 1 when none works that isolates a program.
    """
    import asyncio

    from agents.sandbox.registry import RESTRICTED
    from workbench.diagnosis import sandbox_checks
    from workbench.output import print_facts

    checks = asyncio.run(sandbox_checks(settings(config)))
    isolating = [box["name"] for box in checks if box["works"] and box["name"] != RESTRICTED]
    lines = [
        (box["name"], f"{'✓ works' if box['works'] else '✗ does not work'}: {_why(box)}") for box in checks
    ]
    return Answer(
        {"sandboxes": checks, "isolating": isolating},
        partial(print_facts, "", lines),
        code=0 if isolating else 1,
    )


@sandbox_commands.command("run", short_help="Run one test program and print its report.")
@command
def run_command(
    program: Annotated[Path, typer.Argument(help="The test program.", show_default=False)],
    candidate: Annotated[
        Path | None,
        typer.Option("--candidate", metavar="FILE", help="What the test imports as `candidate`."),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            "--sandbox",
            metavar="S",
            help="bubblewrap, docker, or process, which isolates nothing; the best that works by default.",
        ),
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Run one test program and print the report.

    Ends with exit code 1 when it did not end well.
    """
    import asyncio

    from agents.sandbox.protocol import TestProgram

    loaded = settings(config)
    whole = TestProgram("" if candidate is None else _source(candidate), _source(program))
    report = asyncio.run(_run(loaded, sandbox or loaded.agents.sandbox, whole))
    code = 0 if report.exit_reason == "ok" else 1
    return Answer(json_fields(report), partial(_print_report, report), code=code)


async def _run(loaded: Config, name: str | None, program: TestProgram) -> ExecutionReport:
    from agents.sandbox.registry import choose_sandbox
    from agents.sandbox.trust import TrustedSandbox
    from workbench.sample import allowed_programs

    chosen: Sandbox = await choose_sandbox(loaded.sandbox, name, allowed_programs())
    trusted = TrustedSandbox(chosen, loaded.sandbox.limits) if loaded.sandbox.trust_checks else chosen
    try:
        return await trusted.run(program)
    finally:
        await chosen.close()


def _source(path: Path) -> str:
    """Read a program's file.

    Raises:
        WorkbenchError: There is no such file, or it is no UTF-8.
    """
    from store.errors import WorkbenchError

    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise WorkbenchError(
            "No program", f"{path}: no UTF-8 (byte {error.start + 1}).", "Save the file as UTF-8."
        ) from error
    except OSError as error:
        raise WorkbenchError("No program", f"{path}: {error.strerror}", "Give the path of a file.") from error


def _print_report(report: ExecutionReport) -> None:
    from store.cuts import with_note
    from workbench.output import print_facts, print_table, say

    counted = report.counts.words()
    print_facts(
        "",
        [
            ("ended", report.exit_reason + (f": {report.error}" if report.error else "")),
            ("exit code", report.exit_code),
            ("seconds", f"{report.seconds:.2f}"),
            ("sandbox", f"{report.sandbox} {report.environment}"),
            ("image", report.image or None),
            ("packages", ", ".join(report.packages) or "only the standard library"),
            ("tests", " · ".join(counted.values()) or (_NO_TESTS if report.executable else None)),
        ],
    )
    if report.outcomes:
        say("")
        print_table(
            ("test", "outcome", "trust", "message"),
            [(one.name, one.outcome, _trust(one), one.message) for one in report.outcomes],
            wide=("message",),
        )
    traces = [(f"trace of {one.name}", one.trace) for one in report.outcomes]
    stdout, stderr = with_note(report.stdout, report.stdout_cut), with_note(report.stderr, report.stderr_cut)
    for name, text in (("trace", report.trace), *traces, ("stdout", stdout), ("stderr", stderr)):
        if text:
            say("", f"{name}:", text.rstrip("\n"))


def _trust(test: TestOutcome) -> str:
    """Describe how far a test can be trusted."""
    from store.outcome_counts import ON_A_STUB, passes_on_stub

    parts = [ON_A_STUB] if passes_on_stub(test) else []
    return ", ".join(parts + (["flaky"] if test.flaky else []))


def _why(box: dict[str, Any]) -> str:
    return " ".join(part for part in (box["detail"], box["hint"]) if part)
