"""The line at the foot that names the keys of a screen, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from rich.cells import cell_len
from textual.content import Content
from textual.keys import key_to_character
from textual.widgets import Static

from screens.commands import Command, command_named, commands_of
from screens.help import key_name, keys_of
from screens.widgets.text.sanitize import one_line
from screens.workbench_screen import WorkbenchScreen

TWO_LINES = 120
"""Cells from which the keys may fill two lines."""

FEWEST_ON_A_LINE = 3
"""With fewer keys on its last line, the key line leaves out those of every screen, and that line."""

ALL_ROWS = 4
"""Lines that a key line which names every key may fill at most."""

CHOICE_ROWS = 4
"""Lines that keys offered in place of the screen's may take at most."""

_GAP = " · "
LAST = "app.help"
"""The command that is named last, whatever else is left out."""


class KeyLine(Static):
    """Names the keys of its `WorkbenchScreen`, the most important first, and last the one that lists all.

    Args:
        names_all: Whether it takes as many lines as all the keys need, however narrow the terminal is.

    A key that the screen does not offer at the moment (`CommandState`) is left out; pressed, it says why
    nothing happens.
    """

    DEFAULT_CSS = """
    KeyLine { width: 1fr; height: auto; padding: 0 1; color: $text-muted; }
    """

    HAS_FIXED_HEIGHT: ClassVar[bool] = False
    """Whether it has its lines however few keys there are."""

    def __init__(self, *, names_all: bool = False) -> None:
        super().__init__()
        self._names_all = names_all
        self._choices: tuple[tuple[str, str], ...] = ()

    def on_mount(self) -> None:
        """Follow changes of what the screen offers."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())

    def on_resize(self) -> None:
        """Lay the line out."""
        self.show_keys()
        # A refresh requested while a screen is laid out is lost with that layout.
        self.call_after_refresh(self.refresh, layout=True)

    def show_keys(self) -> None:
        """Name the keys that the screen offers now."""
        self.update(Content("\n").join(Content(_GAP).join(map(_styled, line)) for line in self.lines()))

    @property
    def _screen(self) -> WorkbenchScreen:
        return cast(WorkbenchScreen, self.screen)

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """The keys offered in place of the screen's, with what they do."""
        return self._choices

    def offer(self, choices: Sequence[tuple[str, str]]) -> None:
        """Name other keys in place of the screen's: codes of which one can be pressed, keys of an open line.

        Args:
            choices: Keys with what they do, the last of them always named; none: name the screen's again.
        """
        if tuple(choices) != self._choices:
            self._choices = tuple(choices)
            self.show_keys()

    def lines(self) -> list[list[tuple[str, str]]]:
        """Return the keys with their labels, a list for each line."""
        if self._choices:
            width = max(20, self.size.width)
            named = [(key, one_line(words, width // 2)) for key, words in self._choices]
            return fitted(named[:-1], named[-1], width, self._choice_rows_most())
        pairs = self._pairs()
        last = self._last
        lines = fitted(pairs, last, self.size.width, self._rows_most())
        if self.HAS_FIXED_HEIGHT and len(lines) > 1 == len(lines[-1]):
            # A line of its own for the last key looks forgotten.
            return fitted(pairs, last, self.size.width, len(lines) - 1)
        is_whole = self._names_all or self.HAS_FIXED_HEIGHT
        if is_whole or len(lines) == 1 or len(lines[-1]) >= FEWEST_ON_A_LINE:
            return lines
        own = [self._named(command) for command in self._offered() if command.scope != "app"]
        return fitted(own, last, self.size.width, 1)

    def _rows_most(self) -> int:
        """Return the lines that the keys may fill."""
        if self._names_all:
            return ALL_ROWS
        return 2 if self.app.size.width >= TWO_LINES else 1

    def _choice_rows_most(self) -> int:
        """Return the lines that keys offered in place of the screen's may fill."""
        return CHOICE_ROWS

    def _offered(self) -> list[Command]:
        """Return the commands to name: the screen's, then those of every screen."""
        state, scope = self._screen.command_state, self._screen.SCOPE
        # The agents' work is kept from a rater of an open study.
        is_refused = self._screen.context.study is not None
        return [
            command
            for command in (*commands_of(scope), *commands_of("app"))
            if command.on_line
            and command.id != LAST
            and state.offers(command)
            and not (is_refused and command.action == "show_jobs")
            and self._keys_to_press(command)
            and (command.scope == scope or command.action != f"show_{scope}")
        ]

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the keys to name with what they do, the most important first."""
        return [self._named(command) for command in self._offered()]

    @property
    def _last(self) -> tuple[str, str] | None:
        """The key that lists all of them; None where each of its keys would be typed."""
        command = command_named(LAST)
        return self._named(command) if self._keys_to_press(command) else None

    def _named(self, command: Command) -> tuple[str, str]:
        return key_name(self._keys_to_press(command)[0]), self._screen.command_state.label_now(command)

    def _keys_to_press(self, command: Command) -> list[str]:
        """Return the keys of a command, the one to name first; none where each of them would be typed."""
        settings = self._screen.context.settings
        keys = self._screen.command_state.keys_now(command) or keys_of(command, settings).split(",")
        focused, keys = self.screen.focused, [key.strip() for key in keys]
        if focused is None:
            return keys
        return [key for key in keys if not focused.check_consume_key(key, key_to_character(key))]


def fitted(
    pairs: Sequence[tuple[str, str]], last: tuple[str, str] | None, width: int, rows: int
) -> list[list[tuple[str, str]]]:
    """Lay keys out in lines.

    Args:
        pairs: Keys with their labels, the most important first.
        last: The key that comes last whatever else is left out; None for none.
        width: Cells of a line.
        rows: Lines at most.

    Returns:
        The lines, each a list of keys with labels.
    """
    lines: list[list[tuple[str, str]]] = [[]]
    # Room for the last key is held free on the last line that may be used.
    free = width
    room = 0 if last is None else _cells(last) + len(_GAP)
    for position, pair in enumerate([*pairs, last] if last is not None else pairs):
        closing = position == len(pairs)
        needs = _cells(pair) + (len(_GAP) if lines[-1] else 0)
        held = 0 if closing or len(lines) < rows else room
        if needs + held > free and len(lines) < rows and lines[-1]:
            lines.append([])
            free = width
            needs = _cells(pair)
            held = 0 if closing or len(lines) < rows else room
        if needs + held <= free or closing:
            lines[-1].append(pair)
            free -= needs
    return lines


def _cells(pair: tuple[str, str]) -> int:
    return cell_len(pair[0]) + 1 + cell_len(pair[1])


def _styled(pair: tuple[str, str]) -> Content:
    return Content.assemble((pair[0], "bold $foreground"), f" {pair[1]}")
