"""The reader of every file: each record with its line, by Python's own parsers and Arrow's for Parquet."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TextIO

import pyarrow
import pyarrow.parquet

from store.formats.protocol import Sample
from store.formats.values import Refused, object_of
from store.reading.files import InputFile, first_invalid_line, too_long

NOT_UTF8 = "not UTF-8 text, so nothing of the file can be read; rewrite it as UTF-8"
"""The reason for a whole file that is not UTF-8 text."""


class RawRecord(NamedTuple):
    """One record of a file.

    Attributes:
        number: Its place in the file, from 1.
        line: The line where it begins, from 1 (Parquet: its number).
        value: Its fields; None when it cannot be read.
        size: About how many characters it has.
        reason: Why it cannot be read.
        text: The text that could not be read, where it is known.
    """

    number: int
    line: int
    value: dict[str, Any] | None
    size: int = 0
    reason: str = ""
    text: Any = None

    @property
    def content(self) -> Any:
        """The record as it is written to the rejects."""
        return self.text if self.value is None else self.value


def _constant(name: str) -> float:
    """Return NaN, which programs write for a missing number: a field of ours refuses it, others have null."""
    if name == "NaN":
        return math.nan
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=object_of, parse_constant=_constant)
# Python's message for an integer that it declines to read.
_DIGITS = re.compile(r"value has (\d+) digits")
# Records that are handed on together, no more characters than the first that goes beyond these, and after how
# many records keys are given way. Larger batches are no quicker, and hold the interpreter for longer.
_BATCH, _BATCH_SIZE, _GIVE_WAY = 700, 1 << 25, 50
# Characters that are read of a JSON text at once, no fewer.
_PIECE = 1 << 20
# Behind an error so near to the end of what is held the text may only be cut: a literal, an escape.
_LONGEST_WORD = 16
_LENIENT = json.JSONDecoder(parse_int=str)


def read_records(file: InputFile, sample: Sample) -> Iterator[RawRecord]:
    """Yield the records of a file in order; those that cannot be read say why."""
    if sample.container == "Parquet":
        yield from _parquet(file)
        return
    if sample.container in ("json lines", "lines"):
        with file.open() as lines:
            yield from (_json_lines if sample.container == "json lines" else _text_lines)(lines)
        return
    if (broken := first_invalid_line(file)) is not None:
        yield _unreadable(1, broken, NOT_UTF8)
    elif sample.container == "CSV":
        yield from _csv(file, sample)
    else:
        with file.plain.open(encoding="utf-8", newline="") as text:
            source = _Source(text, file.record_bytes)
            yield from _json_text(source, array=sample.container == "JSON array")


def read_batches(file: InputFile, sample: Sample, give_way: Callable[[], None]) -> Iterator[list[RawRecord]]:
    """Yield the records of a file by the thousand, fewer where they are large.

    `give_way` is called after every fifty records.
    """
    batch: list[RawRecord] = []
    size = 0
    for raw in read_records(file, sample):
        batch.append(raw)
        size += raw.size
        if len(batch) % _GIVE_WAY == 0:
            give_way()
        if len(batch) >= _BATCH or size >= _BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _record(number: int, line: int, value: Any, size: int) -> RawRecord:
    if isinstance(value, dict):
        return RawRecord(number, line, value, size)
    return _unreadable(number, line, "not a JSON object", value)


def _unreadable(number: int, line: int, reason: str, text: Any = None) -> RawRecord:
    return RawRecord(number, line, None, 0, reason, text)


def _reason(error: Exception, column: int | None = None) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, json.JSONDecodeError):
        return f"malformed JSON: {error.msg} (column {column or error.colno})"
    if digits := _DIGITS.search(str(error)):
        most = sys.get_int_max_str_digits()
        return (
            f"a number of {int(digits[1]):,} digits, where at most {most:,} can be read; write it as a text"
        )
    return f"malformed JSON: {error}"


def _json_lines(lines: BinaryIO) -> Iterator[RawRecord]:
    number = 0
    for line, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            text = raw.decode("utf-8").strip(" \t\r\n")
        except UnicodeDecodeError as error:
            number += 1
            yield _no_text(number, line, raw, error)
            continue
        at = 0
        while at < len(text):
            number += 1
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                after = _end_of_value(text, at)
                yield _unreadable(number, line, _reason(error), text[at:after])
                if after is None:
                    break
                end = after
            else:
                yield _record(number, line, value, end - at)
            # Some files hold several objects a line, one after another.
            at = end if end == len(text) else _next(text, end)


def _no_text(number: int, line: int, raw: bytes, error: UnicodeDecodeError) -> RawRecord:
    shown = raw.decode("utf-8", errors="backslashreplace")
    return _unreadable(number, line, f"not UTF-8 text (byte {error.start + 1} of the line)", shown)


def _text_lines(lines: BinaryIO) -> Iterator[RawRecord]:
    """Read a text whose every line that is not blank is a record with one field, `text`."""
    number = 0
    for line, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        number += 1
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            yield _no_text(number, line, raw, error)
        else:
            yield RawRecord(number, line, {"text": text}, len(text))


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


class _TooLong(Exception):
    """A record is longer than it may be."""


class _Source:
    """A JSON text that is read piece by piece: no more of it is held than the record that is read needs.

    Args:
        file: The text.
        most: Characters that a record may have.

    Attributes:
        text: The part of it that is in memory.
        at: The place in `text` up to which it is read.
        line: The line of that place, from 1.
    """

    def __init__(self, file: TextIO, most: int) -> None:
        self.text, self.at, self.line = "", 0, 1
        self.most = most
        self._file = file
        self._counted = 0
        # How much of the line in which `text` begins is before it.
        self._before = 0

    def more(self) -> bool:
        """Read on; False at the end of the file.

        Raises:
            _TooLong: What is held and not read is as much as a record may be.
        """
        if len(self.text) - self.at > self.most:
            raise _TooLong
        piece = self._file.read(max(_PIECE, len(self.text) - self.at))
        if not piece:
            return False
        self.go(self.at)
        self._before = self.column(self.at) - 1
        self.text, self.at, self._counted = self.text[self.at :] + piece, 0, 0
        return True

    def column(self, at: int) -> int:
        """Return the column of a place in `text`, from 1."""
        start = self.text.rfind("\n", 0, at)
        return at - start if start >= 0 else at + 1 + self._before

    def go(self, at: int) -> None:
        """Move on to a place in `text`."""
        self.line += self.text.count("\n", self._counted, at)
        self.at = self._counted = at

    def following(self) -> str:
        """Move on to the next character that is no blank, and return it; empty at the end."""
        while True:
            self.go(_next(self.text, self.at))
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> tuple[Any, int]:
        """Return the value that begins here, and how long it is, and go on to its end.

        Raises:
            ValueError: It is malformed; the place stays.
            RecursionError: It is nested too deeply.
            _TooLong: It is too long for a record.
        """
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # What breaks off may go on in the next piece.
                if not self._breaks_off(error) or not self.more():
                    raise
                continue
            if end == len(self.text) and self.more():
                continue  # a number, for one, may go on
            if (size := end - self.at) > self.most:
                raise _TooLong
            self.go(end)
            return value, size

    def end_of_value(self) -> int | None:
        """Return where the value ends that begins here, if only its numbers make it no JSON."""
        while (end := _end_of_value(self.text, self.at)) is None:
            if not self.more():
                return None
        return end

    def _breaks_off(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - _LONGEST_WORD


def _json_text(source: _Source, *, array: bool) -> Iterator[RawRecord]:
    """Read an array of objects, or objects one after another that may span lines."""
    number = 0
    try:
        for record in _values(source, array=array):
            number = record.number
            yield record
    except _TooLong:
        reason = f"{too_long(source.most)}; --largest-record MIB allows longer ones"
        yield _unreadable(number + 1, source.line, reason, source.text[source.at :][:2_000])


def _values(source: _Source, *, array: bool) -> Iterator[RawRecord]:
    number = 0
    if source.following() and array:
        source.go(source.at + 1)
        if source.following() == "]":
            source.go(source.at + 1)
            if source.following():
                yield _unreadable(1, source.line, "text after the end of the JSON array")
            return
    while source.following() or array:
        number += 1
        line = source.line
        try:
            value, size = source.value()
        except (ValueError, RecursionError) as error:
            broken = isinstance(error, (json.JSONDecodeError, RecursionError))
            after = None if broken else source.end_of_value()
            if after is None:
                text = source.text[source.at : source.at + 2_000]
                yield _unreadable(number, *_broken_off(source, error), text)
                return
            yield _unreadable(number, line, _reason(error), source.text[source.at : after])
            source.go(after)
        else:
            yield _record(number, line, value, size)
        following = source.following()
        if not array:
            continue
        if following == "]":
            source.go(source.at + 1)
            if source.following():
                rest = source.text[source.at :][:2_000]
                yield _unreadable(number + 1, source.line, "text after the end of the JSON array", rest)
            return
        if following != ",":
            what = "lacks a comma between records" if following else "ends in the middle"
            rest = source.text[source.at : source.at + 2_000]
            yield _unreadable(number + 1, source.line, f"malformed JSON: the array {what}", rest)
            return
        source.go(source.at + 1)


def _end_of_value(text: str, at: int) -> int | None:
    """Return where a value ends that only its numbers make no JSON; None when it has no end."""
    try:
        return _LENIENT.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _broken_off(source: _Source, error: Exception) -> tuple[int, str]:
    """Return where a text is not valid any more, and why."""
    if source.at >= len(source.text):
        return source.line, "malformed JSON: the array ends in the middle"
    if not isinstance(error, json.JSONDecodeError):
        return source.line, f"{_reason(error)}; nothing after it can be read"
    line = source.line + source.text.count("\n", source.at, error.pos)
    return line, f"{_reason(error, source.column(error.pos))}; nothing after it can be read"


def column_names(header: Sequence[str]) -> list[str]:
    """Return the names of columns, with its number after a name that occurs twice: `text (3)`."""
    names = [name.strip() for name in header]
    return [
        f"{name} ({place})".strip() if names.count(name) > 1 else name for place, name in enumerate(names, 1)
    ]


def is_blank(row: Sequence[str]) -> bool:
    """Tell whether a row of CSV is none: blank, or the line by which a program names its delimiter."""
    return not any(row) or (row[0].startswith("sep=") and not any(row[1:]) and len(row[0]) <= len("sep=;"))


def _csv(file: InputFile, sample: Sample) -> Iterator[RawRecord]:
    csv.field_size_limit(file.record_bytes)
    with file.plain.open(encoding="utf-8", newline="") as text:
        reader = csv.reader(text, delimiter=sample.delimiter, strict=True)
        header: list[str] = []
        number = rows = 0
        while True:
            line = rows + 1 if file.is_sheet else reader.line_num + 1
            rows += 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield _unreadable(number + 1, line, f"malformed CSV: {error}; nothing after it can be read")
                return
            if is_blank(row):
                continue
            if not header and sample.has_header:
                header = column_names(row)
                continue
            header = header or [str(place) for place in range(1, len(row) + 1)]
            number += 1
            if len(row) != len(header):
                reason = f"{len(row)} fields where the header has {len(header)}"
                yield _unreadable(number, line, reason, row)
                continue
            yield RawRecord(number, line, dict(zip(header, row, strict=True)), sum(map(len, row)))


def _parquet(file: InputFile) -> Iterator[RawRecord]:
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(file.plain) as table:
            names = table.schema_arrow.names
            if len(set(names)) < len(names):
                yield _unreadable(1, 1, "a column name occurs twice")
                return
            for batch in table.iter_batches(batch_size=2_048):
                size = batch.nbytes // max(1, batch.num_rows)
                for row in batch.to_pylist():
                    number += 1
                    yield RawRecord(number, number, row, size)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        yield _unreadable(number + 1, number + 1, f"damaged Parquet: {error}")
