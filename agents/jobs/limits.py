"""What works share: sandboxes, requests to models, and the processors on which models compute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from uuid import UUID

    from agents.jobs.pause_gate import PauseGate

Share = asyncio.Semaphore | None
"""Something that is held for a while, one share for each that holds it; None where there is no bound."""


class LimitSettings(BaseModel):
    """What all works together may use at the same time; unset for no bound."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sandboxes: int | None = Field(default=None, ge=1)
    """Test programs and repairs that run at once, of all runs together. Unset: as many as
    `agents.concurrency`."""

    requests: int | None = Field(default=None, ge=1)
    """Replies of models that are waited for at once, of all runs together. Unset: no bound but the
    `agents.concurrency` of each run."""

    gpu: int = Field(default=1, ge=1)
    """Works that compute with models on this machine at once, on its GPU or without one; others wait. A work
    that is paused keeps its models, and with them its share."""


class Limits:
    """Shares of what works use, in the jobs' loop.

    Attributes:
        asked: The questions to models that are on their way, of all runs: nobody else pays for the same one.
    """

    def __init__(self, settings: LimitSettings) -> None:
        self.sandboxes = _shares(settings.sandboxes)
        self.requests = _shares(settings.requests)
        self.gpu = asyncio.Semaphore(settings.gpu)
        self.asked: dict[UUID, asyncio.Future[None]] = {}


def _shares(number: int | None) -> Share:
    return None if number is None else asyncio.Semaphore(number)


@asynccontextmanager
async def share_of(share: Share, gate: PauseGate) -> AsyncIterator[None]:
    """Hold a share as soon as there is one.

    Raises:
        Halted: The work was stopped before that.
    """
    if share is None:
        yield
        return
    if share.locked():
        acquired = asyncio.ensure_future(share.acquire())
        try:
            await gate.until(acquired)
        except BaseException:
            if not acquired.cancel():
                share.release()
            raise
    else:
        await share.acquire()
    try:
        yield
    finally:
        share.release()


@asynccontextmanager
async def held(share: Share, gate: PauseGate) -> AsyncIterator[None]:
    """Hold a share for a turn, which begins once there is one; nobody holds one while paused.

    Raises:
        Halted: The turn may not begin any more.
    """
    while True:
        await gate.passing()
        async with share_of(share, gate):
            if gate.is_open:
                yield
                return
