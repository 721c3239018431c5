"""The process in which a file of somebody else is opened first: it has that file, and can open no other.

It reads a line of JSON (the request), and writes one: what the file holds, and whether all of it can be read.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow

BATCH_ROWS = 2_048

_OTHERS = {
    "view": "SELECT view_name FROM duckdb_views() WHERE NOT internal",
    "macro": "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
    "type": "SELECT type_name FROM duckdb_types() WHERE NOT internal",
    "sequence": "SELECT sequence_name FROM duckdb_sequences()",
    "index": "SELECT index_name FROM duckdb_indexes()",
    "schema": "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'main'",
}
"""The statements that name everything but tables in a database, by the word for it."""


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a request, look through its file, and write what was found."""
    request = json.loads(source.readline())
    # What is imported late is imported by this, while files can still be opened.
    with duckdb.connect(":memory:", config=request["config"]) as database:
        _read(database, "SELECT 1 AS n, 'a' AS text, now() AS moment, uuid() AS id, 1.5::DOUBLE AS value")
    _limit(request["memory"], request["seconds"])
    try:
        database = duckdb.connect(request["path"], read_only=True, config=request["config"])
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        answer = _look(database, request["tables"], request["optional"])
    except (duckdb.Error, pyarrow.ArrowException, MemoryError, OSError) as error:
        # What DuckDB says while it hands over rows comes as an OSError.
        answer = {"error": str(error), "opened": not isinstance(error, duckdb.IOException)}
    target.write(json.dumps(answer).encode() + b"\n")


def _look(database: duckdb.DuckDBPyConnection, wanted: dict[str, str], optional: list[str]) -> dict[str, Any]:
    """Return what is in the file; rows are read only where all tables are those that are wanted."""
    others = [
        (word, name) for word, names in _OTHERS.items() for (name,) in database.execute(names).fetchall()
    ]
    found = database.execute("SELECT table_name, sql FROM duckdb_tables() WHERE NOT internal").fetchall()
    tables: dict[str, str] = dict(found)
    answer: dict[str, Any] = {"others": others, "tables": tables}
    if others or tables.get("schema_version") != wanted["schema_version"]:
        return answer
    ((answer["version"],),) = database.execute("SELECT max(version) FROM schema_version").fetchall()
    if tables == {name: sql for name, sql in wanted.items() if name in tables or name not in optional}:
        answer["bytes"] = _bytes(database, tables)
        answer["held"] = {name: _read(database, f"FROM {_named(name)}") for name in tables}
    return answer


def _bytes(database: duckdb.DuckDBPyConnection, tables: dict[str, str]) -> int:
    """Return how many bytes the blocks take that are in use, by the last of them.

    The number of blocks in the header of a file is no help: free ones may be cut off its end.
    """
    blocks = ["SELECT block_id FROM pragma_metadata_info()"]
    for name in tables:
        stored = f"pragma_storage_info('{_named(name).replace(chr(39), chr(39) * 2)}')"
        blocks += [f"SELECT block_id FROM {stored}", f"SELECT unnest(additional_block_ids) FROM {stored}"]
    ((last,),) = database.execute(f"SELECT max(block_id) FROM ({' UNION ALL '.join(blocks)})").fetchall()
    ((used, size),) = database.execute(
        "SELECT used_blocks, block_size FROM pragma_database_size()"
    ).fetchall()
    # Those of indexes are only counted.
    return max(int(used), 0 if last is None else int(last) + 1) * int(size)


def _read(database: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Read all rows that a statement selects, and check that its texts are texts; return their bytes."""
    held = 0
    with database.execute(statement).to_arrow_reader(BATCH_ROWS) as reader:
        for batch in reader:
            batch.validate(full=True)
            held += batch.nbytes
    return held


def _named(name: str) -> str:
    """Return a name as statements have it."""
    return '"' + name.replace('"', '""') + '"'


def _limit(memory: int, seconds: int) -> None:
    """Let the process take no more than some memory beside what it has, and write no file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # In case that nobody is left to end it.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds * 2 + 10,) * 2)
    taken = Path("/proc/self/statm")
    if taken.exists():
        size = int(taken.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 2 * memory,) * 2)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
