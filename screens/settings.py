"""Settings that the screens read; workbench.config loads them from the [screens] table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any, ClassVar

from textual.theme import BUILTIN_THEMES

from screens.commands import DIALOGS, CommandScope, all_commands, command_named, commands_of, label_key

DEFAULT_REASONS = {
    "w": "wrong result",
    "b": "boundary case",
    "i": "incomplete",
    "c": "different reading of query",
    "t": "test is wrong",
    "h": "needs missing context",
    "x": "other",
}

DEFAULT_UNDECIDED = {
    "w": "query unclear",
    "h": "needs missing context",
    "i": "beyond my knowledge",
    "x": "other",
}


MOST_SEEN_SECONDS = 10.0
"""No line is slower than that."""

_SPARE_KEYS = tuple(f"f{number}" for number in range(2, 13))
"""Keys that no action has, as examples of other ones."""


def _is_judging_key(key: str) -> bool:
    """Return whether a key may record something: one lower-case letter or digit."""
    return len(key) == 1 and key.isascii() and (key.islower() or key.isdigit())


class SettingRefused(ValueError):
    """A setting has a value that it cannot have.

    Attributes:
        name: The setting, in a table of settings with what it is called there, after a dot; empty where
            several do not go together.
    """

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    """How the app looks and which keys it listens to.

    A plain dataclass, for which pydantic need not be imported where nothing is configured.

    Raises:
        SettingRefused: A value is none that its setting can have.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "use_attribute_docstrings": True}

    theme: str = "textual-dark"
    """The name of a Textual theme; `ansi-dark` style themes use the terminal's own colours."""

    keys: dict[str, str] = field(default_factory=dict)
    """Other keys for actions, by action id: `"review.accept" = "l"`; several keys are separated by commas."""

    reasons: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_REASONS))
    """Reasons of an override, by their one-key codes."""

    undecided: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_UNDECIDED))
    """Reasons for "cannot decide", by their one-key codes."""

    wrap: bool = False
    """Whether long lines of code are wrapped when a pane opens; words and logs always are."""

    line_numbers: bool = True
    """Whether code panes show line numbers."""

    seen_seconds: float | None = None
    """Seconds after an item reached the terminal in which no key judges it; 0.05 if nothing is given. Where
    a multiplexer on the far side of a slow line answers in the terminal's place (tmux, mosh), give the
    line's round trip."""

    blind: bool = False
    """Whether the agents' labels and other raters' records are kept out of what is shown."""

    reveal_after_answer: bool = False
    """Whether a review is blind until the own answer to an item is recorded, and then shows what was hidden
    of it; lists and reports stay blind."""

    repositories: Path | None = None
    """The folder with clones or archives of the repositories that pieces of context are from, each as
    `OWNER/NAME`, `NAME` or `OWNER__NAME`. A relative path counts from the current folder."""

    def __post_init__(self) -> None:
        """Refuse what a setting cannot be, and keys with two meanings."""
        if self.reveal_after_answer:
            object.__setattr__(self, "blind", True)
        if self.theme not in BUILTIN_THEMES:
            themes = ", ".join(sorted(BUILTIN_THEMES))
            raise SettingRefused(f"no theme is called {self.theme!r}; there are {themes}", "theme")
        if not 0 <= (self.seen_seconds or 0) <= MOST_SEEN_SECONDS:
            raise SettingRefused(f"seconds from 0 to {MOST_SEEN_SECONDS:g} are meant", "seen_seconds")
        for name in ("reasons", "undecided"):
            for code in getattr(self, name):
                if not _is_judging_key(code):
                    raise SettingRefused(f"{code!r}: a reason's code is one lower-case letter or digit", name)
        if self.keys or self.reasons != DEFAULT_REASONS or self.undecided != DEFAULT_UNDECIDED:
            self.check_keys()

    def check_keys(self) -> None:
        """Refuse keys of unknown actions, and keys that mean two things.

        Raises:
            SettingRefused: There is such a key.
        """
        known = {command.id: command for command in all_commands()}
        unknown = sorted(set(self.keys) - set(known))
        if unknown:
            raise SettingRefused(f"no action is called {', '.join(unknown)}; `workbench doctor` lists them")
        taken = self._taken("review", "text", "app")
        self._taken("adjudicate", "text", "app")
        self._taken("home", "app")
        self._taken("queue", "list", "app")
        self._taken("jobs", "app")
        self._taken("file", "text", "app")
        for scopes in DIALOGS:
            self._taken(*scopes)
        # Looked up only where keys are changed: what it names is not needed at a start.
        from screens.queue.fields import ORDERS

        letters = {order.letter: f"the letter of {order.title!r}" for order in ORDERS}
        for key, command_id in self._taken("order").items():
            if key in letters:
                raise SettingRefused(f"the key {key!r} would be both {letters[key]} and {command_id}")
        self._check_codes(taken)

    def _check_codes(self, taken: Mapping[str, str]) -> None:
        """Refuse codes of reasons that are keys of the review too, naming both sides and what is free."""
        tables = {"reasons": self.reasons, "undecided": self.undecided}
        both = [
            (name, code)
            for name, codes in tables.items()
            for code in codes
            if code in taken and not self._is_left_to_codes(code, taken[code])
        ]
        if not both:
            return
        free = [
            code
            for code in ascii_lowercase + digits
            if not (code in taken or any(code in codes for codes in tables.values()))
        ]
        problems = []
        spare = (key for key in _SPARE_KEYS if key not in taken)
        spare_codes = iter(free[::-1])
        for name, code in both:
            command = next(each for each in all_commands() if each.id == taken[code])
            ways = []
            if free:
                ways.append(f"give the reason a free letter or digit in [screens.{name}] ({' '.join(free)})")
            if other := next(spare_codes if command.judging else spare, ""):
                ways.append(
                    f'give the action another key in [screens.keys], such as "{command.id}" = "{other}"'
                )
            problems.append(
                f"{code!r} is the code of the reason {tables[name][code]!r} ([screens.{name}]) and the key "
                f"of {command.id} ({command.label}). Change one: {', or '.join(ways) or 'no key is free'}"
            )
        raise SettingRefused("; ".join(problems), ".".join(both[0]))

    def _is_left_to_codes(self, key: str, command_id: str) -> bool:
        """Return whether a key is a code while a reason is asked for, and that of a command otherwise."""
        if command_id in self.keys:
            return False
        is_value = _is_value(command_id) and key.isalpha()
        return is_value or key in DEFAULT_REASONS or key in DEFAULT_UNDECIDED

    def _taken(self, *scopes: CommandScope) -> dict[str, str]:
        """Return the action of every key that listens at one time; a key that means two things is refused."""
        taken: dict[str, str] = {}
        for command in commands_of(*scopes):
            for key in map(str.strip, self.keys.get(command.id, command.key).split(",")):
                if key in taken and not self._may_share(taken[key], command.id):
                    raise SettingRefused(f"the key {key!r} would be both {taken[key]} and {command.id}")
                if command.judging and not _is_judging_key(key):
                    raise SettingRefused(
                        f"{command.id} records: its key is a lower-case letter or digit, not {key!r}"
                    )
                taken[key] = command.id
        return taken

    def _may_share(self, one: str, other: str) -> bool:
        """Return whether two commands may have a key together: a value of a scale, and what it is without."""
        as_made = one not in self.keys and other not in self.keys
        return as_made and _is_value(one) != _is_value(other)


def _is_value(command_id: str) -> bool:
    """Return whether a command answers a question."""
    return label_key(command_named(command_id)) is not None
