"""Import of a bundle: a new workspace file is made of its tables, and takes the place of an empty one."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from store.errors import ImportFailed, WorkbenchError
from store.events import Progress, ReportProgress, silent
from store.formats.bundle import MANIFEST, Manifest, TableFile, read_manifest, table_path
from store.kinds.spec import task_kinds
from store.sql import any_row, count, named, parquet
from store.workspace.connecting import check_path, connect
from store.workspace.duckdb import Workspace
from store.workspace.journal import check_journal, journal_path
from store.workspace.protected_paths import own_files
from store.workspace.schema import migrate, migrations, tables_of

_BLOCK = 1 << 20
_IN_EVERY_WORKSPACE = frozenset({"schema_version", "workspace_fact", "question", "guideline"})
"""Tables in which a new workspace has rows, too."""

_MOST_EXPANDED = 1_000
"""The most bytes of a table's content for each byte of its file; real tables have about ten."""
_ALLOWANCE = 64 << 20
"""Bytes that the content of any file may have."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """The result of the import of a bundle.

    Attributes:
        bundle: The folder.
        made_at: When the bundle was written.
        tables: The rows of each table that has any.
        workspace_schema: The schema version that the workspace had.
        migrated: Whether it was brought to a newer one.
        pseudonyms: Whether people in it have pseudonyms.
        replies: Whether it holds the models' replies.
        left_out: The rows that were left out when it was written, by table.
        dry_run: Whether nothing was imported since nothing was to be.
    """

    bundle: str
    made_at: str
    tables: Mapping[str, int]
    workspace_schema: int
    migrated: bool
    pseudonyms: bool
    replies: bool
    left_out: Mapping[str, int]
    dry_run: bool


def import_bundle(
    path: Path, folder: Path, *, dry_run: bool = False, progress: ReportProgress | None = None
) -> BundleReport:
    """Make a workspace of a bundle: the same as the one that was exported, or none.

    Args:
        path: The workspace file, which is missing or empty.
        folder: The folder of the bundle.
        dry_run: Whether to do everything but put the workspace in its place.
        progress: Receives the progress; an exception from it ends the import.

    Raises:
        ImportFailed: The bundle is not as it was written or of a newer version, or the workspace is not
            empty.
        WorkspaceError: The workspace file cannot be opened or written.
    """
    report = progress or silent
    if path.is_symlink():
        path = path.resolve()
    _check_empty(path)
    manifest = read_manifest(folder)
    newest = migrations()[-1][0]
    _check_version(manifest, newest)
    _check_files(folder, manifest, report)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _failures(path):
            _make(unfinished, folder, manifest, report)
        if not dry_run:
            # The log of the empty file would be taken for that of the new one.
            path.with_name(path.name + ".wal").unlink(missing_ok=True)
            os.replace(unfinished, path)
    except OSError as error:
        raise ImportFailed(
            "Cannot write",
            f"{path}: {error.strerror or error}. Nothing was imported.",
            "Make room there, or choose another place.",
        ) from error
    finally:
        for left in own_files(unfinished):
            with suppress(OSError):
                left.unlink()
    return BundleReport(
        bundle=str(folder),
        made_at=manifest.made_at,
        tables={table: one.rows for table, one in manifest.tables.items() if one.rows},
        workspace_schema=manifest.workspace_schema,
        migrated=manifest.workspace_schema < newest,
        pseudonyms=manifest.pseudonyms,
        replies=manifest.replies,
        left_out=manifest.left_out,
        dry_run=dry_run,
    )


def _check_empty(path: Path) -> None:
    """Refuse a workspace that holds something, or a journal beside it that does.

    Raises:
        ImportFailed: It does.
        WorkspaceError: It cannot be opened, or none can be made there.
    """
    check_path(path)
    check_journal(path)
    journal = journal_path(path)
    held = f"{journal} holds records of another one" if journal.exists() and journal.stat().st_size else ""
    if not held and path.exists():
        with Workspace.open(path) as workspace:
            cursor = workspace.native()
            try:
                tables = [name for name in tables_of(cursor) if name not in _IN_EVERY_WORKSPACE]
                filled = [name for name in tables if any_row(cursor, named(name))]
            finally:
                cursor.close()
        held = f"{path} has rows in {', '.join(filled[:3])}" if filled else ""
    if held:
        raise ImportFailed(
            "Not an empty workspace",
            f"A bundle becomes a workspace of its own, and {held}. Nothing was imported.",
            "Name a new file: workbench import NEW.duckdb FOLDER",
        )


def _check_version(manifest: Manifest, newest: int) -> None:
    schema = manifest.workspace_schema
    if schema > newest:
        raise ImportFailed(
            "Bundle of a newer version",
            f"Its workspace has schema {schema}; this program knows up to {newest}. Nothing was imported.",
            "Upgrade workbench.",
        )
    if schema < 1:
        raise _changed(f"{MANIFEST} names schema {schema}, which is none")


def _check_files(folder: Path, manifest: Manifest, report: ReportProgress) -> None:
    """Refuse a folder whose files are not those of its manifest.

    Raises:
        ImportFailed: A file is missing, added, changed or no file.
    """
    wanted = {table_path(folder, table): one for table, one in manifest.tables.items()}
    there = set(folder.iterdir())
    if missing := sorted(path.name for path in wanted.keys() - there):
        raise _changed(f"{', '.join(missing[:3])} {'is' if len(missing) == 1 else 'are'} missing")
    if others := sorted(path.name for path in there - wanted.keys() - {folder / MANIFEST}):
        raise _changed(f"{', '.join(others[:3])} {'is' if len(others) == 1 else 'are'} not of it")
    done, total = 0, sum(one.bytes for one in wanted.values())
    for path, table in wanted.items():
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise _changed(f"{path.name} is no file")
        if found.st_size != table.bytes:
            raise _changed(f"{path.name} has {found.st_size:,} bytes, and the manifest says {table.bytes:,}")
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                done += len(block)
                report(Progress(f"checking {path.name}", done, total))
        if digest.hexdigest() != table.sha256:
            raise _changed(f"{path.name} has another SHA-256 than the manifest says")


def _make(path: Path, folder: Path, manifest: Manifest, report: ReportProgress) -> None:
    """Make a workspace file of the tables, at their schema version, and bring it to the newest."""
    schema = manifest.workspace_schema
    master = connect(path)
    try:
        migrate(master, path, 0, schema)
        own = tables_of(master)
        for kind in task_kinds().values():
            if kind.record.schema:
                master.execute(kind.record.schema)
        _check_tables(own.keys(), tables_of(master), manifest)
        master.execute("BEGIN")
        for place, (name, table) in enumerate(manifest.tables.items()):
            report(Progress(f"importing {name}", place, len(manifest.tables)))
            rows = parquet(table_path(folder, name))
            _check_content(master, rows, name, table)
            master.execute(f"DELETE FROM {named(name)}")
            master.execute(f"INSERT INTO {named(name)} BY NAME FROM {rows}")
        found = master.execute("SELECT max(version) FROM schema_version").fetchone()
        if found != (schema,):
            raise _changed(f"schema_version.parquet does not say schema {schema}")
        if not any_row(master, "workspace_fact WHERE name = 'id'"):
            raise _changed("workspace_fact.parquet does not hold the id of the workspace")
        master.execute("COMMIT")
        migrate(master, path, schema)
        master.execute("CHECKPOINT")
    finally:
        master.close()


def _check_tables(own: Set[str], known: Mapping[str, Mapping[str, str]], manifest: Manifest) -> None:
    """Refuse tables that a workspace of that version does not have, or lacks."""
    if lacking := sorted(own - manifest.tables.keys()):
        raise _changed(f"{MANIFEST} does not name the table {lacking[0]}")
    if unknown := sorted(manifest.tables.keys() - known.keys()):
        raise ImportFailed(
            "Unknown table",
            f"The bundle has the table {unknown[0]}, which a workspace of schema "
            f"{manifest.workspace_schema} does not have here. Nothing was imported.",
            "Install the package that adds its task kind; `workbench doctor` lists the kinds.",
        )
    for name, table in manifest.tables.items():
        if dict(table.columns) != dict(known[name]):
            wrong = sorted(set(table.columns.items()) ^ set(known[name].items()))
            raise _changed(f"{name}.parquet has other columns than the table: {wrong[0][0]}")


def _check_content(master: duckdb.DuckDBPyConnection, rows: str, name: str, table: TableFile) -> None:
    """Refuse a file that is not what the manifest says, or whose content is far larger than itself.

    Raises:
        ImportFailed: It is.
        duckdb.Error: It is no Parquet that can be read.
    """
    columns = {column: type_ for column, type_, *_ in master.execute(f"DESCRIBE FROM {rows}").fetchall()}
    if columns != dict(table.columns):
        raise _changed(f"{name}.parquet has other columns than the manifest says")
    most = table.bytes * _MOST_EXPANDED + _ALLOWANCE
    # Of the numbers first, which the end of the file says: a text may be stored once for a billion rows.
    cells = table.rows * len(columns)
    (counted,) = master.execute(f"SELECT count(*) FROM {rows}").fetchone() or (0,)
    if counted != table.rows:
        raise _changed(f"{name}.parquet has {counted:,} rows, and the manifest says {table.rows:,}")
    texts = [
        f"coalesce(sum(strlen({named(column)})), 0)"
        for column, type_ in columns.items()
        if type_ == "VARCHAR"
    ]
    if cells <= most and texts:
        (letters,) = master.execute(f"SELECT {' + '.join(texts)} FROM {rows}").fetchone() or (0,)
        cells += int(letters)
    if cells > most:
        raise ImportFailed(
            "Table too large",
            f"{name}.parquet holds more than {_MOST_EXPANDED:,} times what its {table.bytes:,} bytes are. "
            "Nothing was imported.",
            "No workspace is like that; get the bundle from where it was published.",
        )
    # Large tables have no key that the database would check.
    if "id" in columns and count(master, f"SELECT count(DISTINCT id) FROM {rows}") != table.rows:
        raise _changed(f"{name}.parquet has one id twice")


def _changed(reason: str) -> ImportFailed:
    return ImportFailed(
        "Bundle not as it was written",
        f"{reason}. Nothing was imported.",
        "Copy it once more from where it was published.",
    )


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Tell errors of the database, and of the unfinished file, as those of the import."""
    try:
        yield
    except ImportFailed:
        raise
    except (duckdb.Error, WorkbenchError) as error:
        raise ImportFailed(
            "Bundle cannot be imported",
            f"{path} could not be made of it: {error}. Nothing was imported.",
            "Check the space on the disk, and that the bundle is as it was published.",
        ) from error
