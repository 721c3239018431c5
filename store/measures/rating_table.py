"""Ratings from a CSV file: a column for each rater, a row for each judgment, or counts of values."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from store.formatting import pluralize
from store.measures.coefficients import Patterns
from store.measures.rating_columns import Column, Missing, Scale, number_of, refused

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Form = Literal["wide", "long", "counts"]

MOST_RATERS = 10_000
LARGEST_FILE = 2 << 30
"""Bytes of a file."""

_UNIT_COLUMNS = ("unit", "item", "id", "unit_id", "item_id", "task", "task_id")
_RATER_COLUMNS = (
    "rater",
    "annotator",
    "coder",
    "worker",
    "rater_id",
    "annotator_id",
    "coder_id",
    "worker_id",
)
_VALUE_COLUMNS = ("label", "rating", "annotation", "judgment", "category")
_CLUSTER_COLUMNS = ("query", "query_id", "prompt", "prompt_id", "cluster")
"""Columns of our own exports, and by their usual name, that are no rater's."""
_DELIMITERS = ",;\t"
_NAMELESS = re.compile(r"(Unnamed: \d+)?")
"""The name of a column without one; "Unnamed: 0" is how pandas reads the index that it wrote."""


@dataclass(frozen=True, slots=True)
class ColumnsRead:
    """The columns of a file that were read, and how.

    Attributes:
        unit: The column that names the units; empty where each row is one.
        raters: The columns of the raters' values, or the one of their names; none where there are none.
        value: The column of the values, where a row is a judgment or a count.
        left_out: The columns that were not read.
        missing: The words that were read as missing, with how many cells hold each.
        notes: How values that are written in several ways were read.
    """

    unit: str = ""
    raters: tuple[str, ...] = ()
    value: str = ""
    left_out: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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
        columns: Where they were read from a file, its columns.
    """

    form: Form
    raters: tuple[str, ...]
    patterns: Patterns
    words: tuple[str, ...] = ()
    clusters: Array | None = None
    columns: ColumnsRead = ColumnsRead()

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


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """The columns that a person names; those not named are found by their names and content.

    Attributes:
        raters: The columns of the raters' values, or the one column of their names.
        unit: The column that names the units.
        value: The column of the values, where a row is a judgment.
        cluster: The column that names the cluster of each unit, such as its query.
        question: The question whose judgments count, of a file with a column `question`.
        missing: Words that are missing values, beside empty cells and `*`.
    """

    raters: tuple[str, ...] = ()
    unit: str | None = None
    value: str | None = None
    cluster: str | None = None
    question: str | None = None
    missing: tuple[str, ...] = ()


def read_ratings(path: Path, asked: NamedColumns = NamedColumns()) -> RatingTable:
    """Read a CSV file with a header; commas, semicolons or tabs separate its cells.

    A column is taken for a rater's only if it can be one: it has a name, its values are of the kind of the
    other raters' and not different in every row, and no unit stands on two lines.

    The file is UTF-8.

    Raises:
        WorkbenchError: The file cannot be read, is no table of ratings, or does not say who the raters are.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise refused(path, "has more than 2 GiB", "Leave out what is no rating.")
        if not (path.is_file() or path.is_dir()):
            # A pipe cannot be read twice, and a device has no end.
            raise refused(path, "is no file but a pipe or a device", "Give a file of ratings.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(_DELIMITERS, key=first.count)
            return _table(path, csv.reader(file, delimiter=delimiter, strict=True), asked)
    except OSError as error:
        raise refused(
            path, f"cannot be read: {error.strerror or error}", "Give a file of ratings."
        ) from error
    except UnicodeDecodeError as error:
        raise refused(path, f"is not UTF-8 (byte {error.start})", "Save it as UTF-8 text.") from error
    except csv.Error as error:
        raise refused(path, f"is no CSV: {error}", "Save it as CSV with a header.") from error


def _table(path: Path, rows: Any, asked: NamedColumns) -> RatingTable:
    header = _Header(path, [name.strip() for name in next(rows, [])])
    cells = _Cells(path, rows, len(header.names))
    if asked.value is None and len(asked.raters) > 1:
        return _wide(path, header, cells, asked)
    unit_at = header.place(asked.unit) if asked.unit else header.first(_UNIT_COLUMNS)
    rater_at = header.place(asked.raters[0]) if asked.raters else header.only(_RATER_COLUMNS)
    value_at = header.place(asked.value) if asked.value else header.first(("value",))
    if value_at is None and rater_at is not None:
        value_at = header.only(_VALUE_COLUMNS)
    if len(asked.raters) > 1:
        raise refused(
            path,
            f"has a row for each judgment if {asked.value!r} is the column of its values",
            "Then --raters names one column, that of the raters' names.",
        )
    if asked.value is None and rater_at is None and (value_at is None or unit_at is None):
        return _wide(path, header, cells, asked)
    if unit_at is None or value_at is None:
        known = [(rater_at, "raters"), (unit_at, "unit"), (value_at, "value")]
        said = " ".join(f"--{name} {'COLUMN' if at is None else header.names[at]}" for at, name in known)
        named = next(header.names[at] for at in (rater_at, value_at) if at is not None)
        raise refused(
            path,
            f"has a row for each judgment, as its column {named!r} says, and the column of the "
            f"{'units' if unit_at is None else 'values'} is not known",
            f"Name it: {said}. Where each rater has a column: --raters A,B,...",
        )
    return _long(path, header, cells, asked, (unit_at, rater_at, value_at))


class _Header:
    """The names of a file's columns."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.names = names
        self._path = path
        self._lower = [name.lower() for name in names]
        if not any(names):
            raise refused(path, "has no header", "The first line names the columns.")
        if repeated := [name for name, times in Counter(names).items() if name and times > 1]:
            raise refused(path, f"has two columns {repeated[0]!r}", "Give each rater a column of its own.")

    def place(self, name: str) -> int:
        """Return the place of a column that somebody named."""
        if name not in self.names:
            raise refused(
                self._path, f"has no column {name!r}", f"Its columns: {', '.join(self.names[:20])}."
            )
        return self.names.index(name)

    def first(self, known: Iterable[str]) -> int | None:
        """Return the place of the first of some known names that is here."""
        return next((self._lower.index(name) for name in known if name in self._lower), None)

    def only(self, known: Collection[str]) -> int | None:
        """Return the place of the only column with one of some known names."""
        found = [place for place, name in enumerate(self._lower) if name in known]
        return found[0] if len(found) == 1 else None

    def others(self, places: Iterable[int | None]) -> tuple[str, ...]:
        """Return the names of all columns but some; a column without one is called by its place."""
        left_out = set(places)
        return tuple(self.named(place) for place in range(len(self.names)) if place not in left_out)

    def named(self, place: int) -> str:
        """Return the name of a column, or its place where it has none."""
        return self.names[place] or f"column {place + 1}"


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
                raise refused(
                    self._path,
                    f"has {len(row):,} cells in line {line:,} and {self._columns:,} in the header",
                    "Give every line as many cells as the header.",
                )
            yield line, row


def _wide(path: Path, header: _Header, cells: _Cells, asked: NamedColumns) -> RatingTable:
    import numpy

    if asked.question is not None:
        raise refused(path, "has no columns unit and value", "--question belongs to a row for each judgment.")
    at = None if asked.cluster is None else header.place(asked.cluster)
    unit_at = header.place(asked.unit) if asked.unit else header.first(_UNIT_COLUMNS)
    if asked.raters:
        places = [header.place(name) for name in dict.fromkeys(asked.raters)]
    else:
        places = [
            place
            for place, name in enumerate(header.names)
            if place not in (at, unit_at)
            and name.lower() not in _UNIT_COLUMNS + _CLUSTER_COLUMNS
            and not _NAMELESS.fullmatch(name)
        ]
    if not places:
        raise refused(path, "has no column of a rater", "Give each rater a column; or unit, rater, value.")
    if len(places) > MOST_RATERS:
        raise refused(
            path,
            f"has {len(places):,} raters, and at most {MOST_RATERS:,} can be compared",
            "Rows are units and columns are raters: turn the table round if it is the other way.",
        )
    missing = Missing(asked.missing)
    columns = [Column(header.named(place), missing) for place in places]
    units: set[str] = set()
    clusters = _Names()
    for line, row in cells:
        for column, place in zip(columns, places, strict=True):
            column.take(row[place], line)
        if at is not None:
            clusters.place(_cluster(path, row[at], line))
        if unit_at is not None and (unit := row[unit_at].strip()):
            if unit in units:
                raise refused(
                    path,
                    f"has unit {unit!r} twice (line {line:,})",
                    "Give a unit one row. If a row is a judgment, name its columns: --raters and --value.",
                )
            units.add(unit)
    if not asked.raters:
        _refuse_others(path, header, columns)
    scale = Scale(path, columns)
    spread = Counter(value for column in columns for value in column.values)
    apart = [column.name for column in columns if len(columns) > 1 and _is_apart(column, spread)]
    notes = [f"{name} has no value in common with another rater." for name in apart]
    codes = numpy.array([scale.codes(column) for column in columns])
    raters = tuple(column.name for column in columns)
    return RatingTable(
        "wide",
        raters,
        Patterns.of_codes(scale.domain, codes),
        scale.words,
        clusters.array(at),
        ColumnsRead(
            unit="" if unit_at is None else header.named(unit_at),
            raters=raters,
            left_out=header.others([*places, unit_at, at]),
            missing=missing.counted(),
            notes=(*scale.notes, *notes),
        ),
    )


def _long(
    path: Path, header: _Header, cells: _Cells, asked: NamedColumns, at: tuple[int, int | None, int]
) -> RatingTable:
    import numpy

    unit_at, rater_at, value_at = at
    cluster_at = None if asked.cluster is None else header.place(asked.cluster)
    question_at, count_at = header.first(("question",)), header.first(("count",))
    if asked.question is not None and question_at is None:
        raise refused(path, "has no column question", "Leave --question out.")
    if rater_at is not None and count_at is not None:
        raise refused(path, "has the columns rater and count", "A judgment of a rater counts once.")
    questions: dict[str, None] = {}
    units, raters, clusters, missing = _Names(), _Names(), _Names(), Missing(asked.missing)
    values = Column(header.named(value_at), missing)
    of_unit: dict[int, int] = {}
    given: dict[tuple[int, int], tuple[int, int]] = {}
    for line, row in cells:
        if question_at is not None:
            questions.setdefault(row[question_at].strip())
            if asked.question is not None and row[question_at].strip() != asked.question:
                continue
            if asked.question is None and len(questions) > 1:
                names = ", ".join(questions)
                raise refused(
                    path, f"has several questions ({names}, line {line:,})", "Name one: --question."
                )
        if not row[unit_at].strip():
            raise refused(path, f"names no unit in line {line:,}", "Name one for each judgment.")
        unit = units.place(row[unit_at].strip())
        if cluster_at is not None:
            group = clusters.place(_cluster(path, row[cluster_at], line))
            if of_unit.setdefault(unit, group) != group:
                raise refused(
                    path, f"puts unit {row[unit_at]!r} into two clusters (line {line:,})", "Give it one."
                )
        value = values.take(row[value_at], line)
        # Without names every row is another rater's.
        if rater_at is not None and not row[rater_at].strip():
            raise refused(path, f"names no rater in line {line:,}", "Name one for each judgment.")
        rater = raters.place(row[rater_at].strip()) if rater_at is not None else line
        if len(raters) > MOST_RATERS:
            raise refused(path, f"has more than {MOST_RATERS:,} raters", "Compare fewer.")
        times = 1 if count_at is None else _count(path, row[count_at], line)
        if rater_at is not None and value >= 0 and (unit, rater) in given:
            raise refused(
                path,
                f"has two values of {row[rater_at]!r} for unit {row[unit_at]!r} (line {line:,})",
                "Leave one of them.",
            )
        if value >= 0:
            given[unit, rater] = value, times
    if asked.question is not None and asked.question not in questions:
        known = ", ".join(list(questions)[:20]) or "none"
        raise refused(path, f"has no judgment of the question {asked.question!r}", f"Its questions: {known}.")
    if asked.value is None and (why := values.mixture):
        raise refused(path, f"has in its column {values.name!r} {why}", _about_words(values))
    scale = Scale(path, [values])
    order = scale.places(values)
    if rater_at is None:
        counts = numpy.zeros((len(units), len(scale.domain)), dtype=numpy.int64)
        for (unit, _), (value, times) in given.items():
            counts[unit, order[value]] += times
        patterns = Patterns.of_counts(scale.domain, counts)
    else:
        codes = numpy.full((len(raters), len(units)), -1, dtype=numpy.int32)
        for (unit, rater), (value, _) in given.items():
            codes[rater, unit] = order[value]
        patterns = Patterns.of_codes(scale.domain, codes)
    read = (unit_at, rater_at, value_at, count_at, question_at, cluster_at)
    return RatingTable(
        "long" if count_at is None else "counts",
        tuple(raters),
        patterns,
        scale.words,
        None if cluster_at is None else numpy.array([of_unit[unit] for unit in range(len(units))], dtype=int),
        ColumnsRead(
            unit=header.named(unit_at),
            raters=() if rater_at is None else (header.named(rater_at),),
            value=values.name,
            left_out=header.others(read),
            missing=missing.counted(),
            notes=scale.notes,
        ),
    )


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


def _refuse_others(path: Path, header: _Header, columns: Sequence[Column]) -> None:
    """Refuse a file where a column cannot be a rater's, or the first line holds values.

    Raises:
        WorkbenchError: One cannot be; the columns that can be are named.
    """
    # In how many columns each value is.
    spread = Counter(value for column in columns for value in column.values)
    if all(number_of(name) is not None or name in spread for name in header.names):
        raise refused(
            path,
            "has no header: its first line holds values",
            "The first line names the columns; if it does, name the raters: --raters A,B,...",
        )
    any_numeric = any(column.is_numeric for column in columns)
    all_differ = all(column.all_differ for column in columns if column.texts)
    # Where two columns have a value in common, so do raters.
    shared = sum(times > 1 for times in spread.values())
    odd: dict[str, str] = {}
    for column in columns:
        if not column.texts:
            continue
        if column.holds_dates:
            odd[column.name] = "dates"
        elif column.mixture:
            odd[column.name] = column.mixture
        elif any_numeric and not column.is_numeric:
            odd[column.name] = "words, where others hold numbers"
        elif column.all_differ and not all_differ:
            odd[column.name] = "another value in every row"
        elif (shared or len(columns) > 2) and _is_apart(column, spread):
            odd[column.name] = "no value that others have"
    raters = [column.name for column in columns if column.name not in odd]
    if raters and all(number_of(name) is not None for name in raters):
        numbers = [column.name for column in columns if number_of(column.name) is not None]
        raise refused(
            path,
            f"has columns that are called {', '.join(numbers[:5])}",
            "The first line names the columns. Name these if they are raters: --raters "
            f"{','.join(numbers[:20])}; counts of each value need the columns unit,value,count.",
        )
    if not odd:
        return
    shown = ", ".join(f"{name!r} ({why})" for name, why in [*odd.items()][:5])
    words = next((_about_words(column) for column in columns if column.mixture), "")
    named = ",".join(raters) if 1 < len(raters) <= 20 else "A,B,..."
    raise refused(
        path,
        f"has {pluralize(len(odd), 'column')} that cannot be a rater's: {shown}",
        f"{words} Name the raters: --raters {named}, or where a row is a judgment: --unit U --raters R "
        "--value V".strip(),
    )


def _is_apart(column: Column, spread: Mapping[float | str, int]) -> bool:
    """Return whether a column has values, and none that another one has, by in how many each value is."""
    return bool(column.texts) and all(spread[value] == 1 for value in column.values)


def _about_words(column: Column) -> str:
    """Return what to do about words among numbers."""
    word = next(text for text in column.texts if number_of(text) is None)
    return f"If {word!r} is a missing value: --missing {word}; if it is a value, name the columns."


def _cluster(path: Path, text: str, line: int) -> str:
    name = text.strip()
    if not name:
        # Units without a name would all be one cluster.
        raise refused(path, f"names no cluster in line {line:,}", "Name one for each unit.")
    return name


def _count(path: Path, text: str, line: int) -> int:
    try:
        count = int(text)
    except ValueError:
        count = -1
    if not 0 <= count <= 1_000_000:
        raise refused(path, f"has the count {text!r} in line {line:,}", "Counts are whole numbers from 0.")
    return count
