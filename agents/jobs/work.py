"""A work: anything that takes long. A job runs it behind the screens, or for a command that waits.

Runs of the agents are works, and so is the search for candidate pairs; other packages add theirs as entry
points of the group `workbench.works`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agents.github.settings import GitHubSettings
from agents.jobs.budget import Budget
from agents.jobs.pause_gate import Halted
from agents.sandbox.settings import SandboxSettings
from store.errors import UnknownName, WorkbenchError
from store.plugins import registered, usable

if TYPE_CHECKING:
    from agents.jobs.control import Control
    from agents.jobs.work_progress import ReportWork
    from agents.llm.settings import ModelSettings
    from agents.retrieval.settings import RetrievalSettings

T = TypeVar("T")

GROUP = "workbench.works"
"""The entry points of works."""
MOST_NAME = 200
"""Characters of the name of a work."""
MOST_SAID = 2_000
"""Characters of what came of it."""
NICE = 10
"""Added to the nice value of a work's thread, so that whoever judges goes first."""


class Work(Protocol):
    """Anything that takes long, described by data: the same description does the same again."""

    @property
    def kind(self) -> str:
        """The name of its part (`WorkPart.kind`); that of the items' kind for a run of the agents."""
        ...

    @property
    def name(self) -> str:
        """Its name in lists."""
        ...

    def description(self) -> Mapping[str, Any] | None:
        """Return what it is, as JSON: `WorkPart.open` makes the same work of it.

        None for a run of the agents, which has a record of its own.
        """
        ...

    async def run(self, control: Control) -> str:
        """Do it, in the jobs' loop; what computes goes aside (`aside`).

        Args:
            control: Takes the progress, lets it wait and end, and counts what it spends.

        Returns:
            What came of it, in a sentence.

        Raises:
            Halted: It was stopped; begun again, it goes on from what `control.keep` kept.
            WorkbenchError: It failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """The settings that works are made with.

    Attributes:
        models: How services are reached.
        retrieval: Where vectors are kept, and how texts are encoded.
        budget: What one work may spend on models.
        model: The model that works ask where nobody names one; empty for none.
        web: The address of a service that searches the web; None for none.
        concurrency: How much of one work is worked on at the same time, where it has parts.
        stop_seconds: How long turns under way may take to end once a work is stopped.
        sandboxes: Where what isolates programs is.
        github: How GitHub is reached.
    """

    models: ModelSettings
    retrieval: RetrievalSettings
    budget: Budget = field(default_factory=Budget)
    model: str = ""
    web: str | None = None
    concurrency: int = 8
    stop_seconds: float = 5.0
    sandboxes: SandboxSettings = field(default_factory=SandboxSettings)
    github: GitHubSettings = field(default_factory=GitHubSettings)


@dataclass(frozen=True, slots=True)
class WorkPart:
    """A kind of works.

    Attributes:
        kind: Its name, which the workspace keeps with each work.
        title: Its name on screens.
        sentence: What it does, for the list of works.
        open: Makes a work of its description. It is called where keys are taken, so it loads nothing.
        asks: Whether it is begun by a dialog or a command of its own; the Jobs screen begins others as they
            are, with an empty description.
    """

    kind: str
    title: str
    sentence: str
    open: Callable[[Mapping[str, Any], WorkSettings], Work]
    asks: bool = False


@cache
def work_parts() -> dict[str, WorkPart]:
    """Return the kinds of works, by name, without those that cannot be used."""
    return {part.kind: part for part in usable(GROUP, WorkPart)}


def work_part(kind: str) -> WorkPart:
    """Return a kind of works.

    Raises:
        UnknownName: There is none of that name.
        WorkbenchError: It cannot be used.
    """
    part = work_parts().get(kind)
    if part is None:
        registered(GROUP, WorkPart, kind)
        known = ", ".join(sorted(work_parts())) or "none"
        raise UnknownName(
            "No such work",
            f"No package adds the work {kind!r}.",
            f"Install the package that adds it again. Works here: {known}.",
        )
    return part


def open_work(kind: str, description: Mapping[str, Any], settings: WorkSettings) -> Work:
    """Return the work of a description.

    Raises:
        WorkbenchError: There is no such kind of works, or its description is not understood.
    """
    part = work_part(kind)
    try:
        return part.open(description, settings)
    except WorkbenchError:
        raise
    except Exception as problem:  # other people's packages may fail in any way
        raise WorkbenchError(
            "Not understood",
            f"The {part.title} cannot be made of its description: {type(problem).__name__}: {problem}.",
            "It may be of another version of its package. Start it anew.",
        ) from problem


def description_of(work: Work) -> tuple[str, str, str | None]:
    """Return kind and name of a work, and its description as JSON; None for a run of the agents.

    Raises:
        WorkbenchError: It has none of them, or a description that is no JSON.
    """
    try:
        description = work.description()
        text = None if description is None else json.dumps(description, sort_keys=True, ensure_ascii=False)
        return str(work.kind), str(work.name)[:MOST_NAME], text
    except Exception as problem:  # as above
        raise WorkbenchError(
            "Cannot be started",
            f"The work says not what it is: {type(problem).__name__}: {problem}.",
            "Report this to those who made the package that adds it.",
        ) from problem


async def carried_out(work: Work, control: Control) -> str:
    """Do a work, and return what came of it.

    Raises:
        RuntimeError: It asked for the end of the program.
        Exception: Whatever else it raised.
    """
    try:
        said = await work.run(control)
    except (SystemExit, KeyboardInterrupt) as exit_asked:
        raise _bearable(exit_asked) from exit_asked
    return "" if said is None else str(said)[:MOST_SAID]


def works_alone() -> dict[str, WorkPart]:
    """Return the kinds of works that the Jobs screen begins as they are, by name."""
    return {kind: part for kind, part in work_parts().items() if not part.asks}


async def aside(control: Control, function: Callable[[ReportWork], T]) -> T:
    """Call a function in a thread of low priority, which waits and ends where it reports its progress.

    Args:
        control: The steering of the work.
        function: Is given what receives the progress (`Control.report`); whatever that raises has to leave
            it.

    Returns:
        What it returns.

    Raises:
        Halted: The work was stopped. A thread that reports nothing is left behind.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(result)  # type: ignore[arg-type]  # a result where there is no error

    def call() -> None:
        _lower_priority()
        result: T | None = None
        error: Exception | None = None
        try:
            result = function(control.report)
        except BaseException as raised:  # noqa: BLE001 - it belongs to the one who waits
            error = _bearable(raised)
        # Nobody waits any more where the loop has ended.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    # A daemon: the load of a model cannot be interrupted, and must not hold up the end of the program.
    threading.Thread(target=call, name=f"work-{control.number}", daemon=True).start()
    try:
        return await ended
    except asyncio.CancelledError:
        if control.gate.stopping:
            raise Halted from None
        raise


async def undivided(function: Callable[[], T]) -> T:
    """Call a function in a thread, and wait for its end though the work is to be broken off meanwhile.

    For what must not be cut off, such as writing what came of the work.
    """
    called = asyncio.ensure_future(asyncio.to_thread(function))
    while not called.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(called)
    return called.result()


def _bearable(raised: BaseException) -> Exception:
    """Return an error that the jobs' loop survives.

    An exit would end the loop, and with it every other work; no future can hold a `StopIteration`.
    """
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return RuntimeError(f"{type(raised).__name__}: {raised}")


def _lower_priority() -> None:
    """Let whoever judges go first, and so all threads that this one begins; Linux alone knows that."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
