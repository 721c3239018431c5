"""The process in which a statement runs: it holds the rows of views that were sent to it, and nothing else.

A program of its own, since a statement can keep DuckDB in one expression for hours, which no interruption
ends, and take more memory than its limit: `SELECT levenshtein(repeat('a', 999999), repeat('b', 999999))`.
A process can be killed, and the system holds it to its limits: it opens no file and no connection, and writes
no file, whatever the statement asks for.

It reads a line of JSON (the request) and an Arrow stream for each view, and writes a line of JSON and, unless
that holds an error, an Arrow stream.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import BinaryIO

import duckdb
import pyarrow

BATCH_ROWS = 2_048


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a request, run its statement, and write what it comes to."""
    request = json.loads(source.readline())
    database = duckdb.connect(":memory:", config=request["config"])
    database.execute("SET TimeZone = 'UTC'")
    for name in request["views"]:
        with pyarrow.ipc.open_stream(source) as rows:
            database.register(name, rows.read_all())
    database.execute("SET lock_configuration = true")
    # What is imported late is imported by this, while files can still be opened.
    _collect(database, "SELECT 1 AS n, 'a' AS text, now() AS moment, 1::DECIMAL(4, 1) AS number", None)
    _limit(request["memory"], request["seconds"] * request["config"]["threads"])
    try:
        result = _collect(database, request["statement"], request["rows"])
    except (duckdb.Error, pyarrow.ArrowException, MemoryError, OSError) as error:
        # What DuckDB says while it hands over rows comes as an OSError, a lack of memory too.
        lacking = isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "Out of Memory" in str(
            error
        )
        target.write(json.dumps({"error": str(error), "memory": lacking}).encode() + b"\n")
        return
    target.write(b"{}\n")
    with pyarrow.ipc.new_stream(target, result.schema) as stream:
        stream.write_table(result)


def _collect(database: duckdb.DuckDBPyConnection, statement: str, rows: int | None) -> pyarrow.Table:
    """Return the first rows of what a statement selects; all with None."""
    with database.execute(statement).to_arrow_reader(BATCH_ROWS) as reader:
        batches: list[pyarrow.RecordBatch] = []
        count = 0
        while rows is None or count < rows:
            try:
                batches.append(reader.read_next_batch())
            except StopIteration:
                break
            count += batches[-1].num_rows
        return pyarrow.Table.from_batches(batches, reader.schema).slice(0, rows)


def _limit(memory: int, seconds: int) -> None:
    """Let the process take so much memory and processor, open nothing and write no file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # In case that nobody is left to end it.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 10,) * 2)
    taken = Path("/proc/self/statm")
    if taken.exists():
        size = int(taken.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 2 * memory,) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
