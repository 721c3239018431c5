"""The commands import, export and recover."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from store.errors import HiddenData, WorkbenchError
from store.formatting import pluralize
from store.json_fields import json_fields
from store.policy.refusal import refuse
from store.policy.scope import Shows
from workbench.cli.options import Answer, ConfigFile, Workspace, command, given_rater, session, settings
from workbench.cli.sampling import SampleChoice, SamplePairs, Seed, Stratify, print_strata

if TYPE_CHECKING:
    from store.events import Progress
    from store.ingest.report import ImportReport
    from store.workspace.duckdb import Workspace as OpenWorkspace


DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and count everything; change nothing.")]

_SHOWN = 20
"""How many lines of a journal are named one by one."""


class CorpusChoice(StrEnum):
    """Which codes a retrieval benchmark holds."""

    judged = "judged"
    all = "all"


def parse_mapping(pairs: list[str]) -> dict[str, str]:
    """Read `--map query=question`: our field, and the file's column that holds it.

    Raises:
        WorkbenchError: One of them is not of that form, or a field is given twice.
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        field, equals, column = (part.strip() for part in pair.partition("="))
        # A table can go without labels, and without ids.
        if not (equals and field and (column or field in ("id", "label"))) or field in mapping:
            raise WorkbenchError(
                "Mapping not understood",
                f"--map {pair} " + ("gives a field twice." if field in mapping else "is not FIELD=COLUMN."),
                "Write our field, an equals sign and the file's column: --map query=question",
            )
        mapping[field] = column
    return mapping


def _print_formats(wanted: bool) -> None:
    """Print what can be imported, and end."""
    from store.formats.protocol import format_list
    from workbench.output import say

    if wanted:
        say(format_list(readable=True))
        raise typer.Exit


class FormatsInHelp(TyperCommand):
    """Names the registered formats in the help of --format; they are loaded only to print it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from store.formats.protocol import formats

        usable = attrgetter("write" if ctx.info_name == "export" else "readable")
        try:
            names = ", ".join(sorted(name for name, known in formats().items() if usable(known)))
        except WorkbenchError as error:
            names = f"{error.title}: {error.message}"
        for option in self.params:
            if option.name == "format" and isinstance(option, TyperOption) and option.help:
                option.help = option.help.replace("FORMATS", names)
        super().format_help(ctx, formatter)


@contextmanager
def workspace_for_import(path: Path, *, dry_run: bool) -> Iterator[OpenWorkspace]:
    """Open the workspace, making a new one; a new one is taken away again when nothing came into it."""
    from store.record.raters import register_kinds
    from store.workspace.duckdb import Workspace

    if dry_run and not path.exists():
        with tempfile.TemporaryDirectory() as folder, Workspace.create(Path(folder, path.name)) as opened:
            register_kinds(opened)
            yield opened
        return
    fresh = not path.exists()
    try:
        with Workspace.open(path, create=True) as opened:
            register_kinds(opened)
            yield opened
    except BaseException:
        if fresh:
            path.unlink(missing_ok=True)
            path.with_name(path.name + ".wal").unlink(missing_ok=True)
        raise


@command
def import_command(
    workspace: Workspace,
    files: Annotated[
        list[str],
        typer.Argument(help="The files, of one format or several; of the format python repositories."),
    ],
    *,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help="The files' format, detected if not given: FORMATS."),
    ] = None,
    label_as: Annotated[
        str | None,
        typer.Option("--label-as", metavar="RATER", help="The rater of the labels in the files."),
    ] = None,
    match_from: Annotated[
        int | None,
        typer.Option(
            min=1, max=10, metavar="N", help="Grades from N on are labelled match, too, those below no match."
        ),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="The column of a field; can be repeated."),
    ] = None,
    label_words: Annotated[
        list[str] | None,
        typer.Option(
            "--label-words",
            metavar="WORD=VALUE",
            help="What words among the labels mean: good=1,bad=0,n/a=.",
        ),
    ] = None,
    _formats: Annotated[
        bool,
        typer.Option("--formats", is_eager=True, callback=_print_formats, help="List the formats, and end."),
    ] = False,
    prefix: Annotated[str, typer.Option(help="Put before every item's id.")] = "",
    licence: Annotated[str, typer.Option(help="The files' licence, where they name none.")] = "",
    model: Annotated[
        str,
        typer.Option(metavar="NAME", help="The model of the responses, where the files name none."),
    ] = "",
    setting: Annotated[
        str,
        typer.Option(metavar="NAME", help="The setting of the responses or of the context."),
    ] = "",
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Import the good records; write the others here, with reasons."),
    ] = None,
    dry_run: DryRun = False,
    all_functions: Annotated[
        bool,
        typer.Option("--all-functions", help="A corpus takes functions without parameter or result too."),
    ] = False,
    largest_record: Annotated[
        int, typer.Option(min=1, max=1024, metavar="MIB", help="The most that one record may have, in MiB.")
    ] = 64,
    config: ConfigFile = None,
) -> Answer:
    """Import items of any kind, models' responses, labels, or a corpus; the format is detected.

    All or nothing: when a record is bad, nothing is imported, unless --rejects is given.
    """
    from store.formats.bundle import BUNDLE, is_bundle
    from store.ingest.choices import parse_label_words
    from store.ingest.importing import import_files
    from store.processes import tuned_for_throughput
    from workbench.output import Bar
    from workbench.python_sources import read_python_sources
    from workbench.study_session import viewer

    if format == BUNDLE.name or (format is None and len(files) == 1 and is_bundle(Path(files[0]))):
        chosen = (label_as, match_from, mapping, prefix, licence, model, setting, rejects)
        return _import_bundle(workspace, files, any(chosen), dry_run=dry_run)
    loaded = settings(config)
    fields = parse_mapping(mapping or [])
    words = parse_label_words(label_words) if label_words else {}
    with tuned_for_throughput(), Bar("importing") as bar, ExitStack() as stack:
        # Before the workspace is opened: a URL may take minutes.
        sources, paths = read_python_sources(files, format, progress_callback(bar))
        opened = stack.enter_context(workspace_for_import(workspace, dry_run=dry_run))
        with opened.reading() as connection:
            asking = viewer(connection, loaded, given_rater(None))
            refuse(connection, asking, Shows.WHOLE, "An import uses")
        report = _with_command(
            partial(import_files, opened, paths, sources=sources),
            ["workbench", "import", str(workspace), *files],
            format=format,
            label_as=label_as,
            match_from=match_from,
            mapping=fields,
            label_words=words,
            prefix=prefix,
            licence=licence,
            model=model,
            setting=setting,
            rejects=rejects,
            dry_run=dry_run,
            record_bytes=largest_record << 20,
            all_functions=all_functions,
            progress=progress_callback(bar),
        )
    lines = [file.sentence(dry_run=dry_run) for file in report.files]
    if report.rejects:
        lines.append(
            f"Refused: {pluralize(report.rejected, 'record')}, in {report.rejects} with the reasons."
        )
        if report.adds and report.rejected:
            lines.append(
                f"Figures are without {'it' if report.rejected == 1 else 'them'}, as every report says."
            )
    elif rejects:
        lines.append(f"{pluralize(report.rejected, 'record')} would be refused, and written to {rejects}.")
    lines += report.beside_files()
    lines.append(_end(workspace, dry_run=dry_run, adds=report.adds, all_good=not report.rejected))
    return Answer({"workspace": workspace, **json_fields(report)}, *lines)


def _with_command(run: Callable[..., ImportReport], words: list[str], **options: Any) -> ImportReport:
    """Import; where columns have to be chosen, the error gets the whole command that chooses them."""
    from store.ingest.own_table import ColumnsUnclear

    try:
        return run(**options)
    except ColumnsUnclear as error:
        kept = ("format", "label_as", "match_from", "prefix", "licence", "rejects")
        given = [(f"--{name.replace('_', '-')}", str(options[name])) for name in kept if options[name]]
        given += [
            ("--label-words", f"{word}=" + ("" if value is None else f"{value:g}"))
            for word, value in options["label_words"].items()
        ]
        further = [part for pair in given for part in pair] + ["--dry-run"] * options["dry_run"]
        proposed = error.proposal.options
        if options["label_words"] and "--label-words" in proposed:
            proposed = proposed[: proposed.index("--label-words")]
        error.command = shlex.join([*words, *proposed, *further])
        raise


def _import_bundle(workspace: Path, files: list[str], has_choices: bool, *, dry_run: bool) -> Answer:
    """Make a workspace of a bundle, and return what it holds.

    Raises:
        WorkbenchError: Something else is to be imported with it, or it cannot be imported.
    """
    from store.ingest.bundle import import_bundle
    from workbench.output import Bar

    if len(files) != 1 or has_choices:
        raise WorkbenchError(
            "A whole workspace",
            "Import a bundle alone; it takes no option except --dry-run. Nothing was imported.",
            "Import other files afterwards.",
        )
    with Bar("importing") as bar:
        report = import_bundle(workspace, Path(files[0]), dry_run=dry_run, progress=progress_callback(bar))
    rows = pluralize(sum(report.tables.values()), "row")
    lines = [
        f"{report.bundle}: a whole workspace of {report.made_at}, {rows} of {len(report.tables)} tables."
    ]
    if report.pseudonyms:
        lines.append("People have pseudonyms in place of their names.")
    if report.left_out:
        parts = ", ".join(f"{table} {number:,}" for table, number in report.left_out.items())
        lines.append(f"Rows that were left out when it was written: {parts}.")
    if report.migrated:
        lines.append(f"It had schema {report.workspace_schema}, and was migrated to the newest.")
    lines.append(_end(workspace, dry_run=dry_run, adds=True, all_good=True))
    return Answer({"workspace": workspace, **json_fields(report)}, *lines)


@command
def export_command(
    workspace: Workspace,
    destination: Annotated[Path, typer.Argument(help="The file to write; for cosqa-plus the folder.")],
    *,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="F",
            help="The format: FORMATS.",
        ),
    ],
    rater: Annotated[
        str | None,
        typer.Option(
            "--rater", metavar="NAME", help="Only the current labels of this rater, or of this run."
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="As --rater, of a run of the agents only."),
    ] = None,
    setting: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the context, or the responses, of this setting."),
    ] = None,
    only_kept: Annotated[
        bool,
        typer.Option("--only-kept", help="Only completions or questions that the rater or policy keeps."),
    ] = False,
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the records of this study, under its pseudonyms."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="P", help="Labels by this policy, such as majority, not by a rater."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="Q", help="The question of the labels; that of the first kind by default."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the items of this split, with its stored labels."),
    ] = None,
    part: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --split: only this part, such as train.")
    ] = None,
    now: Annotated[
        bool, typer.Option("--now", help="With --split: the current labels; reports the changes.")
    ] = False,
    corpus: Annotated[
        CorpusChoice, typer.Option(help="Of retrieval benchmarks: the codes of the items, or all codes.")
    ] = CorpusChoice.judged,
    names: Annotated[bool, typer.Option("--names", help="Raters, and comments, keep their names.")] = False,
    with_withdrawn: Annotated[
        bool,
        typer.Option("--with-withdrawn", help="The full record with raters who withdrew from a study."),
    ] = False,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="A bundle in which people have pseudonyms.")
    ] = False,
    without_replies: Annotated[
        bool, typer.Option("--without-replies", help="A bundle without the replies of models.")
    ] = False,
    view: Annotated[
        str | None, typer.Option("--view", metavar="NAME", help="Only the items of this saved view.")
    ] = None,
    comments: Annotated[
        bool, typer.Option("--comments", help="With people's comments; those with names are shown first.")
    ] = False,
    file: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of several imported tables: the one to give back."),
    ] = None,
    sample_pairs: SamplePairs = None,
    stratify: Stratify = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    config: ConfigFile = None,
) -> Answer:
    """Export your own table with its labels, every judgment, current labels, or items with models' responses.

    Pairs with the labels of one rater are written without the rater's name: give it when they are imported,
    --label-as NAME.
    """
    from store.export.exporting import ViewItems, export
    from store.export.summary import export_lines, reveals, uncounted, without_counts
    from store.kinds.pair import PAIR
    from store.policy.scope import RunRef, Shows
    from store.queries.runs import all_runs, named_run
    from store.queries.saved_views import find_view, view_ids
    from workbench.output import Bar
    from workbench.rater import rater_name
    from workbench.study_session import configured_viewer, open_session

    if str(destination) == "-":
        raise WorkbenchError(
            "Nothing was written",
            "An export is written to a file or folder, not to the terminal or a pipe.",
            "Name a file.",
        )
    if rater is not None and run is not None:
        raise WorkbenchError(
            "Rater or run", "--rater and --run both say whose labels are written.", "Give one of them."
        )
    loaded = settings(config)
    choice = SampleChoice(sample_pairs, seed, stratify)
    asking = configured_viewer(loaded)
    choice.check(asking)
    own, blind = rater_name(None, loaded), not asking.may(Shows.AGENTS)
    if dry_run and blind and (hidden := reveals(format, rater or run or policy or split, own)):
        raise HiddenData("Blind review", uncounted(hidden), "Write the file, and read it after your review.")
    with session(workspace, loaded, Shows.WHOLE, "An export contains") as opened, Bar("exporting") as bar:
        chosen: RunRef | None = None
        if run is not None:
            with opened.reading() as connection:
                named = named_run(all_runs(connection), run)
            rater, chosen = named.name, RunRef(named.id, named.name)
        sample = choice.take(opened, PAIR.name, chosen)
        items: ViewItems | None = None
        if view is not None:
            with opened.reading() as connection:
                scope = open_session(connection, loaded, given_rater(None)).scope
                found = find_view(connection, scope, view)
            items = ViewItems(found.name, view_ids(opened, scope, found.query).tolist())
        report = export(
            opened,
            destination,
            format,
            rater=rater,
            setting=setting,
            only_kept=only_kept,
            sample=sample,
            study=study,
            names=names,
            with_withdrawn=with_withdrawn,
            policy=policy,
            question=question,
            split=split,
            part=part,
            now=now,
            corpus=corpus.value,
            pseudonyms=pseudonyms,
            without_replies=without_replies,
            view=items,
            comments=comments,
            file=file,
            blind=blind and reveals(format, rater or policy or split, own) is not None,
            progress=progress_callback(bar),
            overwrite=overwrite,
            dry_run=dry_run,
        )
    revealed = reveals(report.format, report.rater, own) if blind else None
    fields = without_counts(report) if revealed else json_fields(report)
    lines = list(export_lines(report, revealed))
    if revealed:
        lines.append(f"You review blind, and this export holds {revealed}: read it after your review.")
    if dry_run:
        lines.append("This was a dry run: nothing was written.")
    fields = {"workspace": workspace, **fields, "reveals": revealed}
    return Answer(fields, partial(print_strata, sample), *lines)


@command
def recover_command(
    workspace: Workspace,
    journal: Annotated[
        Path | None,
        typer.Argument(help="The journal; by default the one beside the workspace.", show_default=False),
    ] = None,
) -> Answer:
    """Restore people's judgments from the journal beside the workspace file."""
    from store.policy.sealing import packet_of
    from store.workspace.recovery import recover
    from workbench.output import Bar
    from workbench.study_session import viewer

    loaded = settings(None)
    with session(workspace, loaded) as opened, Bar("recovering") as bar:
        with opened.reading() as connection:
            # What a packet's own journal holds is its rater's.
            if packet_of(connection) is None:
                asking = viewer(connection, loaded, given_rater(None))
                refuse(connection, asking, Shows.WHOLE, "Recovery uses")
        report = recover(opened, journal, progress=progress_callback(bar))
    back = pluralize(report.added, "record")
    lines = [
        f"{report.journal}: {pluralize(report.lines, 'line')}, {back} restored into {workspace}.",
        f"Already there: {report.known:,}.",
    ]
    if report.taken_back:
        lines.append(f"Undone before they were saved, and left out: {report.taken_back:,}.")
    if report.unreadable:
        shown = ", ".join(map(str, report.unreadable[:_SHOWN])) + (
            "..." if report.unreadable[_SHOWN:] else ""
        )
        lines.append(f"{pluralize(len(report.unreadable), 'line')} cannot be read: {shown}")
    if report.rejected:
        placeless = pluralize(len(report.rejected), "record")
        lines.append(f"{placeless} cannot be restored here, and can be read in {report.rejects}:")
        lines += (f"  line {number}: {reason}" for number, reason in report.rejected[:_SHOWN])
    return Answer({"workspace": workspace, **json_fields(report)}, *lines)


def _end(workspace: Path, *, dry_run: bool, adds: bool, all_good: bool) -> str:
    if dry_run:
        what = "Everything" if all_good else "The rest"
        news = "" if adds else f", but nothing of it is new in {workspace}"
        return f"{what} can be imported{news}. This was a dry run: nothing was imported."
    return f"Imported into {workspace}." if adds else f"Nothing of it is new in {workspace}."


def progress_callback(bar: Any) -> Any:
    """Return a callback that shows progress on a bar, and ends the work where a signal asks for that."""
    from workbench.signals import raise_if_stopped

    def show(progress: Progress) -> None:
        raise_if_stopped()
        bar.show(progress.done, progress.total, progress.stage)

    return show
