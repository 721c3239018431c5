"""Discussion: an adjudicator sends a disputed item back, and the raters who judged it judge it again.

Their labels of the phase `discuss` are shown to adjudicators beside the first ones, and count in no measure.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from store.errors import WorkbenchError
from store.policy.rows import words_of
from store.policy.scope import DISCUSS
from store.queries.current import first_values
from store.record.ids import now
from store.record.late_assignments import assign_late
from store.studies.adjudication import Adjudication
from store.tables.columns import table_of
from store.tables.people import Assignment, SentBack
from store.workspace.duckdb import Workspace

NOTE_MOST = 1_000
"""Characters of a note."""


def send_back(workspace: Workspace, adjudication: Adjudication, item_id: int, note: str = "") -> list[str]:
    """Send a disputed item back: each rater who judged it gets it again, at the end of the list.

    Raters learn that the item is asked again, and the note; not who judged it how.

    The note, which raters are told, should name no label.

    Returns:
        The pseudonyms of the raters.

    Raises:
        WorkbenchError: It is not of an open study, raters do not disagree about it, it was sent back before,
            or the note is too long.
    """
    study = adjudication.study
    if study is None or study.state != "open":
        what = "these are all labels of the workspace" if study is None else f"{study.name} is {study.state}"
        raise WorkbenchError(
            "Not sent back",
            f"Raters are asked again in an open study, and {what}.",
            "Name an open study: --study STUDY",
        )
    note = note.strip()
    if len(note) > NOTE_MOST:
        raise WorkbenchError(
            "Not sent back", f"The note has {len(note):,} characters.", f"At most {NOTE_MOST:,}."
        )
    if not adjudication.read(workspace, [item_id]):
        raise WorkbenchError(
            "Not sent back", "Raters do not disagree about this item.", "List: workbench adjudicate WORKSPACE"
        )
    codes = {one.rater.id: one.pseudonym for one in study.members if one.withdrawn_at is None}
    table, assignment = table_of(SentBack), table_of(Assignment)

    def write(connection: Connection) -> list[str]:
        key = {"study_id": study.id, "item_id": item_id}
        before = select(table.c.item_id).where(*(table.c[name] == value for name, value in key.items()))
        if connection.execute(before).first() is not None:
            raise WorkbenchError(
                "Sent back already",
                "This item was sent back before, and is asked again once.",
                "Rule on it as it is.",
            )
        labels = first_values([item_id], study=study.id)
        judged = connection.execute(
            select(labels.c.rater_id, words_of().label("condition"))
            .join(assignment, assignment.c.id == labels.c.assignment_id)
            .distinct()
        ).all()
        connection.execute(
            insert(table).values(**key, rater_id=adjudication.adjudicator.id, note=note, sent_at=now())
        )
        asked = {row.rater_id: row.condition for row in judged if row.rater_id in codes}
        for rater_id, condition in asked.items():
            assign_late(connection, study.id, rater_id, item_id, phase=DISCUSS, condition=condition)
        return [code for rater_id, code in codes.items() if rater_id in asked]

    return workspace.lane.submit(write, urgent=True).result()
