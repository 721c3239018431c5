"""Compiles the statements of a start from the program's own queries into text files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from duckdb_sqlalchemy import Dialect
from sqlalchemy import Select, String, cast, select

from store.kinds.spec import task_kinds
from store.policy.scope import Scope, Visibility
from store.queries.queue import select_ids, select_rows
from store.queries.rows import QueueFilter, QueueSort
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.people import Rater, SessionState
from store.tables.runs import Run

FOLDER = Path(__file__).parent

# Numbers in place of values that are known at the start only; nothing else in a statement looks like them.
_RATER, _ITEM, _LIMIT = 987_654_321_001, 987_654_321_002, 987_654_321_003


def statements() -> dict[Path, str]:
    """Return the text files as they should read."""
    rater, session = table_of(Rater), table_of(SessionState)
    person = select(rater.c.id, rater.c.kind, rater.c.name).where(rater.c.name == "{name}")
    kept = select(session.c.value).where(session.c.rater_id == _RATER, session.c.key == "{name}")
    run = table_of(Run)
    chosen = select(run.c.id, run.c.name).where(cast(run.c.id, String) == "{name}")
    written = {
        "rater": _compiled(person).replace("'{name}'", "?"),
        "session": _compiled(kept).replace("'{name}'", "?"),
        "run": _compiled(chosen).replace("'{name}'", "?"),
        "ids": _compiled(select_ids(_scope(), QueueFilter(), QueueSort()).limit(_LIMIT)),
        "rows": _kinds() + _compiled(select_rows(_scope(), [_ITEM])),
        "rows_blind": _kinds() + _compiled(select_rows(_scope(blind=True), [_ITEM])),
    }
    return {FOLDER / f"{name}.sql": text + "\n" for name, text in written.items()}


def _scope(*, blind: bool = False) -> Scope:
    return Scope(RaterRef(_RATER, "human", ""), visibility=Visibility(blind))


def _kinds() -> str:
    return f"-- kinds: {', '.join(task_kinds())}\n"


def _compiled(statement: Select[Any]) -> str:
    text = str(statement.compile(dialect=Dialect(), compile_kwargs={"literal_binds": True}))
    for number, place in ((_RATER, "{rater}"), (_ITEM, "{items}"), (_LIMIT, "{limit}")):
        text = text.replace(str(number), place)
    return "\n".join(line.rstrip() for line in text.split("\n"))
