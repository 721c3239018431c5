"""The whole workspace as a bundle: every table of the schema, less what is not to be published."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import duckdb
import pyarrow.parquet

from store.events import Progress, ReportProgress
from store.export.pseudonyms import Pseudonyms
from store.formats.bundle import MANIFEST, SORT, VERSION, Manifest, TableFile, table_path
from store.formats.protocol import WriteResult
from store.record.ids import now
from store.sql import count, listed, named, quoted
from store.workspace.schema import tables_of, version_of

_GONE = "SELECT assignment_id FROM studied WHERE withdrawn_at IS NOT NULL"
_STAYING_RUN = f"(assignment_id IS NULL OR assignment_id NOT IN ({_GONE}))"
_WITHDRAWN = "SELECT rater_id FROM study_rater WHERE withdrawn_at IS NOT NULL"

# Reports count what a screener decided, and a reply without an error is JSON; the rest is the model's text.
_DECISION = """CASE WHEN requests = 0 AND NOT from_cache THEN reply
    WHEN outcome <> 'ok' OR reply = '' THEN ''
    ELSE coalesce('{"assessment": ' || (try_cast(reply AS JSON)->'assessment')::VARCHAR || '}', '{}') END"""


@dataclass(slots=True)
class _Rows:
    """The rows of a table that are written.

    Attributes:
        source: The table, or a view of its rows.
        where: The conditions that a row meets.
        replaced: The columns that are written otherwise than they are stored, with their SQL.
    """

    source: str
    where: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def select(self) -> str:
        """The rows as SQL."""
        replaced = listed({named(column): sql for column, sql in self.replaced.items()})
        return (
            f"SELECT *{f' REPLACE ({replaced})' if replaced else ''} FROM {self.source} "
            f"WHERE {' AND '.join(self.where) or 'true'}"
        )


def write_bundle(
    cursor: duckdb.DuckDBPyConnection,
    folder: Path,
    progress: ReportProgress,
    *,
    pseudonyms: bool,
    without_replies: bool,
    with_withdrawn: bool,
) -> WriteResult:
    """Write a bundle into an empty folder.

    Args:
        cursor: A cursor of the workspace in a transaction, with the views of `create_exported_records`.
        folder: The folder.
        progress: Receives the progress.
        pseudonyms: Whether people's names are replaced, and the states of their sessions left out.
        without_replies: Whether models' replies are left out.
        with_withdrawn: Whether the records of raters who withdrew are written, too.
    """
    columns = tables_of(cursor)
    chosen = {table: _Rows(named(table)) for table in columns}
    if without_replies:
        chosen["reply"].where.append("false")
        chosen["step"].replaced |= {"reply": _DECISION, "reply_id": "NULL::UUID"}
    people = Pseudonyms.of(cursor) if pseudonyms else None
    written: dict[str, TableFile] = {}
    left_out: dict[str, int] = {}
    names: dict[str, int] = {}
    with ExitStack() as stack:
        if people is not None:
            chosen["sessionstate"].where.append("false")
            # A file of the user's own may hold anybody's name.
            chosen["source_file"].where.append("false")
            chosen["source"].replaced["reading"] = "''"
            for (table, column), sql in stack.enter_context(people.replacing(cursor)).items():
                chosen[table].replaced[column] = sql
        if not with_withdrawn and count(cursor, f"SELECT count(*) FROM ({_WITHDRAWN})"):
            _leave_out_withdrawn(chosen)
        for place, (table, rows) in enumerate(chosen.items()):
            progress(Progress(f"writing {table}", place, len(chosen)))
            written[table] = _write(cursor, table_path(folder, table), rows.select, columns[table])
            if left := count(cursor, f"SELECT count(*) FROM {named(table)}") - written[table].rows:
                left_out[table] = left
            if people is not None:
                found = people.left_in(cursor, table_path(folder, table))
                names |= {f"{table}.{column}": number for column, number in found.items()}
    manifest = Manifest(
        format=SORT,
        version=VERSION,
        program=metadata.version("workbench"),
        workspace_schema=version_of(cursor, folder),
        made_at=now().isoformat(timespec="seconds"),
        pseudonyms=pseudonyms,
        replies=not without_replies,
        left_out=left_out,
        tables=written,
    )
    (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    total = sum(one.rows for one in written.values())
    progress(Progress("writing", len(chosen), len(chosen)))
    return WriteResult(total, sum(left_out.values()), names_left=names)


def _leave_out_withdrawn(chosen: Mapping[str, _Rows]) -> None:
    """Leave out what raters did in a study from which they withdrew, and what they said of themselves."""
    for table in ("judgment", "mark"):
        chosen[table].source = f"exported_{table}"
    chosen["execution"].where.append(_STAYING_RUN)
    chosen["test_outcome"].where.append(
        f"execution_id NOT IN (SELECT id FROM execution WHERE NOT {_STAYING_RUN})"
    )
    chosen["packet"].where.append(
        "(study_id, rater_id) NOT IN "
        "(SELECT (study_id, rater_id) FROM study_rater WHERE withdrawn_at IS NOT NULL)"
    )
    chosen["sessionstate"].where.append(f"rater_id NOT IN ({_WITHDRAWN})")
    said = chosen["study_rater"].replaced
    experience = said.get("experience", "experience")
    said["experience"] = f"CASE WHEN withdrawn_at IS NULL THEN {experience} ELSE '' END"


def _write(
    cursor: duckdb.DuckDBPyConnection, path: Path, select: str, columns: Mapping[str, str]
) -> TableFile:
    if path.stem == "source_file":
        rows = _write_files(cursor, path, select)
    else:
        rows = count(cursor, f"COPY ({select}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return TableFile(rows=rows, bytes=path.stat().st_size, sha256=digest, columns=dict(columns))


def _write_files(cursor: duckdb.DuckDBPyConnection, path: Path, select: str) -> int:
    """Write the kept files a part at a time, and return how many parts; COPY would hold them all."""
    keys = cursor.execute(f"SELECT source_id, part FROM ({select}) ORDER BY ALL").fetchall()
    types = {"source_id": pyarrow.int64(), "part": pyarrow.int64(), "content": pyarrow.binary()}
    schema = pyarrow.schema([*types.items()])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for key in keys:
            rows = cursor.execute("FROM source_file WHERE (source_id, part) = (?, ?)", key).fetchall()
            columns = dict(zip(types, zip(*rows, strict=True), strict=True))
            writer.write_table(pyarrow.table(columns, schema=schema))
    return len(keys)
