"""Places of names that only another file of the repository explains, and how they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

NO_IMPORT = "without an import of the repository"
"""Why files of Python, Java and TypeScript are left out before a compiler reads them."""


class Place(NamedTuple):
    """A name in a file.

    Attributes:
        path: The file in the repository.
        start: Where the name begins in the file, in bytes of UTF-8.
    """

    path: str
    start: int
    name: str

    @property
    def end(self) -> int:
        """Where it ends, in bytes."""
        return self.start + len(self.name.encode())


@dataclass(slots=True)
class Found:
    """The places that were found in a repository, and the files that were left out.

    Attributes:
        places: The places, in the order of files and within them.
        left_out: How many files were left out, by why.
        problem: The first message of a compiler that kept all of the repository from being read; empty
            otherwise.
    """

    places: list[Place] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    problem: str = ""


class Finder(Protocol):
    """Finds the places in a language, by a program of this machine."""

    @property
    def program(self) -> str:
        """The program and its version."""
        ...

    async def find(self, files: Mapping[str, str]) -> Found:
        """Return the places in the files of a repository, given by path.

        Raises:
            SandboxError: The program cannot be run.
        """
        ...


def name_ending_at(code: bytes, end: int) -> tuple[int, str] | None:
    """Return where the name begins that ends at a place of a file, and the name; None where none does."""
    start = end
    while start and _is_part(code[start - 1]):
        start -= 1
    if start == end:
        return None
    try:
        name = code[start:end].decode()
    except UnicodeDecodeError:
        return None
    return (start, name) if name.isidentifier() else None


def _is_part(byte: int) -> bool:
    """Return whether a byte can be of a name: a letter or digit of ASCII, `_`, `$`, or of another letter."""
    return byte >= 0x80 or byte in b"_$" or chr(byte).isalnum()


def line_starts(code: bytes) -> list[int]:
    """Return where the lines of a file begin, in bytes."""
    starts = [0]
    while (end := code.find(b"\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return starts
