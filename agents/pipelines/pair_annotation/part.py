"""The agents part of the task kind `pair`; imports its modules when they are used, for a quick start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from agents.pipelines.spec import AgentsPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from agents.pipelines.pair_annotation.pipeline import PairPipeline
    from agents.pipelines.spec import Configuration, PipelineFigures, Workload
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.queries.pair_runs import PairTexts
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run
    from store.workspace.duckdb import Workspace


def _load(connection: Connection, item_ids: Sequence[int]) -> list[PairTexts]:
    from store.queries.pair_runs import pair_texts

    return pair_texts(connection, item_ids)


def _make(configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings) -> PairPipeline:
    from agents.pipelines.pair_annotation.pipeline import PairPipeline

    return PairPipeline(configuration, sandbox, settings)


def _counts(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    from agents.pipelines.pair_annotation.figures import read_counts

    return read_counts(connection, run, figures)


def _report(workspace: Workspace, run: Run, figures: RunFigures) -> PipelineFigures:
    from agents.pipelines.pair_annotation.figures import read_report

    return read_report(workspace, run, figures)


def _workload(connection: Connection, models: Mapping[str, str]) -> Workload:
    from agents.pipelines.pair_annotation.workload import expected_workload

    return expected_workload(connection, models)


PAIR = AgentsPart(
    kind="pair",
    configurations=CONFIGURATIONS,
    load=_load,
    make_pipeline=_make,
    counts=_counts,
    report=_report,
    paths=("screened", "read", "simulated", "tested", "repaired"),
    workload=_workload,
    placeholder_characters={
        "doubt": 300,
        "interpretation": 200,
        "test_program": 1500,
        "report": 2500,
        "prediction": 1500,
        "environment": 500,
        "failure": 2500,
        "tries": 200,
    },
)
"""The paths: the screener found the pair clear, a model read the texts and ruled, a model predicted the
result of a test, a test was run, one was run after a repair. The lengths are those of the sample."""
