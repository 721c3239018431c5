"""Turns issues into questions about repositories with reference answers (CoReQA, III.A.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.github.markdown import code_blocks
from agents.jobs.outcome import Revision, Verdict
from agents.pipelines.repository_answers.configurations import (
    QUESTION_WRITER,
    REFERENCE_WRITER,
    SAMPLES,
    SCREENER,
)
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.answer import DROPPED, KEEP, KEPT, NO_SOLUTION, UNSUITABLE, WRITTEN, positive_reactions

if TYPE_CHECKING:
    from agents.jobs.outcome import Outcome
    from agents.jobs.step_recorder import StepRecorder
    from agents.pipelines.spec import Configuration
    from store.queries.repository_answers import AskedQuestion, GivenIssue

MOST_CHARACTERS = 100_000
"""Of a description, and of all comments together, that a model is shown."""


class ScreenedIssue(BaseModel):
    """Whether an issue can become a question, after the reason."""

    model_config = ConfigDict(frozen=True)

    reason: str = Field(min_length=1)
    suitable: bool


class WrittenQuestion(BaseModel):
    """A question, after the reasoning that leads to it."""

    model_config = ConfigDict(frozen=True)

    reasoning: str = Field(min_length=1)
    question: str = Field(min_length=1, pattern=r"\S")


class WrittenReference(BaseModel):
    """A reference answer, after the reasoning that leads to it; without a solution there is none."""

    model_config = ConfigDict(frozen=True)

    reasoning: str = Field(min_length=1)
    solved: bool
    answer: str = ""

    @model_validator(mode="after")
    def _answer_of_solved(self) -> WrittenReference:
        if self.solved and not self.answer.strip():
            raise ValueError("solved is true, and answer is empty")
        return self


class Writing:
    """Writes the question and the reference answer of issues, one after another or many at a time.

    Args:
        configuration: The prompts, and the option: how many questions are written of which one is taken.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._prompts = configuration.load_prompts()
        self._samples = int(configuration.options[SAMPLES])

    async def run(self, item: AskedQuestion, recorder: StepRecorder) -> tuple[Outcome, ...]:
        """Write of an issue; see `agents.pipelines.spec.Pipeline`.

        Returns:
            The question and its reference answer, and the verdict to keep them; of an issue that makes none,
            the verdict to drop it.

        Raises:
            WorkbenchError: The item has no issue, or another run wrote it.
        """
        issue = item.issue
        if item.writers - {recorder.run_id}:
            raise WorkbenchError(
                "Written by another run",
                f"The question and answer of {item.external_id} are of a run with another model, prompt or "
                "setting.",
                "It stays as it is. To compare writers, write in a copy: workbench copy WORKSPACE NEW",
            )
        if issue is None:
            raise WorkbenchError(
                "No issue",
                f"{item.external_id} has no issue to write a question from.",
                "Collect issues: workbench collect issues WORKSPACE OWNER/REPO",
            )
        about = {
            "repository": item.repository,
            "title": issue.title or "none",
            "description": shortened(issue.body) or "none",
        }
        comments = as_text(issue)
        screened = await recorder.ask(
            SCREENER, self._prompts[SCREENER].messages(**about, comments=comments), ScreenedIssue
        )
        if not screened.suitable:
            return (Verdict(DROPPED, UNSUITABLE, screened.reason, KEEP.name),)
        messages = self._prompts[QUESTION_WRITER].messages(**about)
        written = [
            (await recorder.ask(QUESTION_WRITER, messages, WrittenQuestion, sample=sample)).question.strip()
            for sample in range(self._samples)
        ]
        code = shortened("\n\n".join(code_blocks(issue.body)))
        question = "\n\n".join(filter(None, (most_consistent(written), code)))
        reference = await recorder.ask(
            REFERENCE_WRITER,
            self._prompts[REFERENCE_WRITER].messages(
                **about, labels=", ".join(issue.labels) or "none", comments=comments, question=question
            ),
            WrittenReference,
        )
        if not reference.solved:
            return (Verdict(DROPPED, NO_SOLUTION, reference.reasoning, KEEP.name),)
        return (
            Revision("question", question),
            Revision("reference", reference.answer.strip()),
            Verdict(KEPT, WRITTEN, screened.reason, KEEP.name),
        )


def most_consistent(texts: Sequence[str]) -> str:
    """Return the text that is most like the others, of equal ones the first.

    The paper names self-consistency (Wang et al. 2022), which takes the answer that most samples give. No two
    texts are the same, so what counts is the mean share of words in common, in any order.
    """
    words = [Counter(re.findall(r"\w+", text.lower())) for text in texts]

    def likeness(place: int) -> float:
        own = words[place]
        others = (other for at, other in enumerate(words) if at != place)
        return sum(2 * (own & other).total() / max(1, own.total() + other.total()) for other in others)

    return texts[max(range(len(texts)), key=likeness)]


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text with at most so many characters; of a longer one, how many more it has."""
    return text if len(text) <= most else f"{text[:most]}\n[{len(text) - most:,} more characters]"


def as_text(issue: GivenIssue) -> str:
    """Return the comments of an issue with their positive reactions, in order; "none" without any.

    Where they are too long together, those that helped the most people are kept. None has more than half.
    """
    texts, helped = [], []
    for comment in issue.comments:
        body = str(comment.get("body") or "").strip()
        helped.append(positive_reactions(comment.get("reactions") or {}))
        words = f", {pluralize(helped[-1], 'positive reaction')}" if helped[-1] else ""
        texts.append(f"{comment.get('by') or 'somebody'}{words}:\n{shortened(body, MOST_CHARACTERS // 2)}")
    room = MOST_CHARACTERS
    kept = set[int]()
    for place in sorted(range(len(texts)), key=lambda at: -helped[at]):
        if len(texts[place]) <= room or not kept:
            kept.add(place)
            room -= len(texts[place])
    left = len(texts) - len(kept)
    found = [text for place, text in enumerate(texts) if place in kept]
    found += [f"[{pluralize(left, 'more comment')}]"] if left else []
    return "\n\n".join(found) or "none"
