"""`workbench report`: every report, as text, JSON or a table for a paper, and as a figure."""

from __future__ import annotations

import difflib
import inspect
import os
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from store.errors import WorkbenchError
from store.policy.refusal import refuse
from store.policy.scope import Shows
from workbench.cli.options import (
    Answer,
    AsJson,
    CommandWithOldNames,
    ConfigFile,
    command,
    given_rater,
    named,
    reading_session,
    session,
    set_parameters,
    settings,
    several,
    wants_json,
)
from workbench.cli.report_options import OPTIONS, SEVERAL, TWO_OR_MORE
from workbench.exit_codes import ended

if TYPE_CHECKING:
    from store.queries.sources import Rejected
    from store.reports.options import Options
    from store.reports.spec import ReportSpec
    from store.reports.value import Report
    from workbench.config import Config

PROGRESS = "progress"
"""The report that is printed where none is named."""

ALL = "--all"
"""Stands for all reports of a study."""

VIEWERS = ("progress", "labels", "time", "raters")
"""Reports whose --rater is who asks; of the others it chooses labels."""


class Form(StrEnum):
    """The forms in which a report is printed."""

    text = "text"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


class Width(StrEnum):
    """The widths of a figure: of a column, or of a page with two columns."""

    column = "column"
    page = "page"


FORMS: dict[str, Any] = {
    "form": Annotated[
        Form | None, typer.Option("--format", help="How it is printed; default text.", show_default=False)
    ],
    "figure": Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Write what can be drawn of it as .svg, .pdf or .png."),
    ],
    "width": Annotated[
        Width, typer.Option("--width", help="The width of the figure: of a column, or of a page with two.")
    ],
    "config": ConfigFile,
    "as_json": AsJson,
}
"""What every report takes besides its own options."""

_FLAGS = ("--json", "--by-item", "--with-revealed", "--bootstrap-units")
"""Options without a value."""


class ReportGroup(TyperGroup):
    """The reports as subcommands, each with its own options; progress where none is named."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the reports."""
        return [*_every_report()]

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command that prints a report; None for an unknown one."""
        if name == ALL:
            return _command_of_all()
        spec = _every_report().get(name)
        return None if spec is None else _command_of(spec)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments call: the report's name may stand behind its options."""
        if args[0] in ctx.help_option_names:
            typer.echo(ctx.get_help())
            raise typer.Exit
        if args[0] == "--list":
            _list(wanted=True)
        if ALL in args:
            args = [ALL, *(given for given in args if given != ALL)]
        elif args[0].startswith("-"):
            args = [PROGRESS, *args]
            for place in range(1, len(args)):
                before = args[place - 1]
                takes = before.startswith("--") and "=" not in before and before not in _FLAGS
                if args[place] in self.list_commands(ctx) and not takes:
                    args = [args[place], *args[1:place], *args[place + 1 :]]
                    break
        if self.get_command(ctx, args[0]) is None:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            meant = f"; did you mean {close[0]}?" if close else "; report --list names them."
            ctx.fail(f"There is no report {args[0]!r}{meant}")
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show in the usage line that the report's options follow its name."""
        return ["WORKSPACE", "[REPORT]", "[OPTIONS]"]


def _every_report() -> dict[str, ReportSpec]:
    """Return the reports; where one of another package cannot be used, end with the reason."""
    from store.reports.catalogue import reports

    found: dict[str, ReportSpec] = {}
    if code := ended(lambda: found.update(reports()), as_json=wants_json(sys.argv[1:])):
        raise typer.Exit(code)
    return found


def _command_of(spec: ReportSpec) -> Any:
    """Return the command that prints a report, with the options that it takes."""

    def report(context: typer.Context, **given: Any) -> None:
        as_json = given.pop("as_json") or given["form"] is Form.json
        _print_report(spec, workspace=_workspace(context), as_json=as_json, **given)

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default={"width": Width.column, "as_json": False}.get(name, False if _is_flag(kind) else None),
            annotation=kind,
        )
        for name, kind in ({name: OPTIONS[name] for name in spec.options} | FORMS).items()
    ]
    own = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    set_parameters(report, [own, *parameters])
    about = f"{spec.title} ({spec.source})" if spec.source else spec.title
    report.__doc__ = f"{about}: {spec.about}."
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(spec.name, cls=ReportCommand, short_help=about)(report)
    return typer.main.get_command(single)


class ReportCommand(CommandWithOldNames):
    """Names the reports that an option belongs to, where it is none of this one's."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments."""
        own = {name for option in self.params for name in option.opts}
        for given in args:
            option = given.partition("=")[0]
            name = option.removeprefix("--").replace("-", "_")
            if option.startswith("--") and option not in own and name in OPTIONS:
                every = _every_report().values()
                parts = {part for one in every for part in one.parts}
                having = (one.name for one in every if name in one.options)
                belongs = [each for each in having if each not in parts]
                *first, last = belongs
                of = f"reports {', '.join(first)} and {last}" if first else f"report {last}"
                ctx.fail(f"{option} belongs to the {of}, not to {self.name}.")
        return super().parse_args(ctx, args)


def _command_of_all() -> Any:
    """Return the command that writes all reports of a study."""
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(ALL)(all_command)
    return typer.main.get_command(single)


@command
def all_command(
    context: typer.Context,
    *,
    study: Annotated[str, typer.Option("--study", metavar="NAME", help="The study.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="An empty or a new folder.", show_default=False)
    ],
    config: ConfigFile = None,
) -> Answer:
    """Write every table and figure of a study, its methods, and the commands that make each.

    People have the pseudonyms of a published bundle: made from that bundle, the files are the same.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from store.reports.paper import write_paper
    from workbench.cli.exchange import progress_callback
    from workbench.output import Bar

    loaded = settings(config)
    with session(_workspace(context), loaded, Shows.OTHERS, "The reports use") as opened:
        opened.share_cores()
        with Bar("writing") as bar:
            paper = write_paper(opened, study, output, progress_callback(bar))
    return Answer(
        {"study": study, "folder": output, "files": [*paper.files], "left_out": paper.left_out},
        f"{len(paper.files)} files in {output}: {', '.join(paper.files)}",
        *(f"Left out, {name}: {why}" for name, why in paper.left_out.items()),
    )


def _is_flag(kind: Any) -> bool:
    return bool(kind.__origin__ is bool)


def _workspace(context: typer.Context) -> Path:
    """Return the workspace, which stands before the name of the report."""
    assert context.parent is not None
    found: Path = context.parent.params["workspace"]
    return found


report_commands = typer.Typer(
    cls=ReportGroup,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _list(wanted: bool) -> None:
    """Print the names of the reports, with what they tell."""
    if not wanted:
        return
    from workbench.output import say

    every = _every_report().values()
    width = max(len(one.name) for one in every)
    say(*(f"{one.name:<{width}}  {one.title}" + f" ({one.source})" * bool(one.source) for one in every))
    raise typer.Exit


@report_commands.callback()
def report_command(
    context: typer.Context,
    workspace: Annotated[
        Path, typer.Argument(metavar="WORKSPACE", help="The workspace file.", show_default=False)
    ],
    _wants_list: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="List the reports.")
    ] = False,
) -> None:
    """Print a report of a workspace: `workbench report study.duckdb accuracy`; without a name, progress.

    Each report has options of its own: `workbench report study.duckdb accuracy --help`. All tables and
    figures of a study for a paper: `workbench report study.duckdb --all --study NAME --output paper`.
    """
    if context.invoked_subcommand is None:
        spec = _every_report()[PROGRESS]
        _print_report(spec, workspace=workspace, as_json=False, form=None, figure=None, config=None)


@command
def _print_report(
    spec: ReportSpec,
    *,
    workspace: Path,
    config: Path | None,
    as_json: bool,
    form: Form | None,
    figure: Path | None,
    width: Width = Width.column,
    **given: Any,
) -> None:
    # Before NumPy is imported: the products of a bootstrap are too small to be worth threads, which wait for
    # each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dataclasses import asdict

    from store.queries.sources import rejected_sentence
    from store.reports.value import in_workspace
    from workbench.output import print_json

    found, options, rejected = _read(spec, workspace, settings(config), given)
    if as_json:
        fields = spec.fields(found, options)
        print_json({"report": spec.name, **fields, "rejected": [asdict(one) for one in rejected]})
        if figure is None:
            return
    report = spec.report(found, options)
    report = replace(report, empty=in_workspace(report.empty, str(workspace)))
    if figure is not None:
        _write_figure(spec, report, workspace, figure, width)
    if not as_json and (figure is None or form is not None):
        _print(spec, report.saying(rejected_sentence(rejected)), workspace, form or Form.text)


def _read(
    spec: ReportSpec, path: Path, configured: Config, given: dict[str, Any]
) -> tuple[Any, Options, tuple[Rejected, ...]]:
    """Read a report: what was found, the options it was asked with, and the records that imports rejected."""
    from store.reports.catalogue import check_blind
    from store.reports.value import in_workspace
    from workbench.cli.items import viewed_session
    from workbench.cli.rejected import rejected_for
    from workbench.rater import rater_name
    from workbench.study_session import configured_viewer, viewer

    options = _options(spec, given)
    views = spec.name in VIEWERS
    with reading_session(path, configured) as (opened, loaded):
        if spec.name == "pipeline" and opened.is_held:
            from agents.jobs.run_record import stop_interrupted_runs

            # Whoever holds a workspace is alone in it, so a run that a killed program left at work has ended.
            stop_interrupted_runs(opened).result()
        opened.share_cores()
        with opened.reading() as connection:
            if spec.name == PROGRESS:
                scope = viewed_session(connection, loaded, options.rater, options.run).scope
                options = replace(options, scope=scope)
            else:
                asks = options.rater if views else given_rater(None)
                asking = viewer(connection, loaded, asks)
                refuse(connection, asking, Shows.WHOLE, f"The report {spec.name} uses")
                own = None
                if spec.own and views and not asking.may(Shows.RATER):
                    refuse(None, configured_viewer(loaded), Shows.RATER, options.rater)
                    own = rater_name(None, loaded)
                    if not own:
                        raise WorkbenchError(
                            "No rater",
                            "A blind review reports on your own labels alone.",
                            "Set rater in the configuration.",
                        )
                if spec.name != "pipeline":
                    refuse(connection, asking, Shows.RUN, options.run)
                options = replace(options, own=own)
            options = replace(options, blind=not configured_viewer(loaded).may(Shows.OTHERS))
            check_blind(spec, options)
            if options.own is not None:
                options = replace(options, raters=())
            try:
                found = spec.read(connection, options)
            except WorkbenchError as error:
                error.hint = in_workspace(error.hint, str(path))
                raise
            rejected = rejected_for(connection, loaded)
    return found, options, rejected


def _options(spec: ReportSpec, given: dict[str, Any]) -> Options:
    """Return what a command line asks a report for."""
    from store.reports.options import Options

    asked = {name: value for name, value in given.items() if value is not None}
    for name in SEVERAL:
        if name in asked:
            many = spec.name in TWO_OR_MORE.get(name, ())
            asked[name] = tuple((several if many else named)(asked[name]))
    if "rater" in spec.options:
        asked["rater"] = given_rater(asked.get("rater"))
    plain: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value for name, value in asked.items()
    }
    return Options(**plain)


def _write_figure(spec: ReportSpec, report: Report, workspace: Path, path: Path, width: Width) -> None:
    """Draw a report to a file; one that is there is replaced.

    Raises:
        ExportFailed: Its name has another end, nothing can be drawn, or it cannot be written.
    """
    from store.errors import ExportFailed
    from store.reports.figure import COLUMN, FIGURES, PAGE
    from store.reports.options import command_line
    from store.reports.saving import checked_form, content
    from workbench.output import note

    form = checked_form(path, tuple(f".{each}" for each in FIGURES))
    inches = COLUMN if width is Width.column else PAGE
    drawn = content(report, spec.title, command_line(workspace.name, report.command), form, inches)
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise ExportFailed(
            "Cannot write", f"{path}: {error.strerror or error}", "Name another one: --figure FILE"
        ) from error
    note(f"Written: {path}")


ENDINGS = {Form.csv: "csv", Form.markdown: "md", Form.latex: "tex"}
"""The ends of the names of files in these forms."""


def _print(spec: ReportSpec, report: Report, workspace: Path, form: Form) -> None:
    from store.reports.options import command_line
    from store.reports.saving import content
    from workbench.output import print_report

    if form is Form.text:
        source = f" ({spec.source})" if spec.source else ""
        print_report(f"{workspace.name}: {spec.title}{source}", report)
        return
    made = content(report, spec.title, command_line(workspace.name, report.command), ENDINGS[form])
    # As a file has it: a terminal's styles, line breaks and encoding would be part of it.
    sys.stdout.flush()
    sys.stdout.buffer.write(made)
    sys.stdout.buffer.flush()
