"""Which questions of a job a workspace has the replies to already, as far as that is known beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from agents.account import Account, Budget
from agents.gate import Halted
from agents.records import Earlier
from agents.replies import Asked, Replies, reply_key
from agents.turns import Turns
from store.queries.replies import replies_of

if TYPE_CHECKING:
    from agents.kinds import Annotator, WorkItem
    from agents.llm.protocol import LanguageModel, ModelRequest
    from agents.llm.settings import ModelSettings
    from agents.records import RunRecord
    from agents.role_models import RoleModels
    from store.tables.runs import Step
    from store.workspace import Workspace


class _Noted(Replies):
    """Notes under which key the answer to a question would be kept, and asks nobody."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, Account(Budget(), {}))
        self.keys: list[UUID] = []

    async def ask(
        self,
        model: LanguageModel,
        request: ModelRequest,
        digest: str,
        paying: Callable[[], Awaitable[None]],
        new_step: Callable[[], Step],
    ) -> Asked:
        """Note the question, which ends the work on its item."""
        self.keys.append(reply_key(model, request, digest))
        raise Halted


async def first_questions_kept(
    workspace: Workspace,
    record: RunRecord,
    items: Sequence[WorkItem],
    *,
    annotator: Annotator,
    models: RoleModels,
    settings: ModelSettings,
) -> int:
    """Count the items whose first question is answered by a reply that is kept.

    Later questions hang on the answers before them, so that they are not known.

    Args:
        workspace: The open workspace.
        record: The run that would work on the items.
        items: The items.
        annotator: What works on them; its first turn asks a model.
        models: Who is asked in each role.
        settings: How models are asked.
    """

    async def at_once() -> None:
        """Nothing is waited for, since nothing is paid."""

    noted = _Noted(workspace)
    for item in items:
        turns = Turns(
            record,
            item,
            Earlier(),
            models=models,
            settings=settings,
            replies=noted,
            passing=at_once,
            paying=at_once,
            on_step=lambda _: None,
        )
        try:
            await annotator.annotate(item, turns)
        except Halted:
            continue
    with workspace.reading() as connection:
        kept = replies_of(connection, list(dict.fromkeys(noted.keys)))
    return sum(key in kept for key in noted.keys)
