"""An input file made ready to be read: hashed, and unpacked where it is packed."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from store.errors import ImportFailed
from store.events import Progress, Report

_BLOCK = 1 << 20
_BOM = codecs.BOM_UTF8
_STORED = frozenset({"gz", "json", "jsonl", "ndjson", "csv", "tsv", "parquet"})


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
    """

    number: int
    path: Path
    plain: Path
    sha256: str
    size: int
    spare: Path

    @property
    def name(self) -> str:
        """The file's name as messages give it."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without folder and endings."""
        return self.path.name.split(".", 1)[0] or self.path.name


def bare_name(name: str) -> str:
    """Return a file's name without the endings that say how its records are stored, dots within it kept."""
    while (cut := name.rpartition("."))[0] and cut[2].lower() in _STORED:
        name = cut[0]
    return name


def prepare(number: int, path: Path, folder: Path, progress: Report) -> InputFile:
    """Read a file once: hash it, and unpack it if need be.

    Args:
        number: Its place among the files of the import.
        path: The file.
        folder: Where an unpacked copy may be put.
        progress: Is told the bytes read.

    Raises:
        ImportFailed: It cannot be read, is empty, or its gzip stream is damaged.
    """
    try:
        size = path.stat().st_size
        digest = hashlib.sha256()
        with path.open("rb") as file:
            head = file.read(4)
            packed = head[:2] == b"\x1f\x8b"
            file.seek(0)
            while block := file.read(_BLOCK):
                digest.update(block)
                progress(Progress(f"reading {path.name}", file.tell(), size))
        plain = path
        if packed:
            plain = folder / f"{number}.plain"
            size = _unpack(path, plain)
            with plain.open("rb") as file:
                head = file.read(4)
                if head == b"PAR1":
                    raise ImportFailed(
                        "Packed Parquet", f"{path} is a gzipped Parquet file.", "Unpack it first: gunzip"
                    )
        if head.startswith(_BOM):
            plain = _without_mark(plain, folder / f"{number}.unmarked")
            size -= len(_BOM)
    except OSError as error:
        raise ImportFailed(
            "Cannot read file", f"{path}: {error.strerror or error}. Nothing was imported.", "Check the path."
        ) from error
    if size <= 0:
        raise ImportFailed(
            "Empty file", f"{path}:1: the file is empty. Nothing was imported.", "Check where it came from."
        )
    return InputFile(number, path, plain, digest.hexdigest(), size, folder / f"{number}.spare")


def broken_line(plain: Path) -> int | None:
    """Return the first line of a file, from 1, that is not UTF-8; None when all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with plain.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                # error.object also holds what an earlier block left undecoded, which has no line end in it.
                return line + error.object[: error.start].count(b"\n")
            if not block:
                return None
            line += block.count(b"\n")


def _unpack(path: Path, plain: Path) -> int:
    size = lines = 0
    try:
        with gzip.open(path) as packed, plain.open("wb") as out:
            # read1 hands out what was unpacked before the damage, which read would lose with the error.
            while block := packed.read1(_BLOCK):
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
    """Say what is known of where a gzip stream is damaged; of its content `lines` whole lines came out."""
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
