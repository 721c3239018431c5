"""What works share: sandboxes, requests to models, and the processors on which models compute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from agents.jobs.pause_gate import PauseGate

Share = AbstractAsyncContextManager[object]
"""Something that is held for a while, one share for each that holds it."""


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
    """Works that compute with models on this machine at once, on its GPU or without one; others wait."""


class Limits:
    """Shares of what works use, in the jobs' loop.

    Args:
        settings: How many shares there are.
    """

    def __init__(self, settings: LimitSettings) -> None:
        self.sandboxes = _shares(settings.sandboxes)
        self.requests = _shares(settings.requests)
        self.gpu = asyncio.Semaphore(settings.gpu)


def _shares(number: int | None) -> Share:
    return nullcontext() if number is None else asyncio.Semaphore(number)


@asynccontextmanager
async def held(share: Share, gate: PauseGate) -> AsyncIterator[None]:
    """Hold a share for a turn, which begins once there is one; nobody holds one while paused.

    Raises:
        Halted: The turn may not begin any more.
    """
    while True:
        await gate.passing()
        async with share:
            if gate.is_open:
                yield
                return
