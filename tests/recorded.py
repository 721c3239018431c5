"""A workspace full of records drawn by chance from a seed, and the same records as plain values."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judging import judged_workspace
from sqlalchemy import insert

from store.policy.scope import RunRef
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.columns import table_of
from store.tables.imported import Similarity
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.tables.runs import Run, Verdict, VerdictRow
from store.workspace.duckdb import Workspace

RATERS = ("dana", "eli", "fay")
KINDS = ("cannot_decide", "skip", "flag", "comment")
PATHS = ("screened", "tested", "repaired")


@dataclass
class Recorded:
    """What was stored.

    Attributes:
        workspace: Where.
        items: Item ids.
        raters: Rater ids by name; "agents" for the runs'.
        judgments: All judgments, in no order.
        marks: All marks, in no order.
        verdicts: All verdicts, in no order.
        similarity: The mean similarity by item, where there is one.
        runs: The agents' runs in the order in which they began; the first has the fullest configuration.
    """

    workspace: Workspace
    items: list[int]
    raters: dict[str, int]
    judgments: list[Judgment] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    similarity: dict[int, float] = field(default_factory=dict)
    runs: list[RunRef] = field(default_factory=list)

    def label(self, rater: str, item: int, phase: str = "review") -> Judgment | None:
        """The standing label, by going through everything."""
        mine = [
            one
            for one in self.judgments
            if (one.rater_id, one.item_id, one.phase) == (self.raters[rater], item, phase)
        ]
        last = max(mine, key=lambda one: one.id, default=None)
        return last if last is not None and last.value is not None else None

    def marked(self, rater: str, item: int, phase: str = "review") -> dict[str, Mark]:
        """The active marks by kind, by going through everything."""
        last: dict[str, Mark] = {}
        for one in sorted(self.marks, key=lambda one: one.id):
            if (one.rater_id, one.item_id, one.phase) == (self.raters[rater], item, phase):
                last[one.kind] = one
        return {kind: mark for kind, mark in last.items() if mark.active}

    def verdict(self, item: int, run: RunRef | None = None) -> Verdict | None:
        """The verdict of a run, of the one with the fullest configuration where none is given."""
        whose = (run or self.runs[0]).id
        found = [one for one in self.verdicts if (one.item_id, one.run_id) == (item, whose)]
        assert len(found) <= 1
        return found[0] if found else None

    def status(self, rater: str, item: int) -> str:
        """How far the rater is with the item."""
        if self.label(rater, item) is not None:
            return "judged"
        marks = self.marked(rater, item)
        return "cannot_decide" if "cannot_decide" in marks else "skipped" if "skip" in marks else "open"


def recorded_workspace(folder: Path, *, seed: int = 1, items: int = 40, records: int = 260) -> Recorded:
    """Make a workspace with pairs and records of three raters and three runs; some items are left bare.

    The second run began later, and has no label where the first has none. The third is the newest and has the
    fullest configuration, but no label.
    """
    chance = random.Random(seed)
    workspace = judged_workspace(folder, items)
    raters = {name: ensure_rater(workspace, name).id for name in RATERS}
    raters["agents"] = ensure_rater(workspace, "annotation/x", "agent").id
    with workspace.reading() as connection:
        question = question_number(connection, "pair.match")
    made = Recorded(workspace, list(range(1, items + 1)), raters)
    busy = made.items[: items * 4 // 5]
    runs = [workspace.ids.next() for _ in range(3)]
    made.runs = [RunRef(run, f"annotation/{place}") for place, run in enumerate(runs)]
    for _ in range(records):
        common: dict[str, Any] = {
            "id": workspace.ids.next(),
            "action": workspace.ids.next(),
            "item_id": chance.choice(busy),
            "rater_id": raters[chance.choice(RATERS)],
            "phase": chance.choice(["review"] * 5 + ["revealed"]),
            "created_at": now(),
        }
        if chance.random() < 0.6:
            value = chance.choice([0.0, 1.0, 1.0, None])
            made.judgments.append(
                Judgment(
                    **common,
                    question_id=question,
                    value=value,
                    origin="undo" if value is None else "independent",
                )
            )
        else:
            made.marks.append(
                Mark(
                    **common,
                    kind=chance.choice(KINDS),
                    active=chance.random() < 0.7,
                    text=f"text {chance.random()}",
                )
            )
    for item in chance.sample(made.items, items * 3 // 4):
        for run in runs[: chance.choice([1, 1, 2])]:
            made.verdicts.append(
                Verdict(
                    id=workspace.ids.next(),
                    run_id=run,
                    item_id=item,
                    value=float(chance.random() < 0.5),
                    path=chance.choice(PATHS),
                    reason=f"the agents say so of {item}",
                    question_id=question,
                    created_at=now(),
                )
            )
    similarities = [
        {"item_id": item, "model": model, "value": round(chance.random(), 3)}
        for item in chance.sample(made.items, items // 2)
        for model in ("a", "b")
    ]
    for item in {row["item_id"] for row in similarities}:
        values = [row["value"] for row in similarities if row["item_id"] == item]
        made.similarity[item] = sum(values) / len(values)

    def write(connection: Any) -> None:
        # Not in the order of their ids: no query may depend on the order of the rows.
        for row, stored in (
            (JudgmentRow, made.judgments),
            (MarkRow, made.marks),
            (VerdictRow, made.verdicts),
        ):
            chance.shuffle(stored)
            connection.execute(insert(table_of(row)), [one.model_dump() for one in stored])
        connection.execute(insert(table_of(Similarity)), similarities)
        for place, run in enumerate(runs):
            connection.execute(
                insert(table_of(Run)).values(
                    id=run, kind="pair", name=f"annotation/{place}", configuration=f"{{{place}}}", model=f"m{place}",
                    rater_id=raters["agents"], state="done", total=items, started_at=now(), ended_at=now(),
                    fullness=(2, 1, 3)[place],
                )
            )  # fmt: skip

    workspace.lane.submit(write).result()
    return made
