"""The exact reader: every record of a file with its line, by Python's own parsers.

The fast readers (store.bulk.fast, store.bulk.fast_csv) leave a file to this one as soon as anything in it is
not as it should be: this one says which record, on which line, and why.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import pyarrow
import pyarrow.parquet

from store.bulk.files import InputFile, broken_line
from store.formats.protocol import Sample

csv.field_size_limit(sys.maxsize)

NOT_UTF8 = "not UTF-8 text, so nothing of the file can be read; rewrite it as UTF-8"
"""What is said of a whole file in which bytes are no text."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record as it stands in a file.

    Attributes:
        number: Its place in the file, from 1.
        line: The line where it begins, from 1 (Parquet: its number).
        value: Its fields; None when it cannot be read.
        reason: Why it cannot be read.
        text: The text that could not be read, where it is known.
    """

    number: int
    line: int
    value: dict[str, Any] | None
    reason: str = ""
    text: Any = None


class _Repeated(dict[str, Any]):
    """An object in which a field occurs twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Repeated(fields)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
# What Python says of an integer that it declines to read.
_DIGITS = re.compile(r"value has (\d+) digits")
_LENIENT = json.JSONDecoder(parse_int=str)


def read_records(file: InputFile, sample: Sample) -> Iterator[RawRecord]:
    """Yield the records of a file in order; those that cannot be read say why.

    Args:
        file: The file, made ready.
        sample: How its records are stored.
    """
    if sample.container == "Parquet":
        yield from _parquet(file)
        return
    if sample.container == "json lines":
        with file.plain.open("rb") as lines:
            yield from _json_lines(lines)
        return
    if (broken := broken_line(file.plain)) is not None:
        yield RawRecord(1, broken, None, NOT_UTF8)
    elif sample.container == "CSV":
        yield from _csv(file, sample.delimiter)
    else:
        text = file.plain.read_bytes().decode("utf-8")
        yield from _json_text(text, array=sample.container == "JSON array")


def _taken(number: int, line: int, value: Any) -> RawRecord:
    if isinstance(value, _Repeated):
        return RawRecord(number, line, None, "a field occurs twice", dict(value))
    if not isinstance(value, dict):
        return RawRecord(number, line, None, "not a JSON object", value)
    return RawRecord(number, line, value)


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"malformed JSON: {error.msg} (column {error.colno})"
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
            shown = raw.decode("utf-8", errors="backslashreplace")
            yield RawRecord(number, line, None, f"not UTF-8 text (byte {error.start + 1} of the line)", shown)
            continue
        at = 0
        while at < len(text):
            number += 1
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                yield RawRecord(number, line, None, _said(error), text[at:])
                if (after := _end_of_value(text, at)) is None:
                    break
                end = after
            else:
                yield _taken(number, line, value)
            at = end
            # Some files hold several objects a line, one after another.
            at = _next(text, at)


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _json_text(text: str, *, array: bool) -> Iterator[RawRecord]:
    """Read an array of objects, or objects one after another that may span lines."""
    number, line, counted = 0, 1, 0
    at = _next(text, _next(text, 0) + 1) if array else _next(text, 0)
    if array and text[at : at + 1] == "]":
        at = _next(text, at + 1)
        if at < len(text):
            yield RawRecord(1, text.count("\n", 0, at) + 1, None, "text after the end of the JSON array")
        return
    while at < len(text) or array:
        number += 1
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if (after := _end_of_value(text, at)) is None:
                where = error.lineno if isinstance(error, json.JSONDecodeError) else line
                yield RawRecord(number, where, None, _broken_off(text, at, error), text[at : at + 2_000])
                return
            end = after
            yield RawRecord(number, line, None, _said(error), text[at:end])
        else:
            yield _taken(number, line, value)
        at = _next(text, end)
        if not array:
            continue
        if text[at : at + 1] == "]":
            rest = _next(text, at + 1)
            if rest < len(text):
                where = line + text.count("\n", counted, rest)
                yield RawRecord(
                    number + 1, where, None, "text after the end of the JSON array", text[rest:][:2_000]
                )
            return
        if text[at : at + 1] != ",":
            where = line + text.count("\n", counted, at)
            what = "ends in the middle" if at >= len(text) else "lacks a comma between records"
            yield RawRecord(
                number + 1, where, None, f"malformed JSON: the array {what}", text[at : at + 2_000]
            )
            return
        at = _next(text, at + 1)


def _end_of_value(text: str, at: int) -> int | None:
    """Return where a value ends that only its numbers make no JSON; None when it has no end."""
    try:
        return _LENIENT.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _broken_off(text: str, at: int, error: Exception) -> str:
    if at >= len(text):
        return "malformed JSON: the array ends in the middle"
    return f"{_said(error)}; nothing after it can be read"


def _csv(file: InputFile, delimiter: str) -> Iterator[RawRecord]:
    with file.plain.open(encoding="utf-8", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        header: list[str] = []
        number = 0
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield RawRecord(
                    number + 1, line, None, f"malformed CSV: {error}; nothing after it can be read"
                )
                return
            if not row:
                continue
            if not header:
                header = [name.strip() for name in row]
                if len(set(header)) < len(header):
                    yield RawRecord(1, line, None, "a column name occurs twice in the header")
                    return
                continue
            number += 1
            if len(row) != len(header):
                reason = f"{len(row)} fields where the header has {len(header)}"
                yield RawRecord(number, line, None, reason, row)
                continue
            yield RawRecord(number, line, dict(zip(header, row, strict=True)))


def _parquet(file: InputFile) -> Iterator[RawRecord]:
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(file.plain) as table:
            for batch in table.iter_batches(batch_size=2_048):
                for row in batch.to_pylist():
                    number += 1
                    yield RawRecord(number, number, row)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        yield RawRecord(number + 1, number + 1, None, f"damaged Parquet: {error}")
