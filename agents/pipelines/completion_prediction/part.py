"""The agents part of the task kind `completion`; imports its modules when they are used."""

from __future__ import annotations

from agents.pipelines.completion_prediction.configurations import CONFIGURATIONS
from agents.pipelines.spec import AgentsPart, imported

_HERE = "agents.pipelines.completion_prediction"

COMPLETION = AgentsPart(
    kind="completion",
    configurations=CONFIGURATIONS,
    load=imported("store.queries.completion_tasks:completion_tasks"),
    eligible=imported(f"{_HERE}.pipeline:eligible"),
    check=imported(f"{_HERE}.pipeline:check_setting"),
    make_pipeline=imported(f"{_HERE}.pipeline:CompletionPrediction"),
    workload=imported(f"{_HERE}.pipeline:workload"),
    done="completed",
)
