"""Completions and repository questions to import, and what is in a workspace of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from store.kinds.spec import NamedQuestion
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number, register_kinds, response_ref_number
from store.record.response_names import response_name_sql
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.record import Judgment, Mark
from store.workspace.duckdb import Workspace


def task(number: int, **fields: Any) -> dict[str, Any]:
    """A completion task in CrossCodeEval's form."""
    told = {
        "prompt": f"from tools import make\n\n\ndef run_{number}(value):\n    return make.",
        "groundtruth": f"thing_{number}(value)",
        "right_context": "\n\n\nprint(run(1))\n",
        "metadata": {
            "task_id": f"project_cc_python/{number}",
            "repository": "own-tools-1a2b3c",
            "file": f"run_{number}.py",
            "context_start_lineno": 0,
            "groundtruth_start_lineno": 4,
            "right_context_start_lineno": 5,
        },
        "crossfile_context": {
            "text": "# tools.py\n# def thing(value):\n",
            "list": [
                {
                    "retrieved_chunk": f"def thing_{number}(value):\n    ...",
                    "filename": "tools.py",
                    "score": 2.5,
                },
                {"retrieved_chunk": "PI = 3", "filename": "numbers.py", "score": 0.25},
            ],
        },
    }
    return {**told, **fields}


def prediction(number: int, text: str, **fields: Any) -> dict[str, Any]:
    """A completion of a task by a model."""
    return {"task_id": f"project_cc_python/{number}", "pred": text, **fields}


def json_lines(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write a file of JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


KEPT = {
    "item": "SELECT kind, external_id, content_hash, extra FROM item ORDER BY ALL",
    "completion": "SELECT external_id, c.* EXCLUDE (item_id) FROM completion c JOIN item i ON i.id = item_id ORDER BY ALL",
    "repository_question": (
        "SELECT external_id, c.* EXCLUDE (item_id) FROM repository_question c JOIN item i ON i.id = item_id ORDER BY ALL"
    ),
    "context_chunk": (
        "SELECT external_id, c.* EXCLUDE (item_id) FROM context_chunk c JOIN item i ON i.id = item_id ORDER BY ALL"
    ),
    "response": (
        "SELECT external_id, model, setting, trial, text, r.extra FROM response r JOIN response_ref f USING (id) "
        "JOIN item i ON i.id = item_id ORDER BY ALL"
    ),
    "score": (
        "SELECT s.id, external_id, r.model, r.setting, r.trial, s.* EXCLUDE (id, response_ref_id, sequence, created_at, run_id, step_id) "
        "FROM score s JOIN response_ref r ON r.id = response_ref_id JOIN item i ON i.id = item_id ORDER BY ALL"
    ),
    "judgment": (
        "SELECT j.* EXCLUDE (item_id, question_id, response_ref_id, rater_id, guideline_id), i.kind, external_id, "
        f"q.name || coalesce('@' || {response_name_sql('f')}, ''), a.name, g.version FROM judgment j "
        "LEFT JOIN response_ref f ON f.id = response_ref_id JOIN item i ON i.id = j.item_id JOIN question q ON q.id = question_id "
        "JOIN rater a ON a.id = rater_id LEFT JOIN guideline g ON g.id = guideline_id ORDER BY j.id"
    ),
    "mark": (
        "SELECT m.* EXCLUDE (item_id, rater_id), external_id, a.name FROM mark m JOIN item i ON i.id = item_id "
        "JOIN rater a ON a.id = rater_id ORDER BY m.id"
    ),
}
"""What a workspace holds, by the names that people know it by: keys of another workspace are others."""


def kept(workspace: Workspace, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a workspace holds in some tables; in all of them by default."""
    cursor = workspace.native()
    try:
        return {name: cursor.execute(KEPT[name]).fetchall() for name in tables or KEPT}
    finally:
        cursor.close()


@contextmanager
def new_workspace(parent: Path) -> Iterator[Workspace]:
    """An empty workspace in a folder of its own."""
    with (
        tempfile.TemporaryDirectory(dir=parent) as folder,
        Workspace.create(Path(folder) / "w") as made,
    ):
        register_kinds(made)
        yield made


def many(workspace: Workspace, table: str) -> int:
    """Return how many rows a table has."""
    cursor = workspace.native()
    try:
        return int(cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        cursor.close()


class Expert:
    """A rater at work on items of any kind, which are told by their ids in their files."""

    def __init__(self, workspace: Workspace, name: str = "dana") -> None:
        self.workspace = workspace
        self.recorder = Recorder(workspace, ensure_rater(workspace, name))

    def answer(self, item: str, question: str, value: float | None, **fields: Any) -> None:
        """Answer a question of an item, also one about a response."""
        self.answer_all(item, {question: value}, **fields)

    def answer_all(self, item: str, values: Mapping[str, float | None], **fields: Any) -> None:
        """Answer questions of an item in one action."""
        asked = {name: NamedQuestion.parse(name) for name in values}
        kind = next(iter(asked.values())).kind.name
        number = self._number(item, kind)

        def targets(connection: Connection) -> list[dict[str, Any]]:
            return [
                {
                    "question_id": question_number(connection, one.spec.name),
                    "response_ref_id": one.response and response_ref_number(connection, number, one.response),
                    "value": values[name],
                    **fields,
                }
                for name, one in asked.items()
            ]

        self._record(Judgment, item, kind, self.workspace.lane.submit(targets).result(60))

    def mark(self, item: str, mark: str, kind: str, **fields: Any) -> None:
        """Mark an item."""
        self._record(Mark, item, kind, [{"kind": mark, **fields}])

    def _number(self, item: str, kind: str) -> int:
        with self.workspace.reading() as connection:
            table = table_of(Item)
            named = select(table.c.id).where(table.c.kind == kind, table.c.external_id == item)
            return connection.execute(named).scalar_one()

    def _record(self, model: type[Judgment | Mark], item: str, kind: str, told: list[dict[str, Any]]) -> None:
        action = self.workspace.ids.next()
        same = {"action": action, "item_id": self._number(item, kind), "rater_id": self.recorder.rater.id}
        records = [model(id=self.workspace.ids.next(), created_at=now(), **same, **fields) for fields in told]
        self.recorder.submit(Action(action, tuple(records))).result(60)
