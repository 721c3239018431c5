"""The agents part of a task kind: which pipeline works on its items, and where it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from store.errors import UnknownName, WorkbenchError
from store.plugins import registered

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from agents.turns import Turns
    from store.tables.runs import Verdict

GROUP = "workbench.task_kinds"


class WorkItem(Protocol):
    """What a pipeline is given of an item: at least its key and its name in the imported file."""

    @property
    def item_id(self) -> int:
        """The key of the item."""
        ...

    @property
    def external_id(self) -> str:
        """The name of the item in the imported file."""
        ...


@dataclass(frozen=True, slots=True)
class Annotation:
    """How a pipeline's work on one item ended.

    Attributes:
        item_id: The item.
        verdict: The final word; None when there is none.
        assessment: The screener's word, such as "clear_match"; empty when it gave none.
        executable: Whether the last execution did its work; None when nothing was run.
        failure: Why there is no verdict.
    """

    item_id: int
    verdict: Verdict | None
    assessment: str = ""
    executable: bool | None = None
    failure: WorkbenchError | None = None


class Annotator(Protocol):
    """A pipeline: works on one item after another, recording each turn."""

    async def annotate(self, item: Any, turns: Turns) -> Annotation:
        """Work on one item to its verdict, or to a failure with a reason.

        Args:
            item: What the kind's `load` returned.
            turns: Where the pipeline's agents take their turns; it keeps what was done before.
        """
        ...


@dataclass(frozen=True, slots=True)
class AgentsPart:
    """The agents part of a task kind.

    Attributes:
        kind: The task kind, as items carry it.
        pipeline: The pipeline's name, the first part of the names of its runs and raters.
        configuration: Returns what tells two forms of the pipeline apart, such as the versions of its
            prompts; part of what names a run.
        load: Reads items by id, in the order given; ids that are not there are left out.
        make_annotator: Makes the pipeline over a sandbox and what is set of executions.
    """

    kind: str
    pipeline: str
    configuration: Callable[[], Mapping[str, Any]]
    load: Callable[[Connection, Sequence[int]], Sequence[WorkItem]]
    make_annotator: Callable[[Sandbox, SandboxSettings], Annotator]


@cache
def agents_parts() -> dict[str, AgentsPart]:
    """Return the agents part of every kind that has one, by kind, ours and those of other packages."""
    return {part.kind: part for part in registered(GROUP, AgentsPart, ".agents")}


def agents_part(kind: str) -> AgentsPart:
    """Return the agents part of a kind.

    Raises:
        UnknownName: No pipeline works on items of that kind.
    """
    part = agents_parts().get(kind)
    if part is None:
        known = ", ".join(sorted(agents_parts())) or "none"
        raise UnknownName(
            "No agents for this kind",
            f"No pipeline works on items of the kind {kind!r}.",
            f"Kinds with one: {known}.",
        )
    return part
