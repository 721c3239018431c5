"""The expected work of a run of Algorithm 1, for an estimate of its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.configurations import (
    BUG_FIXER,
    SCREENER,
    SIMULATOR,
    TEST_CORRECTION,
    TEST_WRITER,
)
from agents.pipelines.spec import ExpectedRole, Workload
from store.formatting import pluralize
from store.queries.estimating import ENOUGH, past_assessments, past_replies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from agents.pipelines.spec import Configuration

UNCLEAR_SHARE = 0.33
"""The share that CoSQA+ reports of its candidates (section IV.C.a)."""

REPAIRED_SHARE = 0.2
"""Programs for which the bug fixer is asked."""

CORRECTED_SHARE = 0.1
"""Programs that the test writer is asked to correct."""

_REPLY_CHARACTERS = {TEST_WRITER: 1800, SIMULATOR: 1500, TEST_CORRECTION: 1800}


def expected_workload(
    connection: Connection, configuration: Configuration, models: Mapping[str, str]
) -> Workload:
    """Return the expected work by the workspace's records; with too few of them, by the figures of CoSQA+."""
    first, screens = next(iter(models)), SCREENER in models
    assessed, unclear = past_assessments(connection, SCREENER, models[SCREENER]) if screens else (0, 0)
    known = assessed >= ENOUGH
    share = (unclear / assessed if known else UNCLEAR_SHARE) if screens else 1.0
    of_programs = {BUG_FIXER: REPAIRED_SHARE, TEST_CORRECTION: CORRECTED_SHARE}
    for later in (role for role in of_programs if role in models):
        past = past_replies(connection)
        written, asked = (past.get((role, models[role])) for role in (TEST_WRITER, later))
        if written is not None and written.count >= ENOUGH:
            of_programs[later] = (0 if asked is None else asked.count) / written.count
    roles = {
        role: ExpectedRole(
            1.0 if role == first else share * of_programs.get(role, 1.0),
            _REPLY_CHARACTERS.get(role, ExpectedRole().reply_characters),
        )
        for role in models
    }
    if not screens:
        return Workload(roles, {"unclear_share": None})
    source = f" of {pluralize(assessed, 'assessment')} of this model here"
    source = source if known else ", as CoSQA+ reports of its candidates"
    return Workload(roles, {"unclear_share": share}, (f"Unclear: {100 * share:.1f} %{source}.",))
