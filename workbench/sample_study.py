"""The study of the sample: three invented raters, frozen, and not finished."""

from __future__ import annotations

import csv
import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Connection

    from store.queries.studies import StudyDetails
    from store.workspace.duckdb import Workspace

PAUSE_SECONDS = 2.0
"""Seconds between the label of one item and the sight of the next, for the times of the invented labels."""


def load_sample_study(workspace: Workspace, folder: Path) -> None:
    """Make the sample's study in a workspace that holds the sample, unless it has it already.

    Args:
        workspace: The open workspace.
        folder: The folder of the sample data.
    """
    from store.queries.item import find_item
    from store.queries.studies import ChosenItem, list_studies
    from store.record.ids import now
    from store.record.protocol import StudyProtocol
    from store.studies.studies import change_member, freeze_study, new_study, store_guideline

    spec = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    with (folder / "study-labels.csv").open(encoding="utf-8", newline="") as file:
        labels = list(csv.DictReader(file))
    kind, named = spec["kind"], [spec["items"], [item for item, _ in spec["gold"]], spec["training"]]
    with workspace.reading() as connection:
        if any(one.name == spec["name"] for one in list_studies(connection)):
            return
        items, gold, training = ([find_item(connection, name) for name in names] for names in named)
    chosen = [ChosenItem(item) for item in items]
    chosen += [
        ChosenItem(item, "gold", gold={f"{kind}.match": value})
        for item, (_, value) in zip(gold, spec["gold"], strict=True)
    ]
    chosen += [ChosenItem(item, "training") for item in training]
    seconds = sum(float(row["seconds"]) + PAUSE_SECONDS for row in labels)
    begun = now() - timedelta(seconds=seconds)
    protocol = StudyProtocol(
        kind=kind,
        sample="chosen by hand for the sample",
        conditions=tuple(spec["conditions"]),
        repeats=spec["repeats"],
        seed=spec["seed"],
        guideline=store_guideline(workspace, kind, spec["guideline"]),
        consent=spec["consent"],
        half_width=spec["half_width"],
        looks=tuple(spec["looks"]),
    )
    new_study(workspace, spec["name"], protocol, chosen, [one["name"] for one in spec["raters"]])
    study = freeze_study(workspace, spec["name"], at=begun)
    for member, told in zip(study.members, spec["raters"], strict=True):
        change_member(
            workspace,
            study.id,
            member.rater.id,
            consent_version=protocol.consent_version,
            consented_at=begun,
            experience=told["experience"],
        )
    workspace.lane.submit(
        lambda connection: _record(connection, workspace, study, labels, begun), urgent=True
    ).result()


def _record(
    connection: Connection,
    workspace: Workspace,
    study: StudyDetails,
    labels: list[dict[str, str]],
    begun: datetime,
) -> None:
    """Write the labels of the raters, each under its assignment."""
    from sqlalchemy import insert, select

    from store.policy.rows import shown_by
    from store.policy.scope import Shows
    from store.record.raters import guideline_number, question_number
    from store.tables.columns import table_of
    from store.tables.imported import Item
    from store.tables.people import Assignment
    from store.tables.record import Judgment, JudgmentRow

    assignment, item = table_of(Assignment), table_of(Item)
    rows = connection.execute(
        select(assignment, item.c.external_id, shown_by(Shows.AGENTS).label("shows_agents"))
        .join(item, item.c.id == assignment.c.item_id)
        .where(assignment.c.study_id == study.id)
    )
    names = {one.rater.id: one.rater.name for one in study.members}
    assigned = {(names[row.rater_id], row.external_id, row.phase): row for row in rows}
    question = question_number(connection, f"{study.protocol.kind}.match")
    guideline = guideline_number(connection, study.protocol.kind, study.protocol.guideline)
    at, records = begun, []
    for row in labels:
        under = assigned[row["rater"], row["item"], row["phase"]]
        spent = float(row["seconds"])
        at += timedelta(seconds=spent + PAUSE_SECONDS)
        records.append(
            Judgment(
                id=workspace.ids.next(),
                action=workspace.ids.next(),
                item_id=under.item_id,
                question_id=question,
                rater_id=under.rater_id,
                assignment_id=under.id,
                phase=under.phase,
                value=float(row["value"]),
                guideline_id=guideline,
                blind=not under.shows_agents,
                comment=row["comment"],
                evidence=_evidence(connection, under.item_id, row["evidence"]),
                elapsed_ms=round(spent * 1000),
                active_ms=round(spent * 1000),
                created_at=at,
            ).model_dump()
        )
    connection.execute(insert(table_of(JudgmentRow)), records)


def _evidence(connection: Connection, item_id: int, cited: str) -> str:
    """Return the evidence of a citation such as `code:7`; of none, that of no citation."""
    from store.queries.item import item_texts
    from store.record.evidence import NONE, Citation, as_json

    if not cited:
        return NONE
    part, _, line = cited.partition(":")
    texts: Mapping[str, Any] = item_texts(connection, [item_id])[item_id]
    text, number = str(texts[part]), int(line)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return as_json([Citation("code", digest, number, number, text.split("\n")[number - 1])])
