"""Counts the questions of a job whose replies are in the reply cache, as far as they are known beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from agents.jobs.budget import Budget, Spending
from agents.jobs.pause_gate import Halted
from agents.jobs.reply_cache import ReplyCache, ReplyResult, reply_key
from agents.jobs.run_record import RecordedSteps
from agents.jobs.step_recorder import StepRecorder
from store.queries.replies import replies_of

if TYPE_CHECKING:
    from agents.jobs.role_models import RoleModels
    from agents.jobs.run_record import RunRecord
    from agents.llm.protocol import LanguageModel, ModelRequest
    from agents.llm.settings import ModelSettings
    from agents.pipelines.spec import Pipeline, WorkItem
    from store.tables.runs import Step
    from store.workspace.duckdb import Workspace


class _Noted(ReplyCache):
    """Notes under which key the answer to a question would be kept, and asks nobody."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, Spending(Budget(), {}))
        self.keys: list[UUID] = []

    async def ask(
        self,
        model: LanguageModel,
        request: ModelRequest,
        digest: str,
        paying: Callable[[], Awaitable[None]],
        new_step: Callable[[], Step],
    ) -> ReplyResult:
        """Note the question, which ends the work on its item."""
        self.keys.append(reply_key(model, request, digest))
        raise Halted


async def first_questions_kept(
    workspace: Workspace,
    record: RunRecord,
    items: Sequence[WorkItem],
    *,
    pipeline: Pipeline,
    models: RoleModels,
    settings: ModelSettings,
) -> int:
    """Count the items whose first question is answered by a reply that is kept.

    Later questions hang on the answers before them, so that they are not known.

    Args:
        workspace: The open workspace.
        record: The run that would work on the items.
        items: The items.
        pipeline: What works on them; its first turn asks a model.
        models: The model of each role.
        settings: How models are asked.
    """

    async def at_once() -> None:
        """Nothing is waited for, since nothing is paid."""

    noted = _Noted(workspace)
    for item in items:
        recorder = StepRecorder(
            record,
            item.item_id,
            item.external_id,
            RecordedSteps(),
            models=models,
            settings=settings,
            replies=noted,
            passing=at_once,
            paying=at_once,
            on_step=lambda _: None,
        )
        try:
            await pipeline.run(item, recorder)
        except Halted:
            continue
    with workspace.reading() as connection:
        kept = replies_of(connection, list(dict.fromkeys(noted.keys)))
    return sum(key in kept for key in noted.keys)
