"""Columns of values as they are written in a file, and the scale that they are on."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

MOST_VALUES = 1_000
"""Different values of one question; more are measurements, whose disagreement takes too much room."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Values beyond which squares of distances are 0 or infinite."""

_MISSING = ("", "*")
_USUALLY_MISSING = frozenset({"na", "n/a", "nan", "null", "none", "-"})
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{4}([T ].*)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_BOOLEANS = {"true": 1.0, "false": 0.0}
_FEW = 3
"""Rows from which on a different value in each says something about a column; notes of one kind at most."""


class Missing(Counter[str]):
    """The words that are missing values, with how many cells hold each.

    Empty cells and `*` are missing, too, beside the words that are given.
    """

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__(dict.fromkeys((*_MISSING, *words), 0))

    def counted(self) -> dict[str, int]:
        """Return the words that came."""
        return {word: times for word, times in self.items() if times}


class Column:
    """A column of values as they are written."""

    def __init__(self, name: str, missing: Missing) -> None:
        self.name = name
        self._missing = missing
        # Of every row; of no use where there are too many values.
        self.codes: list[int] = []
        self.lines: dict[str, int] = {}
        self._places: dict[str, int] = {}

    def take(self, cell: str, line: int) -> int:
        """Take the next cell; return its value's place among the different ones, -1 for a missing one."""
        text = cell.strip()
        if text in self._missing:
            self._missing[text] += 1
            place = -1
        elif self.has_too_many:
            return 0
        else:
            self.lines.setdefault(text, line)
            place = self._places.setdefault(text, len(self._places))
        self.codes.append(place)
        return place

    @property
    def has_too_many(self) -> bool:
        """Whether it has more values than a scale; no more of them are kept then."""
        return len(self._places) > MOST_VALUES

    @property
    def texts(self) -> tuple[str, ...]:
        """The different values, in the order in which they first come."""
        return tuple(self._places)

    @cached_property
    def values(self) -> set[float | str]:
        """The different values as they are compared: numbers where they are such."""
        return {text if (number := number_of(text)) is None else number for text in self._places}

    @cached_property
    def all_differ(self) -> bool:
        """Whether no value of several comes twice."""
        given = sum(code >= 0 for code in self.codes)
        return self.has_too_many or _FEW <= given == len(self.values)

    @property
    def holds_dates(self) -> bool:
        """Whether all of its values are dates."""
        return all(_DATE.fullmatch(text) for text in self._places)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether at least half of its cells with a value hold numbers."""
        numbers = [number_of(text) is not None for text in self._places]
        given = [numbers[code] for code in self.codes if code >= 0]
        return bool(given) and 2 * sum(given) >= len(given)

    @property
    def mixture(self) -> str:
        """Names the first word among a column's numbers; empty where there is none."""
        word = next((text for text in self._places if number_of(text) is None), None)
        return f"{word!r} among numbers" if word is not None and self.is_numeric else ""


class Scale:
    """The values of all columns: numbers in ascending order where all are numbers, or else words.

    Attributes:
        domain: The values, or numbers from 0 in the place of words.
        words: The words; none where values are numbers.
        notes: How values that are written in several ways were read.

    Raises:
        WorkbenchError: There are too many values, or one is written in two ways.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        import numpy

        lines: dict[str, int] = {}
        for column in columns:
            for text, line in column.lines.items():
                lines[text] = min(line, lines.get(text, line))
        texts = sorted(lines, key=lines.__getitem__)
        if len(texts) > MOST_VALUES:
            raise refused(
                path,
                f"has more than {MOST_VALUES:,} different values (line {lines[texts[MOST_VALUES]]:,})",
                "Ratings are values of a scale: round measurements, or name the columns: --raters A,B,...",
            )
        numbers = {text: number for text in texts if (number := number_of(text)) is not None}
        self.words: tuple[str, ...] = ()
        if len(numbers) == len(texts):
            self._of = numbers
            for text, number in numbers.items():
                if number and not SMALLEST < abs(number) < LARGEST:
                    raise refused(
                        path,
                        f"has the value {text!r}, whose distances are no numbers that can be reckoned with",
                        f"Write values between {SMALLEST:g} and {LARGEST:g}.",
                    )
            self.domain = numpy.unique(numpy.array([*numbers.values()], dtype=float))
            self.notes = tuple(
                f"{text} is read as {number:g}"
                for text, number in numbers.items()
                if text.lower() in _BOOLEANS or _DECIMAL_COMMA.fullmatch(text)
            )[:_FEW]
            return
        alike: dict[str, str] = {}
        for text in texts:
            if (other := alike.setdefault(text.casefold(), text)) != text:
                raise refused(
                    path,
                    f"writes {other!r} also as {text!r} (line {lines[text]:,})",
                    "Write a value in one way.",
                )
        self.words = tuple(sorted(texts))
        self._of = {word: float(place) for place, word in enumerate(self.words)}
        self.domain = numpy.arange(len(self.words), dtype=float)
        self.notes = tuple(
            f"{text} is read as a value; --missing {text} takes it for none"
            for text in texts
            if text.lower() in _USUALLY_MISSING
        )[:_FEW]

    def places(self, column: Column) -> Array:
        """Return where each different value of a column is in the domain, and -1 for a missing one."""
        import numpy

        found = numpy.searchsorted(self.domain, [self._of[text] for text in column.texts])
        return numpy.append(found, -1).astype(int)

    def codes(self, column: Column) -> Array:
        """Return where the values of a column are in the domain, row by row; -1 for a missing one."""
        import numpy

        found: Array = self.places(column)[numpy.array(column.codes, dtype=int)]
        return found


def number_of(text: str) -> float | None:
    """Return the number that a text stands for, true for 1 and with a decimal comma too; None for a word."""
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return _BOOLEANS.get(text.lower())
    return number if math.isfinite(number) and "_" not in text else None


def refused(path: Path, problem: str, hint: str) -> WorkbenchError:
    """Return the error about a file that cannot be measured, to be raised."""
    return WorkbenchError("No table of ratings", f"{path} {problem}.", hint)
