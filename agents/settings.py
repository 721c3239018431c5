"""The settings of the agents' jobs: the section `agents` of the configuration, and what one job is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agents.llm.settings import ModelSettings
from agents.sandbox.settings import SandboxSettings


class RoleSettings(BaseModel):
    """Whom one role of the agents asks; what is unset is as for all roles."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """The model that this role asks. Unset: `agents.model`, or that of the command line."""

    temperature: float | Literal["default"] | None = None
    """Its sampling temperature, from 0 to 2; "default" leaves it to the service. Unset:
    `models.temperature`."""

    @field_validator("temperature")
    @classmethod
    def _in_range(cls, value: float | str | None) -> float | str | None:
        if isinstance(value, float | int) and not 0 <= value <= 2:
            raise ValueError('give a number from 0 to 2, or "default"')
        return value


class AgentSettings(BaseModel):
    """How the agents work through items."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """The model that agents ask when a command names none: "openai:NAME", "anthropic:NAME" or
    "scripted:FILE"."""

    concurrency: int = Field(default=8, ge=1, le=256)
    """How many items are worked on at the same time."""

    sandbox: str | None = None
    """Where test programs run: "bubblewrap", "docker" or "process". Unset: bubblewrap where it works, else
    Docker where it works, else a plain process that runs nothing but the shipped sample programs."""

    failures_in_a_row: int = Field(default=20, ge=1)
    """After so many items in a row that failed, a job pauses (or ends, without a screen) and says why."""

    stop_seconds: float = Field(default=5.0, ge=0)
    """How long a stopped job waits for turns under way; what they cost is lost when they are cut off."""


@dataclass(frozen=True, slots=True)
class AnnotationSettings:
    """What one annotation job is told.

    Attributes:
        model: The model, as "provider:name", of every role that `roles` gives none.
        agents: Which agents take part, by the name of a configuration of the kind.
        roles: Models and temperatures of single roles.
        kind: The task kind of the items.
        concurrency: How many items are worked on at the same time.
        limit: At most so many items; None for no limit.
        item_ids: Only these items, in this order; None for all that the run has no verdict on.
        sandbox: The sandbox that the user asked for by name; None for the best that works.
        allowed: Digests of the programs that may run without isolation, from the sample's manifest.
        models: How services are reached.
        sandboxes: What test programs may use.
        failures_in_a_row: See `AgentSettings`.
        stop_seconds: See `AgentSettings`.
    """

    model: str
    agents: str = "full"
    roles: Mapping[str, RoleSettings] = field(default_factory=dict)
    kind: str = "pair"
    concurrency: int = 8
    limit: int | None = None
    item_ids: tuple[int, ...] | None = None
    sandbox: str | None = None
    allowed: frozenset[str] = frozenset()
    models: ModelSettings = field(default_factory=ModelSettings)
    sandboxes: SandboxSettings = field(default_factory=SandboxSettings)
    failures_in_a_row: int = 20
    stop_seconds: float = 5.0

    def model_of(self, role: str) -> str:
        """Return whom a role asks, as "provider:name"."""
        own = self.roles.get(role)
        return (own.model if own else None) or self.model

    def temperature_of(self, role: str) -> float | None:
        """Return the temperature at which a role asks; None leaves it to the service."""
        own = self.roles.get(role)
        if own is None or own.temperature is None:
            return self.models.temperature
        return None if own.temperature == "default" else float(own.temperature)


@dataclass(frozen=True, slots=True)
class ExpertRunSettings:
    """Where tests run that an expert asks for.

    Attributes:
        sandbox: The sandbox that the user asked for by name; None for the best that works.
        allowed: Digests of the programs that may run without isolation, from the sample's manifest.
        sandboxes: What test programs may use.
    """

    sandbox: str | None = None
    allowed: frozenset[str] = frozenset()
    sandboxes: SandboxSettings = field(default_factory=SandboxSettings)
