"""The agents part of the task kind `comparison`; imports its modules when they are used."""

from __future__ import annotations

from agents.pipelines.pairwise_judging.configurations import CONFIGURATIONS, CONSISTENT, INCONSISTENT
from agents.pipelines.spec import AgentsPart, imported

_HERE = "agents.pipelines.pairwise_judging"

COMPARISON = AgentsPart(
    kind="comparison",
    configurations=CONFIGURATIONS,
    load=imported("store.queries.judged_comparisons:candidate_texts"),
    make_pipeline=imported(f"{_HERE}.pipeline:PairwiseJudging"),
    counts=imported(f"{_HERE}.figures:read_counts"),
    report=imported(f"{_HERE}.figures:read_report"),
    paths=(CONSISTENT, INCONSISTENT),
    placeholder_characters={"reference": 4, "about": 10},
)
