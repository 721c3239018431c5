"""A small workspace of all three kinds: a pair, two completions, three questions, one of which nobody answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made_once import copied

from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace

PAIR, FIRST_TASK, SECOND_TASK, ANSWERED, SCORED, UNANSWERED = "p1", "sum/1", "sum/2", "q1", "q2", "q3"

PAIRS: list[dict[str, Any]] = [
    {"id": PAIR, "query": "double a number", "code": "def f(x):\n    return x * 2\n"},
]
TASKS: list[dict[str, Any]] = [
    {
        "prompt": f"from lib import total\n\nprint({number} + ",
        "groundtruth": "total([1, 2]))",
        "right_context": "\n\nprint('done')\n",
        "metadata": {"task_id": name, "repository": "example", "file": "main.py"},
        "crossfile_context": {"text": "", "list": [{"retrieved_chunk": "def total(xs):\n    return sum(xs)", "filename": "lib.py", "score": 1.5}]},
    }
    for number, name in enumerate((FIRST_TASK, SECOND_TASK), start=1)
]  # fmt: skip
QUESTIONS = [
    {"id": name, "question": f"How is {name} done?", "answer": f"The file of {name} does it."}
    for name in (ANSWERED, SCORED, UNANSWERED)
]
COUNTS = ("accuracy", "completeness", "relevance", "clarity")
ANSWERS: list[dict[str, Any]] = [
    {"question_id": ANSWERED, "model": "one@home%", "answer": "By hand."},
    {"question_id": SCORED, "model": "one@home%", "setting": "with [files]", "trial": 2, "answer": "By a loop."},
    {
        "question_id": SCORED,
        "model": "two#",
        "answer": "Not at all.",
        "scores": [{"judge": "judge", "measure": name, "score": 3, "reason": f"its {name} is low"} for name in COUNTS],
    },
]  # fmt: skip


def three_kinds(folder: Path) -> Workspace:
    """A new workspace; the items are numbered in the order of their names above, from 1."""
    return copied(_make, folder / "kinds.duckdb")


def _make(folder: Path) -> Workspace:
    workspace = Workspace.create(folder / "kinds.duckdb")
    every = {"pairs": PAIRS, "tasks": TASKS, "questions": QUESTIONS, "answers": ANSWERS}
    files = [folder / f"{name}.jsonl" for name in every]
    for file, records in zip(files, every.values(), strict=True):
        file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    import_files(workspace, files)
    return workspace
