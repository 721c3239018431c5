"""Settings that the screens read; workbench.config loads them from the [screens] table."""

from __future__ import annotations

from contextlib import suppress

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
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


class ScreenSettings(BaseModel):
    """How the app looks and which keys it listens to."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    theme: str = "textual-dark"
    """The name of a Textual theme; `ansi-dark` style themes use the terminal's own colours."""

    keys: dict[str, str] = Field(default_factory=dict)
    """Other keys for actions, by action id: `"review.accept" = "g"`; several keys are separated by commas."""

    reasons: dict[str, str] = Field(default_factory=lambda: dict(DEFAULT_REASONS))
    """Reasons of an override, by their one-key codes."""

    undecided: dict[str, str] = Field(default_factory=lambda: dict(DEFAULT_UNDECIDED))
    """Reasons for "cannot decide", by their one-key codes."""

    wrap: bool = False
    """Whether long lines of code are wrapped when a pane opens; words and logs always are."""

    line_numbers: bool = True
    """Whether code panes show line numbers."""

    blind: bool = False
    """Whether the agents' labels and other raters' records are kept out of what is shown."""

    @field_validator("theme")
    @classmethod
    def _known_theme(cls, theme: str) -> str:
        if theme not in BUILTIN_THEMES:
            raise ValueError(f"no theme is called {theme!r}; there are {', '.join(sorted(BUILTIN_THEMES))}")
        return theme

    @field_validator("reasons", "undecided")
    @classmethod
    def _one_key_each(cls, codes: dict[str, str]) -> dict[str, str]:
        for code in codes:
            if not _is_judging_key(code):
                raise ValueError(f"{code!r}: a reason's code is one lower-case letter or digit")
        return codes

    @model_validator(mode="after")
    def _no_clashes(self) -> ScreenSettings:
        known = {command.id: command for command in COMMANDS}
        unknown = sorted(set(self.keys) - set(known))
        if unknown:
            raise ValueError(f"no action is called {', '.join(unknown)}; `workbench doctor` lists them")
        taken = self._taken("review")
        for scope in ("home", "queue", "jobs"):
            self._taken(scope)
        for code in {**self.reasons, **self.undecided}:
            if code in taken:
                raise ValueError(f"the reason code {code!r} is the key of {taken[code]}")
        return self

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
                    raise ValueError(f"the key {key!r} would be both {taken[key]} and {command.id}")
                if command.judging and not _is_judging_key(key):
                    raise ValueError(
                        f"{command.id} records: its key is a lower-case letter or digit, not {key!r}"
                    )
                taken[key] = command.id
        return taken
