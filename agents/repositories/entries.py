"""The files of a repository as they are found, before they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MOST_BYTES = 1 << 20
"""The size of a file."""
MOST_FILES = 20_000
"""The files of a repository."""

LINK, SUBMODULE, SPECIAL, BINARY = "links", "submodules", "special files", "binary files"
CLOSED = "folders that cannot be read"
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
