"""Reads the source files of a repository: of a folder, an archive, a commit of a clone, or a git URL.

No link is followed, and nothing of the repository is executed: of git only objects are read, without hooks,
filters, submodules and LFS.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import stat
import subprocess
import tarfile
import tokenize
import zipfile
import zlib
from codecs import lookup
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from agents.repositories.entries import (
    BEYOND,
    BINARY,
    CLOSED,
    ELSEWHERE,
    LINK,
    MOST_BYTES,
    MOST_FILES,
    SPECIAL,
    SUBMODULE,
    TOO_LARGE,
    UNREADABLE,
    Entry,
    is_plain,
    plain_path,
)
from agents.repositories.git import Clone, fetched, head_of, is_git_url, shown_url, split_reference
from store.errors import ImportFailed
from store.formatting import pluralize

MOST_TEXT = 1 << 30
"""The bytes of all of its files."""
MOST_UNPACKED = 4 << 30
"""The bytes of a tar archive, unpacked: it can only be read from its beginning to its end."""

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
"""The ends of the names of archives."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError),  # another compression, a password
    ValueError,  # a name that is no UTF-8, a number that is none
)
"""The errors of archives that are damaged, or cannot be unpacked here."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a repository.

    Attributes:
        path: Its path in the repository, with `/` between folders; what is no UTF-8 in it is escaped.
        text: Its text.
        replaced: Whether it has bytes that are not of its encoding, which were replaced.
    """

    path: str
    text: str
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """The files of a repository that were asked for.

    Attributes:
        name: What it is called: the folder, the archive without its ending, or the end of a URL.
        commit: The commit; empty where it is not known.
        files: By path.
        left_out: How many files were left out, by why.
    """

    name: str
    commit: str
    files: tuple[SourceFile, ...]
    left_out: Mapping[str, int]

    @property
    def replaced(self) -> int:
        """The files with bytes that were replaced."""
        return sum(file.replaced for file in self.files)

    def sentences(self) -> list[str]:
        """Return what was left out and replaced, as sentences."""
        found = [f"{why} ({count:,})" for why, count in self.left_out.items()]
        said = [f"Left out: {', '.join(found)}."] if found else []
        bad = pluralize(self.replaced, "file")
        return said + ([f"Replaced bytes of another encoding in {bad}."] if self.replaced else [])


def read_repository(
    place: str, wanted: Callable[[str], bool], report: Callable[[], object] | None = None
) -> Repository:
    """Read the files of a repository.

    Args:
        place: A folder, a zip or tar archive, or a git URL; after a clone or a URL `@` and a branch, a tag or
            a commit. A folder without it is read as it is on disk, but for folders that are hidden or hold
            installed packages (`node_modules`, virtual environments).
        wanted: Whether the file of a path is read; others are not counted.
        report: Called twice a second while a URL is fetched; an exception from it ends the reading.

    Raises:
        ImportFailed: There is no such repository or commit, or it cannot be read.
    """
    with _as_import_failed(place):
        if is_git_url(place):
            with fetched(place, report) as (clone, name):
                return _read(name, clone.commit, clone.entries(), wanted)
        if not place:
            raise _no_repository(place)
        path, reference = split_reference(place)
        with _opened(path, reference) as (name, commit, entries):
            return _read(name, commit, entries, wanted)


def read_one_file(place: Path, path: str, reference: str = "") -> Repository:
    """Read one file of a repository, without looking for the others where there is a way.

    Args:
        place: A folder or an archive.
        path: The path in the repository, as its files have it.
        reference: A branch, a tag or a commit of a clone; empty for the files on disk.

    Returns:
        The repository with this file, or with why it is left out; with neither where there is no such file.

    Raises:
        ImportFailed: There is no such repository or commit, or it cannot be read.
    """
    with _as_import_failed(str(place)), _opened(place, reference, path) as (name, commit, entries):
        found = islice((one for one in entries if one.path == path), 1)
        return _read(name, commit, found, lambda _: True)


def has_file(folder: Path, wanted: Callable[[str], bool]) -> bool:
    """Return whether a folder has a file, among those that are read, whose path is wanted."""
    return any(not entry.why_not and wanted(entry.path) for entry in _of_folder(folder))


@contextmanager
def _as_import_failed(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError, *_DAMAGED) as error:
        raise ImportFailed(
            "Not readable", f"{shown_url(place)}: {error}", "Check the folder, the archive or the clone."
        ) from error


def _no_repository(place: str | Path) -> ImportFailed:
    return ImportFailed(
        "No repository",
        f"There is no folder or archive {shown_url(str(place))}.",
        "Give a folder, a .zip or .tar archive, or a git URL, such as https://HOST/OWNER/NAME@TAG.",
    )


@contextmanager
def _opened(path: Path, reference: str, only: str = "") -> Iterator[tuple[str, str, Iterator[Entry]]]:
    """Give the name of a repository, its commit and its files; with `only` others may be left out."""
    ending = next((one for one in ARCHIVES if path.name.lower().endswith(one)), "")
    if path.is_dir():
        root = path.resolve()
        if reference:
            clone = Clone.of_folder(path, reference)
            yield root.name, clone.commit, clone.entries(only)
        else:
            yield root.name, head_of(root), _at(root, only) if only else _of_folder(path)
    elif ending and path.is_file():
        with _zip(path) if ending == ".zip" else _tar(path) as (commit, entries):
            yield path.name[: -len(ending)], commit, _below_one_folder(entries)
    else:
        raise _no_repository(path)


def _read(name: str, commit: str, entries: Iterator[Entry], wanted: Callable[[str], bool]) -> Repository:
    files: list[SourceFile] = []
    left_out: Counter[str] = Counter()
    size = 0
    for entry in entries:
        why = entry.why_not
        # What these would have held is not known.
        if why not in (LINK, SUBMODULE, CLOSED) and not wanted(entry.path):
            continue
        if not why and not is_plain(entry.path):
            why = ELSEWHERE
        if not why and (len(files) >= MOST_FILES or size >= MOST_TEXT):
            why = BEYOND
        data = b""
        if not why:
            try:
                data = entry.read(MOST_BYTES + 1)
            except OSError:
                why = UNREADABLE
        if len(data) > MOST_BYTES:
            why = TOO_LARGE
        elif b"\0" in data:
            why = BINARY
        if why:
            left_out[why] += 1
            continue
        size += len(data)
        files.append(SourceFile(shown_name(entry.path), *_decoded(entry.path, data)))
    files.sort(key=lambda one: one.path)
    return Repository(shown_name(name), commit, tuple(files), dict(left_out))


def shown_name(name: str) -> str:
    """Return the name of a file as text, with what is no UTF-8 escaped."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _decoded(path: str, data: bytes) -> tuple[str, bool]:
    """Return a text, and whether bytes of it were replaced."""
    encoding = "utf-8"
    try:
        if path.endswith(".py"):
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if lookup(encoding).name == "punycode":
            raise LookupError("a MiB of it takes minutes")
        text = data.decode(encoding)
        text.encode()  # which halves of surrogate pairs cannot be
    except (LookupError, SyntaxError, UnicodeError):
        return data.decode(errors="replace").removeprefix("\ufeff"), True
    return text.removeprefix("\ufeff"), False


# -- folders ------------------------------------------------------------------------------------------------


def _at(root: Path, path: str) -> Iterator[Entry]:
    """Yield the file of a path, if it is there; what leads out of the folder counts as a link."""
    file = plain_path(root, path)
    if file is None or file.is_file():
        yield Entry(path, LINK if file is None else "", partial(_bytes_of, root / path))


def _of_folder(root: Path) -> Iterator[Entry]:
    unreadable: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unreadable.append):
        # A folder that is a link is listed, and not entered.
        names += [one for one in folders if os.path.islink(os.path.join(folder, one))]
        folders[:] = sorted(one for one in folders if not _is_no_source(Path(folder, one)))
        for name in sorted(names):
            path = Path(folder, name)
            try:
                mode = path.lstat().st_mode
                why = "" if stat.S_ISREG(mode) else LINK if stat.S_ISLNK(mode) else SPECIAL
            except OSError:
                why = UNREADABLE
            yield Entry(path.relative_to(root).as_posix(), why, partial(_bytes_of, path))
    for error in unreadable:
        yield Entry(Path(error.filename).relative_to(root).as_posix(), CLOSED, partial(_bytes_of, root))


def _is_no_source(folder: Path) -> bool:
    """Return whether a folder is hidden, as `.git` is, or holds installed packages."""
    installed = {"__pycache__", "node_modules", "site-packages"}
    if folder.name.startswith(".") or folder.name in installed:
        return True
    try:
        return (folder / "pyvenv.cfg").exists()
    except OSError:  # closed, or its path is too long: it is entered, and what cannot be read is counted
        return False


def _bytes_of(path: Path, most: int) -> bytes:
    # It may have become a link or a pipe since it was listed.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read(most)


# -- archives -----------------------------------------------------------------------------------------------


@contextmanager
def _zip(path: Path) -> Iterator[tuple[str, Iterator[Entry]]]:
    """Give the commit that `git archive` wrote into an archive, and its files."""
    with zipfile.ZipFile(path) as archive:
        yield _commit_in(archive.comment.decode("ascii", "replace")), _zipped(archive)


def _zipped(archive: zipfile.ZipFile) -> Iterator[Entry]:
    for one in archive.infolist():
        if not one.is_dir():
            mode = one.external_attr >> 16
            why = LINK if stat.S_ISLNK(mode) else UNREADABLE if one.flag_bits & 1 else ""
            yield Entry(one.filename, why, partial(_unpacked, archive, one))


def _unpacked(archive: zipfile.ZipFile, one: zipfile.ZipInfo, most: int) -> bytes:
    try:
        with archive.open(one) as file:
            return file.read(most)
    except _DAMAGED as error:
        raise OSError(str(error)) from error


@contextmanager
def _tar(path: Path) -> Iterator[tuple[str, Iterator[Entry]]]:
    """Give the commit that `git archive` wrote into an archive, and its files."""
    with tarfile.open(path, "r|*") as archive:
        yield _commit_in(archive.pax_headers.get("comment", "")), _tarred(archive)


def _tarred(archive: tarfile.TarFile) -> Iterator[Entry]:
    unpacked = 0
    for one in archive:
        unpacked += one.size
        if unpacked > MOST_UNPACKED:
            raise tarfile.TarError(f"it holds more than {MOST_UNPACKED >> 30} GiB")
        if not one.isdir():
            why = "" if one.isreg() else LINK if one.issym() or one.islnk() else SPECIAL
            yield Entry(one.name, why, partial(_extracted, archive, one))


def _extracted(archive: tarfile.TarFile, one: tarfile.TarInfo, most: int) -> bytes:
    file = archive.extractfile(one)
    return b"" if file is None else file.read(most)


def _commit_in(comment: str) -> str:
    return comment if _COMMIT.fullmatch(comment) else ""


def _below_one_folder(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Yield the files of an archive with their paths in the repository.

    Archives of repositories hold one folder, which is no part of these paths. Which folder that is, is known
    at the first file; where a later one lies elsewhere, it keeps its whole path.
    """
    folder = None
    for entry in entries:
        parts = [part for part in PurePosixPath(entry.path.replace("\\", "/")).parts if part != "."]
        if folder is None:
            folder = parts[0] if len(parts) > 1 else ""
        below = parts[1:] if folder and parts[0] == folder else parts
        if below and not {"..", "/"} & set(below):
            yield Entry("/".join(below), entry.why_not, entry.read)
