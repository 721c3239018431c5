"""The agents part of a task kind: which pipeline works on its items, and where it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
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
ENDING = ".agents"
"""Ends the name of an entry point that is the agents part of the kind named before."""


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
class Configuration:
    """One way of a kind's agents to work together.

    Attributes:
        name: What it is called on the command line.
        pipeline: The first part of the names of its runs and raters.
        sentence: What its agents do.
        prompts: The prompt of every role that asks a model, in the order of their turns; the last role
            gives the label.
        executes: Whether it runs test programs, and so needs a sandbox.
        repairer: The role that repairs what a program lacks, which can be switched off; empty without one.
    """

    name: str
    pipeline: str
    sentence: str
    prompts: Mapping[str, str]
    executes: bool = False
    repairer: str = ""

    def roles(self, *, repairs: bool = True) -> tuple[str, ...]:
        """Return the roles that ask a model, in the order of their turns.

        Args:
            repairs: Whether the repairer works.
        """
        return tuple(role for role in self.prompts if repairs or role != self.repairer)


@dataclass(frozen=True, slots=True)
class AgentsPart:
    """The agents part of a task kind.

    Attributes:
        kind: The task kind, as items carry it.
        configurations: The ways in which its agents can work; one is called "full".
        load: Reads items by id, in the order given; ids that are not there are left out.
        make_annotator: Makes the pipeline of a configuration over a sandbox (None for a configuration that
            executes nothing) and what is set of executions.
    """

    kind: str
    configurations: tuple[Configuration, ...]
    load: Callable[[Connection, Sequence[int]], Sequence[WorkItem]]
    make_annotator: Callable[[Configuration, Sandbox | None, SandboxSettings], Annotator]

    def configuration(self, name: str) -> Configuration:
        """Return a configuration by its name.

        Raises:
            UnknownName: There is none of that name.
        """
        for each in self.configurations:
            if each.name == name:
                return each
        raise UnknownName(
            "No such configuration",
            f"The agents have no configuration {name!r}.",
            f"Configurations: {', '.join(each.name for each in self.configurations)}. See: workbench agents",
        )


@cache
def kinds_with_agents() -> frozenset[str]:
    """Return the names of the kinds that have an agents part, without loading any."""
    names = (entry.name for entry in entry_points(group=GROUP))
    return frozenset(name.removesuffix(ENDING) for name in names if name.endswith(ENDING))


@cache
def agents_parts() -> dict[str, AgentsPart]:
    """Return the agents part of every kind that has one, by kind, ours and those of other packages."""
    return {part.kind: part for part in registered(GROUP, AgentsPart, ENDING)}


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
