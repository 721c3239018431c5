"""Records that stand for others, each perhaps for several, on their way into staging tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from store.bulk.columns import SEQUENCE, entry_kinds, stage_columns
from store.bulk.contents import made_of
from store.bulk.inputs import Input
from store.bulk.inserting import CHUNK, inserter
from store.bulk.problems import Problem
from store.bulk.records import read_records
from store.bulk.staging import Stages, Staging
from store.events import Progress, Report
from store.formats.checking import Refused, as_json
from store.formats.fields import FieldType, Makes
from store.formats.making import Converter, Made


def convert(stages: Stages, given: Input, key_prefix: str, progress: Report, converter: Converter) -> Staging:
    """Stage a file whose records stand for others, each perhaps for several.

    Args:
        stages: Where to.
        given: The file.
        key_prefix: What is put before each item's external id.
        progress: Is told the records read.
        converter: Turns its records into what they stand for.

    Returns:
        How many records there are, and which cannot be taken.
    """
    problems: list[Problem] = []
    extra_names: dict[str, None] = {}
    count = 0
    rows = _Rows(stages, given.file.number, key_prefix, stages.offsets[-1])
    for raw in read_records(given.file, given.sample):
        count += 1
        if raw.value is None:
            problems.append(Problem(given.file.number, raw.number, raw.line, raw.reason, raw.text))
            continue
        try:
            made = [rows.row(one, raw.number, raw.line) for one in converter.convert(raw.value, raw.number)]
        except Refused as refusal:
            problems.append(Problem(given.file.number, raw.number, raw.line, str(refusal), raw.value))
            continue
        for makes, row, extra in made:
            extra_names.update(dict.fromkeys(extra))
            rows.add(makes, row)
        if count % CHUNK == 0:
            progress(Progress(f"checking {given.file.path.name}", count, None))
    rows.finish()
    stages.offsets.append(stages.offsets[-1] + count)
    return Staging(count, tuple(problems), tuple(extra_names), dict(converter.counts))


def unpack_contents(stages: Stages) -> list[Problem]:
    """Stage the items, of kinds with a table of their own, that staged judgments carry with them.

    Returns:
        The records whose content cannot be read.
    """
    problems = []
    for part in stages.parts("judgment"):
        found = stages.cursor.execute(
            f"SELECT number, line, kind, external_id, content, coalesce(item_extra, '{{}}') "
            f"FROM ({part.select()}) WHERE content IS NOT NULL ORDER BY number"
        ).fetchall()
        rows = _Rows(stages, part.file, "", part.offset)
        for number, line, kind, external_id, content, extra in found:
            if kind not in entry_kinds():
                continue
            try:
                made = list(made_of(entry_kinds()[kind], external_id, content, extra))
                ready = [rows.row(one, number, line) for one in made]
            except Refused as refusal:
                problems.append(Problem(part.file, number, line, str(refusal)))
                continue
            for makes, row, _ in ready:
                rows.add(makes, row)
        rows.finish()
    return problems


class _Rows:
    """Rows of several sorts on their way into a table for each."""

    def __init__(self, stages: Stages, file: int, prefix: str, offset: int) -> None:
        self._stages = stages
        self._file = file
        self._prefix = prefix
        self._offset = offset
        self._rows: dict[Makes, list[tuple[Any, ...]]] = {}
        self._made = 0
        self._inserts: dict[Makes, Callable[[Sequence[tuple[Any, ...]]], None]] = {}

    def row(self, made: Made, number: int, line: int) -> tuple[Makes, tuple[Any, ...], Mapping[str, Any]]:
        """Return the row of what was made of a record.

        Raises:
            Refused: It holds what is no JSON.
        """
        columns = stage_columns()[made.makes]
        fields = {_COLUMN.get(name, name): value for name, value in made.fields.items()}
        if made.makes in entry_kinds():
            fields = dict(made.fields)
        if SEQUENCE in columns:
            self._made += 1
            fields[SEQUENCE] = self._made
        values = (_kept(fields.get(name), name, type_) for name, type_ in columns.items())
        return made.makes, (number, line, *values, as_json(made.extra)), made.extra

    def add(self, makes: Makes, row: tuple[Any, ...]) -> None:
        """Add a row."""
        rows = self._rows.setdefault(makes, [])
        rows.append(row)
        if makes not in self._inserts:
            table = f"part_{self._file}_{makes}"
            self._stages.make(table, makes)
            self._inserts[makes] = inserter(self._stages.cursor, table, stage_columns()[makes])
        if len(rows) == CHUNK:
            self._inserts[makes](rows)
            rows.clear()

    def finish(self) -> None:
        """Write what is left, and hold the tables."""
        for makes, insert in self._inserts.items():
            insert(self._rows[makes])
            self._stages.hold(makes, f"part_{self._file}_{makes}", self._file, self._prefix, self._offset)


_COLUMN = {"item": "external_id", "reference": "joined_by"}
"""What the columns are called in which a response names its item, or what it is joined by."""


def _kept(value: Any, name: str, type_: FieldType) -> Any:
    """Return a value as it is staged: what nests is kept as JSON.

    Raises:
        Refused: It is no whole number where one is wanted.
    """
    if type_ in ("list", "object") and isinstance(value, dict | list | tuple):
        return as_json(value)
    if type_ == "integer" and isinstance(value, str):
        if value and not (value.isascii() and value.isdecimal() and len(value) < 19):
            raise Refused(f"{name!r} is text ({value[:40]!r}) where a whole number is expected")
        return int(value) if value else None
    return value
