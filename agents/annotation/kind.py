"""The agents part of the task kind `pair`: Algorithm 1 of CoSQA+."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.annotation import arbiter, bug_fixer, screener, test_writer
from agents.annotation.arbiter import ModelArbiter
from agents.annotation.bug_fixer import TwoStageBugFixer
from agents.annotation.executor import SandboxExecutor
from agents.annotation.pipeline import NAME, PairAnnotator
from agents.annotation.screener import ModelScreener
from agents.annotation.test_writer import ModelTestWriter
from agents.kinds import AgentsPart
from agents.prompts import load_prompt
from store.queries.runs import pair_texts

if TYPE_CHECKING:
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings


def _configuration() -> dict[str, Any]:
    """Return the versions of the prompts, with a digest of each text."""
    roles = (screener.ROLE, test_writer.ROLE, bug_fixer.ROLE, arbiter.ROLE)
    prompts = [load_prompt(role) for role in roles]
    return {"prompts": {prompt.role: f"{prompt.version}:{prompt.digest}" for prompt in prompts}}


def _make(sandbox: Sandbox, settings: SandboxSettings) -> PairAnnotator:
    executor = SandboxExecutor(sandbox, settings)
    fixer = TwoStageBugFixer(sandbox, executor, settings.max_try_time) if settings.repairs else None
    return PairAnnotator(ModelScreener(), ModelTestWriter(), executor, fixer, ModelArbiter())


PAIR = AgentsPart(
    kind="pair", pipeline=NAME, configuration=_configuration, load=pair_texts, make_annotator=_make
)
