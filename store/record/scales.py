"""Scales: the values that a question's answer can take, with a word and a key for each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from store.errors import JudgmentRefused


@dataclass(frozen=True, slots=True)
class ScaleValue:
    """One value of a scale.

    Attributes:
        value: The number that is stored and measured.
        word: What it is called, shown beside the number.
        key: The key that gives it: one lower-case letter or digit.
        sign: The text for the number where people read it, such as "A"; the number itself when empty.
    """

    value: float
    word: str
    key: str
    sign: str = ""

    @property
    def shown(self) -> str:
        """The value as people read it: "1 match", "A yes"."""
        return f"{self.sign or format(self.value, 'g')} {self.word}".rstrip()


@dataclass(frozen=True, slots=True)
class Scale:
    """A question's scale: its level of measurement and its values, in order."""

    level: Literal["nominal", "ordinal", "interval"]
    values: tuple[ScaleValue, ...]

    def word(self, value: float | None) -> str:
        """Return a value as "1 match", or "none" where there is no value."""
        if value is None:
            return "none"
        for known in self.values:
            if known.value == value:
                return known.shown
        return f"{value:g}"

    def value_of(self, key: str) -> float | None:
        """Return the value that a key gives; None where it gives none."""
        return next((known.value for known in self.values if known.key == key), None)

    def check(self, value: float) -> float:
        """Return `value`.

        Raises:
            JudgmentRefused: It is not on the scale.
        """
        if any(known.value == value for known in self.values):
            return value
        known_values = ", ".join(self.word(known.value) for known in self.values)
        raise JudgmentRefused(
            "Value off the scale", f"{value:g} is no value of this question.", f"Use one of: {known_values}."
        )

    def to_json(self) -> str:
        """Return the scale as the JSON text of the question table."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Scale:
        """Read a scale from the question table's JSON text."""
        raw: dict[str, Any] = json.loads(text)
        return cls(raw["level"], tuple(ScaleValue(**value) for value in raw["values"]))
