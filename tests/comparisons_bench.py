"""Workspaces of comparisons, and studies of them, for tests of the screens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from small_workspace import script_file
from sqlalchemy import select

from agents.jobs.runner import run_job
from store.ingest.importing import import_files
from store.kinds.comparison import COMPARISON
from store.queries.item import find_item
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.record.raters import register_kinds
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace
from workbench.config import Config
from workbench.job_settings import annotation_settings

STUDY = "duel"


def codes(number: int, which: str) -> str:
    """A text of a candidate that tells which one it is; the first comparison has long ones."""
    body = "".join(f"    step_{line}()\n" for line in range(60 if which == "one" else 45) if number == 0)
    return f"def {which}_{number}():\n{body}    return {len(which)}\n"


def comparisons(
    folder: Path, names: tuple[str, str] = ("alpha", "omega"), count: int = 8, about: str = "codes"
) -> Workspace:
    """A new workspace of comparisons, of codes; it is open. One set has the codes `one`, the other `other`."""
    folder.mkdir(exist_ok=True)
    file = folder / "duels.jsonl"
    records = [
        {
            "id": f"d/{number}", "prompt": f"do the thing {number}", "language": "python",
            "first": codes(number, "one"), "second": codes(number, "other"),
            "first_name": names[0], "second_name": names[1], "seed": "1", "about": about,
        }
        for number in range(count)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, records)))
    workspace = Workspace.create(folder / "duels.duckdb")
    register_kinds(workspace)
    import_files(workspace, [file])
    return workspace


def study_of(workspace: Workspace, scale: str, condition: str = "blind") -> None:
    """Freeze a study of all comparisons, of one rater, ana."""
    item = table_of(Item)
    with workspace.reading() as connection:
        ids = connection.execute(select(item.c.id).order_by(item.c.id)).scalars().all()
    protocol = StudyProtocol(COMPARISON.name, conditions=(condition,), seed=3, scale=scale)
    new_study(workspace, STUDY, protocol, [ChosenItem(one) for one in ids], ("ana",))
    freeze_study(workspace, STUDY)


def judged(workspace: Workspace, folder: Path, levels: Mapping[str, tuple[str, str]]) -> None:
    """Have a scripted judge say what A is, by the comparison: the first as A, and the second as A."""
    roles = ("judge", "judge_swapped")
    replies = [
        (role, name, {"reason": f"A is {level} in {role}.", "verdict": level})
        for name, given in levels.items()
        for role, level in zip(roles, given, strict=True)
    ]
    with workspace.reading() as connection:
        items = tuple(find_item(connection, name) for name in levels)
    job = annotation_settings(Config(), model=script_file(folder, replies), kind=COMPARISON.name)
    report = run_job(workspace, replace(job, item_ids=items), lambda _: None)
    assert report.counts.labelled == len(levels)


def firsts(workspace: Workspace) -> dict[int, str]:
    """The first candidate of each comparison, `one` or `other`, by the item."""
    with workspace.reading() as connection:
        rows = connection.exec_driver_sql("SELECT item_id, first FROM comparison").fetchall()
    return {number: text.partition("_")[0].removeprefix("def ") for number, text in rows}


def recorded(workspace: Workspace) -> list[tuple[int, float | None, str, str, str]]:
    """The judgments on disk, oldest first: (item, value, origin, reason, shown as)."""
    table = table_of(JudgmentRow)
    names = ("item_id", "value", "origin", "reason", "shown_as")
    with workspace.reading() as connection:
        found = select(*(table.c[name] for name in names)).order_by(table.c.id)
        return [tuple(row) for row in connection.execute(found)]
