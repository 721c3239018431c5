"""Scales: the values that a question's answer can take, with a word and a key for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from store.errors import JudgmentRefused


@dataclass(frozen=True, slots=True)
class ScaleValue:
    """One value of a scale.

    Attributes:
        value: The number that is stored and measured.
        word: Its name, shown beside the number.
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
    """A question's scale: its level of measurement and its values, in order.

    Attributes:
        values: The values that have a word and a key, in order.
        step: With a step, every value between the lowest and the highest of these that lies a whole number
            of steps above the lowest is on the scale, too, though no key gives it: a judge's mean can be
            accepted. 0 for none.
    """

    level: Literal["nominal", "ordinal", "interval"]
    values: tuple[ScaleValue, ...]
    step: float = 0.0

    @property
    def allowed(self) -> tuple[float, ...]:
        """Every value on the scale, those between the named ones last."""
        named = tuple(known.value for known in self.values)
        if not self.step:
            return named
        low, high = min(named), max(named)
        between = (low + place * self.step for place in range(round((high - low) / self.step) + 1))
        return (*named, *(value for value in between if value not in named and value <= high))

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
        if value in self.allowed:
            return value
        known_values = ", ".join(self.word(known.value) for known in self.values)
        if self.step:
            known_values += f"; and values between them in steps of {self.step:g}"
        raise JudgmentRefused(
            "Value off the scale", f"{value:g} is no value of this question.", f"Use one of: {known_values}."
        )

    def to_json(self) -> str:
        """Return the scale as the JSON text of the question table."""
        fields = asdict(self)
        if not self.step:
            del fields["step"]
        return json.dumps(fields, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Scale:
        """Read a scale from the question table's JSON text."""
        raw: dict[str, Any] = json.loads(text)
        return cls(raw["level"], tuple(ScaleValue(**value) for value in raw["values"]), raw.get("step", 0.0))


def scale_value(scale: Scale, text: str, as_listed: Mapping[float, str] | None = None) -> float:
    """Return the value that a number or a word ("match", "no match", "no-match") means.

    Args:
        scale: The values.
        text: The given text.
        as_listed: The words of lists for some of the values, which are accepted as well.

    Raises:
        JudgmentRefused: It is neither a value of the scale nor one of its words.
    """
    plain = text.strip().lower()
    for known in scale.values:
        words = {_spaced(word) for word in (known.word, known.shown, (as_listed or {}).get(known.value, ""))}
        # A hyphen joins words; before a number it is a sign.
        if plain and (plain in (f"{known.value:g}", known.sign.lower()) or _spaced(plain) in words):
            return known.value
    try:
        # Python takes 1_0 for a number; people do not.
        number = float(plain if "_" not in plain else "")
        return scale.check(number + 0.0)
    except ValueError:
        known_values = ", ".join(scale.word(known.value) for known in scale.values)
        raise JudgmentRefused(
            "Value off the scale", f"{text!r} is no value of this question.", f"Use one of: {known_values}."
        ) from None


def _spaced(words: str) -> str:
    return words.lower().replace("-", " ").replace("_", " ")
