"""The formats of completions, repository questions and what models made of either."""

from __future__ import annotations

from store.formats.answers import Answers
from store.formats.crosscodeeval import Predictions, Tasks
from store.formats.fields import Field, FieldType, Layout
from store.formats.issues import Issues
from store.formats.mt_bench import Single
from store.formats.protocol import JSON, Format
from store.formats.swe_qa import Questions
from store.formats.writing import (
    write_answers,
    write_judgments,
    write_predictions,
    write_questions,
    write_tasks,
)


def _told_by(makes: str, **columns: FieldType) -> Layout:
    """Return a layout by which a file is told: the fields that each of its records has."""
    return Layout(makes, tuple(Field(name, (name,), type_, required=True) for name, type_ in columns.items()))


CROSSCODEEVAL = Format(
    name="crosscodeeval",
    description="completion tasks: prompt, groundtruth, right_context, metadata, crossfile_context",
    containers=JSON,
    layouts=(_told_by("completion", prompt="text", groundtruth="text", metadata="object"),),
    converter=Tasks,
    write=write_tasks,
    choices=frozenset({"rater", "setting", "only_kept"}),
    holds=("completion", "completions"),
    leaves_out=("completion without the label to keep it", "completions without the label to keep them"),
)
PREDICTIONS = Format(
    name="predictions",
    description="completions by models: task_id, pred; or groundtruth, prediction; and model, setting, trial",
    containers=JSON,
    layouts=(
        _told_by("response", task_id="id", pred="text"),
        _told_by("response", groundtruth="text", prediction="text"),
        _told_by("response", prompt="text", label="text", prediction="text"),
    ),
    unless=frozenset({"metadata"}),
    converter=Predictions,
    write=write_predictions,
    choices=frozenset({"setting"}),
    holds=("completion by a model", "completions by models"),
)
QUESTIONS = Format(
    name="questions",
    description="repository questions: question, answer (SWE-QA); and id, repository, commit, issue, chunks",
    containers=JSON,
    layouts=(
        _told_by("answer", question="text", answer="text"),
        _told_by("answer", question="text"),
    ),
    unless=frozenset({"question_id", "rater", "query", "model", "record", "value"}),
    converter=Questions,
    write=write_questions,
    choices=frozenset({"setting"}),
    holds=("repository question", "repository questions"),
)
ISSUES = Format(
    name="issues",
    description="issue threads: GitHub's REST objects, CodeAssistBench; user names are dropped",
    containers=JSON,
    layouts=(
        _told_by("answer", number="integer", title="text"),
        _told_by("answer", body="text", issue_url="text"),
    ),
    converter=Issues,
)
ANSWERS = Format(
    name="answers",
    description="models' answers to questions: question_id, model, answer; and setting, trial, scores",
    containers=JSON,
    layouts=(_told_by("response", question_id="id", model="text", answer="text"),),
    converter=Answers,
    write=write_answers,
    choices=frozenset({"setting"}),
    holds=("answer", "answers"),
)
MT_BENCH = Format(
    name="mt-bench",
    description="MT-bench's single form: question_id, model, judge, user_prompt, judgment, score, turn",
    containers=JSON,
    layouts=(
        _told_by("answer", question_id="id", model="text", judge="list", judgment="text", score="number"),
    ),
    converter=Single,
    write=write_judgments,
    choices=frozenset({"setting"}),
    holds=("score of an answer", "scores of answers"),
    leaves_out=("answer without a score", "answers without a score"),
)
