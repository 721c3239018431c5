"""Outcomes: what a pipeline yields for an item, each for any question of any task kind.

The record takes verdicts, revisions, responses and scores of a run. Retrieved candidates come with a table
that names their run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from store.record.response_names import ResponseName


@dataclass(frozen=True, slots=True)
class Verdict:
    """A final value for a question.

    Attributes:
        value: On the scale of the question.
        path: How the pipeline came to it, in a word of its own (`AgentsPart.paths`).
        reason: Why, in the words of the agent that decided.
        question: The name of the question; empty for the first one of the kind.
        response: The response that the question is about; None for the item itself.
        execution_id: The execution that it rests on.
    """

    value: float
    path: str
    reason: str
    question: str = ""
    response: ResponseName | None = None
    execution_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A text that the pipeline made for the item: a completion, an answer.

    Attributes:
        name: The name that distinguishes it from the item's other responses.
    """

    name: ResponseName
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """A value that the pipeline gives a response, with the run's rater as its judge.

    Attributes:
        question: The name of the question, whose last part is the measure: "accuracy" of "answer.accuracy".
    """

    response: ResponseName
    question: str
    value: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """A text of the item as the run's rater rewrote it; see `store.record.revisions`.

    Attributes:
        part: The column that it is written in place of.
    """

    part: str
    text: str


Outcome = Verdict | Response | Score | Revision
