"""An input file made ready to be read: hashed, and unpacked where it is packed; or records in memory."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from store.errors import EmptyFile, ImportFailed
from store.events import Progress, ReportProgress
from store.reading.spreadsheets import is_spreadsheet, write_as_csv

_BLOCK = 1 << 20
RECORD_BYTES = 64 << 20
"""The most bytes that a record may have, where nothing else is asked for."""
_HEAD = 512
_ARCHIVES = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_BOM = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to import.

    Attributes:
        number: Its place among the files of one import, from 0.
        path: The file as it was named.
        plain: The same content without compression and byte order mark.
        sha256: Hash of the file as it is, hex.
        size: Bytes of the plain content.
        spare: A path where another copy may be put.
        is_sheet: Whether the plain content is a spreadsheet's, of which a row counts as a line.
        record_bytes: The most bytes that a record may have.
        has_mark: Whether the file begins with a byte order mark.
        content: The plain content, where it is in memory and there is no file; None for a file's.
    """

    number: int
    path: Path
    plain: Path
    sha256: str
    size: int
    spare: Path
    record_bytes: int = RECORD_BYTES
    is_sheet: bool = False
    has_mark: bool = False
    content: bytes | None = None

    def open(self) -> BinaryIO:
        """Open the plain content."""
        return self.plain.open("rb") if self.content is None else io.BytesIO(self.content)

    @property
    def name(self) -> str:
        """The file's name as messages give it."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without folder and endings."""
        return self.path.name.split(".", 1)[0] or self.path.name


def too_long(most: int) -> str:
    """Return the reason for a record that is longer than allowed.

    Args:
        most: The bytes that it may have.
    """
    return f"the record is longer than {most / (1 << 20):,.0f} MiB, so nothing of the file is read"


class _Lines:
    """Finds a line that is longer than a record may be, block by block; an array may be one line.

    Args:
        path: The file, for messages.
        most: The bytes that a record may have, no fewer than a block.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most = path, max(most, _BLOCK)
        self._line, self._length = 1, 0
        self._is_text: bool | None = None

    def take(self, block: bytes) -> None:
        """Check the next block.

        Raises:
            ImportFailed: A line has become too long.
        """
        if self._is_text is None:
            start = block.removeprefix(_BOM).lstrip()
            if not start:
                self._line += block.count(b"\n")
                return
            self._is_text = not start.startswith((b"[", b"PAR1"))
        if not self._is_text:
            return
        first = block.find(b"\n")
        length = self._length + (first if first >= 0 else len(block))
        if length > self._most:
            raise ImportFailed(
                "Record too long",
                f"{self._path}:{self._line}: {too_long(self._most)}. Nothing was imported.",
                "Take it out, or allow longer ones: --largest-record MIB",
            )
        self._line += block.count(b"\n")
        self._length = length if first < 0 else len(block) - block.rfind(b"\n") - 1


def prepare(
    number: int, path: Path, folder: Path, progress: ReportProgress, record_bytes: int = RECORD_BYTES
) -> InputFile:
    """Read a file once: hash it, and unpack it if need be.

    Args:
        number: Its place among the files of the import.
        path: The file.
        folder: Where an unpacked copy may be put.
        progress: Receives the bytes read.
        record_bytes: The most that one record may have; it is held while a file is unpacked.

    Raises:
        ImportFailed: It cannot be read, is empty, has a line that is too long for a record, or its gzip
            stream is damaged.
    """
    csv.field_size_limit(record_bytes)  # for whoever reads its sample
    try:
        size = path.stat().st_size
        digest = hashlib.sha256()
        with path.open("rb") as file:
            head = file.read(_HEAD)
            is_sheet = is_spreadsheet(path, head)
            if not is_sheet:
                _refuse_archive(path, head)
            packed = head[:2] == b"\x1f\x8b"
            file.seek(0)
            lines = _Lines(path, record_bytes)
            while block := file.read(_BLOCK):
                digest.update(block)
                if not (packed or is_sheet):
                    lines.take(block)
                progress(Progress(f"reading {path.name}", file.tell(), size))
        plain, has_mark = path, False
        if packed:
            plain = folder / f"{number}.plain"
            size = _unpack(path, plain, record_bytes)
            with plain.open("rb") as file:
                head = file.read(_HEAD)
                _refuse_archive(path, head)
                if head.startswith(b"PAR1"):
                    raise ImportFailed(
                        "Packed Parquet", f"{path} is a gzipped Parquet file.", "Unpack it first: gunzip"
                    )
        if is_sheet:
            plain = folder / f"{number}.csv"
            size = write_as_csv(path, plain)
        elif (coding := wide_coding(head)) in _WIDE:
            size = _recode(path, plain, folder / f"{number}.utf8", coding)
            plain, has_mark = folder / f"{number}.utf8", True
        elif head.startswith(_BOM):
            plain, has_mark = _without_mark(plain, folder / f"{number}.unmarked"), True
            size -= len(_BOM)
    except OSError as error:
        raise ImportFailed(
            "Cannot read file", f"{path}: {error.strerror or error}. Nothing was imported.", "Check the path."
        ) from error
    if size <= 0:
        raise EmptyFile(
            "Empty file", f"{path}:1: the file is empty. Nothing was imported.", "Check where it came from."
        )
    spare = folder / f"{number}.spare"
    return InputFile(number, path, plain, digest.hexdigest(), size, spare, record_bytes, is_sheet, has_mark)


def of_records(name: str, records: Iterable[Mapping[str, Any]], folder: Path) -> InputFile:
    """Return records in memory as a file of JSON lines, of which there is none on disk.

    Args:
        name: What the file is called.
        records: The records, of values that JSON has.
        folder: Where another copy may be put.

    Raises:
        ImportFailed: There are none, or one is too long.
    """
    path = Path(name)
    lines, content = _Lines(path, RECORD_BYTES), io.BytesIO()
    for record in records:
        # ASCII, since a text may hold half a surrogate pair.
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        lines.take(line)
        content.write(line)
    if not (whole := content.getvalue()):
        raise EmptyFile("No records", f"{name} has no records. Nothing was imported.", "Check their maker.")
    digest = hashlib.sha256(whole).hexdigest()
    return InputFile(0, path, path, digest, len(whole), folder / "0.spare", content=whole)


def wide_coding(head: bytes) -> str:
    """Name the encoding of a text of two or four bytes a character, by how it begins; empty for another."""
    start = head[:64]
    # UTF-16 and UTF-32 have a mark, or a NUL in every second place, since nearly all of it is ASCII.
    marked = start.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if not marked and (len(start) < 2 or (any(start[::2]) and any(start[1::2]))):
        return ""
    name = "UTF-32" if start.count(0) > len(start) * 5 // 8 else "UTF-16"
    return name if marked else name + ("LE" if any(start[::2]) else "BE")


_WIDE = ("UTF-16", "UTF-16LE", "UTF-16BE")


def _recode(path: Path, wide: Path, plain: Path, coding: str) -> int:
    """Write a text of two bytes a character as UTF-8, and return its bytes.

    Raises:
        ImportFailed: It is none.
    """
    try:
        with (
            wide.open(encoding=coding, newline="") as source,
            plain.open("w", encoding="utf-8", newline="") as out,
        ):
            while block := source.read(_BLOCK):
                out.write(block)
    except UnicodeError as error:
        raise ImportFailed(
            "Damaged text",
            f"{path}: {coding} text that breaks off ({error}). Nothing was imported.",
            "Fetch or write the file again.",
        ) from error
    return plain.stat().st_size


def _refuse_archive(path: Path, head: bytes) -> None:
    """Refuse a file that holds other files, by how its plain content begins.

    Raises:
        ImportFailed: It is an archive, or packed in a way that is not read.
    """
    kind = next((name for begins, name in _ARCHIVES if head.startswith(begins)), None)
    if head[257:262] == b"ustar":
        kind = "tar"
    elif head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        kind = "bzip2"
    if kind is not None:
        raise ImportFailed(
            "Archive",
            f"{path} is an archive ({kind}). Nothing was imported.",
            "Unpack it, and import the files in it.",
        )


def first_invalid_line(file: InputFile) -> int | None:
    """Return the first line of a file, from 1, that is not UTF-8; None when all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with file.open() as plain:
        while True:
            block = plain.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                # error.object also holds what an earlier block left undecoded, which has no line end in it.
                return line + error.object[: error.start].count(b"\n")
            if not block:
                return None
            line += block.count(b"\n")


def _unpack(path: Path, plain: Path, record_bytes: int) -> int:
    size = lines = 0
    long = _Lines(path, record_bytes)
    try:
        with gzip.open(path) as packed, plain.open("wb") as out:
            # read1 hands out what was unpacked before the damage, which read would lose with the error.
            while block := packed.read1(_BLOCK):
                long.take(block)
                out.write(block)
                size += len(block)
                lines += block.count(b"\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportFailed(
            "Damaged gzip file",
            f"{path}:{_damage(error, size, lines)} ({error}). Nothing was imported.",
            "Fetch or pack the file again.",
        ) from error
    return size


def _damage(error: Exception, size: int, lines: int) -> str:
    """Describe where a gzip stream is damaged, after `lines` whole lines of its content."""
    if isinstance(error, EOFError):
        return f"{lines + 1}: the gzip stream breaks off in this line of its content"
    if isinstance(error, zlib.error):
        return f"{lines + 1}: the gzip stream is damaged in this line of its content or after it"
    if size == 0:
        return "1: the gzip stream is damaged at its beginning"
    if str(error).startswith("Not a gzipped file"):
        return f"{lines + 1}: after the gzip stream, which ends here, comes something else"
    # The check sum and the length stand at the end, and hold for the content as a whole.
    return f"1: the gzip stream is damaged, in this or any later one of the {lines:,} lines of its content"


def _without_mark(marked: Path, plain: Path) -> Path:
    with marked.open("rb") as source, plain.open("wb") as target:
        source.seek(len(_BOM))
        _copy(source, target)
    return plain


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while block := source.read(_BLOCK):
        target.write(block)
