"""The tables and figures of a study for a paper, and the commands that make them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import ExportFailed, WorkbenchError
from store.events import Progress, ReportProgress
from store.export.exporting import export
from store.ingest.bundle import import_bundle
from store.kinds.spec import task_kinds
from store.queries.sources import rejected_records, rejected_sentence
from store.queries.studies import StudyDetails, find_study
from store.reports.catalogue import reports
from store.reports.figure import charts
from store.reports.forms import as_csv, as_latex
from store.reports.options import Options, command_line
from store.reports.saving import content
from store.reports.value import WORKSPACE, Report, facts
from store.studies.adjudication import has_rulings
from store.studies.methods import methods_rows, methods_table
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.reports.spec import ReportSpec

TABLES, FIGURES = "tables", "figures"
"""The folders of tables and of figures."""
WHOLE = "workspace"
"""The folder with those of reports on the whole workspace, which cannot be of a study alone."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A study's tables, figures and methods.

    Attributes:
        files: The content of each file, by its path in the folder.
        left_out: Reports of which there is nothing to write, each with the reason.
    """

    files: Mapping[str, bytes]
    left_out: Mapping[str, str]


def write_paper(workspace: Workspace, study: str, folder: Path, progress: ReportProgress) -> Paper:
    """Write every table, every figure, the methods and the commands that make each.

    People have the pseudonyms of a published bundle, and what is left out there is left out here: made from
    that bundle, the files are the same, byte for byte.

    Args:
        workspace: The workspace.
        study: The study's name.
        folder: A folder that is empty or not there yet.
        progress: Receives the progress.

    Raises:
        UnknownName: There is no such study.
        WorkbenchError: The study is a draft.
        ExportFailed: The folder has files, or cannot be written.
    """
    with workspace.reading() as connection:
        find_study(connection, study)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ExportFailed(
                "Not empty", f"{folder} is there, and not an empty folder.", "Choose another one."
            )
        with _published(workspace, progress) as published, published.reading() as connection:
            paper = _made(connection, find_study(connection, study), progress)
        for path, made in paper.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(made)
    except OSError as error:
        raise ExportFailed(
            "Cannot write", f"{folder}: {error.strerror or error}", "Choose another one."
        ) from error
    return paper


def _made(connection: Connection, study: StudyDetails, progress: ReportProgress) -> Paper:
    """Return the files of a study, and what has none."""
    files: dict[str, bytes] = {}
    commands: list[str] = []
    left_out: dict[str, str] = {}
    for path in ("methods.md", f"{TABLES}/methods.tex", f"{TABLES}/methods.csv"):
        files[path] = methods(connection, study, Path(path).suffix).encode()
        commands.append(f"workbench study manifest {WORKSPACE} {shlex.quote(study.name)} {path}")
    rejected = rejected_sentence(rejected_records(connection, named=True))
    wanted = _wanted(connection, study)
    kind = study.protocol.kind
    left_out |= {
        name: f"of items of the kind {spec.kind}"
        for name, spec in reports().items()
        if spec.kind not in ("", kind) and spec.of_paper and not spec.parts
    }
    for place, (name, spec, options) in enumerate(wanted):
        progress(Progress(f"report {name}", place, len(wanted)))
        try:
            asked = spec.start(connection, options)
            report = spec.report(spec.read(connection, asked), asked).saying(rejected)
        except WorkbenchError as error:
            left_out[name] = error.message
            continue
        if not report.tables or report.empty:
            left_out[name] = report.empty or "there is nothing to report"
            continue
        line = command_line(WORKSPACE, report.command)
        for path, options_of in _paths(name, report, whole="study" not in spec.options).items():
            files[path] = content(report, spec.title, line, Path(path).suffix.removeprefix("."))
            commands.append(f"{line} {options_of}")
    files["commands.sh"] = _script(study.name, commands, left_out).encode()
    return Paper(files, left_out)


def _paths(name: str, report: Report, *, whole: bool) -> dict[str, str]:
    """Return the files of a report, each with the options of the command that makes it."""
    stem, above = name.replace("/", "-"), f"{WHOLE}/" if whole else ""
    endings = (("latex", "tex"), ("csv", "csv"))
    tables = {form: f"{above}{TABLES}/{stem}.{ending}" for form, ending in endings}
    found = {path: f"--format {form} > {shlex.quote(path)}" for form, path in tables.items()}
    if charts(report):
        path = f"{above}{FIGURES}/{stem}.pdf"
        found[path] = f"--figure {shlex.quote(path)}"
    return found


def methods(connection: Connection, study: StudyDetails, suffix: str) -> str:
    """Return the methods of a study as Markdown, as LaTeX (`.tex`), or as CSV (`.csv`).

    Raises:
        WorkbenchError: It is a draft.
    """
    if suffix not in (".tex", ".csv"):
        return methods_table(connection, study)
    report = Report((), (), (facts(methods_rows(connection, study)),))
    return as_csv(report) if suffix == ".csv" else as_latex(report, f"Methods of {study.name}", "")


@contextmanager
def _published(workspace: Workspace, progress: ReportProgress) -> Iterator[Workspace]:
    """Open the workspace as its published bundle makes it, with pseudonyms and without replies."""
    with tempfile.TemporaryDirectory() as place:
        bundle, path = Path(place) / "bundle", Path(place) / "published.duckdb"
        export(workspace, bundle, "bundle", pseudonyms=True, without_replies=True, progress=progress)
        import_bundle(path, bundle, progress=progress)
        with Workspace.open(path) as opened:
            opened.share_cores()
            yield opened


def _wanted(connection: Connection, study: StudyDetails) -> list[tuple[str, ReportSpec, Options]]:
    """Return the reports of a study, each with the name of its files: of a question, one for each."""
    kind = task_kinds().get(study.protocol.kind)
    asked = study.protocol.questions or tuple(spec.name for spec in (kind.questions if kind else ()))
    truth = "adjudicated" if has_rulings(connection, study.id) else None
    wanted = []
    for spec in reports().values():
        if spec.parts or not spec.of_paper or (spec.kind and kind is not None and spec.kind != kind.name):
            continue
        options = Options()
        if "study" in spec.options:
            options = replace(options, study=study.name)
        if "kind" in spec.options:
            options = replace(options, kind=study.protocol.kind)
        if spec.name == "accuracy":
            options = replace(options, policy=truth)
        if "question" not in spec.options:
            wanted.append((spec.name, spec, options))
            continue
        for question in asked:
            name = spec.name if len(asked) == 1 else f"{spec.name}-{question}"
            wanted.append((name, spec, replace(options, question=question)))
    return wanted


def _script(study: str, commands: Sequence[str], left_out: Mapping[str, str]) -> str:
    """Return the commands as a script, with what was left out."""
    lines = [
        "#!/bin/sh",
        f"# Makes the tables and figures of the study {' '.join(study.split())} one by one.",
        f"# {WORKSPACE} is the workspace that the published bundle is imported into:",
        f"#   workbench import {WORKSPACE} BUNDLE",
        "# All of them at once:",
        f"#   workbench report {WORKSPACE} --all --study {shlex.quote(' '.join(study.splitlines()))} "
        "--output FOLDER",
        "set -e",
        f"mkdir -p {TABLES} {FIGURES} {WHOLE}/{TABLES} {WHOLE}/{FIGURES}",
        *commands,
    ]
    lines += [f"# {name}: {' '.join(why.split())}" for name, why in left_out.items()]
    return "\n".join(lines) + "\n"
