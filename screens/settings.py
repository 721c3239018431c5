"""Settings that the screens read; workbench.config loads them from the [screens] table."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from screens.commands import COMMANDS

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

    wrap: bool = True
    """Whether long lines are wrapped when a pane opens."""

    line_numbers: bool = True
    """Whether code panes show line numbers."""

    blind: bool = False
    """Whether the agents' labels and other raters' records are kept out of what is shown."""

    @field_validator("reasons", "undecided")
    @classmethod
    def _one_key_each(cls, codes: dict[str, str]) -> dict[str, str]:
        for code in codes:
            if len(code) != 1 or not code.isascii() or not (code.islower() or code.isdigit()):
                raise ValueError(f"{code!r}: a reason's code is one lower-case letter or digit")
        return codes

    @model_validator(mode="after")
    def _no_clashes(self) -> ScreenSettings:
        known = {command.id: command for command in COMMANDS}
        unknown = sorted(set(self.keys) - set(known))
        if unknown:
            raise ValueError(f"no action is called {', '.join(unknown)}; `workbench doctor` lists them")
        taken = {
            key.strip(): command.id
            for command in COMMANDS
            if command.scope in ("review", "app")
            for key in self.keys.get(command.id, command.key).split(",")
        }
        for code in {**self.reasons, **self.undecided}:
            if code in taken:
                raise ValueError(f"the reason code {code!r} is the key of {taken[code]}")
        return self
