"""Asks models for replies, at most once for the same question: a stored reply is not paid for again.

Questions are distinguished by all that a model receives: the model, the service that it is asked at, the
parameters, the messages and the form of the reply. The role and which item it is about do not count,
but for models that answer by them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from pydantic import BaseModel

from agents.jobs.limits import share_of
from agents.llm.errors import ModelError
from agents.llm.request_watch import NotSent, watch_requests
from agents.llm.structured import MalformedReply, parse_reply
from store.queries.replies import replies_of
from store.record.ids import now
from store.tables.runs import Reply, Step

if TYPE_CHECKING:
    from agents.jobs.control import Control
    from agents.llm.protocol import LanguageModel, ModelRequest, Usage


ReplyT = TypeVar("ReplyT", bound=BaseModel)


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class ReplyResult:
    """The result of a question.

    Attributes:
        step: The turn, as it is to be recorded.
        reply: The reply to keep with it; None where none came, or where it was kept before.
        value: The reply as a value; None where none came.
        error: Why none came.
        recorded: Lets those go on who ask the same.
    """

    step: Step
    reply: Reply | None = None
    value: BaseModel | None = None
    error: ModelError | None = None
    recorded: Callable[[], None] = _nothing

    def of_type(self, reply_type: type[ReplyT]) -> ReplyT:
        """Return the reply.

        Raises:
            ModelError: None came.
        """
        if self.error is not None:
            raise self.error
        if not isinstance(self.value, reply_type):
            named = type(self.value).__name__
            raise TypeError(f"{self.step.model} returned {named} for {reply_type.__name__}")
        return self.value


def reply_key(model: LanguageModel, request: ModelRequest, digest: str) -> UUID:
    """Return the key under which the reply to a request is kept.

    Returns:
        The first 128 bits of a SHA-256 over all that the reply depends on.
    """
    parts = [digest, model.address]
    if model.knows_subjects:
        parts += [request.role, request.subject]
    return UUID(bytes=hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:16])


class Replies(Protocol):
    """Gives the replies to questions."""

    async def ask(
        self, model: LanguageModel, request: ModelRequest, digest: str, new_step: Callable[[], Step]
    ) -> ReplyResult:
        """Ask for a reply (see `ReplyCache.ask`)."""
        ...


class ReplyCache:
    """The replies of one job; all its methods belong to the jobs' loop.

    Args:
        control: The job's steering: what it may spend, and what it shares with other jobs.
        fresh: Whether every question is put to the model, though the same was answered before.
    """

    def __init__(self, control: Control, *, fresh: bool = False) -> None:
        self._control = control
        self._workspace = control.workspace
        self._spending = control.budget
        self._fresh = fresh
        self._wanted: dict[UUID, asyncio.Future[Reply | None]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def ask(
        self, model: LanguageModel, request: ModelRequest, digest: str, new_step: Callable[[], Step]
    ) -> ReplyResult:
        """Ask for a reply; whoever asks the same meanwhile, in any job, waits until this one is recorded.

        While the job is paused, or has nothing left to spend, it waits, and lets others ask the same.

        Returns:
            The result, to be recorded; then its `recorded` is called, whatever came of that.

        Raises:
            Halted: The job is stopping.
        """
        key = reply_key(model, request, digest)
        while True:
            recorded = await self._alone(key)
            asked = None
            try:
                kept = None if self._fresh else await self._kept(key, request)
                if kept is not None:
                    asked = self._from_cache(new_step(), *kept)
                elif self._control.may_begin():
                    asked = await self._paid(model, request, key, new_step)
            finally:
                if asked is None:
                    recorded()
            if asked is not None:
                return replace(asked, recorded=recorded)
            await self._control.paying()

    async def _paid(
        self, model: LanguageModel, request: ModelRequest, key: UUID, new_step: Callable[[], Step]
    ) -> ReplyResult | None:
        """Ask the model, once there is a share; None where nothing may be spent any more by then."""
        async with share_of(self._control.limits.requests, self._control.gate):
            return await self._ask(model, request, key, new_step()) if self._control.may_begin() else None

    async def _alone(self, key: UUID) -> Callable[[], None]:
        """Let one caller at a time ask a question, so that the next one finds its reply."""
        if self._fresh:
            return _nothing
        asked = self._control.limits.asked
        while (before := asked.get(key)) is not None:
            await self._control.gate.until(before)
        asked[key] = ended = asyncio.get_running_loop().create_future()

        def recorded() -> None:
            del asked[key]
            ended.set_result(None)

        return recorded

    async def _kept(self, key: UUID, request: ModelRequest) -> tuple[Reply, BaseModel] | None:
        reply = await self._find(key)
        if reply is None:
            return None
        try:
            return reply, parse_reply(reply.text, request.reply_type)
        except MalformedReply:
            return None  # what counts as a reply has changed since

    def _from_cache(self, step: Step, reply: Reply, value: BaseModel) -> ReplyResult:
        taken = {
            "outcome": "ok",
            "reply": value.model_dump_json(),
            "model": reply.snapshot,
            "sdk": reply.sdk,
            "money": 0.0,
            "reply_id": reply.id,
            "from_cache": True,
            "created_at": now(),
        }
        return ReplyResult(step.model_copy(update=taken), value=value)

    async def _ask(
        self, model: LanguageModel, request: ModelRequest, key: UUID, step: Step
    ) -> ReplyResult | None:
        started = perf_counter()
        try:
            with watch_requests(self._control):
                reply = await model.reply(request)
        except NotSent:
            return None
        except ModelError as error:
            spent = self._spent(model, error.usage, error.requests)
            failed = {
                **spent,
                "outcome": "failed",
                "cause": error.kind,
                "error": str(error),
                "reply": error.text,
                "model": error.model or model.name,
                "sdk": error.sdk,
                "seconds": perf_counter() - started,
                "created_at": now(),
            }
            step = step.model_copy(update=failed)
            self._spending.spend(step, error.usage)
            return ReplyResult(step, error=error)
        spent = self._spent(model, reply.usage, reply.requests)
        fields = {**spent, "sdk": reply.sdk, "seconds": reply.seconds, "created_at": now()}
        value = reply.value
        answered = {"outcome": "ok", "reply": value.model_dump_json(), "model": reply.model, "reply_id": key}
        kept = Reply(
            id=key,
            role=request.role,
            model=model.name,
            service=model.address,
            snapshot=reply.model,
            text=reply.text,
            **fields,
        )
        step = step.model_copy(update={**fields, **answered})
        self._spending.spend(step, reply.usage)
        return ReplyResult(step, kept, value)

    def _spent(self, model: LanguageModel, usage: Usage, requests: int) -> dict[str, Any]:
        money, price = self._spending.price(model.name, usage)
        return {
            "tokens_in": usage.tokens_in,
            "tokens_out": usage.tokens_out,
            "tokens_cached": usage.tokens_cached,
            "tokens_written": usage.tokens_written,
            "requests": requests,
            "money": money,
            "price": price,
        }

    async def _find(self, key: UUID) -> Reply | None:
        """Look a reply up, together with all other pending look-ups."""
        wanted = self._wanted.get(key)
        if wanted is None:
            wanted = self._wanted[key] = asyncio.get_running_loop().create_future()
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(wanted)

    async def _look(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                found = await asyncio.to_thread(self._read, list(wanted))
            except Exception as error:  # noqa: BLE001 - it belongs to those who look
                for future in wanted.values():
                    future.set_exception(error)
                continue
            for key, future in wanted.items():
                future.set_result(found.get(key))

    def _read(self, keys: list[UUID]) -> dict[UUID, Reply]:
        with self._workspace.reading() as connection:
            return replies_of(connection, keys)
