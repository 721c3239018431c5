"""The list of keys, fed from the catalogue of actions."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import WHERE, WITHIN, Command, Scope, all_commands, bindings, commands_of, label_key

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.scales import Scale

_KEY_CELLS = 13
"""Cells of a key and the gap after it."""

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
}


_FUNCTION_KEY = re.compile(r"f\d+")

SIGNS = (
    ("●  ○", "You have labelled the item, or not yet."),
    ("◆", "The agents' label."),
    ("✓  ✗  !", "A test passed, failed by an assertion, ended in another error."),
    ("~", "A test passed, but passes on a stub of the code too: it says nothing."),
    ("│", "What the commands of a repair wrote."),
)
"""What the signs of a review mean."""


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


class _KeyList(Static):
    """Lines of keys and words, in which words that need further rows stay below each other."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def on_resize(self) -> None:
        """Wrap the words to the width that there is."""
        rows = (wrap(line, max(self.size.width, 2 * _KEY_CELLS)) for line in self._lines)
        self.update(Content("\n".join(row for wrapped in rows for row in wrapped)))


def wrap(line: str, width: int) -> list[str]:
    """Break a line of the list into rows, the later ones indented like the words of a key."""
    is_key = line[_KEY_CELLS - 1 : _KEY_CELLS] == " "
    indent = " " * _KEY_CELLS if is_key else ""
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


class KeysScreen(ModalScreen[None]):
    """What can be done on the screen below, and by which keys.

    Args:
        scope: The screen below.
        settings: Which keys are other ones.
        asked: The scale of the question that the screen below asks, whose values alone are listed, and the
            other keys of what shares one with them; None where nothing is asked.
    """

    BINDINGS: ClassVar[list[BindingType]] = list(bindings("keys"))
    DEFAULT_CSS = """
    KeysScreen { align: center middle; }
    KeysScreen VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 92%;
        border: round $primary; border-title-color: $text-primary; background: $surface; padding: 0 1;
        scrollbar-size: 1 1;
    }
    KeysScreen Static { height: auto; }
    """

    def __init__(
        self,
        scope: Scope,
        settings: ScreenSettings,
        asked: Scale | None = None,
    ) -> None:
        super().__init__()
        self._scope: Scope = scope
        self._settings = settings
        self._asked = asked

    def compose(self) -> ComposeResult:
        """Lay out one line a command, the codes of reasons below."""
        with VerticalScroll() as scroll:
            scroll.border_title = f"Keys · {self._scope}"
            scroll.border_subtitle = f"↑ ↓ scroll · {hint(self._settings, ('keys.close', 'closes'))}"
            yield _KeyList(self.lines())

    def lines(self) -> list[str]:
        """Return what is listed."""
        own = commands_of(self._scope) if self._scope != "app" else ()
        lines = [line for command in own if (line := self._asked_line(command))]
        lines += ["", *(self._line(command) for command in commands_of("app"))]
        for scope in (*WITHIN.get(self._scope, ()), "keys"):
            lines += ["", f"{WHERE[scope]}:", *(self._line(command) for command in commands_of(scope))]
        if self._scope == "review":
            for title, codes in (
                ("Reasons of an override", self._settings.reasons),
                ("Reasons for cannot decide", self._settings.undecided),
            ):
                lines += ["", f"{title}, offered after the key:"]
                lines += [_row(code, words) for code, words in codes.items()]
            lines += ["", "Signs:", *(_row(sign, words) for sign, words in SIGNS)]
            lines += ["", "Keys in a text field are text. Keys typed before an item is on the screen,"]
            lines += ["and pasted text, never judge."]
        return lines

    def _asked_line(self, command: Command) -> str:
        """Return the line of a command of the screen below; an empty one where it has no key now."""
        if self._asked is None:
            return self._line(command)
        keys = keys_of(command, self._settings)
        if label_key(command) is not None:
            words = help_on(command, self._asked)
            return words and _row(key_name(keys), words)
        free = [key for key in map(str.strip, keys.split(",")) if self._asked.value_of(key) is None]
        return _row(key_name(",".join(free)), command.help) if free else ""

    def _line(self, command: Command) -> str:
        return _row(key_name(keys_of(command, self._settings)), command.help)


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
        settings: Which keys are other ones.
        command_id: The command.
        rather: The key that is returned instead where it is one of the command's.
    """
    command = next(one for one in all_commands() if one.id == command_id)
    keys = [key.strip() for key in keys_of(command, settings).split(",")]
    return key_name(rather if rather in keys else keys[0])


def with_keys(settings: ScreenSettings, text: str) -> str:
    """Return a sentence in which `{app.jobs}`, a command's id, stands for that command's first key."""
    known = {command.id for command in all_commands()}
    return _PLACE.sub(lambda found: first_key(settings, found[1]) if found[1] in known else found[0], text)


def hint(settings: ScreenSettings, *parts: tuple[str, str]) -> str:
    """Return a line that names keys: "Enter lists these · ↑↓ line".

    Args:
        settings: Which keys are other ones.
        parts: The ids of commands, separated by blanks, with what their first keys do.
    """
    return " · ".join(
        "".join(first_key(settings, name) for name in names.split()) + f" {words}" for names, words in parts
    )


def _row(key: str, words: str) -> str:
    return f"{key:<{_KEY_CELLS - 1}} {words}"
