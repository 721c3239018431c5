"""The registered agents parts of task kinds, ours and those of other packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from agents.pipelines.spec import AgentsPart
from store.errors import UnknownName
from store.plugins import registered

GROUP = "workbench.task_kinds"
ENDING = ".agents"
"""Ends the name of an entry point that is the agents part of the kind named before."""


@cache
def kinds_with_agents() -> frozenset[str]:
    """Return the names of the kinds that have an agents part, without loading any."""
    names = (entry.name for entry in entry_points(group=GROUP))
    return frozenset(name.removesuffix(ENDING) for name in names if name.endswith(ENDING))


@cache
def agents_parts() -> dict[str, AgentsPart]:
    """Return the agents part of every kind that has one, by kind."""
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
