"""What a test process makes once, since each of thousands of tests would make the same.

That is statements as text, empty workspaces, and those with which many tests begin.

Measured in processor time: of a new workspace of two pairs 23 of 63 ms, of a command that lists items a fifth.
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
from store.workspace.duckdb import Workspace

_create_engine, _compiled = sqlalchemy.create_engine, dict[Any, Any]()


def _create_engine_like_the_first(*url: Any, **more: Any) -> sqlalchemy.Engine:
    """Create an engine that knows all statements that were compiled before, which are those of one dialect."""
    engine = _create_engine(*url, **more)
    engine.dialect = _dialect(*url)
    engine.update_execution_options(compiled_cache=_compiled)
    return engine


@cache
def _dialect(*url: Any) -> sqlalchemy.Dialect:
    engine = _create_engine(*url)
    # It asks the database about itself with the first connection.
    engine.connect().close()
    return engine.dialect


sqlalchemy.create_engine = _create_engine_like_the_first

_connect, _migrations = store.workspace.duckdb.connect_to_newest, schema.migrations


@cache
def _empty_file(_kinds: tuple[str, ...]) -> bytes:
    """An empty workspace in which these kinds have their tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.duckdb")
        _connect(path).close()
        return path.read_bytes()


def copied(build: Callable[[Path], Workspace], path: Path) -> Workspace:
    """Open a copy, at a path, of the workspace that a function makes in a folder; it is called once."""
    path.write_bytes(_file_of(build, tuple(task_kinds())))
    return Workspace.open(path)


@cache
def _file_of(build: Callable[[Path], Workspace], _kinds: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = build(Path(folder))
        made.close()
        return made.path.read_bytes()


def built_once(build: Callable[..., Path]) -> Any:
    """Make a fixture of a function that fills the folder of a test: it is called once, later tests have a copy.

    The function takes `in_folder` or `tmp_path`, closes what it opens, and returns a path in that folder.
    """

    @wraps(build)
    def filled(**fixtures: Any) -> Path:
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

    return pytest.fixture(filled)


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
