"""The agents part of the task kind `answer`; imports its modules when they are used."""

from __future__ import annotations

from agents.pipelines.repository_answers.configurations import CONFIGURATIONS
from agents.pipelines.spec import AgentsPart, imported
from store.kinds.answer import NO_SOLUTION, UNSUITABLE, WRITTEN

_HERE = "agents.pipelines.repository_answers"

ANSWER = AgentsPart(
    kind="answer",
    configurations=CONFIGURATIONS,
    load=imported("store.queries.repository_answers:asked_questions"),
    eligible=imported(f"{_HERE}.pipeline:eligible"),
    check=imported(f"{_HERE}.pipeline:check_context"),
    make_pipeline=imported(f"{_HERE}.pipeline:make_pipeline"),
    workload=imported(f"{_HERE}.pipeline:workload"),
    counts=imported(f"{_HERE}.pipeline:read_counts"),
    report=imported(f"{_HERE}.pipeline:read_counts"),
    paths=(WRITTEN, UNSUITABLE, NO_SOLUTION),
    done="done",
)
