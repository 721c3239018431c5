"""Ratings from a CSV file: a column for each rater, a row for each judgment, or counts of values."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from store.errors import WorkbenchError
from store.measures.coefficients import Patterns

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Form = Literal["wide", "long", "counts"]

MOST_RATERS = 10_000
MOST_VALUES = 1_000
"""Different values of one question; more are measurements, whose disagreement takes too much room."""
LARGEST_FILE = 2 << 30
"""Bytes of a file."""

_SMALLEST, _LARGEST = 1e-100, 1e100
"""Values beyond which squares of distances are 0 or infinite."""

_MISSING = frozenset({"", "*", "na", "n/a", "nan", "null", "none"})
_UNIT_COLUMNS = ("unit", "item", "id")
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """The ratings of units.

    Attributes:
        form: `wide`: a row for each unit and a column for each rater; `long`: a row for each judgment;
            `counts`: a row for each value of a unit, with how often it was given.
        raters: The raters' names; none where the file does not name them.
        patterns: The values: those of each rater where these have names, in the order of the units.
        words: The values as they are written, by their place, where some are no numbers; else none.
        clusters: The cluster of each unit, of shape (units,), whole numbers from 0; None for units of their
            own.
    """

    form: Form
    raters: tuple[str, ...]
    patterns: Patterns
    words: tuple[str, ...] = ()
    clusters: Array | None = None

    @property
    def units(self) -> int:
        """The number of units, those without a value too."""
        return self.patterns.units

    def only(self, places: Sequence[int], *, everyone: bool = False) -> RatingTable:
        """Return the ratings of some raters with names, of the units that they rated.

        Args:
            places: Their places.
            everyone: Whether all of them rated a unit; otherwise one of them did.
        """
        patterns, there = self.patterns.only(places, everyone=everyone)
        clusters = None if self.clusters is None else self.clusters[there]
        raters = tuple(self.raters[place] for place in places)
        return replace(self, raters=raters, patterns=patterns, clusters=clusters)


def read_ratings(path: Path, *, cluster: str | None = None, question: str | None = None) -> RatingTable:
    """Read a CSV file with a header; commas, semicolons or tabs separate its cells.

    Empty cells, `*`, `NA`, `N/A`, `NaN`, `null` and `None` are missing values.

    Args:
        path: The file, UTF-8.
        cluster: The column that names the cluster of each unit, such as its query.
        question: The question whose judgments count, of a file with a column `question`.

    Raises:
        WorkbenchError: The file cannot be read, or is no table of ratings.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _refused(path, "has more than 2 GiB", "Leave out what is no rating.")
        if not (path.is_file() or path.is_dir()):
            # A pipe cannot be read twice, and a device has no end.
            raise _refused(path, "is no file but a pipe or a device", "Give a file of ratings.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(_DELIMITERS, key=first.count)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            return _table(path, rows, cluster, question)
    except OSError as error:
        raise _refused(
            path, f"cannot be read: {error.strerror or error}", "Give a file of ratings."
        ) from error
    except UnicodeDecodeError as error:
        raise _refused(path, f"is not UTF-8 (byte {error.start})", "Save it as UTF-8 text.") from error
    except csv.Error as error:
        raise _refused(path, f"is no CSV: {error}", "Save it as CSV with a header.") from error


def _table(path: Path, rows: Any, cluster: str | None, question: str | None) -> RatingTable:
    header = [name.strip() for name in next(rows, [])]
    lower = [name.lower() for name in header]
    if not any(header):
        raise _refused(path, "has no header", "The first line names the columns.")
    if repeated := [name for name, times in Counter(header).items() if name and times > 1]:
        raise _refused(path, f"has two columns {repeated[0]!r}", "Give each rater a column of its own.")
    at = None
    if cluster is not None:
        if cluster not in header:
            raise _refused(path, f"has no column {cluster!r}", f"Its columns: {', '.join(header[:20])}.")
        at = header.index(cluster)
    cells = _Cells(path, rows, len(header))
    if "value" in lower and any(name in lower for name in _UNIT_COLUMNS):
        return _long(path, lower, at, cells, question)
    if question is not None:
        raise _refused(
            path, "has no columns unit and value", "--question belongs to a row for each judgment."
        )
    return _wide(path, header, lower, at, cells)


class _Cells:
    """The rows of a file, each with its line; rows without a cell are left out.

    Args:
        path: The file.
        rows: The rows.
        columns: How many cells each has.
    """

    def __init__(self, path: Path, rows: Any, columns: int) -> None:
        self._path = path
        self._rows = rows
        self._columns = columns

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for row in self._rows:
            line = self._rows.line_num
            if not any(row):
                continue
            if len(row) != self._columns:
                raise _refused(
                    self._path,
                    f"has {len(row):,} cells in line {line:,} and {self._columns:,} in the header",
                    "Give every line as many cells as the header.",
                )
            yield line, row


def _wide(path: Path, header: list[str], lower: list[str], at: int | None, cells: _Cells) -> RatingTable:
    import numpy

    named = next((lower.index(name) for name in _UNIT_COLUMNS if name in lower), None)
    places = [place for place in range(len(header)) if place not in (at, named)]
    if not places:
        raise _refused(path, "has no column of a rater", "Give each rater a column; or unit, rater, value.")
    if len(places) > MOST_RATERS:
        raise _refused(
            path,
            f"has {len(places):,} raters, and at most {MOST_RATERS:,} can be compared",
            "Rows are units and columns are raters: turn the table round if it is the other way.",
        )
    values, clusters = _Values(path), _Names()
    columns: list[list[int]] = [[] for _ in places]
    for line, row in cells:
        for column, place in zip(columns, places, strict=True):
            column.append(values.place(row[place], line))
        if at is not None:
            clusters.place(_cluster(path, row[at], line))
    domain, order, words = values.domain()
    codes = numpy.array([order[numpy.array(column, dtype=int)] for column in columns])
    raters = tuple(header[place] or f"column {place + 1}" for place in places)
    patterns = Patterns.of_codes(domain, codes)
    return RatingTable("wide", raters, patterns, words, clusters.array(at))


def _long(path: Path, lower: list[str], at: int | None, cells: _Cells, question: str | None) -> RatingTable:
    import numpy

    unit_at = next(lower.index(name) for name in _UNIT_COLUMNS if name in lower)
    value_at = lower.index("value")
    question_at = lower.index("question") if "question" in lower else None
    if question is not None and question_at is None:
        raise _refused(path, "has no column question", "Leave --question out.")
    asked: dict[str, None] = {}
    rater_at = lower.index("rater") if "rater" in lower else None
    count_at = lower.index("count") if "count" in lower else None
    if rater_at is not None and count_at is not None:
        raise _refused(path, "has the columns rater and count", "A judgment of a rater counts once.")
    values, units, raters, clusters = _Values(path), _Names(), _Names(), _Names()
    of_unit: dict[int, int] = {}
    given: dict[tuple[int, int], tuple[int, int]] = {}
    for line, row in cells:
        if question_at is not None:
            asked.setdefault(row[question_at].strip())
            if question is not None and row[question_at].strip() != question:
                continue
            if question is None and len(asked) > 1:
                names = ", ".join(asked)
                raise _refused(
                    path, f"has several questions ({names}, line {line:,})", "Name one: --question."
                )
        unit = units.place(row[unit_at].strip())
        if at is not None:
            group = clusters.place(_cluster(path, row[at], line))
            if of_unit.setdefault(unit, group) != group:
                raise _refused(
                    path, f"puts unit {row[unit_at]!r} into two clusters (line {line:,})", "Give it one."
                )
        value = values.place(row[value_at], line)
        # Without names every row is another rater's.
        rater = raters.place(row[rater_at].strip()) if rater_at is not None else line
        if len(raters) > MOST_RATERS:
            raise _refused(path, f"has more than {MOST_RATERS:,} raters", "Compare fewer.")
        times = 1 if count_at is None else _count(path, row[count_at], line)
        if rater_at is not None and value >= 0 and (unit, rater) in given:
            raise _refused(
                path,
                f"has two values of {row[rater_at]!r} for unit {row[unit_at]!r} (line {line:,})",
                "Leave one of them.",
            )
        if value >= 0:
            given[unit, rater] = value, times
    if question is not None and question not in asked:
        known = ", ".join(list(asked)[:20]) or "none"
        raise _refused(path, f"has no judgment of the question {question!r}", f"Its questions: {known}.")
    domain, order, words = values.domain()
    if rater_at is None:
        counts = numpy.zeros((len(units), len(domain)), dtype=numpy.int64)
        for (unit, _), (value, times) in given.items():
            counts[unit, order[value]] += times
        patterns = Patterns.of_counts(domain, counts)
    else:
        codes = numpy.full((len(raters), len(units)), -1, dtype=numpy.int32)
        for (unit, rater), (value, _) in given.items():
            codes[rater, unit] = order[value]
        patterns = Patterns.of_codes(domain, codes)
    grouped = None if at is None else numpy.array([of_unit[unit] for unit in range(len(units))], dtype=int)
    form: Form = "counts" if count_at is not None else "long"
    return RatingTable(form, tuple(raters), patterns, words, grouped)


class _Names(dict[str, int]):
    """Names by their place, in the order in which they first come."""

    def __init__(self) -> None:
        super().__init__()
        self._given: list[int] = []

    def place(self, name: str) -> int:
        """Return the place of a name, and keep that it came."""
        place = self.setdefault(name, len(self))
        self._given.append(place)
        return place

    def array(self, at: int | None) -> Array | None:
        """Return the places in the order in which the names came; None where there is no column of them."""
        import numpy

        return None if at is None else numpy.array(self._given, dtype=int)


class _Values:
    """The different values of a file as they are written, and as numbers where all of them are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, int] = {}
        self._lines: list[int] = []

    def place(self, cell: str, line: int) -> int:
        """Return the place of a value, -1 for a missing one."""
        place = self._places.get(cell)
        if place is not None:
            return place
        text = cell.strip()
        if text.lower() in _MISSING:
            self._places[cell] = -1
            return -1
        place = self._places.setdefault(text, len(self._lines))
        if place == len(self._lines):
            self._lines.append(line)
            if len(self._lines) > MOST_VALUES:
                raise _refused(
                    self._path,
                    f"has more than {MOST_VALUES:,} different values (line {line:,})",
                    "Ratings are values of a scale: round measurements first.",
                )
        self._places[cell] = place
        return place

    def domain(self) -> tuple[Array, Array, tuple[str, ...]]:
        """Return the values in ascending order, where each value is among them, and the words, if any.

        The last element of the places is that of a missing value, so that -1 finds it.
        """
        import numpy

        texts = sorted(
            ((place, text) for text, place in self._places.items() if place >= 0 and text == text.strip())
        )
        words = [text for _, text in texts]
        numbers = [_number(word) for word in words]
        if all(number is not None for number in numbers):
            for word, number in zip(words, numbers, strict=True):
                if number and not _SMALLEST < abs(number) < _LARGEST:
                    raise _refused(
                        self._path,
                        f"has the value {word!r}, whose distances are no numbers that can be reckoned with",
                        f"Write values between {_SMALLEST:g} and {_LARGEST:g}.",
                    )
            domain, order = numpy.unique(numpy.array(numbers, dtype=float), return_inverse=True)
            return domain, numpy.append(order, -1).astype(int), ()
        ordered = sorted(set(words))
        order = numpy.array([*(ordered.index(word) for word in words), -1], dtype=int)
        return numpy.arange(len(ordered), dtype=float), order, tuple(ordered)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _cluster(path: Path, text: str, line: int) -> str:
    name = text.strip()
    if not name:
        # Units without a name would all be one cluster.
        raise _refused(path, f"names no cluster in line {line:,}", "Name one for each unit.")
    return name


def _count(path: Path, text: str, line: int) -> int:
    try:
        count = int(text)
    except ValueError:
        count = -1
    if not 0 <= count <= 1_000_000:
        raise _refused(path, f"has the count {text!r} in line {line:,}", "Counts are whole numbers from 0.")
    return count


def _refused(path: Path, problem: str, hint: str) -> WorkbenchError:
    return WorkbenchError("No table of ratings", f"{path} {problem}.", hint)
