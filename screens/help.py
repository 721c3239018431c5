"""The list of keys, fed from the catalogue of actions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import Command, Scope, commands_of
from screens.settings import ScreenSettings

_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "ctrl+": "^",
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "shift+": "⇧",
}


def key_name(keys: str) -> str:
    """Return keys as a person reads them: `ctrl+p,question_mark` as `^p ?`."""
    for name, shown in _NAMES.items():
        keys = keys.replace(name, shown)
    return " ".join(part.strip() for part in keys.split(","))


def keys_of(command: Command, settings: ScreenSettings) -> str:
    """Return the keys of a command, after the configuration's key map."""
    return settings.keys.get(command.id, command.key)


class KeysScreen(ModalScreen[None]):
    """What can be done on the screen below, and by which keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close")]
    DEFAULT_CSS = """
    KeysScreen { align: center middle; }
    KeysScreen VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 92%;
        border: round $primary; border-title-color: $text-primary; background: $surface; padding: 0 1;
    }
    KeysScreen Static { height: auto; }
    """

    def __init__(self, scope: Scope, settings: ScreenSettings) -> None:
        super().__init__()
        self._scope: Scope = scope
        self._settings = settings

    def compose(self) -> ComposeResult:
        """Lay out one line a command, the codes of reasons below."""
        with VerticalScroll() as scroll:
            scroll.border_title = f"Keys · {self._scope}"
            scroll.border_subtitle = "Esc closes"
            yield Static(Content("\n".join(self._lines())))

    def _lines(self) -> list[str]:
        lines = []
        if self._scope == "review":
            lines += [f"{'1  0':<12} Judge: the digits are the values of the scale.", ""]
        lines += [self._line(command) for command in commands_of(self._scope)]
        lines += ["", *(self._line(command) for command in commands_of("app"))]
        if self._scope == "review":
            for title, codes in (
                ("Reasons of an override", self._settings.reasons),
                ("Reasons for cannot decide", self._settings.undecided),
            ):
                lines += ["", f"{title}, offered after the key:"]
                lines += [f"  {code:<10} {words}" for code, words in codes.items()]
            lines += ["", "Keys in a text field are text. Keys typed before an item is on the screen,"]
            lines += ["and pasted text, never judge."]
        return lines

    def _line(self, command: Command) -> str:
        return f"{key_name(keys_of(command, self._settings)):<12} {command.help}"
