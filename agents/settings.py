"""The settings of the agents' jobs: the section `agents` of the configuration, and of one job."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from agents.jobs.budget import Budget
from agents.jobs.limits import LimitSettings
from agents.llm.settings import ModelSettings
from agents.pipelines.configurations import OURS
from agents.pipelines.registry import agents_part
from agents.pipelines.spec import Configuration
from agents.prompts import read_prompt
from agents.sandbox.settings import SandboxSettings
from store.errors import UnknownName

OUR_PROMPTS = tuple(dict.fromkeys(name for each in OURS.values() for name in each.prompts.values()))
"""The names of the prompts that come with the program."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class RoleSettings(BaseModel):
    """The model and temperature of one role; unset ones are those of all roles."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """The model that this role asks. Unset: `agents.model`, or that of the command line."""

    temperature: float | Literal["default"] | None = None
    """Its sampling temperature, from 0 to 2; "default" leaves it to the service. Unset:
    `models.temperature`."""

    @field_validator("temperature", mode="before")
    @classmethod
    def _number_or_default(cls, value: object, info: ValidationInfo) -> object:
        # One sentence here, where the union's own errors would be one for each of its types.
        if value is None or (isinstance(value, str) and value.strip().lower() in {"", "default"}):
            return (value or "").strip().lower() or None
        # As everywhere, a number is text in a variable and not in the file, which is checked as JSON.
        if isinstance(value, float | int) or (isinstance(value, str) and info.mode != "json"):
            with suppress(ValueError):
                if 0 <= float(value) <= 2:
                    return float(value)
        raise ValueError('give a number from 0 to 2, or "default"')


class RoleTable(BaseModel):
    """Models and temperatures of single roles, where one model for all is not wanted."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    annotator: RoleSettings = RoleSettings()
    """The one model of the configuration `single`."""

    screener: RoleSettings = RoleSettings()
    """Says which pairs are clear."""

    test_writer: RoleSettings = RoleSettings()
    """Writes the test programs."""

    simulated_executor: RoleSettings = RoleSettings()
    """Predicts what a test program would do, in the configuration `ps-tpg-sim-fa`."""

    bug_fixer: RoleSettings = RoleSettings()
    """Writes the commands that repair what a program lacks."""

    test_correction: RoleSettings = RoleSettings()
    """Corrects a slip of the test writer, in the configuration `full`. Unset: as the test writer."""

    arbiter: RoleSettings = RoleSettings()
    """Rules on what the screener found unclear."""

    judge: RoleSettings = RoleSettings()
    """Says which of two candidates is better, in both orders."""

    completer: RoleSettings = RoleSettings()
    """Completes code at a cursor; its temperature is that of the decoding."""

    issue_screener: RoleSettings = RoleSettings()
    """Decides whether an issue can become a question."""

    question_writer: RoleSettings = RoleSettings()
    """Writes questions from issues. Temperature unset: 0.8."""

    reference_writer: RoleSettings = RoleSettings()
    """Writes reference answers from issues and their comments. Temperature unset: 0.8."""

    answerer: RoleSettings = RoleSettings()
    """Answers questions about repositories. Temperature unset: 0.2."""

    answer_judge: RoleSettings = RoleSettings()
    """Scores answers to questions about repositories. Temperature unset: 0.2."""

    def given(self) -> dict[str, RoleSettings]:
        """Return the settings of the roles that have any."""
        roles = {role: getattr(self, role) for role in type(self).model_fields}
        return {role: own for role, own in roles.items() if own != RoleSettings()}

    def over(self, under: RoleTable) -> dict[str, RoleSettings]:
        """Return the settings of this table or, where unset, of another one, by role."""
        merged = {role: own.model_dump(exclude_none=True) for role, own in under.given().items()}
        for role, own in self.given().items():
            merged[role] = {**merged.get(role, {}), **own.model_dump(exclude_none=True)}
        return {role: RoleSettings(**values) for role, values in merged.items()}


class OwnConfiguration(BaseModel):
    """A configuration of the user's own: one of ours with other models."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    based_on: str = "full"
    """Which agents take part: one of the names that `workbench agents` lists."""

    sentence: str = ""
    """Its purpose, as `workbench agents` prints it."""

    roles: RoleTable = RoleTable()
    """As `agents.roles`, whose settings hold where these are unset."""

    prompts: dict[str, Path] = Field(default_factory=dict)
    """As `agents.prompts`, whose files hold where these are unset."""

    @field_validator("based_on")
    @classmethod
    def _is_ours(cls, value: str) -> str:
        if value not in OURS:
            raise ValueError(f"there is no configuration {value!r}; choose from {', '.join(OURS)}")
        return value

    @model_validator(mode="after")
    def _roles_take_part(self) -> OwnConfiguration:
        active_roles = OURS[self.based_on].roles()
        for role in self.roles.given():
            if role not in active_roles:
                raise ValueError(
                    f"{self.based_on} has no {role}; its roles are {', '.join(active_roles)}. "
                    f"Leave roles.{role} out, or base the configuration on another one"
                )
        return self

    @model_validator(mode="after")
    def _prompts_are_used(self) -> OwnConfiguration:
        used = OURS[self.based_on].prompts.values()
        for name in self.prompts:
            if name not in used:
                raise ValueError(f"{self.based_on} has no prompt {name!r}; its prompts are {', '.join(used)}")
        return self


class AgentSettings(BaseModel):
    """How the agents work through items."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """The model that agents ask when a command names none: "openai:NAME", "anthropic:NAME" or
    "scripted:FILE"."""

    configurations: dict[str, OwnConfiguration] = Field(default_factory=dict)
    """Configurations of your own, each a table `[agents.configurations.NAME]` with `based_on` (one of ours),
    a `sentence`, and models and temperatures of roles as in `agents.roles`."""

    configuration: str = "full"
    """Which agents take part, unless `--agents` says otherwise; `workbench agents` lists the names."""

    concurrency: int = Field(default=8, ge=1, le=256)
    """How many items are worked on at the same time."""

    sandbox: str | None = None
    """Where test programs run: "bubblewrap", "docker" or "process". Unset: bubblewrap where it works, else
    Docker where it works, else a plain process that runs nothing but the shipped sample programs."""

    failures_in_a_row: int = Field(default=20, ge=1)
    """After so many items in a row that failed, a job pauses (or ends, without a screen) and says why."""

    stop_seconds: float = Field(default=5.0, ge=0)
    """How long a stopped job waits for turns under way; what they cost is lost when they are cut off."""

    budget: Budget = Field(default_factory=Budget)
    """The budget of a run, all its jobs together; at the first of these it pauses."""

    limits: LimitSettings = Field(default_factory=LimitSettings)
    """What all works together may use at the same time."""

    roles: RoleTable = RoleTable()
    """Models and temperatures of single roles, in a table each: `[agents.roles.screener]`."""

    prompts: dict[str, Path] = Field(default_factory=dict)
    """Prompts of your own, by the names of those that they replace: `screener = "my_screener.txt"`. A
    relative path counts from the folder of this file. `workbench agents prompts --export DIR` writes ours."""

    @field_validator("prompts")
    @classmethod
    def _prompts_are_ours(cls, value: dict[str, Path]) -> dict[str, Path]:
        for name in value:
            if name not in OUR_PROMPTS:
                raise ValueError(f"there is no prompt {name!r}; choose from {', '.join(OUR_PROMPTS)}")
        return value

    @field_validator("configurations")
    @classmethod
    def _names_are_free(cls, value: dict[str, OwnConfiguration]) -> dict[str, OwnConfiguration]:
        for name in value:
            if name in OURS:
                raise ValueError(f"{name} is one of ours; give yours another name, and base it on {name}")
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name for a configuration; letters, digits, '-', '_' and '.' make one"
                )
        return value

    @field_validator("configuration")
    @classmethod
    def _is_known(cls, value: str, info: ValidationInfo) -> str:
        known = [*OURS, *info.data.get("configurations", {})]
        # Where a configuration is wrong, that is the error to report.
        if value not in known and "configurations" in info.data:
            raise ValueError(f"there is no configuration {value!r}; choose from {', '.join(known)}")
        return value

    def chosen(self, name: str | None) -> tuple[str, dict[str, RoleSettings]]:
        """Resolve the name of a configuration.

        Args:
            name: One of ours or of the user's own; None for the configured one.

        Returns:
            The name of the one of ours that it is, and the settings of roles, also of those without part.

        Raises:
            UnknownName: There is none of that name.
        """
        name = name or self.configuration
        if name in OURS:
            return name, self.roles.over(RoleTable())
        if (own := self.configurations.get(name)) is not None:
            return own.based_on, own.roles.over(self.roles)
        close = difflib.get_close_matches(name, [*OURS, *self.configurations], n=1)
        raise UnknownName(
            "No such configuration",
            f"The agents have no configuration {name!r}" + (f"; did you mean {close[0]}?" if close else "."),
            f"Names: {', '.join([*OURS, *self.configurations])}. See: workbench agents",
        )

    def default_for(self, kind: str) -> str:
        """Return the name of the configuration that works on a kind where none is named.

        It is the configured one or, where that is another kind's, the fullest of the kind.
        """
        names = [each.name for each in agents_part(kind).configurations]
        return self.configuration if self.chosen(None)[0] in names else names[-1]

    def names_for(self, kind: str) -> tuple[str, ...]:
        """Return the names of the configurations that work on a kind, the user's own last."""
        ours = [each.name for each in agents_part(kind).configurations]
        own = [name for name, each in self.configurations.items() if each.based_on in ours]
        return (*ours, *own)

    def models(self) -> tuple[str, ...]:
        """Return the models that are named, each once: that of all roles, and those of single ones."""
        tables = (self.roles, *(own.roles for own in self.configurations.values()))
        of_roles = (role.model for table in tables for role in table.given().values())
        return tuple(dict.fromkeys(model for model in (self.model, *of_roles) if model))

    def prompt_files(self, name: str | None) -> dict[str, Path]:
        """Return the user's files for the prompts of a configuration, by the names of what they replace.

        Args:
            name: The name of a configuration, as for `chosen`.
        """
        based_on, _ = self.chosen(name)
        own = self.configurations.get(name or self.configuration)
        files = {**self.prompts, **(own.prompts if own is not None else {})}
        return {prompt: files[prompt] for prompt in OURS[based_on].prompts.values() if prompt in files}


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings of one job.

    Attributes:
        model: The model, as "provider:name", of every role that `roles` gives none.
        agents: Which agents take part, by the name of a configuration of the kind.
        asked: The name by which it was asked for, where that is a configuration of the user's own.
        roles: Models and temperatures of single roles.
        prompt_files: The user's own prompts, by the names of those that they replace.
        kind: The task kind of the items.
        concurrency: How many items are worked on at the same time.
        limit: At most so many items; None for no limit.
        item_ids: Only these items, in this order; None for all that the run has no verdict on.
        missing_at: Only items on which no run at all had a verdict when this id was made (the workspace's
            `ids` made it); None for all.
        run_id: The run that is to go on; a job whose settings make another one does not begin. None for
            whichever they make.
        sandbox: The sandbox that the user asked for by name; None for the best that works.
        allowed: Digests of the programs that may run without isolation, from the sample's manifest.
        models: How services are reached.
        sandboxes: Limits of test programs.
        failures_in_a_row: See `AgentSettings`.
        stop_seconds: See `AgentSettings`.
        cache: Whether questions that were answered before are answered from the workspace.
        retry_failed: Only items that the run has failed on, and that are not labelled since.
        options: Options of the configuration that are not as by default (`Configuration.options`).
    """

    model: str
    agents: str = "full"
    asked: str = ""
    roles: Mapping[str, RoleSettings] = field(default_factory=dict)
    prompt_files: Mapping[str, Path] = field(default_factory=dict)
    kind: str = "pair"
    concurrency: int = 8
    limit: int | None = None
    item_ids: Sequence[int] | None = None
    missing_at: UUID | None = None
    run_id: UUID | None = None
    sandbox: str | None = None
    allowed: frozenset[str] = frozenset()
    models: ModelSettings = field(default_factory=ModelSettings)
    sandboxes: SandboxSettings = field(default_factory=SandboxSettings)
    failures_in_a_row: int = 20
    stop_seconds: float = 5.0
    cache: bool = True
    budget: Budget = field(default_factory=Budget)
    retry_failed: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def _configuration(self) -> Configuration:
        found = agents_part(self.kind).configuration(self.agents)
        if not self.options:
            return found
        return replace(found, options={**found.options, **self.options})

    def configuration(self) -> Configuration:
        """Return the agents that take part, with the user's own prompts as their files are now.

        Raises:
            UnknownName: The kind has no such configuration.
            WorkbenchError: A file cannot be used.
        """
        own = {name: read_prompt(name, file) for name, file in self.prompt_files.items()}
        return replace(self._configuration, replaced=own) if own else self._configuration

    @property
    def has_repairer(self) -> bool:
        """Whether a bug fixer takes part, unless repairs are switched off."""
        return bool(self._configuration.repairer)

    def active_roles(self) -> tuple[str, ...]:
        """Return the roles that ask a model, in the order of their turns."""
        return self._configuration.roles(repairs=self.sandboxes.repairs)

    def model_of(self, role: str) -> str:
        """Return the model that a role asks, as "provider:name"."""
        return next((own.model for own in self._settings_of(role) if own.model), self.model)

    def temperature_of(self, role: str) -> float | None:
        """Return the temperature at which a role asks; None leaves it to the service."""
        for own in self._settings_of(role):
            if own.temperature is not None:
                return None if own.temperature == "default" else float(own.temperature)
        if self.models.temperature is None:
            return None
        return self._configuration.temperatures.get(role, self.models.temperature)

    def _settings_of(self, role: str) -> list[RoleSettings]:
        """Return the settings of a role, and behind them those of the role that it asks as."""
        names = (role, self._configuration.asks_as.get(role, ""))
        return [self.roles[name] for name in names if name in self.roles]

    def role_choices(self) -> dict[str, tuple[str, float | None]]:
        """Return model and temperature of the roles that ask a model, in the order of their turns."""
        return {role: (self.model_of(role), self.temperature_of(role)) for role in self.active_roles()}


@dataclass(frozen=True, slots=True)
class ExpertRunSettings:
    """The settings of experts' tests.

    Attributes:
        sandbox: The sandbox that the user asked for by name; None for the best that works.
        allowed: Digests of the programs that may run without isolation, from the sample's manifest.
        sandboxes: Limits of test programs.
    """

    sandbox: str | None = None
    allowed: frozenset[str] = frozenset()
    sandboxes: SandboxSettings = field(default_factory=SandboxSettings)
