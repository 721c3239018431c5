"""The append-only record of raters' actions: judgments and marks, grouped into actions.

A record is a frozen value; its row is the same class as a table. Nothing here is ever updated or
deleted: a change of mind, an undo and a redo are new rows that supersede older ones.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from pydantic import ConfigDict
from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, real, string, uid

ORIGINS = ("independent", "accept", "override", "withdraw", "undo", "redo", "import", "ruling")
"""The origins of judgments. `withdraw`: the rater decided that they cannot decide; its value is None."""

MARK_KINDS = ("cannot_decide", "skip", "flag", "comment")
"""The kinds of marks, beside revisions. None of them enters a measure."""


class QuestionTarget(NamedTuple):
    """A question as it is asked: of a response, or of the item itself (None)."""

    question_id: int
    response_ref_id: int | None = None


class Judgment(SQLModel):
    """One rater's value for one question on one item, or on one response to it.

    Its key is (item, question, response reference, rater, assignment, phase); it supersedes within that key
    only. `response_ref_id` is None for a question about the item itself. `value` is the code on the
    question's scale, or None when an undo or a withdrawal leaves no value.

    `evidence` holds the lines that are cited, in the form that `store.record.evidence` says.

    `shown_as` holds words, apart by blanks, that say how the item was shown: `as-listed` or `swapped` for the
    sides of a comparison, and what was masked in it. It is empty where that is not known.

    `action` groups the records of one key press, which are undone together. An undo or redo names the
    action it takes back or brings again in `target_action`, and the record whose content is restored in
    `restores`. Actions and ids are UUIDv7 of the workspace's own clock, so the highest id is current.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    action: UUID = uid()
    item_id: int = big()
    question_id: int = big()
    rater_id: int = big()
    assignment_id: UUID | None = uid(default=None)
    phase: str = string(default="review")
    value: float | None = real(default=None)
    origin: str = string(default="independent")
    supersedes: UUID | None = uid(default=None)
    target_action: UUID | None = uid(default=None)
    restores: UUID | None = uid(default=None)
    shown_verdict: UUID | None = uid(default=None)
    shown_execution: UUID | None = uid(default=None)
    guideline_id: int | None = big(default=None)
    blind: bool = False
    reason: str = string(default="")
    comment: str = string(default="")
    evidence: str = string(default="[]")
    elapsed_ms: int | None = big(default=None)
    active_ms: int | None = big(default=None)
    created_at: datetime = moment()
    response_ref_id: int | None = big(default=None)
    shown_as: str = string(default="")

    @property
    def target(self) -> QuestionTarget:
        """The question that it answers, with the response that it is about."""
        return QuestionTarget(self.question_id, self.response_ref_id)


class JudgmentRow(Judgment, table=True):
    """A judgment as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "judgment"

    id: UUID = uid(primary_key=True)


class Mark(SQLModel):
    """A rater's mark on an item, which is no judgment: cannot decide, skip, flag, comment, a revision.

    Its key is (item, rater, assignment, phase, kind). `active` False takes the mark away. The text of a
    revision replaces the imported one; of several raters' revisions the latest is current.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)  # type: ignore[assignment]

    id: UUID = uid()
    action: UUID = uid()
    item_id: int = big()
    rater_id: int = big()
    assignment_id: UUID | None = uid(default=None)
    phase: str = string(default="review")
    kind: str = string()
    active: bool = True
    text: str = string(default="")
    origin: str = string(default="independent")
    supersedes: UUID | None = uid(default=None)
    target_action: UUID | None = uid(default=None)
    restores: UUID | None = uid(default=None)
    created_at: datetime = moment()


class MarkRow(Mark, table=True):
    """A mark as it is stored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    __tablename__ = "mark"

    id: UUID = uid(primary_key=True)
