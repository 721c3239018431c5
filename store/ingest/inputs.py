"""The files of one import: found, made ready, and each one's format told or taken as named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from store.errors import ImportFailed, RecordsRefused, place
from store.formats.fields import Layout
from store.formats.protocol import Format, Sample, detect, find_format, formats
from store.ingest.files import InputFile, broken_line
from store.ingest.problems import MOST_KEPT
from store.ingest.records import NOT_UTF8, read_records
from store.ingest.sample import look_at

_ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".gz")


@dataclass(frozen=True, slots=True)
class Input:
    """One file of an import.

    Attributes:
        file: The file, made ready.
        sample: Its beginning.
        format: Its format, with the user's column names.
        layout: Which sort of the format's records it holds.
        detected: Whether the format was told from the content.
        why: From what.
    """

    file: InputFile
    sample: Sample
    format: Format
    layout: Layout
    detected: bool
    why: str


def listed(paths: Iterable[Path | str]) -> list[Path]:
    """Return the files, folders replaced by the data files in them.

    Raises:
        ImportFailed: One is not there, or there is none.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise ImportFailed(
                "No such file", f"There is no {path}. Nothing was imported.", "Check the path."
            )
        if path.is_file():
            files.append(path)
            continue
        if not path.is_dir():
            raise ImportFailed(
                "Not a file",
                f"{path} is neither a file nor a folder. Nothing was imported.",
                "Write what it gives into a file first.",
            )
        inside = sorted(child for child in path.iterdir() if child.is_file() and child.suffix in _ENDINGS)
        if not inside:
            raise ImportFailed(
                "No data files", f"{path} holds no {', '.join(_ENDINGS)} file.", "Name the files themselves."
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


def tell(file: InputFile, name: str | None, mapping: Mapping[str, str]) -> Input:
    """Tell a file's format.

    Args:
        file: The file, made ready.
        name: The format's name when the user gave it.
        mapping: Our field name to the file's column.

    Raises:
        ImportFailed: No format fits, several do, or the named one does not.
        UnknownName: There is no such format or field.
    """
    sample = look_at(file.path, file.plain)
    if name is None:
        if not sample.columns:
            sample = replace(sample, columns=_columns_further_on(file, sample))
        found, why = _detect(file, sample, _candidates(mapping))
        return Input(file, sample, found, found.layout(sample), True, why)
    named = find_format(name)
    if not named.layouts:
        raise ImportFailed(
            "Cannot be read", f"The format {name} can only be written.", "Name another: --format"
        )
    if sample.container not in named.containers:
        raise ImportFailed(
            "Not of this format",
            f"{file.path} is {sample.container}, which {name} is not. Nothing was imported.",
            "Leave --format away to have it told from the content.",
        )
    fitting = _mapped(named, mapping)
    return Input(file, sample, fitting, fitting.layout(sample), False, "named")


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
        broken += [(file.name, raw.line, reason)][: MOST_KEPT - len(broken)]
    if broken:
        raise RecordsRefused(broken, count)
    raise ImportFailed(
        "Empty file",
        f"{place(file.name, sample.first_line)}: the file holds no records. Nothing was imported.",
        "Check where it came from.",
    )


def _detect(file: InputFile, sample: Sample, candidates: dict[str, Format]) -> tuple[Format, str]:
    """Tell a file's format; where none fits since the file is no UTF-8 text, that is what is said."""
    try:
        return detect(sample, candidates)
    except ImportFailed:
        line = None if sample.container == "Parquet" else broken_line(file.plain)
        if line is None:
            raise
        raise RecordsRefused([(file.name, line, NOT_UTF8)], 1) from None


def _candidates(mapping: Mapping[str, str]) -> dict[str, Format]:
    readable = [known for known in formats().values() if known.layouts]
    fitting = [known for known in readable if any(layout.knows(mapping) for layout in known.layouts)]
    # Without any, the plain table says which of the names is unknown.
    return {known.name: _mapped(known, mapping) for known in fitting or [formats()["jsonl"]]}


def _mapped(format_: Format, mapping: Mapping[str, str]) -> Format:
    if not mapping:
        return format_
    layouts = tuple(layout for layout in format_.layouts if layout.knows(mapping)) or format_.layouts[:1]
    return replace(format_, layouts=tuple(layout.mapped(mapping) for layout in layouts))
