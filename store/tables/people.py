"""The people and protocols of judging: raters, questions, guidelines, studies, assignments."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, string, uid


class Rater(SQLModel, table=True):
    """A human, an agent configuration, or a column of labels in an imported file."""

    id: int = big(primary_key=True)
    kind: str = string()
    name: str = string()
    pseudonym: str = string(default="")
    created_at: datetime = moment()


class Question(SQLModel, table=True):
    """A question about items, with its scale as JSON (see store.record.scales)."""

    id: int = big(primary_key=True)
    name: str = string()
    task_kind: str = string()
    text: str = string()
    scale: str = string()


class Guideline(SQLModel, table=True):
    """One version of the text that raters were shown."""

    id: int = big(primary_key=True)
    task_kind: str = string()
    version: str = string()
    text: str = string()


class Study(SQLModel, table=True):
    """A protocol under which items are judged."""

    id: int = big(primary_key=True)
    name: str = string()
    protocol: str = string(default="{}")
    created_at: datetime = moment()


BLIND = "blind"
"""The word in an assignment's condition that hides the agents' and other raters' work from the rater."""
HIDDEN_MODELS = "hidden-models"
"""The word in an assignment's condition that hides the names of models from the rater."""


class Assignment(SQLModel, table=True):
    """One item in one rater's queue; (study, rater, item, phase) is unique.

    `condition` holds words, apart by blanks, that say what the rater gets to see.
    """

    id: UUID = uid(primary_key=True)
    study_id: int = big()
    rater_id: int = big()
    item_id: int = big()
    phase: str = string()
    position: int = big()
    condition: str = string()
    seed: int = big()


class SessionState(SQLModel, table=True):
    """The state of a rater's session: the open item, scroll places, drafts, as JSON under a key."""

    rater_id: int = big(primary_key=True)
    key: str = string(primary_key=True)
    value: str = string()
    updated_at: datetime = moment()
