"""Workspaces of comparisons, and studies of them, for tests of the screens."""

from __future__ import annotations

import json
from pathlib import Path

from app_at_work import BEGAN
from sqlalchemy import Connection, insert, select

from store.ingest.importing import import_files
from store.kinds.comparison import COMPARISON, PREFERENCE
from store.record.raters import ensure_rater, register_kinds
from store.studies.protocol import StudyProtocol
from store.studies.studies import ChosenItem, freeze_study, new_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Question
from store.tables.record import JudgmentRow
from store.tables.runs import Run, VerdictRow
from store.workspace.duckdb import Workspace

STUDY = "duel"


def codes(number: int, which: str) -> str:
    """A text of a candidate that tells which one it is; the first comparison has long ones."""
    body = "".join(f"    step_{line}()\n" for line in range(60 if which == "one" else 45) if number == 0)
    return f"def {which}_{number}():\n{body}    return {len(which)}\n"


def comparisons(folder: Path, names: tuple[str, str] = ("alpha", "omega"), count: int = 8) -> Workspace:
    """A new workspace of comparisons of codes, which is open; one set has the codes `one`, the other `other`."""
    folder.mkdir(exist_ok=True)
    file = folder / "duels.jsonl"
    records = [
        {
            "id": f"d/{number}", "prompt": f"do the thing {number}", "language": "python",
            "first": codes(number, "one"), "second": codes(number, "other"),
            "first_name": names[0], "second_name": names[1], "seed": "1",
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


def judged(workspace: Workspace, values: dict[int, float], model: str = "a-judge") -> None:
    """Store a judge's verdicts on some comparisons."""
    rater, question, run_id = (
        ensure_rater(workspace, model, "agent"),
        table_of(Question),
        workspace.ids.next(),
    )

    def write(connection: Connection) -> None:
        asked = select(question.c.id).where(question.c.name == PREFERENCE.name)
        run = {"id": run_id, "kind": COMPARISON.name, "name": model, "configuration": "{}", "model": model}
        run |= {"rater_id": rater.id, "state": "done", "total": len(values), "started_at": BEGAN}
        connection.execute(insert(table_of(Run)).values(**run))
        verdict = {"run_id": run_id, "question_id": connection.execute(asked).scalar_one(), "path": "judged"}
        verdict |= {"reason": "It does more of it.", "created_at": BEGAN}
        rows = [
            {**verdict, "id": workspace.ids.next(), "item_id": one, "value": values[one]} for one in values
        ]
        connection.execute(insert(table_of(VerdictRow)), rows)

    workspace.lane.submit(write).result()


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
