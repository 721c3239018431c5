"""A bundle: the whole workspace as a folder, a Parquet file for each of its tables, with a manifest."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from store.errors import ImportFailed
from store.formats.protocol import Export, Format, WriteResult
from store.paths import is_there

MANIFEST = "manifest.json"
"""The name of the manifest in the folder."""

SORT = "workbench bundle"
"""The text by which a manifest is recognized."""

VERSION = 1
"""The version of the manifest."""

_MOST_BYTES = 4 << 20
"""Bytes of a manifest at most; that of a workspace has some 20 KiB."""

TableName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
Count = Annotated[int, Field(ge=0, lt=1 << 48)]


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class TableFile(_Checked):
    """The file of a table.

    Attributes:
        bytes: The size of the file.
        sha256: The hash of the file, in hex.
        columns: The type of each column in DuckDB.
    """

    rows: Count
    bytes: Count
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    columns: dict[TableName, str]


class Manifest(_Checked):
    """The manifest of a bundle.

    Attributes:
        format: `SORT`.
        version: `VERSION`.
        program: The version of the program that wrote it.
        made_at: When it was written, ISO 8601 in UTC.
        pseudonyms: Whether people's names were replaced.
        replies: Whether it holds the models' replies.
        left_out: How many rows of a table were left out, by table.
        tables: The tables by name; the file of each is named after it.
    """

    format: str
    version: Annotated[int, Field(ge=1)]
    program: str
    workspace_schema: int
    made_at: str
    pseudonyms: bool
    replies: bool
    left_out: dict[TableName, Count]
    tables: dict[TableName, TableFile]

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.model_dump(), indent=1) + "\n"


def table_path(folder: Path, table: str) -> Path:
    """Return the path of a table's file."""
    return folder / f"{table}.parquet"


def is_bundle(folder: Path) -> bool:
    """Return whether a folder has a manifest of a bundle, be it damaged."""
    manifest = folder / MANIFEST
    if not (is_there(manifest) and manifest.is_file()):
        return False
    with manifest.open("rb") as file:
        return f'"{SORT}"'.encode() in file.read(1 << 12)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a bundle.

    Raises:
        ImportFailed: There is none, it is of a newer version, or not as one is written.
    """
    path = folder / MANIFEST
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            raise _no_manifest(
                path, "it is no file of that size" if stat.S_ISREG(found.st_mode) else "it is no file"
            )
        raw = path.read_bytes()
    except OSError as error:
        raise _no_manifest(path, error.strerror or str(error)) from error
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _no_manifest(path, f"it is no JSON: {error}") from error
    if not isinstance(given, dict) or given.get("format") != SORT:
        raise _no_manifest(path, f"it does not say that it is a {SORT}")
    if isinstance(version := given.get("version"), int) and version > VERSION:
        raise ImportFailed(
            "Bundle of a newer version",
            f"{path} has version {version}; this program knows up to {VERSION}. Nothing was imported.",
            "Upgrade workbench.",
        )
    try:
        return Manifest.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the manifest"
        raise _no_manifest(path, f"{place}: {first['msg']}") from error


def _no_manifest(path: Path, reason: str) -> ImportFailed:
    return ImportFailed(
        "No manifest of a bundle",
        f"{path}: {reason}. Nothing was imported.",
        "Name the folder that `workbench export --format bundle` wrote, as it was written.",
    )


def write_bundle(export: Export) -> WriteResult:
    """Write every table of the workspace, and the manifest."""
    return export.bundle()


BUNDLE = Format(
    name="bundle",
    description="the whole workspace: a folder of Parquet files with a manifest",
    containers=frozenset(),
    layouts=(),
    write=write_bundle,
    carries="The whole workspace, every table of it, to publish or to keep.",
    suffix="",
    opened_by="workbench import NEW.duckdb {path}",
    choices=frozenset({"withdrawn", "pseudonyms", "without_replies"}),
    holds=("row", "rows"),
    leaves_out=("row", "rows"),
    folder=True,
    whole_workspace=True,
)
