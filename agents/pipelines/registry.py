"""The registered agents parts of task kinds, ours and those of other packages."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from agents.pipelines.spec import AgentsPart, PipelineFigures
from store.errors import UnknownName
from store.kinds.counting import in_order
from store.kinds.spec import GROUP
from store.plugins import registered

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run

ENDING = ".agents"
"""Ends the name of an entry point that is the agents part of the kind named before."""
RESPONDING = ".responses"
"""The same of a part whose pipeline gives items no label: it makes responses to them."""


@cache
def kinds_with_agents() -> frozenset[str]:
    """Return the names of the kinds that agents label, without loading a part."""
    return _kinds_with(ENDING)


@cache
def kinds_with_responses() -> frozenset[str]:
    """Return the names of the kinds that models respond to, without loading a part."""
    return _kinds_with(RESPONDING)


def _kinds_with(ending: str) -> frozenset[str]:
    names = (entry.name for entry in entry_points(group=GROUP))
    return frozenset(name.removesuffix(ending) for name in names if name.endswith(ending))


@cache
def agents_parts() -> dict[str, AgentsPart]:
    """Return the agents part of every kind that has one, by kind."""
    parts = (*registered(GROUP, AgentsPart, ENDING), *registered(GROUP, AgentsPart, RESPONDING))
    return {part.kind: part for part in parts}


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


def done_word(kind: str) -> str:
    """Return the word for an item with which the agents are done; that of most kinds where none are known."""
    part = agents_parts().get(kind)
    return "labelled" if part is None else part.done


def kinds_of_configuration(name: str) -> frozenset[str]:
    """Return the kinds whose agents can work in a configuration of a name."""
    parts = agents_parts().items()
    return frozenset(kind for kind, part in parts if name in [each.name for each in part.configurations])


def verdict_paths(kinds: Collection[str]) -> tuple[str, ...]:
    """Return the words of the pipelines of some kinds for how they come to a verdict."""
    parts = agents_parts()
    known = (parts[kind] for kind in in_order(kinds) if kind in parts)
    return tuple(dict.fromkeys(path for part in known for path in part.paths))


def pipeline_counts(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read the quick figures that only the pipeline of a run knows; none where it is not installed."""
    part = agents_parts().get(run.kind)
    return part.counts(connection, run, figures) if part and part.counts else PipelineFigures()


def pipeline_report(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read all figures that only the pipeline of a run knows; none where it is not installed."""
    part = agents_parts().get(run.kind)
    return part.report(connection, run, figures) if part and part.report else PipelineFigures()
