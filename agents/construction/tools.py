"""Files of a repository, written for a program that reads them and is not trusted with anything else."""

from __future__ import annotations

import errno
import re
import tempfile
from array import array
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from agents.repositories.entries import is_plain
from agents.sandbox.errors import SandboxError
from store.errors import WorkbenchError

if TYPE_CHECKING:
    from agents.sandbox.output_capture import ProcessResult


_NO_PLACE = frozenset({errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})
_LINE = re.compile(
    r"(?P<number>\d{1,9}) (?P<what>\S+) (?P<key>\S+) (?P<start>-?\d{1,12}) (?P<end>-?\d{1,12})"
)
_NO_MEMORY = ("OutOfMemory", "heap out of memory", "heap limit")
MOST_SECONDS = 1_800.0
"""The time in which the files of one repository are read."""
K = TypeVar("K", bound=Hashable)


@contextmanager
def written(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Write files into a folder, which goes at the end; another user may read them.

    Args:
        files: Their content, by path in the folder. One that leads out of it, or cannot be beside the others,
            such as in a folder that is another one of them, is left out.

    Raises:
        WorkbenchError: There is no room for them.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-") as name:
        root = Path(name)
        folders = {root}
        for path, content in files.items():
            if not is_plain(path):
                continue
            file = root / path
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            except OSError as error:
                if error.errno in _NO_PLACE:
                    continue
                raise WorkbenchError(
                    "Files not written",
                    f"{tempfile.gettempdir()}: {error.strerror}. Compilers read the files there.",
                    "Make room there, or set TMPDIR to another folder, then run it again.",
                ) from error
            folders.update(parent for parent in file.parents if root in parent.parents)
        for folder in folders:
            folder.chmod(0o755)
        yield root


@dataclass(slots=True)
class Reading:
    """The errors that a compiler reported for a file.

    Attributes:
        errors: Keys of errors, and where they begin and end in the file, in UTF-16 units.
        ended: Whether it is done with the file.
        parsed: Whether it could read it.
        given_up: Whether it is not asked about it again.
    """

    errors: list[tuple[str, int, int]] = field(default_factory=list)
    ended: bool = False
    parsed: bool = True
    given_up: bool = False

    def take(self, what: str, key: str, start: int, end: int) -> None:
        """Take a line of what it said."""
        if what == "error":
            self.errors.append((key, start, end))
        elif what == "done":
            self.ended = True
        else:
            self.parsed = False

    def give_up(self, result: ProcessResult, nothing_said: bool) -> None:
        """Do not ask about the file again.

        Raises:
            SandboxError: The compiler could not be started at all.
        """
        self.given_up = True
        said = result.stderr.decode(errors="replace").strip()
        no_memory = result.code == -9 or any(words in said for words in _NO_MEMORY)
        if nothing_said and not result.stopped and not no_memory:
            raise SandboxError(
                "The compiler was not started", said[-1000:] or f"It ended with {result.code}."
            )


def why_unread(readings: Sequence[Reading], program: str) -> str:
    """Return why a file is left out whose versions a program has read; empty where it is not."""
    if not all(one.parsed for one in readings):
        return f"not parsed by {program}"
    return "" if all(one.ended for one in readings) else f"on which {program} did not end"


async def read_all(
    wanted: Sequence[K], run: Callable[[Sequence[K]], Awaitable[ProcessResult]]
) -> dict[K, Reading]:
    """Have files read by a program, which says of each in turn what it found, as lines.

    The one with which the program does not end is left out, and it is run again with those that are left, for
    as long as there is time.

    Args:
        wanted: What stands for the files.
        run: Runs the program with some of them.

    Raises:
        SandboxError: It could not be started at all.
    """
    readings = {one: Reading() for one in wanted}
    ends = monotonic() + MOST_SECONDS
    while monotonic() < ends and (
        waiting := [one for one in wanted if not readings[one].ended and not readings[one].given_up]
    ):
        result = await run(waiting)
        for line in result.stdout.decode(errors="replace").splitlines():
            # What is too long is cut in its middle.
            if (told := _LINE.fullmatch(line)) and int(told["number"]) < len(waiting):
                of_file = readings[waiting[int(told["number"])]]
                of_file.take(told["what"], told["key"], int(told["start"]), int(told["end"]))
        if left := next((one for one in waiting if not readings[one].ended), None):
            readings[left].give_up(result, left == waiting[0] and not result.stdout)
    return readings


def blanked(code: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return a file with blanks in place of what is between some places, ends of lines aside."""
    changed = bytearray(code)
    for start, end in spans:
        changed[start:end] = bytes(one if one in b"\r\n" else 0x20 for one in code[start:end])
    return bytes(changed)


def of_utf16(code: bytes, units: int) -> int | None:
    """Return the place in a file, in bytes, that is given in UTF-16 units; None for none."""
    if code.isascii():
        return units if 0 <= units <= len(code) else None
    places = _places(code)
    return places[units] if 0 <= units < len(places) else None


@lru_cache(maxsize=2)
def _places(code: bytes) -> array[int]:
    """Return where each UTF-16 unit of a file begins, in bytes, and its end; of a pair where that begins."""
    places, at = array("L"), 0
    for letter in code.decode():
        size = len(letter.encode())
        places.extend([at] * (2 if size == 4 else 1))
        at += size
    places.append(at)
    return places


def missing(program: str, what: str, how: str) -> SandboxError:
    """Return the error that a program is not installed, which `what` are looked up by."""
    return SandboxError(
        f"{program} is not installed", f"{what} are looked up by {program}.", f"Install it: {how}"
    )
