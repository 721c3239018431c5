"""The first reads of a start: the rater, the queue of the last session, the first lines of all items.

SQLAlchemy takes longer to import than a start may take, so these statements are the queue's own, compiled
beforehand (see `store.first_look.compiling`) and stored as text beside this file.

Read by the queries, the first lines come 0.11 s later: 1.75 s after the start of the process in place of
1.63 (medians of 30 starts each, in turn, with 100,000 pairs, two cores; the benchmark went before the
machine's other work): `python benchmarks/machinery.py queue --pairs 100000 --rounds 30`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import duckdb

from store.kinds.spec import task_kinds
from store.policy.scope import RunRef
from store.policy.sealing import is_in_study, packet_in
from store.queries.rows import QueueRow, titled_kinds, with_revised_titles
from store.record.rater_ref import RaterRef
from store.record.revisions import current_texts

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

LINES = 96
"""The number of lines read: more than any terminal shows at once."""

QUEUE_SESSION = "queue"
"""The key of a rater's last queue in the session."""

RUN_SESSION = "run"
"""The key of the run that a rater chose last; its value holds the run's `id`."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The first reads of a start.

    Attributes:
        rater: The person who judges; None when the workspace does not know them yet.
        queue: The queue of their last session, as it was stored; None when that was not looked up.
        rows: The first items in the default order; None when they could not be read in this way.
        run: The run of the agents that they chose; None for none, and in a blind review.
        in_study: Whether they are a rater of an open study, or the workspace is a packet, whose items
            are all that they may see.
    """

    rater: RaterRef | None = None
    queue: dict[str, Any] | None = None
    rows: tuple[QueueRow, ...] | None = None
    run: RunRef | None = None
    in_study: bool = False


def look(workspace: Workspace, rater: str | None, *, blind: bool, lines: int = LINES) -> FirstLook:
    """Make the first reads of a start; failures are ignored, since later reads report them.

    Args:
        workspace: The open workspace.
        rater: The name of the person who judges; None for nobody.
        blind: Whether the agents' labels are kept out of what is read.
        lines: How many items; 0 where no queue is shown first.
    """
    cursor = workspace.native()
    try:
        if packet_in(workspace) is not None:
            # Whose packet it is, it says itself.
            return FirstLook(in_study=True)
        found = _rater(cursor, rater) if rater else None
        if rater and found is None:
            return FirstLook()
        number = found.id if found else 0
        if found and is_in_study(workspace, found.name):
            return FirstLook(found, in_study=True)
        queue = _session(cursor, number, QUEUE_SESSION) if number else {}
        run = _run(cursor, number) if number and not blind else None
        # The statement for the first lines shows the default run.
        lines = lines if run is None else 0
        rows = _rows(cursor, number, blind=blind, lines=lines) if lines else None
        return FirstLook(found, queue, rows, run)
    except duckdb.Error:
        return FirstLook()
    finally:
        cursor.close()


def _rater(cursor: duckdb.DuckDBPyConnection, name: str) -> RaterRef | None:
    row = cursor.execute(_statement("rater"), [name]).fetchone()
    return RaterRef(row[0], "human", row[2]) if row is not None and row[1] == "human" else None


def _run(cursor: duckdb.DuckDBPyConnection, rater_id: int) -> RunRef | None:
    chosen = str(_session(cursor, rater_id, RUN_SESSION).get("id") or "")
    row = cursor.execute(_statement("run"), [chosen]).fetchone() if chosen else None
    return None if row is None else RunRef(*row)


def _session(cursor: duckdb.DuckDBPyConnection, rater_id: int, key: str) -> dict[str, Any]:
    row = cursor.execute(_statement("session", rater=rater_id), [key]).fetchone()
    try:
        value = json.loads(row[0]) if row else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _rows(
    cursor: duckdb.DuckDBPyConnection, rater_id: int, *, blind: bool, lines: int
) -> tuple[QueueRow, ...] | None:
    text = _text("rows_blind" if blind else "rows")
    kinds = re.match(r"-- kinds: (.*)\n", text)
    if kinds is None or set(kinds[1].split(", ")) != set(task_kinds()):
        # Another package's kind has selects of its own.
        return None
    ids = [row[0] for row in cursor.execute(_statement("ids", rater=rater_id, limit=lines)).fetchall()]
    if not ids:
        return ()
    found = cursor.execute(_statement("rows_blind" if blind else "rows", rater=rater_id, items=ids))
    names = [column[0] for column in found.description or ()]
    rows = {row[0]: QueueRow(**dict(zip(names, row, strict=True))) for row in found.fetchall()}
    may_be = [number for number, row in rows.items() if row.kind in titled_kinds()]
    rows |= with_revised_titles(rows, current_texts(cursor, may_be))
    return tuple(rows[number] for number in ids if number in rows)


def _text(name: str) -> str:
    return files(__package__ or "").joinpath(f"{name}.sql").read_text(encoding="utf-8")


def _statement(name: str, **values: int | Sequence[int]) -> str:
    """Return a statement with its places filled, which take whole numbers only."""
    text = _text(name)
    for place, value in values.items():
        numbers = [value] if isinstance(value, int) else value
        text = text.replace(f"{{{place}}}", ", ".join(str(int(number)) for number in numbers))
    return text
