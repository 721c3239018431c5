"""A cache of GitHub's answers in a folder, with their ETags: an unchanged page is not sent again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 30
"""Bytes of all kept pages."""

ONE = "per_page=1"
"""The end of an address that is asked for the number of its pages, which is not kept with them."""

Page = tuple[str | None, str | None, Any, str | None]
"""ETag, time of the last change, what was sent, and the address of the next page."""


class KeptPages(MutableMapping[str, Page]):
    """Pages by their addresses, one file each; the oldest ones are deleted beyond `MOST_BYTES`.

    What cannot be read or written is as if it were not kept.

    Args:
        folder: The folder; made if needed, for this user alone.
        reader: Who asks: what one token may see, another may not.
        most: Bytes of all of them.
    """

    def __init__(self, folder: Path, reader: str, most: int = MOST_BYTES) -> None:
        self._folder, self._reader, self._most = folder, reader, most
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._bytes = sum(size for _, size, _ in self._files())

    def __getitem__(self, address: str) -> Page:
        """Return a page.

        Raises:
            KeyError: It is not kept.
        """
        try:
            etag, changed, data, following = json.loads(self._path(address).read_bytes())
        except (OSError, ValueError, TypeError) as error:
            raise KeyError(address) from error
        return etag, changed, data, following

    def __setitem__(self, address: str, page: Page) -> None:
        """Keep a page; a reader sees the old one or the new one."""
        if address.endswith(ONE):
            return
        content = json.dumps(page).encode()
        path = self._path(address)
        part = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            part.write_bytes(content)
            part.replace(path)
            self._bytes += len(content)
            if self._bytes > self._most:
                self._delete_oldest()

    def __delitem__(self, address: str) -> None:
        """Delete a page."""
        self._path(address).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the files: addresses are not kept."""
        return (path.stem for path, _, _ in self._files())

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self._files())

    def _path(self, address: str) -> Path:
        return self._folder / f"{hashlib.sha256(f'{self._reader} {address}'.encode()).hexdigest()}.json"

    def _files(self) -> list[tuple[Path, int, float]]:
        found = []
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                with suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    found.append((Path(entry.path), state.st_size, state.st_mtime))
        return found

    def _delete_oldest(self) -> None:
        """Leave the newest half, so that this is seldom done."""
        self._bytes = 0
        for path, size, _ in sorted(self._files(), key=lambda one: -one[2]):
            if self._bytes + size > self._most // 2:
                with suppress(OSError):
                    path.unlink()
            else:
                self._bytes += size
