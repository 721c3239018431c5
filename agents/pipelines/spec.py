"""The agents part of a task kind: its pipeline, in one or more configurations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from store.errors import UnknownName

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.jobs.outcome import Outcome
    from agents.jobs.step_recorder import StepRecorder
    from agents.prompts import Prompt
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run


_NAMED_PROMPTS = 2
"""So many prompts of the user's own are named one by one in the name of a run, which is a rater's, too."""


class WorkItem(Protocol):
    """The item as its pipeline gets it: at least its key and its name.

    Items of a kind whose names are hidden from raters also have a `shown_id`, what screens call them (see
    `store.queries.shown_ids`).
    """

    @property
    def item_id(self) -> int:
        """The key of the item."""
        ...

    @property
    def external_id(self) -> str:
        """The name of the item in the imported file."""
        ...


class Pipeline(Protocol):
    """Works on one item after another, or on many at a time."""

    async def run(self, item: Any, recorder: StepRecorder) -> Sequence[Outcome]:
        """Work on one item.

        Args:
            item: A value that the kind's `load` returned.
            recorder: Asks models, runs programs and repairs environments, and records each step. A step that
                the run has recorded before is not taken again.

        Returns:
            At least one outcome. All of them are recorded together, and the item is done then.

        Raises:
            ModelError: There was no usable reply.
            SandboxError: A program was refused, or the sandbox broke. Like the one before, it is recorded as
                the item's failure, and a later job tries the item again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way of a kind's agents to work together.

    Attributes:
        name: Its name on the command line.
        pipeline: The name of its pipeline, with which the names of its runs and raters begin.
        sentence: The work of its agents.
        prompts: The prompt of every role that asks a model, in the order of their turns; the last role
            gives the label.
        executes: Whether it runs test programs, and so needs a sandbox.
        repairer: The role that repairs what a program lacks, which can be switched off; empty without one.
        asks_as: By role, another one whose model and temperature it has unless it is given its own.
        replaced: The user's own prompts, by the names of those that they replace.
        options: What else makes runs different, by name; here with what it is by default.
        temperatures: The temperatures of roles that are given none; of others it is `models.temperature`.
    """

    name: str
    pipeline: str
    sentence: str
    prompts: Mapping[str, str]
    executes: bool = False
    repairer: str = ""
    asks_as: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, Prompt] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    temperatures: Mapping[str, float] = field(default_factory=dict)

    def load_prompts(self) -> dict[str, Prompt]:
        """Return the prompt of every role that asks a model, in the order of their turns."""
        from agents.prompts import load_prompt

        return {role: self.replaced.get(name) or load_prompt(name) for role, name in self.prompts.items()}

    @property
    def name_of_runs(self) -> str:
        """The first part of the names of its runs: the pipeline, and what else makes them different."""
        options = (value.replace("/", "_") for value in self.options.values() if value)
        return " ".join((self.pipeline, *options))

    @property
    def own_prompts(self) -> str:
        """The user's own prompts for the name of a run, such as "screener@0a1b2c3d"; empty without any."""
        own = [f"{name}@{prompt.digest[:8]}" for name, prompt in sorted(self.replaced.items()) if prompt.file]
        if len(own) <= _NAMED_PROMPTS:
            return ",".join(own)
        digest = hashlib.sha256(" ".join(own).encode()).hexdigest()[:8]
        return f"{len(own)}-prompts@{digest}"

    def roles(self, *, repairs: bool = True) -> tuple[str, ...]:
        """Return the roles that ask a model, in the order of their turns.

        Args:
            repairs: Whether the repairer works.
        """
        return tuple(role for role in self.prompts if repairs or role != self.repairer)


@dataclass(frozen=True, slots=True)
class ExpectedRole:
    """The expected number and length of a role's questions and replies.

    Attributes:
        share: Questions of the role for each item.
        reply_characters: The length of a reply.
    """

    share: float = 1.0
    reply_characters: int = 400


@dataclass(frozen=True, slots=True)
class Workload:
    """The expected work of a pipeline, for an estimate of its cost.

    Attributes:
        roles: By role; a role that is left out asks once for each item.
        facts: Shares that the estimate reports, by name; None where the configuration knows none.
        based_on: Their grounds, in sentences.
        places: The lengths of texts that are known only when a prompt is made, by place, where they are other
            than `AgentsPart.placeholder_characters`.
    """

    roles: Mapping[str, ExpectedRole] = field(default_factory=dict)
    facts: Mapping[str, float | None] = field(default_factory=dict)
    based_on: tuple[str, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunnelLine:
    """A line of the tree that shows the way of a run's items through a pipeline.

    Attributes:
        depth: Its depth in the tree, from 0.
        note: Words behind its bar.
    """

    label: str
    count: int
    depth: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class PipelineFigures:
    """The figures of a run that only its pipeline knows. A blind review shows none of them.

    Attributes:
        numbers: For `--json`, by name.
        facts: Label and text, for people; a text of None is left out.
        columns: By title, for the table of all runs.
        funnel: For the Jobs screen.
        table: Titles and rows of a further table.
    """

    numbers: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[tuple[str, str | None], ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    funnel: tuple[FunnelLine, ...] = ()
    table: tuple[tuple[str, ...], Sequence[tuple[Any, ...]]] = ((), ())


def imported(path: str) -> Callable[..., Any]:
    """Return a function that imports the one of a path, such as "package.module:name", and calls it.

    Whoever looks for the names of pipelines only, as a start does, does not wait for what they import.
    """
    module, _, name = path.partition(":")

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call


@dataclass(frozen=True, slots=True)
class AgentsPart:
    """The agents part of a task kind.

    Attributes:
        kind: The task kind, as items carry it.
        configurations: The ways in which its agents can work, the fullest last, which works where none is
            named; in other packages it is called "full". Of several runs the newest of the fullest is shown
            where none is chosen.
        load: Reads items by id, in the order given; ids of missing items are left out.
        make_pipeline: Makes the pipeline of a configuration over a sandbox (None for a configuration that
            executes nothing) and the settings of executions.
        counts: Reads the figures of a run that the Jobs screen and `annotate` show; called while a job works.
        report: Reads all figures of a run, for `report pipeline`.
        eligible: Given a configuration, returns the keys of items that it can work on; None for all.
        check: Refuses a run that cannot work here, before it begins; None where there is nothing to check.
        paths: The words for how the pipeline comes to a verdict, in the order in which they are listed.
        workload: Given the configuration and the model of each role that takes part, returns what the
            pipeline expects to do; None where each role asks once for each item.
        done: The word for an item with which the pipeline is done.
        placeholder_characters: The lengths of texts that are known only when a prompt is made, by place.
    """

    kind: str
    configurations: tuple[Configuration, ...]
    load: Callable[[Connection, Sequence[int]], Sequence[WorkItem]]
    make_pipeline: Callable[[Configuration, Sandbox | None, SandboxSettings], Pipeline]
    counts: Callable[[Connection, Run, RunFigures], PipelineFigures] | None = None
    report: Callable[[Connection, Run, RunFigures], PipelineFigures] | None = None
    eligible: Callable[[Connection, Configuration], Sequence[int]] | None = None
    check: Callable[[Connection, Configuration], object] | None = None
    paths: tuple[str, ...] = ()
    workload: Callable[[Connection, Configuration, Mapping[str, str]], Workload] | None = None
    done: str = "labelled"
    placeholder_characters: Mapping[str, int] = field(default_factory=dict)

    def fullness(self, name: str) -> int:
        """Return the place of a configuration among those of the kind, from 1.

        Raises:
            UnknownName: There is none of that name.
        """
        self.configuration(name)
        return [each.name for each in self.configurations].index(name) + 1

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
