"""What a test process makes once, since each of thousands of tests would make the same.

That is statements as text, and empty workspaces. A workspace of a few rows is read by one thread,
as DuckDB does it anyway: only the others are not waited for.

Measured in processor time: of a new workspace of two pairs 23 of 63 ms, of a command
that lists items a fifth; and of tests of reports a fifth, for the threads.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest
import sqlalchemy

import store.workspace.duckdb
from store.errors import WorkbenchError
from store.kinds.spec import task_kinds
from store.workspace import schema

_connect_to_database = duckdb.connect

SMALL = 8_000_000
"""Bytes of a database that one thread reads; DuckDB gives each thread 122,880 rows at a time."""


def _connect_by_one_thread(database: Any = ":memory:", *more: Any, **named: Any) -> duckdb.DuckDBPyConnection:
    """Connect to a database; a small one with one thread."""
    path = Path(database)
    if one_thread and (not path.exists() or path.stat().st_size < SMALL):
        named["config"] = {"threads": 1, **named.get("config", {})}
    return _connect_to_database(database, *more, **named)


one_thread = True
"""Whether a test is of a few rows; those with real data say that they are not."""

duckdb.connect = _connect_by_one_thread

_create_engine = sqlalchemy.create_engine


def _create_engine_like_the_first(*url: Any, **more: Any) -> sqlalchemy.Engine:
    """Create an engine that shares its dialect, and with it all statements that were compiled before."""
    engine = _create_engine(*url, **more)
    first = _first_engine(*url)
    engine.dialect = engine.pool._dialect = first.dialect  # type: ignore[assignment]
    engine._compiled_cache = first._compiled_cache
    return engine


@cache
def _first_engine(*url: Any) -> sqlalchemy.Engine:
    engine = _create_engine(*url, query_cache_size=5_000)
    engine.connect().close()
    return engine


sqlalchemy.create_engine = _create_engine_like_the_first

_connect, _migrations = store.workspace.duckdb.connect_to_newest, schema.migrations


@cache
def _empty_file(_kinds: tuple[str, ...]) -> bytes:
    """An empty workspace in which these kinds have their tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.duckdb")
        _connect(path).close()
        return path.read_bytes()


def built_once(build: Callable[..., Path]) -> Any:
    """Make a fixture of a function that fills the folder of a test: it is called once, later tests have a copy.

    The function takes `in_folder` or `tmp_path`, closes what it opens, and returns a path in that folder.
    """

    @wraps(build)
    def copied(**fixtures: Any) -> Path:
        folder: Path = fixtures.get("in_folder") or fixtures["tmp_path"]
        key = (build.__module__, build.__qualname__, *task_kinds())
        if key in _built:
            kept, name = _built[key]
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            return folder / name
        path = build(**fixtures)
        kept = folder.with_name(f"built-{len(_built)}")
        shutil.copytree(folder, kept)
        _built[key] = kept, path.relative_to(folder).as_posix()
        return path

    return pytest.fixture(copied)


_built: dict[tuple[str, ...], tuple[Path, str]] = {}
"""What was built: the folder, and the name of the path in it."""


def _connect_to_copy(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a workspace file; a new one is a copy with an id of its own, unless the migrations are a test's."""
    with suppress(WorkbenchError, OSError):
        is_new = not path.exists() and not path.with_name(f"{path.name}.wal").exists()
        if is_new and schema.migrations is _migrations:
            path.write_bytes(_empty_file(tuple(task_kinds())))
            master = _connect(path)
            master.execute("UPDATE workspace_fact SET value = ? WHERE name = 'id'", [str(uuid4())])
            return master
    return _connect(path)


store.workspace.duckdb.connect_to_newest = _connect_to_copy
