"""The files of one import: listed, prepared, and the format of each detected or as named."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from store.errors import MOST_LISTED, EmptyFile, ImportFailed, RecordsRefused, place
from store.formats.bundle import is_bundle
from store.formats.fields import Layout
from store.formats.protocol import (
    Container,
    Converter,
    Entity,
    FileContext,
    Format,
    Sample,
    TwoPassConverter,
    UnknownFormat,
    bare_name,
    detect,
    find_format,
    formats,
    shown_fields,
)
from store.formats.values import Refused
from store.ingest.choices import ENDINGS
from store.ingest.own_table import (
    ColumnsUnclear,
    Proposal,
    are_data,
    has_readable,
    nearest,
    own_table,
    without_header,
)
from store.paths import is_there
from store.reading.files import InputFile, first_invalid_line, wide_coding
from store.reading.records import NOT_UTF8, column_names, read_records

PLAIN = ("jsonl", "csv", "parquet")
"""The formats of plain tables of pairs."""

_LOOK = 1 << 18
_LINES = 20
_MOST = 1 << 24
"""The most bytes of a file's beginning that are read to find its first record."""


def read_sample(file: InputFile) -> Sample:
    """Return the sample of a file.

    Raises:
        ImportFailed: It is no text, holds nothing but blank lines, or is Parquet that cannot be read.
    """
    path = file.path
    with file.open() as plain:
        head = plain.read(_LOOK)
        blank = 0
        while head and not head.strip():
            blank += head.count(b"\n")
            head = plain.read(_LOOK)
    if head.startswith(b"PAR1"):
        return Sample(path, "Parquet", _parquet_columns(file))
    _refuse_what_is_no_text(path, head, blank)
    text = head.decode("utf-8", errors="replace")
    start = text.lstrip()
    first = blank + text[: len(text) - len(start)].count("\n") + 1
    if start.startswith("["):
        columns = _columns(_array_head(_more(file, start, "[")))
        return Sample(path, "JSON array", columns, first_line=first)
    if start.startswith("{"):
        container, records = _objects_head(file)
        return Sample(path, container, _columns(records), first_line=first)
    delimiter, header = _header(start)
    header = column_names(header)
    if len(header) <= 1 and (records := _after_no_object(start)):
        return Sample(path, "json lines", _columns(records), first_line=first)
    return Sample(path, "CSV", frozenset(header), delimiter, first_line=first)


def _header(text: str) -> tuple[str, list[str]]:
    """Return the delimiter of a table, and its first record: a name may have a line break in it."""

    def cells(delimiter: str) -> list[str]:
        with suppress(csv.Error):
            return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
        return []

    named = re.match(r"sep=(.)\r?\n", text)
    if named is not None:
        text = text[named.end() :]
        return named[1], cells(named[1])
    found = {delimiter: cells(delimiter) for delimiter in ",;\t|"}
    delimiter = max(found, key=lambda one: len(found[one]))
    return delimiter, found[delimiter]


def _refuse_what_is_no_text(path: Path, head: bytes, blank: int) -> None:
    """Refuse a beginning that is no UTF-8 text at all.

    Raises:
        ImportFailed: It is.
    """
    if not head:
        lines = (
            "1: the file holds nothing" if blank == 0 else f"1: the file holds {blank:,} lines, but all are"
        )
        raise EmptyFile(
            "Empty file", f"{path}:{lines} blank. Nothing was imported.", "Check where it came from."
        )
    if name := wide_coding(head):
        raise ImportFailed(
            "Not UTF-8",
            f"{path}:1: the file is {name} text, where UTF-8 is expected. Nothing was imported.",
            f"Rewrite it: iconv -f {name} -t UTF-8 OLD > NEW",
        )
    if head[0] == 0:
        raise ImportFailed(
            "Not text",
            f"{path}:1: the file begins with a NUL byte, so it is no text. Nothing was imported.",
            "Check what sort of file it is, and export it again as JSON, CSV or Parquet.",
        )


def _after_no_object(start: str) -> list[dict[str, Any]]:
    """Return the objects on the first lines of a text whose first line is none and has no fields either."""
    records: list[dict[str, Any]] = []
    for line in start.split("\n")[1:_LINES]:
        if line.startswith("{"):
            records += _decoded(line)
    return records


def _parquet_columns(file: InputFile) -> frozenset[str]:
    try:
        return frozenset(pyarrow.parquet.read_schema(file.plain).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportFailed(
            "Damaged Parquet file",
            f"{file.path}: {error}. Nothing was imported.",
            "Fetch or write the file again.",
        ) from error


def _columns(records: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(name for record in records for name in record)


def _more(file: InputFile, start: str, opening: str) -> str:
    """Return enough of an array to hold its first record: all of it when the first is that large."""
    decoder = json.JSONDecoder()
    try:
        decoder.raw_decode(start[len(opening) :].lstrip())
    except (ValueError, RecursionError):
        if len(start) >= _LOOK // 4:
            with file.open() as plain:
                return plain.read(_MOST).decode("utf-8", errors="replace").lstrip()
    return start


def _array_head(text: str) -> list[dict[str, Any]]:
    return _decoded(text[1:])


def _decoded(text: str) -> list[dict[str, Any]]:
    """Return the first objects of a text, with nothing or commas between them."""
    decoder = json.JSONDecoder()
    records: list[dict[str, Any]] = []
    while len(records) < _LINES:
        text = text.lstrip(" \t\r\n,")
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            records.append(value)
        text = text[end:]
    return records


def _objects_head(file: InputFile) -> tuple[Container, list[dict[str, Any]]]:
    """Distinguish one object a line from objects that span lines."""
    records: list[dict[str, Any]] = []
    with file.open() as plain:
        lines = [line for _ in range(_LINES) if (line := plain.readline(_MOST))]
    for line in lines:
        if line.strip():
            records += _decoded(line.decode("utf-8", errors="replace"))
    if records or len(lines) <= 1:
        return "json lines", records
    with file.open() as plain:
        return "JSON objects", _decoded(plain.read(_LOOK).decode("utf-8", errors="replace"))


@dataclass(frozen=True, slots=True)
class Input:
    """One file of an import.

    Attributes:
        file: The file, made ready.
        format: Its format, with the user's column names.
        layout: Which sort of the format's records it holds.
        detected: Whether the format was detected from the content.
        why: From what.
        proposal: Its columns, where it is a table of no known format.
    """

    file: InputFile
    sample: Sample
    format: Format
    layout: Layout
    detected: bool
    why: str
    proposal: Proposal | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the format by its name, since it holds functions."""
        found = self.layout, self.detected, self.why
        return _unpickled, (self.file, self.sample, self.format.name, *found)


def _unpickled(file: InputFile, sample: Sample, name: str, *found: Any) -> Input:
    return Input(file, sample, find_format(name), *found)


def listed(paths: Iterable[Path | str]) -> list[Path]:
    """Return the files, folders replaced by the data files in them.

    Raises:
        ImportFailed: One is not there, or there is none.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if not is_there(path):
            raise ImportFailed(
                "No such file", f"There is no {path}. Nothing was imported.", "Check the path."
            )
        if path.is_file():
            files.append(path)
            continue
        if is_bundle(path):
            raise ImportFailed(
                "A whole workspace",
                f"{path} is a bundle, which becomes a workspace of its own. Nothing was imported.",
                "Import it alone, into a new file: workbench import NEW.duckdb FOLDER",
            )
        if not path.is_dir():
            raise ImportFailed(
                "Not a file",
                f"{path} is neither a file nor a folder. Nothing was imported.",
                "Write its content into a file first.",
            )
        # A data set of Hugging Face has its tables in a folder of their own.
        inside = beir_files(path) or data_files(path) or data_files(path / "data")
        if not inside:
            raise ImportFailed(
                "No data files", f"{path} holds no {', '.join(ENDINGS)} file.", "Name the files themselves."
            )
        files += inside
    for path in files:
        if str(path) != str(path).encode(errors="replace").decode():
            raise ImportFailed(
                "Not a UTF-8 name",
                f"The name {str(path)!a} is not UTF-8. Nothing was imported.",
                "Rename the file.",
            )
    if not files:
        raise ImportFailed("Nothing to import", "No file was named.", "workbench import WORKSPACE FILE...")
    return files


def data_files(folder: Path) -> list[Path]:
    """Return the data files in a folder, in order; none where it is no folder."""
    if not folder.is_dir():
        return []
    return sorted(
        child
        for child in folder.iterdir()
        if child.is_file() and child.suffix in ENDINGS and child.name not in _ABOUT
    )


def beir_files(folder: Path) -> list[Path]:
    """Return the files of a BEIR folder, texts and then qrels; none for another folder."""
    texts = [path for path in data_files(folder) if path.name.startswith(("corpus.json", "queries.json"))]
    qrels = sorted(folder.glob("qrels/*.tsv"))
    return [*texts, *qrels] if len(texts) == 2 and qrels else []


_ABOUT = frozenset({"dataset_info.json", "dataset_infos.json", "state.json"})
"""Files of a Hugging Face data set that tell of it, and hold none of it."""


def detect_input(file: InputFile, name: str | None, mapping: Mapping[str, str]) -> Input:
    """Detect a file's format.

    Args:
        file: The file, made ready.
        name: The format's name when the user gave it.
        mapping: Our field name to the file's column.

    Raises:
        ImportFailed: No format fits, several do, or the named one does not.
        UnknownName: There is no such format or field.
    """
    if name is not None and "lines" in find_format(name).containers and is_text(file.path):
        sample = Sample(file.path, "lines", frozenset({"text"}))
    else:
        sample = read_sample(file)
    if name is None:
        if not sample.columns:
            sample = replace(sample, columns=_columns_further_on(file, sample))
        sample = _with_numbered(sample, mapping)
        try:
            found, why = _detect(file, sample, mapping)
        except UnknownFormat as unknown:
            return _own(file, sample, mapping, unknown)
        if not mapping.keys() <= found.inner_fields:
            _refuse_absent(file, sample, mapping)
        if found.name in PLAIN and has_readable(file, sample):
            found, layout, said, proposal = own_table(file, sample, mapping)
            ours = proposal.mapping.get("query") == "query" and proposal.mapping.get("code") == "code"
            said = f"{why}{proposal.beside}" if ours else said
            return Input(file, proposal.sample, found, layout, True, said, proposal)
        return Input(file, sample, found, found.layout(sample), True, why)
    if not sample.columns and find_format(name).may_be_empty:
        _columns_further_on(file, sample)
    named = find_format(name)
    if not named.layouts:
        raise ImportFailed(
            "Cannot be read", f"The format {name} can only be written.", "Name another: --format"
        )
    if sample.container not in named.containers:
        raise ImportFailed(
            "Not of this format",
            f"{file.path} is {sample.container}, which {name} is not. Nothing was imported.",
            "Leave --format out to have it detected from the content.",
        )
    fitting = _mapped(named, mapping)
    return Input(file, sample, fitting, fitting.layout(sample), False, "named")


def _own(file: InputFile, sample: Sample, mapping: Mapping[str, str], unknown: ImportFailed) -> Input:
    """Read a file of no known format as a table of one's own, or a text without codes as a query a line.

    Raises:
        ImportFailed: It is neither, or its columns have to be chosen.
    """
    error, has_codes = unknown, False
    first = next(read_records(file, sample), None)
    if first is not None and first.reason.startswith("malformed CSV"):
        raise RecordsRefused([(file.name, first.line, first.reason)], 1)
    # A table with the columns of another program's file is none of one's own, nor one with texts as names.
    is_own = not find_format("jsonl").unless & sample.columns
    if len(sample.columns) > 1 and is_own and (sample.container == "CSV" or not are_data(sample.columns)):
        try:
            found, layout, why, proposal = own_table(file, sample, mapping)
            return Input(file, proposal.sample, found, layout, True, why, proposal)
        except ColumnsUnclear as unclear:
            error, has_codes = unclear, unclear.proposal.has_codes
    if has_codes or mapping or sample.container != "CSV" or not is_text(file.path):
        raise error
    queries = find_format("queries")
    lines = Sample(file.path, "lines", frozenset({"text"}))
    return Input(file, lines, queries, queries.layout(lines), True, "a text, a query a line")


def _with_numbered(sample: Sample, mapping: Mapping[str, str]) -> Sample:
    """Return a table whose columns the user names by their numbers as one without a header."""
    numbered = without_header(sample)
    asked = set(mapping.values()) - sample.columns - {""}
    return numbered if sample.container == "CSV" and asked and asked <= numbered.columns else sample


def is_text(path: Path) -> bool:
    """Return whether a file is a text of a record a line, by its name."""
    return path.name.removesuffix(".gz").endswith(".txt")


def detect_inputs(
    paths: Sequence[Path],
    name: str | None,
    mapping: Mapping[str, str],
    ready: Callable[[int, Path], InputFile],
) -> tuple[list[Input], tuple[str, ...]]:
    """Detect the format of every file, and leave out empty ones where one of the others allows that.

    Args:
        paths: The files.
        name: The format's name when the user gave it.
        mapping: Our field name to the files' column.
        ready: Makes a file ready, by its place among those that are imported and its path.

    Returns:
        The files to read, and the names of the empty ones.

    Raises:
        ImportFailed: No format fits, several do, the named one does not, or a file is empty.
        UnknownName: There is no such format or field.
    """
    inputs: list[Input] = []
    empty: list[str] = []
    first: EmptyFile | None = None
    for path in paths:
        try:
            inputs.append(detect_input(ready(len(inputs), path), name, mapping))
        except EmptyFile as error:
            first = first or error
            empty.append(str(path))
    if first is not None and not any(given.format.may_be_empty for given in inputs):
        raise first
    return inputs, tuple(empty)


def _columns_further_on(file: InputFile, sample: Sample) -> frozenset[str]:
    """Return the fields of the first record that can be read, where those at the beginning cannot.

    Raises:
        ImportFailed: There is no record, or none can be read.
    """
    broken: list[tuple[str, int | None, str]] = []
    count = 0
    for raw in read_records(file, sample):
        if raw.value:
            return frozenset(raw.value)
        count += 1
        reason = "an object without fields" if raw.value is not None else raw.reason
        broken += [(file.name, raw.line, reason)][: MOST_LISTED - len(broken)]
    if broken:
        raise RecordsRefused(broken, count)
    raise EmptyFile(
        "Empty file",
        f"{place(file.name, sample.first_line)}: the file holds no records. Nothing was imported.",
        "Check where it came from.",
    )


def _detect(file: InputFile, sample: Sample, mapping: Mapping[str, str]) -> tuple[Format, str]:
    """Detect a file's format; where none fits, say what is wrong with the file or the mapping, if that is."""
    candidates = _candidates(mapping)
    if mapping.get("query") and mapping.get("code"):
        # Who says which columns these are has a plain table, if it can be one.
        plain = {name: one for name, one in candidates.items() if name in PLAIN and one.detect(sample)}
        candidates = plain or candidates
    try:
        return detect(sample, candidates)
    except ImportFailed:
        line = None if sample.container == "Parquet" else first_invalid_line(file)
        if line is not None:
            raise RecordsRefused([(file.name, line, NOT_UTF8)], 1) from None
        _refuse_absent(file, sample, mapping)
        raise


def _refuse_absent(file: InputFile, sample: Sample, mapping: Mapping[str, str]) -> None:
    """Refuse columns that the user named and the file has not.

    Raises:
        ImportFailed: There is one.
    """
    absent = {ours: column for ours, column in mapping.items() if column and column not in sample.columns}
    if absent:
        options = " --map ".join(f"{ours}={column}" for ours, column in absent.items())
        near = nearest(next(iter(absent.values())), sorted(sample.columns))
        raise ImportFailed(
            "No such column",
            f"{place(file.name, sample.first_line)} has no column for --map {options}, but "
            f"{shown_fields(sample.columns)}{near}. Nothing was imported.",
            "Name a column that is there, or the format of the file: --format",
        ) from None


def _candidates(mapping: Mapping[str, str]) -> dict[str, Format]:
    readable = [known for known in formats().values() if known.layouts]
    fitting = [known for known in readable if known.knows(mapping)]
    # Without any, the plain table says which of the names is unknown.
    mapping = {field: column for field, column in mapping.items() if column}
    return {known.name: _mapped(known, mapping) for known in fitting or [formats()["jsonl"]]}


def _mapped(format_: Format, mapping: Mapping[str, str]) -> Format:
    if mapping.keys() <= format_.inner_fields:
        return format_
    layouts = tuple(layout for layout in format_.layouts if layout.knows(mapping)) or format_.layouts[:1]
    return replace(format_, layouts=tuple(layout.mapped(mapping) for layout in layouts))


def make_converters(
    inputs: Sequence[Input],
    model: str = "",
    setting: str = "",
    mapping: Mapping[str, str] | None = None,
    comparisons: Collection[str] = (),
) -> dict[int, Converter]:
    """Return the converters of the files that need one, by the number of the file.

    Those of one import share what they gather; those that need two passes have made the first one.

    Args:
        inputs: The files.
        model: The model that the user named for them; "" for none.
        setting: The setting that the user named for them; "" for none.
        mapping: Our field name to the files' column.
        comparisons: The ids of the comparisons of the workspace.
    """
    shared: dict[str, Any] = {}
    converters: dict[int, Converter] = {
        given.file.number: given.format.converter(
            FileContext(
                bare_name(given.file.path.name),
                model,
                setting,
                mapping if mapping and given.format.inner_fields else {},
                shared,
                comparisons,
            )
        )
        for given in inputs
        if given.format.converter is not None
    }
    for given in inputs:
        converter = converters.get(given.file.number)
        if converter is not None and given.layout.renamed:
            converter = converters[given.file.number] = _Renaming(converter, given.layout.renamed)
        if isinstance(converter, TwoPassConverter):
            for raw in read_records(given.file, given.sample):
                if raw.value is not None:
                    converter.scan(raw.value)
    return converters


class _Renaming:
    """Gives a converter the fields that the user mapped under the names that it knows.

    A field that bears such a name itself gets one that has become free, so that it is kept.
    """

    def __init__(self, converter: Converter, renamed: Iterable[tuple[str, str]]) -> None:
        self.counts = converter.counts
        self._converter = converter
        self._mapped = dict(renamed)
        displaced = [name for name in self._mapped.values() if name not in self._mapped]
        free = [name for name in self._mapped if name not in self._mapped.values()]
        self._names = self._mapped | dict(zip(displaced, free, strict=True))

    def scan(self, record: Mapping[str, Any]) -> None:
        """Hand on a record of the first pass."""
        if isinstance(self._converter, TwoPassConverter):
            self._converter.scan(self._renamed(record))

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Hand on a record.

        Raises:
            Refused: It lacks a field that is mapped, or cannot be imported.
        """
        for name in self._mapped:
            if name not in record:
                raise Refused(f"missing field {name!r}")
        return self._converter.convert(self._renamed(record), number)

    def _renamed(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {self._names.get(name, name): value for name, value in record.items()}
