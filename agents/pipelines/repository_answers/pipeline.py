"""Answers questions about repositories, and judges the answers (CoReQA, III.C and IV.A)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.github.markdown import fenced
from agents.jobs.outcome import Response, Score
from agents.llm.structured import TextReply
from agents.pipelines.repository_answers.configurations import (
    ANSWER_JUDGE,
    ANSWERER,
    ANSWERING,
    CONTEXT,
    JUDGING_ANSWERS,
    QUESTION_WRITER,
    REFERENCE_WRITER,
    REPEATS,
    SAMPLES,
    TRIALS,
    WRITING,
)
from agents.pipelines.spec import ExpectedRole, FunnelLine, PipelineFigures, Workload
from store.errors import UnknownName, WorkbenchError
from store.kinds.answer import NO_CONTEXT, NO_SOLUTION, QUESTIONS, UNSUITABLE, WRITTEN
from store.queries.repository_answers import (
    answered_questions,
    mean_answers,
    mean_issue,
    question_settings,
    questions_with_context,
    unwritten_questions,
)
from store.record.response_names import ResponseName

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.jobs.outcome import Outcome
    from agents.jobs.step_recorder import StepRecorder
    from agents.pipelines.spec import Configuration, Pipeline
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.queries.repository_answers import AskedQuestion
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run

CONTEXT_CHARACTERS, ANSWER_CHARACTERS = 18_000, 2_000
"""The expected lengths of context, ten chunks, and of an answer, for estimates."""


class Assessment(BaseModel):
    """A score on one dimension, after the reason for it."""

    model_config = ConfigDict(frozen=True)

    reason: str = Field(min_length=1)
    score: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


class AssessedAnswer(BaseModel):
    """A judge's four scores of an answer."""

    model_config = ConfigDict(frozen=True)

    accuracy: Assessment
    completeness: Assessment
    relevance: Assessment
    clarity: Assessment


def make_pipeline(
    configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings
) -> Pipeline:
    """Make the pipeline of a configuration; nothing is executed by any."""
    from agents.pipelines.repository_answers.writing import Writing

    made: dict[str, Callable[[Configuration], Pipeline]]
    made = {WRITING: Writing, ANSWERING: Answering, JUDGING_ANSWERS: JudgingAnswers}
    return made[configuration.pipeline](configuration)


def check_context(connection: Connection, configuration: Configuration) -> None:
    """Refuse a setting under which no question has context.

    Raises:
        UnknownName: There is none.
    """
    wanted = configuration.options.get(CONTEXT, NO_CONTEXT)
    known = question_settings(connection)
    if wanted != NO_CONTEXT and wanted not in known:
        raise UnknownName(
            "No such context",
            f"No question has context under {wanted!r}.",
            f"Context is under: {', '.join(known) or 'nothing yet'}. Retrieve it: workbench retrieve",
        )


def eligible(connection: Connection, configuration: Configuration) -> Sequence[int]:
    """Return the questions that a configuration can work on.

    They are those with an issue and without an answer, those that can be answered in the setting, or those
    whose answers can be judged.

    Raises:
        UnknownName: No question has context under the setting.
    """
    if configuration.pipeline == WRITING:
        return unwritten_questions(connection)
    if configuration.pipeline == JUDGING_ANSWERS:
        return answered_questions(connection)
    check_context(connection, configuration)
    setting = configuration.options[CONTEXT]
    return questions_with_context(connection, None if setting == NO_CONTEXT else setting)


def workload(connection: Connection, configuration: Configuration, models: Mapping[str, str]) -> Workload:
    """Return the expected work: the texts of each issue, or so many answers of each question, or scores."""
    options = configuration.options
    if configuration.pipeline == WRITING:
        description, comments = mean_issue(connection)
        roles = {
            QUESTION_WRITER: ExpectedRole(float(options[SAMPLES]), 800),
            REFERENCE_WRITER: ExpectedRole(reply_characters=1_500),
        }
        places = {"title": 60, "labels": 15, "description": description, "comments": comments}
        return Workload(roles, places=places | {"question": description // 2 + 300})
    if configuration.pipeline == ANSWERING:
        shown = CONTEXT_CHARACTERS if options[CONTEXT] != NO_CONTEXT else len(NO_CONTEXT)
        places = {"context": shown}
        role = ExpectedRole(float(options[TRIALS]), ANSWER_CHARACTERS)
        return Workload({ANSWERER: role}, places=places)
    answers = mean_answers(connection)
    role = ExpectedRole(answers * float(options[REPEATS]), 900)
    return Workload({ANSWER_JUDGE: role}, places={"answer": ANSWER_CHARACTERS})


def read_counts(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read what came of the issues of a run; of other runs nothing (see `AgentsPart`)."""
    counts = {path: figures.paths.get(path, 0) for path in (WRITTEN, UNSUITABLE, NO_SOLUTION)}
    issues = sum(counts.values())
    if not issues:
        return PipelineFigures()
    return PipelineFigures(
        {path.replace(" ", "_"): count for path, count in counts.items()},
        tuple((path, f"{count:,}") for path, count in counts.items()),
        counts,
        funnel=(
            FunnelLine("issues", issues),
            FunnelLine(UNSUITABLE, counts[UNSUITABLE], 1),
            FunnelLine(NO_SOLUTION, counts[NO_SOLUTION], 1),
            FunnelLine(WRITTEN, counts[WRITTEN], 1),
        ),
    )


class Answering:
    """Answers questions, one after another or many at a time.

    Args:
        configuration: The prompt, and the options: which context, and how many answers.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._prompt = configuration.load_prompts()[ANSWERER]
        self._setting = configuration.options[CONTEXT]
        self._trials = int(configuration.options[TRIALS])

    async def run(self, item: AskedQuestion, recorder: StepRecorder) -> tuple[Outcome, ...]:
        """Answer a question; see `agents.pipelines.spec.Pipeline`.

        Returns:
            The answers of the model in the setting of the context, by trial.

        Raises:
            WorkbenchError: The question has no context under the setting, or another run answered it so.
        """
        model = recorder.model_of(ANSWERER)
        others = {
            one.run for one in item.answers if (one.name.model, one.name.setting) == (model, self._setting)
        }
        if others - {recorder.run_id}:
            raise WorkbenchError(
                "Answered by another run",
                f"Answers of {model} with the context {self._setting} are there, imported or of a run with "
                "another service, prompt or setting: those of two runs are not mixed.",
                "Answer in a copy of the workspace (workbench copy), or as that run did.",
            )
        context = NO_CONTEXT
        if self._setting != NO_CONTEXT:
            pieces = item.pieces.get(self._setting)
            if not pieces:
                raise WorkbenchError(
                    "No context",
                    f"{item.external_id} has no context under {self._setting!r}.",
                    "Retrieve it: workbench retrieve.",
                )
            context = as_markdown(pieces)
        messages = self._prompt.messages(repository=item.repository, context=context, question=item.question)
        answers = [
            Response(
                ResponseName(model, self._setting, trial),
                (await recorder.ask(ANSWERER, messages, TextReply, sample=trial)).text,
            )
            for trial in range(self._trials)
        ]
        return tuple(answers)


class JudgingAnswers:
    """Scores the answers to questions, one question after another or many at a time.

    Args:
        configuration: The prompt, and the option: how often each answer is judged.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._prompt = configuration.load_prompts()[ANSWER_JUDGE]
        self._repeats = int(configuration.options[REPEATS])

    async def run(self, item: AskedQuestion, recorder: StepRecorder) -> tuple[Outcome, ...]:
        """Judge the answers that the run has not judged yet; see `agents.pipelines.spec.Pipeline`.

        Returns:
            The scores, four for each time that an answer was judged.
        """
        scores: list[Score] = []
        for answer in item.answers:
            if recorder.run_id in answer.judges:
                continue
            messages = self._prompt.messages(
                question=item.question, reference=item.reference or "none", answer=answer.text
            )
            for repeat in range(self._repeats):
                found = await recorder.ask(ANSWER_JUDGE, messages, AssessedAnswer, sample=repeat)
                scores += [
                    Score(answer.name, one.name, float(assessed.score), assessed.reason)
                    for one in QUESTIONS
                    if (assessed := getattr(found, one.title))
                ]
        return tuple(scores)


def as_markdown(pieces: Sequence[tuple[str, str]]) -> str:
    """Return pieces of a repository as Markdown: each below the name of its file, in a block of code."""
    return "\n\n".join(f"## {path}\n\n{fenced(text)}" for path, text in pieces)
