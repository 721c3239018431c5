"""The practice: ten items of the sample with known answers, as the training of a study of its own."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from workbench.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path

    from screens.lesson import Lesson
    from store.workspace.duckdb import Workspace

NAME = "Practice"
FILE_NAME = "practice.duckdb"
LESSONS = "practice.json"
_ITEMS = {"pairs.jsonl": "id", "completions.jsonl": "task_id", "questions.jsonl": "id"}
"""The sample's files of items, and the field that names the item."""
_MODEL = "pretended-model-a"
"""The model whose answers are shown; those of one are enough to learn the keys."""
GUIDELINE = (
    "A pair matches when whoever typed the query could use the code as it is, or after adding an "
    "import.\nA completion is judged by its reference: what stood at the cursor.\nAn answer is scored from 1 "
    "to 10; within two points of the known score counts as right here.\n"
)


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return the ten items with their known answers, in order."""
    from screens.lesson import Lesson

    found = json.loads((sample_folder() / LESSONS).read_text(encoding="utf-8"))
    return tuple(Lesson(**one) for one in found)


def make_practice(path: Path, rater: str) -> Workspace:
    """Make the workspace of a practice: the items, and a study that has them as its training.

    Args:
        path: The file.
        rater: Who practises.

    Returns:
        The open workspace.
    """
    from store.ingest.importing import import_files
    from store.policy.words import REVEALED
    from store.queries.item import find_item
    from store.queries.studies import ChosenItem
    from store.record.protocol import StudyProtocol
    from store.record.raters import register_kinds
    from store.studies.studies import freeze_study, new_study, store_guideline
    from store.workspace.duckdb import Workspace

    workspace = Workspace.open(path, create=True)
    try:
        import_files(workspace, _write_items(path.parent))
        register_kinds(workspace)
        with workspace.reading() as connection:
            items = [
                ChosenItem(find_item(connection, one.item), "training", gold=one.gold) for one in lessons()
            ]
        protocol = StudyProtocol(
            kind="pair",
            sample="ten items of the sample",
            conditions=(REVEALED,),
            guideline=store_guideline(workspace, "pair", GUIDELINE),
        )
        new_study(workspace, NAME, protocol, items, [rater])
        freeze_study(workspace, NAME)
    except BaseException:
        workspace.close()
        raise
    return workspace


def _write_items(folder: Path) -> list[Path]:
    """Write the lines of the sample that are practised on into files of their own."""
    wanted = {one.item for one in lessons()}
    files = []
    for name, field in (*_ITEMS.items(), ("answers.jsonl", "question_id")):
        lines = (sample_folder() / name).read_text(encoding="utf-8").splitlines(keepends=True)
        kept = []
        for line in lines:
            record = json.loads(line)
            named = record.get(field) or record["metadata"][field]
            if named in wanted and record.get("model", _MODEL) == _MODEL:
                kept.append(line)
        path = folder / name
        path.write_text("".join(kept), encoding="utf-8")
        files.append(path)
    return files
