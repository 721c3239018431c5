"""Texts of a corpus that may be larger than the memory."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Sequence
from typing import overload

from store.errors import WorkbenchError


class StoredTexts(Sequence[str]):
    """Texts in a temporary file, which goes with them, read when they are needed.

    A process that has inherited their file (`fileno`) can be given them, pickled; one reads at a time.
    """

    def __init__(self, number: int | None = None, ends: array[int] | None = None) -> None:
        # Closed when the texts are forgotten.
        self._file = tempfile.TemporaryFile() if number is None else os.fdopen(number, "rb")  # noqa: SIM115
        self._ends = array("q", [0]) if ends is None else ends

    def __reduce__(self) -> tuple[type[StoredTexts], tuple[int, array[int]]]:
        return type(self), (self.fileno(), self._ends)

    def fileno(self) -> int:
        """Return the number of the open file."""
        return self._file.fileno()

    def append(self, text: str) -> None:
        """Write one more text.

        Raises:
            WorkbenchError: It could not be written.
        """
        try:
            # A text is read from another place of the file, and the next one written at the end.
            self._file.seek(self._ends[-1])
            end = self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass"))
            self._file.flush()
        except OSError as error:
            raise WorkbenchError(
                "Texts not written",
                f"{tempfile.gettempdir()}: {error.strerror or error}. The texts are copied there first.",
                "Make room there, or set TMPDIR to another folder, then run it again.",
            ) from error
        self._ends.append(end)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a text, or a list of them."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        start, end = self._ends[place], self._ends[place + 1]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", "surrogatepass")
