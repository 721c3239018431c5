"""The agents part of the task kind `pair`: the configurations of CoSQA+, each as a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.arbiter import ModelArbiter
from agents.annotation.bug_fixer import TwoStageBugFixer
from agents.annotation.configurations import (
    BUG_FIXER,
    CONFIGURATIONS,
    SCREENER,
    SIMULATOR,
    TEST_WRITER,
)
from agents.annotation.executor import SandboxExecutor
from agents.annotation.pipeline import PairAnnotator
from agents.annotation.screener import ModelScreener
from agents.annotation.simulator import ModelSimulator
from agents.annotation.test_writer import ModelTestWriter
from agents.kinds import AgentsPart
from store.queries.runs import pair_texts

if TYPE_CHECKING:
    from agents.kinds import Configuration
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings


def _make(configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings) -> PairAnnotator:
    prompts = configuration.prompts
    last = configuration.roles()[-1]
    executor = None if sandbox is None else SandboxExecutor(sandbox, settings)
    fixer = None
    if sandbox is not None and executor is not None and BUG_FIXER in prompts and settings.repairs:
        fixer = TwoStageBugFixer(prompts[BUG_FIXER], sandbox, executor, settings.max_try_time)
    return PairAnnotator(
        screener=ModelScreener(prompts[SCREENER]) if SCREENER in prompts else None,
        test_writer=ModelTestWriter(prompts[TEST_WRITER]) if TEST_WRITER in prompts else None,
        executor=executor,
        simulator=ModelSimulator(prompts[SIMULATOR]) if SIMULATOR in prompts else None,
        bug_fixer=fixer,
        arbiter=ModelArbiter(last, prompts[last]),
    )


PAIR = AgentsPart(kind="pair", configurations=CONFIGURATIONS, load=pair_texts, make_annotator=_make)
