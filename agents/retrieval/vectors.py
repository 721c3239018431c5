"""Vectors of texts, kept in files so that no text is encoded twice by one model.

A folder for each model and role (its files, its pooling, its prompt; the form of the blocks) holds blocks of
at most 1,024 vectors. A block is written whole beside its place and renamed, so whatever stops the work
leaves whole blocks only, and the next run goes on behind the last one, with the same blocks and so with the
same vectors.

A block is a header (`_HEADER`: magic, number of texts, width, CRC-32 of all that follows), the digests of the
texts (16 bytes each), whether each was truncated (a byte each), and the vectors (float32, little-endian). Its
name is the digest of its digests: two processes that encode the same texts write the same file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from agents.jobs.work_progress import Pace, ReportWork, WorkProgress, ignore_progress
from agents.retrieval.retriever import blocks_of
from store.errors import WorkbenchError

if TYPE_CHECKING:
    import numpy

    from agents.retrieval.encoder import Encoded, Encoder, Role

    Array = numpy.ndarray[Any, Any]

TEXTS_AT_ONCE = 1024
"""Texts of a block: what a run that is stopped has to encode again at most."""

_HEADER = struct.Struct("<8sIII")
_MAGIC = b"WBVEC\x00\x00\x02"
_DIGEST_BYTES = 16
_LEFT_BEHIND_SECONDS = 3_600
"""A file that is half written for so many seconds was left behind: a block is written in one."""
_CHECKED_AT_ONCE = 256 * 1024
"""Bytes that stay in the processor's cache."""


class Vectors:
    """The vectors of texts, read from the files when they are needed.

    Attributes:
        width: Numbers of a vector.
        truncated: How many of the texts were longer than the model reads.
    """

    def __init__(self, files: Sequence[Path], width: int, file: Array, row: Array, truncated: int) -> None:
        """Create them.

        Args:
            files: The blocks.
            width: Numbers of a vector.
            file: Of each text, the number of the block that holds its vector.
            row: Its place in that block.
            truncated: How many texts were truncated.
        """
        self.width = width
        self.truncated = truncated
        self._files = files
        self._file = file
        self._row = row
        self._checked: set[int] = set()

    def __len__(self) -> int:
        return len(self._file)

    def read(self, start: int, into: Array) -> None:
        """Read the vectors of consecutive texts into an array.

        Args:
            start: The place of the first of them.
            into: A contiguous float32 array of shape (texts, width).

        Raises:
            WorkbenchError: A file is gone, or not as it was written.
        """
        import numpy

        stop = start + len(into)
        file, row = self._file[start:stop], self._row[start:stop]
        breaks = numpy.flatnonzero((numpy.diff(file) != 0) | (numpy.diff(row) != 1)) + 1
        edges = [0, *breaks.tolist(), len(into)]
        opened, descriptor = -1, -1
        try:
            for first, last in pairwise(edges):
                if file[first] != opened:
                    if descriptor >= 0:
                        os.close(descriptor)
                    opened, descriptor = int(file[first]), -1
                    descriptor = os.open(self._files[opened], os.O_RDONLY)
                    count, width, checksum = _header(
                        self._files[opened], os.pread(descriptor, _HEADER.size, 0)
                    )
                    if opened not in self._checked:
                        if _checksum(descriptor) != checksum:
                            raise damaged(self._files[opened], "its checksum is not that of what it holds")
                        self._checked.add(opened)
                offset = _HEADER.size + count * (_DIGEST_BYTES + 1) + int(row[first]) * width * 4
                _read_fully(descriptor, into[first:last].data.cast("B"), offset)
        except (OSError, EOFError) as error:
            raise damaged(self._files[opened], error) from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def all(self) -> Array:
        """Return all vectors: for those of queries, which are few."""
        import numpy

        whole = numpy.empty((len(self), self.width), dtype=numpy.float32)
        if len(self):
            self.read(0, whole)
        return whole


def _checksum(descriptor: int) -> int:
    """Return the CRC-32 of what follows the header of a block."""
    found, offset = 0, _HEADER.size
    while part := os.pread(descriptor, _CHECKED_AT_ONCE, offset):
        found, offset = zlib.crc32(part, found), offset + len(part)
    return found


def _read_fully(descriptor: int, into: memoryview, offset: int) -> None:
    while into:
        got = os.preadv(descriptor, [into], offset)
        if got == 0:
            raise EOFError("it is shorter than it was")
        into, offset = into[got:], offset + got


class VectorCache:
    """A folder with the vectors of all models."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def vectors(
        self, encoder: Encoder, texts: Sequence[str], role: Role, report: ReportWork = ignore_progress
    ) -> Vectors:
        """Return the vectors of texts; those that are not in the cache are encoded, a block at a time.

        Raises:
            WorkbenchError: A text is empty, the model fails or gives vectors that cannot be compared, or a
                block cannot be written; all blocks until then are kept.
        """
        import numpy

        stage = f"encoding {'queries' if role == 'query' else 'codes'} by {encoder.name}"
        known = _Blocks(self._folder, encoder.name, role, encoder.identity(role))
        wanted = []
        for start, block in _numbered(texts):
            report(WorkProgress(stage, 0, len(texts)))
            wanted.append(_digests(block, start, role))
        digests = numpy.concatenate(wanted) if wanted else _no_digests()
        missing = numpy.flatnonzero(known.find(digests) < 0)
        # Each text once, where it first is.
        _, first = numpy.unique(digests[missing], return_index=True)
        missing = missing[numpy.sort(first)]
        done = len(texts) - len(missing)
        # The longest texts of a block are encoded first.
        pace = Pace(stage, len(texts), report, done=done, enough=TEXTS_AT_ONCE)
        for start in range(0, len(missing), TEXTS_AT_ONCE):
            places = missing[start : start + TEXTS_AT_ONCE]
            chosen = [texts[int(place)] for place in places]
            encoded = encoder.encode(chosen, role, partial(_reach, pace, done))
            _check(encoder.name, encoded, places, known.width)
            known.add(digests[places], encoded)
            done += len(places)
            pace.reach(done)
        return known.vectors(digests)


def _reach(pace: Pace, before: int, number: int) -> None:
    pace.reach(before + number)


def _numbered(texts: Sequence[str]) -> Any:
    start = 0
    for block in blocks_of(texts):
        yield start, block
        start += len(block)


def _digests(texts: Sequence[str], start: int, role: str) -> Array:
    """Return the digests of texts.

    Raises:
        WorkbenchError: One of them is empty.
    """
    import numpy

    for place, text in enumerate(texts, start=start + 1):
        if not text.strip():
            raise WorkbenchError(
                f"Empty {role}", f"{role.capitalize()} {place:,} is empty.", "Remove it, and try again."
            )
    whole = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        for text in texts
    )
    return numpy.frombuffer(whole, dtype=f"V{_DIGEST_BYTES}")


def _no_digests() -> Array:
    import numpy

    return numpy.empty(0, dtype=f"V{_DIGEST_BYTES}")


def _check(name: str, encoded: Encoded, places: Array, width: int | None) -> None:
    """Refuse vectors that cannot be compared.

    Raises:
        WorkbenchError: One is not of numbers, or of another width than those that are there.
    """
    import numpy

    vectors = encoded.vectors
    if vectors.ndim != 2 or len(vectors) != len(places):
        raise WorkbenchError(
            "Vectors missing", f"{name} gave an array of shape {vectors.shape} for {len(places)} texts."
        )
    if width is not None and vectors.shape[1] != width:
        raise width_changed(name, vectors.shape[1], width)
    finite = numpy.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise WorkbenchError(
            "Not a number",
            f"{name} gave a vector that is not of numbers, for text {int(places[finite.argmin()]) + 1:,}.",
            "The model or its weights are broken. Nothing of this block was stored.",
        )


class _Blocks:
    """The blocks of one model and role.

    Attributes:
        width: Numbers of a vector; None where there is none yet.
    """

    def __init__(self, root: Path, name: str, role: Role, identity: Mapping[str, str]) -> None:
        import numpy

        about = json.dumps({"model": name, "role": role, **identity}, sort_keys=True)
        # The form of the blocks is part of it, so that those of another form are never met.
        digest = hashlib.sha256(_MAGIC + json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        slug = re.sub(r"[^\w.-]+", "-", name)[:60].strip(".-") or "model"
        self._folder = root / f"{slug}-{digest}" / role
        self.width: int | None = None
        self._files: list[Path] = []
        self._parts: list[tuple[Array, Array]] = []
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            for path in sorted(self._folder.glob("*.vectors")):
                self._take(path)
            _replace(self._folder / "model.json", (about + "\n").encode())
        except OSError as error:
            raise _not_written(self._folder, error) from error
        self._index = numpy.empty(0, dtype=numpy.int64)
        self._sorted = _no_digests()
        self._merge()

    def _sweep(self) -> None:
        """Remove what processes that were killed left behind."""
        long_ago = time.time() - _LEFT_BEHIND_SECONDS
        for path in self._folder.glob("*.part"):
            with suppress(FileNotFoundError):  # another process sweeps, too, or has just written it
                if path.stat().st_mtime < long_ago:
                    path.unlink()

    def _take(self, path: Path) -> None:
        """Note the digests of a block."""
        import numpy

        with path.open("rb") as file:
            count, width, _ = _header(path, file.read(_HEADER.size))
            size = os.fstat(file.fileno()).st_size
            if size != _HEADER.size + count * (_DIGEST_BYTES + 1 + 4 * width):
                raise damaged(path, "its size is not what its header says")
            beside = file.read(count * (_DIGEST_BYTES + 1))
        if self.width not in (None, width):
            raise damaged(path, f"its vectors have {width} numbers, others {self.width}")
        self.width = width
        self._files.append(path)
        self._parts.append(
            (
                numpy.frombuffer(beside, dtype=f"V{_DIGEST_BYTES}", count=count),
                numpy.frombuffer(beside, dtype=bool, offset=count * _DIGEST_BYTES),
            )
        )

    def _merge(self) -> None:
        import numpy

        digests = numpy.concatenate([_no_digests(), *(part for part, _ in self._parts)])
        self._index = numpy.argsort(digests, kind="stable")
        self._sorted = digests[self._index]

    def find(self, digests: Array) -> Array:
        """Return the number of the vector of each digest, counted through all blocks; -1 for none."""
        import numpy

        if not len(self._sorted):
            return numpy.full(len(digests), -1, dtype=numpy.int64)
        place = numpy.minimum(numpy.searchsorted(self._sorted, digests), len(self._sorted) - 1)
        return numpy.where(self._sorted[place] == digests, self._index[place], -1)

    def add(self, digests: Array, encoded: Encoded) -> None:
        """Write a block.

        Raises:
            WorkbenchError: It could not be written; what was there stays as it was.
        """
        import numpy

        vectors = numpy.ascontiguousarray(encoded.vectors, dtype="<f4")
        name = hashlib.sha256(digests.tobytes()).hexdigest()[:32]
        path = self._folder / f"{name}.vectors"
        truncated = numpy.asarray(encoded.truncated, dtype=bool)
        beside, numbers = digests.tobytes() + truncated.tobytes(), vectors.data.cast("B")
        checksum = zlib.crc32(numbers, zlib.crc32(beside))
        header = _HEADER.pack(_MAGIC, len(digests), vectors.shape[1], checksum)
        try:
            _replace(path, header + beside, numbers)
        except OSError as error:
            raise _not_written(self._folder, error) from error
        self._take(path)

    def vectors(self, digests: Array) -> Vectors:
        """Return the vectors of texts that are all there."""
        import numpy

        self._merge()
        sizes = numpy.array([len(part) for part, _ in self._parts], dtype=numpy.int64)
        starts = numpy.concatenate([[0], numpy.cumsum(sizes)])
        number = self.find(digests)
        file = numpy.searchsorted(starts, number, side="right") - 1
        truncated = numpy.concatenate([numpy.zeros(0, dtype=bool), *(flags for _, flags in self._parts)])
        return Vectors(
            self._files,
            self.width or 0,
            file.astype(numpy.int32),
            (number - starts[file]).astype(numpy.int32),
            int(truncated[number].sum()),
        )


def _header(path: Path, header: bytes) -> tuple[int, int, int]:
    """Return the number of texts, the width and the checksum of a block.

    Raises:
        WorkbenchError: It is none.
    """
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise damaged(path, "it is no block of vectors")
    _, count, width, checksum = _HEADER.unpack(header)
    return count, width, checksum


def _replace(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _not_written(folder: Path, cause: object) -> WorkbenchError:
    return WorkbenchError(
        "Vectors not written",
        f"{folder}: {cause}. All blocks before are kept.",
        "Make room on the disk, or set retrieval.vectors to another folder, then run it again.",
    )


def width_changed(name: str, width: int, before: int) -> WorkbenchError:
    """Return the error for a model whose vectors have another width than those that it gave before."""
    return WorkbenchError(
        "Width changed",
        f"{name} gives vectors of {width} numbers; those in the cache have {before}.",
        "It is another model now. Delete its vectors: see retrieval.vectors.",
    )


def damaged(path: Path, cause: object) -> WorkbenchError:
    """Return the error for a file of the cache that is not as it was written."""
    return WorkbenchError(
        "Vectors damaged", f"{path}: {cause}.", "Delete the file, then run it again: it is made again."
    )
