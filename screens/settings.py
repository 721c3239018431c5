"""Settings that the screens read; workbench.config loads them from the [screens] table."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual.theme import BUILTIN_THEMES

from screens.commands import COMMANDS, Scope, commands_of
from store.errors import WorkbenchError
from store.kinds.protocol import task_kinds

DEFAULT_REASONS = {
    "w": "wrong result",
    "b": "boundary case",
    "i": "incomplete",
    "m": "query read otherwise",
    "t": "test at fault",
    "h": "needs what is missing",
    "x": "other",
}

DEFAULT_UNDECIDED = {
    "m": "query unclear",
    "h": "needs what is missing",
    "k": "beyond my knowledge",
    "x": "other",
}


def _is_judging_key(key: str) -> bool:
    """Return whether a key may record something: one lower-case letter or digit."""
    return len(key) == 1 and key.isascii() and (key.islower() or key.isdigit())


class SettingRefused(ValueError):
    """A setting has a value that it cannot have.

    Attributes:
        name: The setting; empty where several do not go together.
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
    """Other keys for actions, by action id: `"review.accept" = "g"`; several keys are separated by commas."""

    reasons: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_REASONS))
    """Reasons of an override, by their one-key codes."""

    undecided: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_UNDECIDED))
    """Reasons for "cannot decide", by their one-key codes."""

    wrap: bool = False
    """Whether long lines of code are wrapped when a pane opens; words and logs always are."""

    line_numbers: bool = True
    """Whether code panes show line numbers."""

    blind: bool = False
    """Whether the agents' labels and other raters' records are kept out of what is shown."""

    def __post_init__(self) -> None:
        """Refuse what a setting cannot be, and keys with two meanings."""
        if self.theme not in BUILTIN_THEMES:
            themes = ", ".join(sorted(BUILTIN_THEMES))
            raise SettingRefused(f"no theme is called {self.theme!r}; there are {themes}", "theme")
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
        known = {command.id: command for command in COMMANDS}
        unknown = sorted(set(self.keys) - set(known))
        if unknown:
            raise SettingRefused(f"no action is called {', '.join(unknown)}; `workbench doctor` lists them")
        taken = self._taken("review")
        for scope in ("home", "queue", "jobs"):
            self._taken(scope)
        for code in {**self.reasons, **self.undecided}:
            if code in taken:
                raise SettingRefused(f"the reason code {code!r} is the key of {taken[code]}")

    def _taken(self, scope: Scope) -> dict[str, str]:
        """Return the action of every key of a screen; a key that means two things is refused."""
        taken: dict[str, str] = {}
        if scope == "review":
            # A kind that cannot be loaded is told by whatever needs it, not by the configuration.
            with suppress(WorkbenchError):
                scales = (kind.questions[0].scale for kind in task_kinds().values())
                taken |= {value.key: "a label" for scale in scales for value in scale.values}
        for command in commands_of(scope, "app"):
            for key in map(str.strip, self.keys.get(command.id, command.key).split(",")):
                if key in taken:
                    raise SettingRefused(f"the key {key!r} would be both {taken[key]} and {command.id}")
                if command.judging and not _is_judging_key(key):
                    raise SettingRefused(
                        f"{command.id} records: its key is a lower-case letter or digit, not {key!r}"
                    )
                taken[key] = command.id
        return taken
