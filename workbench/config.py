"""The configuration: one TOML file and the environment, composed of the settings that each floor reads.

A value is taken from the environment (`WORKBENCH_RATER`, `WORKBENCH_SCREENS__THEME`), else from the file,
else it is the default. A key that nothing reads is an error: a misspelt setting must not go unseen.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from agents.code_search.settings import SearchSettings
from agents.github.settings import GitHubSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.settings import RetrievalSettings
from agents.sandbox.settings import SandboxSettings
from agents.settings import AgentSettings
from screens.settings import ScreenSettings, SettingRefused
from store.errors import WorkbenchError
from workbench.config_path import FILE_VARIABLE, PREFIX, config_path
from workbench.toml_lines import line_of

if TYPE_CHECKING:
    Screens = ScreenSettings
else:
    # The environment is looked through for the fields of what pydantic made, not for a plain dataclass's.
    Screens = checked(frozen=True)(ScreenSettings)

CONFIG_HINT = (
    "docs/configuration.md describes every setting; `workbench doctor` shows where each value comes from."
)


class Config(BaseModel):
    """All settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    rater: str | None = None
    """Your name as a rater. Unset: your login name. A blank name means that nothing can be judged."""

    workspace: Path | None = None
    """The workspace that `workbench` opens when it is given none. Unset: workbench.duckdb in the current
    folder. A relative path counts from the current folder."""

    screens: Screens = Field(default_factory=Screens)
    """How the app looks and which keys it has."""

    agents: AgentSettings = Field(default_factory=AgentSettings)
    """How the agents work through items."""

    models: ModelSettings = Field(default_factory=ModelSettings)
    """How language models are reached."""

    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    """Limits of test programs, and where the tools that contain them are."""

    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """How queries and codes are encoded for retrieval."""

    search: SearchSettings = Field(default_factory=SearchSettings)
    """How repositories are searched."""

    github: GitHubSettings = Field(default_factory=GitHubSettings)
    """Access to GitHub."""


class _Environment(BaseSettings, Config):
    """Says how pydantic-settings reads the variables; only its source is used, never an instance."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting with its value and origin.

    Attributes:
        name: Its dotted name, such as "screens.theme".
        value: Its value as text; "set" for a secret.
        origin: Where the value comes from: a variable, a line of the file, or the default.
    """

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration with where it came from.

    Attributes:
        config: The settings.
        path: The file that was read, or would have been.
        found: Whether there is such a file.
        settings: Every setting with its origin, in the order of the fields.
        unread: Variables that look like ours and that nothing reads.
    """

    config: Config
    path: Path
    found: bool
    settings: tuple[Setting, ...]
    unread: tuple[str, ...]


def load_config(given: Path | None = None) -> LoadedConfig:
    """Read the file and the environment.

    Args:
        given: The file of --config; it must be there, as that of $WORKBENCH_CONFIG must.

    Raises:
        WorkbenchError: A file cannot be read, or a setting is unknown or wrong; it names file, line and key.
    """
    path = config_path(given)
    text = _read(path, wanted=given is not None or bool(os.environ.get(FILE_VARIABLE)))
    from_file = _rooted(_parse(path, text or ""), path.parent)
    from_environment = _environment()
    try:
        # The file says what it means: "8" is not a number there. Variables are text and are read kindly.
        Config.model_validate_json(json.dumps(from_file, default=str), strict=True)
    except ValidationError as error:
        raise _explained(error, path, text or "", {}) from error
    try:
        config = Config.model_validate(_merged(from_file, from_environment))
    except ValidationError as error:
        raise _explained(error, path, text or "", from_environment) from error
    return LoadedConfig(
        config=config,
        path=path,
        found=text is not None,
        settings=tuple(_settings(config, path, text or "", from_file, from_environment)),
        unread=tuple(_unread()),
    )


def _read(path: Path, *, wanted: bool) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not wanted:
            return None
        raise WorkbenchError(
            "No configuration file", f"There is no file {path}.", "Make it, or leave the option out."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(
            "Configuration not readable",
            f"{path}: {error}",
            "It must be a UTF-8 text file that you may read.",
        ) from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorkbenchError("Configuration is not TOML", f"{path}: {error}.", CONFIG_HINT) from error


def _rooted(from_file: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Let the paths of prompts count from the folder of the file."""
    agents = from_file.get("agents")
    if not isinstance(agents, dict):
        return from_file
    own = agents.get("configurations")
    tables = [agents, *(own.values() if isinstance(own, dict) else ())]
    for table in tables:
        prompts = table.get("prompts") if isinstance(table, dict) else None
        if isinstance(prompts, dict):
            for name, file in prompts.items():
                if isinstance(file, str):
                    prompts[name] = str(folder.absolute() / Path(file).expanduser())
    return from_file


def _environment() -> dict[str, Any]:
    try:
        return EnvSettingsSource(_Environment)()
    except SettingsError as error:
        raise WorkbenchError(
            "Configuration not understood",
            f"Environment: {error}.",
            "Tables are given as JSON there. " + CONFIG_HINT,
        ) from error


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(under[name], over[name])
        for name in under.keys() & over.keys()
        if _tables(under, over, name)
    }
    return {**under, **over, **both}


def _tables(under: Mapping[str, Any], over: Mapping[str, Any], name: str) -> bool:
    return isinstance(under[name], Mapping) and isinstance(over[name], Mapping)


def _explained(
    error: ValidationError, path: Path, text: str, environment: Mapping[str, Any]
) -> WorkbenchError:
    """Turn pydantic's errors into one that names file, line and key, and what is allowed."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        place = tuple(str(part) for part in problem["loc"])
        refused = problem.get("ctx", {}).get("error")
        if isinstance(refused, SettingRefused) and refused.name:
            place = (*place, *refused.name.split("."))
        if _within(environment, place):
            where = variable(place)
        else:
            number = line_of(text, place)
            where = f"{path}, line {number}" if number else str(path)
        lines.append(f"{where}: {'.'.join(place)}: {_reason(problem['type'], problem['msg'], place)}")
    return WorkbenchError("Configuration not understood", "\n".join(lines), CONFIG_HINT)


def _reason(kind: str, message: str, place: tuple[str, ...]) -> str:
    if kind not in ("extra_forbidden", "unexpected_keyword_argument"):
        return message.removeprefix("Value error, ")
    allowed = sorted(fields_of(place[:-1]))
    close = difflib.get_close_matches(place[-1], allowed, n=1)
    return (
        "there is no such setting"
        + (f"; did you mean {close[0]}?" if close else "")
        + f" (here: {', '.join(allowed)})"
    )


def fields_of(place: tuple[str, ...]) -> list[str]:
    """Return the names of the settings of a table, given by its place in the file."""
    model: Any = Config
    for part in place:
        if typing.get_origin(model) is dict:
            # A table with names of the user's own, each for a table of settings.
            model = typing.get_args(model)[1]
        else:
            model = typing.cast("type", fields(model)[part].annotation)
    return list(fields(model))


@cache
def fields(model: type) -> dict[str, FieldInfo]:
    """Return the settings of a table by name, whether it is a model or made of a plain dataclass."""
    if issubclass(model, BaseModel):
        return dict(model.model_fields)
    described = TypeAdapter(model.__mro__[1]).json_schema()["properties"]
    made: dict[str, FieldInfo] = model.__pydantic_fields__  # type: ignore[attr-defined]
    for name, field in made.items():
        field.description = described[name].get("description")
    return made


def is_table(kind: object) -> bool:
    """Return whether a setting's type is a table of settings of its own."""
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))


def variable(place: tuple[str, ...]) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + "__".join(place).upper()


def _within(tree: Mapping[str, Any], place: tuple[str, ...]) -> bool:
    found: Any = tree
    for part in place:
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    return True


def _settings(
    config: Config, path: Path, text: str, from_file: Mapping[str, Any], environment: Mapping[str, Any]
) -> Iterator[Setting]:
    for place, value in leaves(config):
        if _within(environment, place):
            origin = variable(place)
        elif _within(from_file, place):
            number = line_of(text, place)
            origin = f"{path}:{number}" if number else str(path)
        else:
            origin = "default"
        yield Setting(".".join(place), _shown(value), origin)


def leaves(model: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every setting of a model of settings with its place, in the order of the fields."""
    kind: type = type(model)
    for name in fields(kind):
        value = getattr(model, name)
        if is_table(type(value)):
            yield from leaves(value, (*place, name))
        else:
            yield (*place, name), value


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        return "set"
    if value is None:
        return ""
    if isinstance(value, dict | bool):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value.model_dump(exclude_unset=True)


def _unread() -> Iterator[str]:
    known = {FILE_VARIABLE}
    for name in Config.model_fields:
        inner = Config.model_fields[name].annotation
        nested = is_table(inner)
        known |= {variable((name,))} | (
            {variable((name, each)) for each in fields_of((name,))} if nested else set()
        )
    for given in sorted(os.environ):
        upper = given.upper()
        if upper.startswith(PREFIX) and not any(
            upper == name or upper.startswith(name + "__") for name in known
        ):
            yield given
