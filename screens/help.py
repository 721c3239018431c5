"""Keys and commands in words: what a key is called, which key a command has, lines that name keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from screens.commands import Command, all_commands, command_named, label_key

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.record.scales import Scale

_PLACE = re.compile(r"\{([a-z]+\.\w+)\}")
"""Where a sentence names the key of a command."""

_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "ctrl+": "^",
    "space": "Space",
    "plus": "+",
    "minus": "-",
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "shift+": "⇧",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "equals_sign": "=",
}


_FUNCTION_KEY = re.compile(r"f\d+")


def key_name(keys: str) -> str:
    """Return keys as a person reads them: `ctrl+p,question_mark` as `^p ?`."""
    return " ".join(_one_key_name(key.strip()) for key in keys.split(","))


def _one_key_name(key: str) -> str:
    *modifiers, name = key.split("+")
    return "".join(_NAMES.get(f"{each}+", f"{each}+") for each in modifiers) + (
        _NAMES.get(name) or (name.upper() if _FUNCTION_KEY.fullmatch(name) else name)
    )


def keys_of(command: Command, settings: ScreenSettings) -> str:
    """Return the keys of a command, after the configuration's key map."""
    return settings.keys.get(command.id, command.key)


def help_on(command: Command, scale: Scale) -> str:
    """Return what a command does while a scale is asked for; empty where it gives no value of that."""
    key = label_key(command)
    if key is None:
        return command.help
    value = scale.value_of(key)
    return "" if value is None else f"Give the label {scale.word(value)}."


def first_key(settings: ScreenSettings, command_id: str, *, rather: str = "") -> str:
    """Return the first key of a command, as it is configured and as a person reads it.

    Args:
        rather: The key that is returned instead where it is one of the command's.
    """
    command = command_named(command_id)
    keys = [key.strip() for key in keys_of(command, settings).split(",")]
    return key_name(rather if rather in keys else keys[0])


def with_keys(settings: ScreenSettings, text: str) -> str:
    """Return a sentence in which `{app.jobs}`, a command's id, is replaced by that command's first key."""
    known = {command.id for command in all_commands()}
    return _PLACE.sub(lambda found: first_key(settings, found[1]) if found[1] in known else found[0], text)


def hint(settings: ScreenSettings, *parts: tuple[str, str]) -> str:
    """Return a line that names keys: "Enter lists these · ↑↓ line".

    Args:
        parts: The ids of commands, separated by blanks, with what their first keys do.
    """
    return " · ".join(
        "".join(first_key(settings, name) for name in names.split()) + f" {words}" for names, words in parts
    )
