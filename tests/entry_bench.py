"""Workspaces of completions and repository questions in the states that their reviews have to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinds import json_lines, prediction, task
from sqlalchemy import insert, select

from store.ingest.importing import import_files
from store.policy.words import HIDDEN_MODELS, condition_of
from store.record.raters import ensure_rater
from store.record.response_names import ResponseName, question_name
from store.tables.columns import table_of
from store.tables.people import Assignment, Question
from store.tables.record import JudgmentRow
from store.tables.responses import ResponseRef
from store.workspace.duckdb import Workspace

COUNTS = ("accuracy", "completeness", "relevance", "clarity")
MODELS = ("model-eel", "model-owl")
"""Of these no letter stands for itself: what is hidden cannot be told from what is shown."""

Records = Sequence[Mapping[str, Any]]


def scores(*values: Any, judge: str = "judge-ibis") -> list[dict[str, Any]]:
    """A judge's scores of an answer, by the four counts in order."""
    return [
        {"judge": judge, "measure": measure, "score": value, "reason": f"Why the {measure} is so."}
        for measure, value in zip(COUNTS, values, strict=False)
    ]


def answer(question: str, model: str, text: str, *values: Any, **fields: Any) -> dict[str, Any]:
    """A model's answer to a question, with scores where some are given."""
    told = {"question_id": question, "model": model, "setting": "retrieval", "answer": text}
    return {**told, **({"scores": scores(*values)} if values else {}), **fields}


ISSUE = {
    "number": 12,
    "title": "The drawer stays shut",
    "body": "It **does**:\n\n```python\nopen_drawer()\n```\n\nWhy?",
    "url": "https://code.example/shop/till/issues/12",
    "labels": ["question", "till"],
    "created_at": "2026-01-02T03:04:05Z",
    "comments": [
        {
            "by": "participant 2",
            "created_at": "2026-01-02T04:04:05Z",
            "body": "Is it locked?\n\n```\nnever closed",
            "reactions": {"+1": 2},
        },
        {"by": "author", "created_at": "2026-01-02T05:04:05Z", "body": "*It was.* Thank you."},
    ],
}
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "till/1",
        "repository": "shop/till",
        "commit": "1a2b3c4d5e6f7a8b",
        "language": "python",
        "question": "Where is the drawer opened, and what keeps it shut?",
        "answer": "In `till/drawer.py`: `open_drawer` returns at once where `locked` is set.\n\n```python\nif locked:\n    return\n```",
        "issue": ISSUE,
        "chunks": [
            {"file": "till/drawer.py", "text": "def open_drawer():\n    if locked:\n        return", "score": 2.5},
            {"file": "till/lock.py", "text": "locked = False", "score": 0.5},
        ],
    },
    {"id": "till/2", "question": "Which coins are known?", "answer": "Those of `till/coins.py`."},
    {"id": "till/3", "question": "Why does it stay shut?", "issue": ISSUE},
    {"id": "till/4", "question": "Is there a way?", "issue": {"number": 4, "title": "No text", "body": None}},
]  # fmt: skip
ANSWERS: list[dict[str, Any]] = [
    answer("till/1", MODELS[0], "By `open_drawer`, unless it is **locked**.", 9, 7, 10, 8),
    answer("till/1", MODELS[1], "Nothing keeps it shut.", 2, -1, 7.5),
]
TASKS: list[dict[str, Any]] = [
    task(1),
    task(2),
    task(3, crossfile_context={"text": "", "list": []}, right_context=""),
]
PREDICTIONS: list[dict[str, Any]] = [
    prediction(1, "thing_1(value)", model=MODELS[0], setting="retrieval"),
    prediction(1, "thing(value)\n\n\nprint(run(2))\nprint(run(3))\nprint(run(4))", model=MODELS[0], setting="in-file"),
    prediction(1, "", model=MODELS[1], setting="retrieval"),
    prediction(2, "thing_2(value)", model=MODELS[1], setting="retrieval"),
]  # fmt: skip


def entries(
    folder: Path,
    *,
    tasks: Records = (),
    predictions: Records = (),
    questions: Records = (),
    answers: Records = (),
) -> Workspace:
    """A new workspace; items are numbered from 1 in the order given, tasks first."""
    given = {"tasks": tasks, "predictions": predictions, "questions": questions, "answers": answers}
    workspace = Workspace.create(folder / "entries.duckdb")
    import_files(
        workspace,
        [json_lines(folder / f"{name}.jsonl", records) for name, records in given.items() if records],
    )
    return workspace


def hide_models(workspace: Workspace, rater: str, item_id: int) -> None:
    """Assign an item to a rater who is not to see the names of models."""
    row = {"id": workspace.ids.next(), "study_id": 1, "rater_id": ensure_rater(workspace, rater).id}
    row |= {"item_id": item_id, "phase": "review", "position": 1, **condition_of(HIDDEN_MODELS)._asdict()}
    workspace.lane.submit(
        lambda connection: connection.execute(insert(table_of(Assignment)).values(**row, seed=0))
    ).result()


def given(workspace: Workspace) -> list[tuple[Any, ...]]:
    """The judgments on disk, oldest first: (item, question, value, origin, reason)."""
    judgment, question, ref = table_of(JudgmentRow), table_of(Question), table_of(ResponseRef)
    found = (
        select(judgment, question.c.name, ref.c.model, ref.c.setting, ref.c.trial)
        .join(question, question.c.id == judgment.c.question_id)
        .outerjoin(ref, ref.c.id == judgment.c.response_ref_id)
        .order_by(judgment.c.id)
    )

    def named(row: Any) -> str:
        response = None if row.model is None else ResponseName(row.model, row.setting, row.trial)
        return question_name(row.name, response)

    with workspace.reading() as connection:
        return [
            (row.item_id, named(row), row.value, row.origin, row.reason) for row in connection.execute(found)
        ]
