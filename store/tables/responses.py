"""What models answered to an item, how judges scored that, and what else belongs to items of any kind."""

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


class Response(SQLModel, table=True):
    """What a model made of an item: a completion, an answer; (item, model, setting, trial) is its key."""

    id: int = big(primary_key=True)
    item_id: int = big()
    model: str = string()
    setting: str = string(default="")
    trial: int = big(default=0)
    text: str = string()
    extra: str = string(default="{}")
    source_id: int = big(default=0)


class Score(SQLModel, table=True):
    """What a judge said of a response under a measure, once for each time that it was asked.

    `value` is None where the judge's word was no number; `raw` holds what stood in its place. `sequence`
    tells in which order scores stood in their files: of several the last one is the judge's last word.
    """

    id: UUID = uid(primary_key=True)
    response_id: int = big()
    judge: str = string()
    measure: str = string()
    value: float | None = real(default=None)
    raw: str = string(default="")
    reason: str = string(default="")
    extra: str = string(default="{}")
    sequence: int = big(default=0)
    created_at: datetime = moment()


class ResponseAside(SQLModel, table=True):
    """A response whose item is not here; `scores` holds its scores as JSON."""

    __tablename__ = "response_aside"

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
