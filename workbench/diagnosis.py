"""The findings of `workbench doctor` about the program and its environment, without secrets."""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import shutil
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from store.errors import WorkbenchError
from store.formats.protocol import GROUP as FORMATS
from store.formats.protocol import Format
from store.kinds.spec import GROUP as KINDS
from store.plugins import fault
from workbench import __version__
from workbench.config import Config, LoadedConfig, load_config
from workbench.config_path import config_path
from workbench.rater import rater_name
from workbench.sample import allowed_programs
from workbench.start import in_terminal

GROUPS = (
    "workbench.formats",
    "workbench.models",
    "workbench.sandboxes",
    "workbench.measures",
    "workbench.reports",
    "workbench.works",
    KINDS,
)
PARTS = ("store", "screen", "agents")
"""The parts of a kind: its items and questions, its review screen, and its agents."""

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def diagnose(given: Path | None) -> dict[str, Any]:
    """Return all findings but the workspace's health.

    Args:
        given: The file of --config.

    Returns:
        JSON-able facts; "problems" is a list of sentences, empty when all is well.
    """
    problems: list[str] = []
    loaded: LoadedConfig | None = None
    try:
        loaded = load_config(given)
    except WorkbenchError as error:
        problems.append(f"{error.title}: {error.message} {error.hint}")
    config = loaded.config if loaded else Config()
    rater: str | None = None
    try:
        rater = rater_name(None, config)
    except WorkbenchError as error:
        problems.append(f"{error.title}: {error.message} {error.hint}")
    registered = {group: [_entry(entry) for entry in _entries(group)] for group in GROUPS}
    for group, found in registered.items():
        problems += [
            f"{group}: {one['name']} cannot be loaded: {one['error']}" for one in found if one["error"]
        ]
    boxes = asyncio.run(sandbox_checks(config))
    if not any(box["works"] for box in boxes):
        problems.append("No sandbox works here: test programs cannot be run.")
    return {
        "workbench": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "rater": rater,
        "configuration": {
            "file": str(loaded.path if loaded else config_path(given)),
            "found": loaded.found if loaded else None,
            "settings": [_setting(one.name, one.value, one.origin) for one in loaded.settings]
            if loaded
            else [],
            "unread_variables": list(loaded.unread) if loaded else [],
        },
        "terminal": _terminal(),
        "keys_set": _keys(config),
        "sandboxes": boxes,
        "registered": registered,
        "kinds": kinds(),
        "actions": actions(config),
        "problems": problems,
    }


def _setting(name: str, value: str, origin: str) -> dict[str, str]:
    return {"name": name, "value": value, "origin": origin}


def _entries(group: str) -> list[EntryPoint]:
    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def _entry(entry: EntryPoint) -> dict[str, str]:
    expected = Format if entry.group == FORMATS else object
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else ""
    return {"name": entry.name, "value": entry.value, "package": package, "error": fault(entry, expected)}


def kinds() -> list[dict[str, Any]]:
    """Return the kinds of work: which parts each has, and what is asked of its items."""
    from store.kinds.spec import task_kinds

    try:
        known = task_kinds()
    except WorkbenchError:
        # Which of them cannot be loaded is listed with what is registered.
        return []
    names = [entry.name for entry in _entries(KINDS)]
    return [
        {
            "name": kind.name,
            "items": kind.plural,
            "parts": [part for part in PARTS if f"{kind.name}.{part}" in names],
            "questions": [spec.name for spec in kind.every_question],
        }
        for kind in known.values()
    ]


async def sandbox_checks(config: Config) -> list[dict[str, Any]]:
    """Try every sandbox out; JSON-able."""
    from agents.sandbox.registry import find_sandbox, sandboxes

    found = []
    for name in sandboxes():
        try:
            sandbox = find_sandbox(name, config.sandbox, allowed_programs())
            check = await sandbox.check()
            await sandbox.close()
        except (ImportError, AttributeError) as error:
            found.append({"name": name, "works": False, "detail": str(error), "hint": "Install it again."})
        else:
            found.append({"name": name, "works": check.works, "detail": check.detail, "hint": check.hint})
    return found


def _keys(config: Config) -> dict[str, str]:
    """Return the origin of each service's key, never the key."""
    configured = {"openai": config.models.openai_api_key, "anthropic": config.models.anthropic_api_key}
    return {
        service: "configuration" if configured[service] else name if os.environ.get(name) else ""
        for service, name in KEYS.items()
    }


def _terminal() -> dict[str, Any]:
    from rich.console import Console

    size = shutil.get_terminal_size()
    encoding = sys.stdout.encoding or ""
    return {
        "is_terminal": in_terminal(),
        "columns": size.columns,
        "lines": size.lines,
        "term": os.environ.get("TERM", ""),
        "colours": Console().color_system or "none",
        "no_color": bool(os.environ.get("NO_COLOR")),
        "encoding": encoding,
        "unicode": "utf" in encoding.lower() and "utf" in locale.getpreferredencoding(False).lower(),
        "over_ssh": "SSH_CONNECTION" in os.environ,
        "in_tmux": "TMUX" in os.environ,
        # No terminal can be asked for these without an answer that lands among the keys.
        "bracketed_paste": "unknown",
        "clipboard_osc52": "unknown",
    }


def actions(config: Config) -> list[dict[str, Any]]:
    """Return every action with its id and the keys it has under this configuration."""
    from screens.commands import all_commands

    return [
        {
            "id": command.id,
            "keys": [key.strip() for key in config.screens.keys.get(command.id, command.key).split(",")],
            "changed": command.id in config.screens.keys,
            "help": command.help,
        }
        for command in all_commands()
    ]
