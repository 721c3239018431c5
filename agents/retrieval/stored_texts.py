"""Texts of a corpus that may be larger than the memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Sequence
from typing import overload

from store.errors import WorkbenchError


class StoredTexts(Sequence[str]):
    """Texts in a temporary file, which goes with them, read when they are needed."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the texts are forgotten
        self._ends = array("q", [0])

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
