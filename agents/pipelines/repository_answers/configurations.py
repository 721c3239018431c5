"""The configurations of writing and answering questions and of judging answers, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration
from store.kinds.answer import NO_CONTEXT

SCREENER, QUESTION_WRITER, REFERENCE_WRITER = "issue_screener", "question_writer", "reference_writer"
ANSWERER, ANSWER_JUDGE = "answerer", "answer_judge"
WRITING, ANSWERING, JUDGING_ANSWERS = "write-questions", "answer", "judge-answers"
SAMPLES, CONTEXT, TRIALS, REPEATS = "samples", "context", "trials", "repeats"
"""The options of runs: how many questions are written of which one is taken, what a model is shown of the
repository, how often it answers, and how often each answer is judged."""

TEMPERATURE = 0.2
"""Of answers and of their judges (Table II, section VI.A)."""
WRITING_TEMPERATURE = 0.8
"""Of reference answers (section VI.A), and of the questions, of which several are written."""

CONFIGURATIONS = (
    Configuration(
        WRITING,
        WRITING,
        "Agents turn issues into questions with reference answers, and leave out those that make none.",
        {SCREENER: SCREENER, QUESTION_WRITER: QUESTION_WRITER, REFERENCE_WRITER: REFERENCE_WRITER},
        options={SAMPLES: "3"},
        temperatures={QUESTION_WRITER: WRITING_TEMPERATURE, REFERENCE_WRITER: WRITING_TEMPERATURE},
    ),
    Configuration(
        ANSWERING,
        ANSWERING,
        "A model answers each question in its own words, with or without context of the repository.",
        {ANSWERER: "answerer"},
        options={CONTEXT: NO_CONTEXT, TRIALS: "5"},
        temperatures={ANSWERER: TEMPERATURE},
    ),
    Configuration(
        JUDGING_ANSWERS,
        JUDGING_ANSWERS,
        "A judge scores each answer from 1 to 10 for accuracy, completeness, relevance and clarity.",
        {ANSWER_JUDGE: "answer_judge"},
        options={REPEATS: "2"},
        temperatures={ANSWER_JUDGE: TEMPERATURE},
    ),
)
