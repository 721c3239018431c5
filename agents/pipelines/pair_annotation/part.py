"""The agents part of the task kind `pair`; imports its modules when they are used, for a quick start."""

from __future__ import annotations

from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from agents.pipelines.spec import AgentsPart, imported

_HERE = "agents.pipelines.pair_annotation"

PAIR = AgentsPart(
    kind="pair",
    configurations=CONFIGURATIONS,
    load=imported("store.analysis.pair_runs:pair_texts"),
    make_pipeline=imported(f"{_HERE}.pipeline:PairPipeline"),
    counts=imported(f"{_HERE}.figures:read_counts"),
    report=imported(f"{_HERE}.figures:read_report"),
    paths=("screened", "read", "simulated", "tested", "repaired", "corrected", "untested"),
    workload=imported(f"{_HERE}.workload:expected_workload"),
    placeholder_characters={
        "doubt": 300,
        "interpretation": 200,
        "test_program": 1500,
        "report": 2500,
        "prediction": 1500,
        "environment": 500,
        "undefined_names": 20,
        "failure": 2500,
        "tries": 200,
    },
)
"""The paths: the screener found the pair clear, a model read the texts and ruled, a model predicted the
result of a test, a test was run, one was run after a repair, or after the test writer corrected it, or none
came to a result. The lengths are those of the sample."""
