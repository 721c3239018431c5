"""The agents part of the task kind `pair`: the configurations of CoSQA+, and their expected work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.configurations import (
    BUG_FIXER,
    CONFIGURATIONS,
    SCREENER,
    SIMULATOR,
    TEST_WRITER,
)
from agents.pipelines.pair_annotation.pipeline import PairPipeline
from agents.pipelines.spec import AgentsPart, ExpectedRole, Workload
from store.formatting import counted
from store.queries.estimating import ENOUGH, past_assessments, past_replies
from store.queries.runs import pair_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

PATHS = ("screened", "read", "simulated", "tested", "repaired")
"""How a verdict comes about: the screener found the pair clear, a model read what there is and ruled, a model
predicted what a test would show, a test was run, one was run after a repair."""

UNCLEAR_SHARE = 0.33
"""The share that CoSQA+ reports of its candidates (section IV.C.a)."""

REPAIRED_SHARE = 0.2
"""Programs for which the bug fixer is asked."""

_REPLY_CHARACTERS = {TEST_WRITER: 1800, SIMULATOR: 1500}
_PLACEHOLDERS = {
    "doubt": 300,
    "interpretation": 200,
    "test_program": 1500,
    "report": 2500,
    "prediction": 1500,
    "environment": 500,
    "failure": 2500,
    "tries": 200,
}
"""As long as those of the sample."""


def _workload(connection: Connection, models: Mapping[str, str]) -> Workload:
    """Expect what the workspace's own past shows; with too little of it, what CoSQA+ reports."""
    first, screens = next(iter(models)), SCREENER in models
    assessed, unclear = past_assessments(connection, SCREENER, models[SCREENER]) if screens else (0, 0)
    known = assessed >= ENOUGH
    share = (unclear / assessed if known else UNCLEAR_SHARE) if screens else 1.0
    repaired = REPAIRED_SHARE
    if BUG_FIXER in models:
        past = past_replies(connection)
        written, asked = (past.get((role, models[role])) for role in (TEST_WRITER, BUG_FIXER))
        if written is not None and written.count >= ENOUGH:
            repaired = (0 if asked is None else asked.count) / written.count
    roles = {
        role: ExpectedRole(
            1.0 if role == first else share * repaired if role == BUG_FIXER else share,
            _REPLY_CHARACTERS.get(role, ExpectedRole().reply_characters),
        )
        for role in models
    }
    if not screens:
        return Workload(roles, {"unclear_share": None})
    source = f" of {counted(assessed, 'assessment')} of this model here"
    source = source if known else ", as CoSQA+ reports of its candidates"
    return Workload(roles, {"unclear_share": share}, (f"Unclear: {100 * share:.1f} %{source}.",))


PAIR = AgentsPart(
    kind="pair",
    configurations=CONFIGURATIONS,
    load=pair_texts,
    make_pipeline=PairPipeline,
    paths=PATHS,
    workload=_workload,
    placeholder_characters=_PLACEHOLDERS,
)
