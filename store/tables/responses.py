"""Responses of models to items, their scores, and the retrieved context of items."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, real, string, uid


class ContextChunk(SQLModel, table=True):
    """A piece of another file that was retrieved for an item under a setting (CrossCodeEval, section 3.2)."""

    __tablename__ = "context_chunk"

    item_id: int = big(primary_key=True)
    setting: str = string(primary_key=True)
    rank: int = big(primary_key=True)
    path: str = string(default="")
    text: str = string()
    score: float | None = real(default=None)
    extra: str = string(default="{}")


class ResponseRef(SQLModel, table=True):
    """The reference to one response of an item; (item, model, setting, trial) is unique.

    Judgments, verdicts and scores name it. It exists before the response's text does: a judgment can be
    recovered or imported before the responses are.
    """

    __tablename__ = "response_ref"

    id: int = big(primary_key=True)
    item_id: int = big()
    model: str = string()
    setting: str = string(default="")
    trial: int = big(default=0)


class Response(SQLModel, table=True):
    """A model's response to an item: a completion, an answer. `id` is that of its `ResponseRef`.

    `source_id` names the file that it was imported from, `run_id` and `step_id` the run that made it.
    """

    id: int = big(primary_key=True)
    text: str = string()
    extra: str = string(default="{}")
    source_id: int | None = big(default=None)
    run_id: UUID | None = uid(default=None)
    step_id: UUID | None = uid(default=None)


class Score(SQLModel, table=True):
    """A judge's score of a response under a measure, once for each time that the judge was asked.

    `value` is None where the judge's reply was no number; `raw` holds the text in its place. `sequence`
    is the order of the scores in their files: of several the last one counts. `run_id` and `step_id` name
    the run that made it; None for an imported score.
    """

    id: UUID = uid(primary_key=True)
    response_ref_id: int = big()
    judge: str = string()
    measure: str = string()
    value: float | None = real(default=None)
    raw: str = string(default="")
    reason: str = string(default="")
    extra: str = string(default="{}")
    sequence: int = big(default=0)
    created_at: datetime = moment()
    run_id: UUID | None = uid(default=None)
    step_id: UUID | None = uid(default=None)


class PendingResponse(SQLModel, table=True):
    """A response whose item is not here; `scores` holds its scores as JSON."""

    __tablename__ = "pending_response"

    source_id: int = big(primary_key=True)
    line: int | None = big(default=None)
    kind: str = string(primary_key=True)
    external_id: str | None = string(default=None)
    joined_by: str | None = string(default=None)
    model: str = string(primary_key=True)
    setting: str = string(primary_key=True, default="")
    trial: int = big(primary_key=True, default=0)
    text: str = string()
    extra: str = string(default="{}")
    scores: str = string(default="[]")
