"""The files of a repository as they are found, before they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1 << 20
"""The size of a file."""
MOST_PATH = 4_096
"""The characters of a path."""
MOST_FILES = 20_000
"""The files of a repository."""

LINK, SUBMODULE, SPECIAL, BINARY = "links", "submodules", "special files", "binary files"
CLOSED, ELSEWHERE = "folders that cannot be read", "paths that lead elsewhere"
TOO_LARGE, BEYOND, UNREADABLE = (
    f"files over {MOST_BYTES >> 20} MiB",
    "files beyond the limit",
    "unreadable files",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A path of a repository.

    Attributes:
        path: The path in the repository, with `/` between folders.
        why_not: Why it is left out; empty for a file.
        read: Reads at most so many bytes of the file.
    """

    path: str
    why_not: str
    read: Callable[[int], bytes]


def is_plain(path: str) -> bool:
    """Return whether a path of a repository stays below it: git and archives can have others.

    What is longer than a system takes, or has a NUL character, is none either.
    """
    parts = path.split("/")
    return len(path) <= MOST_PATH and "\0" not in path and not {"", ".", ".."}.intersection(parts)


def plain_path(folder: Path, path: str) -> Path | None:
    """Return a path below a folder; None where it leads out of it, or through a link.

    Args:
        folder: The folder, with links resolved.
        path: The path in it.
    """
    found = folder / path
    try:
        return found if folder in found.parents and found.resolve() == found else None
    except ValueError:  # a NUL character
        return None
