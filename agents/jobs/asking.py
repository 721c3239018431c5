"""Asks a model for a work: within its budget, at most once for the same, and its replies are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from pydantic import BaseModel

from agents.jobs.reply_cache import ReplyCache
from agents.jobs.row_batches import RowBatcher
from store.record.ids import now
from store.tables.runs import ReplyRow, Step

if TYPE_CHECKING:
    from agents.jobs.control import Control
    from agents.jobs.role_models import RoleModel
    from agents.llm.protocol import Message, PlainText
    from agents.llm.settings import ModelSettings

ReplyT = TypeVar("ReplyT", bound=BaseModel)
_NO_RUN = UUID(int=0)


def money_of(turns: Sequence[Step]) -> float | None:
    """Return what turns cost in US dollars; None where the price or the number of tokens is unknown."""
    paid = [turn.money for turn in turns if turn.requests]
    return None if None in paid else sum(money for money in paid if money is not None)


class WorkAsk:
    """Asks one model in all roles of a work that is no run of the agents.

    The turns are counted, and are no steps of the record: they are of no item.

    Args:
        control: The work's steering.
        model: The model, and its temperature.
        settings: How it is asked.
        subject: What scripted models answer by.

    Attributes:
        turns: The turns so far, as they would be recorded.
    """

    def __init__(self, control: Control, model: RoleModel, settings: ModelSettings, subject: str) -> None:
        self._control, self._model, self._settings, self._subject = control, model, settings, subject
        self._replies = ReplyCache(control)
        self._rows = RowBatcher(control.workspace.lane, replaced=(ReplyRow,))
        self.turns: list[Step] = []

    @property
    def requests(self) -> int:
        """The requests that were sent."""
        return sum(turn.requests for turn in self.turns)

    @property
    def money(self) -> float | None:
        """The cost in US dollars; None where the price or the number of tokens is unknown."""
        return money_of(self.turns)

    async def __call__(
        self,
        role: str,
        messages: tuple[Message, ...],
        reply_type: type[ReplyT],
        *,
        plain: PlainText | None = None,
    ) -> ReplyT:
        """Return the reply to a question, or the continuations of a text.

        Raises:
            ModelError: No usable reply came.
            Halted: The work was stopped.
        """
        model = self._model.model
        request = self._model.request(role, self._subject, messages, reply_type, self._settings, plain=plain)
        digest = request.digest(model.name)

        def turn() -> Step:
            number = self._control.workspace.ids.next()
            return Step(
                id=number,
                run_id=_NO_RUN,
                item_id=0,
                role=role,
                outcome="failed",
                request_hash=digest,
                model=model.name,
                created_at=now(),
            )

        asked = await self._replies.ask(model, request, digest, turn)
        try:
            if asked.reply is not None:
                await self._rows.add((ReplyRow, [asked.reply]))
        finally:
            asked.recorded()
        self.turns.append(asked.step)
        return asked.of_type(reply_type)
