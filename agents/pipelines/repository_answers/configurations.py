"""The configurations of answering questions and of judging answers, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration

ANSWERER, ANSWER_JUDGE = "answerer", "answer_judge"
ANSWERING, JUDGING_ANSWERS = "answer", "judge-answers"
CONTEXT, TRIALS, REPEATS = "context", "trials", "repeats"
"""The options of runs: what a model is shown of the repository, how often it answers, and how often each
answer is judged."""

NO_CONTEXT = "none"
TEMPERATURE = 0.2
"""Of answers and of their judges (Table II, section VI.A)."""

CONFIGURATIONS = (
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
