"""Small studies over the workspaces of other tests, and the app as one of their raters has it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps import context_of
from sqlalchemy import select

from screens.app import WorkbenchApp
from screens.study_place import StudyPlace
from store.queries.studies import StudyDetails
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, question_number
from store.studies.choosing import ItemChoice, choose_items
from store.studies.session import study_session
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.record import Judgment
from store.workspace.duckdb import Workspace

CONSENT = "You judge pairs for a paper.\nYour labels are stored under a pseudonym; you may withdraw."


def open_study(
    workspace: Workspace, name: str = "rq2", raters: tuple[str, ...] = ("ana", "ben"), **protocol: Any
) -> StudyDetails:
    """Make a study over all pairs, and freeze it; `protocol` sets other fields of its protocol."""
    protocol = {"kind": "pair", "coordinators": ("dana",), "seed": 7} | protocol
    with workspace.reading() as connection:
        items, how = choose_items(connection, ItemChoice("pair"))
    new_study(workspace, name, StudyProtocol(sample=how, **protocol), items, raters)
    return freeze_study(workspace, name)


def rater_app(workspace: Workspace, rater: str = "ana", **changes: Any) -> WorkbenchApp:
    """The app as a rater of an open study has it."""
    ref = ensure_rater(workspace, rater)
    with workspace.reading() as connection:
        session = study_session(connection, ref)
    assert session is not None
    return WorkbenchApp(context_of(workspace, rater, study=StudyPlace(workspace, session), **changes))


def assigned(workspace: Workspace, rater: str = "ana") -> list[Any]:
    """A rater's assignments in order."""
    table, number = table_of(Assignment), ensure_rater(workspace, rater).id
    with workspace.reading() as connection:
        found = select(table).where(table.c.rater_id == number).order_by(table.c.position)
        return list(connection.execute(found).all())


def give(
    workspace: Workspace,
    rater: str,
    assignment: Any,
    value: float,
    *,
    milliseconds: int = 30_000,
    at: datetime | None = None,
) -> None:
    """Store a rater's label under an assignment, as a review records it."""
    ref = ensure_rater(workspace, rater)
    with workspace.reading() as connection:
        question = question_number(connection, "pair.match")
    record = Judgment(
        id=workspace.ids.next(),
        action=(action := workspace.ids.next()),
        item_id=assignment.item_id,
        question_id=question,
        rater_id=ref.id,
        assignment_id=assignment.id,
        phase=assignment.phase,
        value=value,
        blind=assignment.mode == "blind",
        elapsed_ms=milliseconds,
        active_ms=milliseconds,
        created_at=at or now(),
    )
    Recorder(workspace, ref).submit(Action(action, (record,))).result()
