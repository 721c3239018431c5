"""Frozen studies over small workspaces, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update

from screens.study_place import StudyPlace
from store.policy.words import condition_of
from store.queries.studies import ChosenItem, StudyDetails
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater
from store.studies.session import StudySession, study_session
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment
from store.workspace.duckdb import Workspace

STUDY = "rq2"


def frozen_study(
    workspace: Workspace,
    raters: Sequence[str] = ("dana",),
    conditions: Mapping[int, str] | None = None,
    gold: Mapping[int, float] | None = None,
    training: Mapping[int, float] | None = None,
    name: str = STUDY,
    **protocol: Any,
) -> StudyDetails:
    """A study of all pairs of a workspace, frozen; `conditions` replaces those of some items.

    Args:
        workspace: The open workspace.
        raters: The raters.
        conditions: Conditions by item, in the form in which they are stored.
        gold: The right labels of gold items.
        training: Those of training items.
        name: The study's name.
        **protocol: Fields of the protocol.
    """
    item = table_of(Item)
    with workspace.reading() as connection:
        numbers = list(connection.execute(select(item.c.id).order_by(item.c.id)).scalars())
    roles = {**dict.fromkeys(gold or {}, "gold"), **dict.fromkeys(training or {}, "training")}
    right = {**(gold or {}), **(training or {})}
    chosen = [
        ChosenItem(one, roles.get(one, "item"), gold={"pair.match": right[one]} if one in right else None)
        for one in numbers
    ]
    new_study(workspace, name, StudyProtocol("pair", **protocol), chosen, raters)
    found = freeze_study(workspace, name)
    assignment = table_of(Assignment)
    for number, words in (conditions or {}).items():
        changed = (
            update(assignment).where(assignment.c.item_id == number).values(condition_of(words)._asdict())
        )
        workspace.lane.submit(lambda connection, changed=changed: connection.execute(changed)).result()
    return found


def session_of(workspace: Workspace, rater: str = "dana") -> StudySession:
    """The session of a rater."""
    who = ensure_rater(workspace, rater)
    with workspace.reading() as connection:
        found = study_session(connection, who, STUDY)
    assert found is not None
    return found


def place_of(workspace: Workspace, rater: str = "dana") -> StudyPlace:
    """The place of a rater, as the app gets it."""
    return StudyPlace(workspace, session_of(workspace, rater))
