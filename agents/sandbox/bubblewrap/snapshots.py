"""Repaired environments as folders: made once, found by name, mounted read-only by bubblewrap."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from platformdirs import user_cache_dir

from agents.sandbox.errors import SandboxError
from agents.sandbox.repair import StoredSnapshot

_CHANGED = "Delete that folder and start again; sandbox.snapshots names another place for all of them."


class SnapshotFolder:
    """A folder of snapshots, which other workbenches may use at the same time.

    Args:
        place: Where it is; empty for the user's own folder of caches.
    """

    def __init__(self, place: str = "") -> None:
        self._place = Path(
            place or user_cache_dir("workbench", appauthor=False), "" if place else "snapshots"
        )

    def find(self, name: str) -> Path | None:
        """Return the folder of a snapshot; None when it is not there."""
        path = self._place / name
        return path if path.is_dir() else None

    def store(self, name: str, archive: IO[bytes], most_bytes: int) -> None:
        """Unpack a snapshot, all of it or nothing.

        Args:
            name: Its name.
            archive: A tar file that the repair wrote, so that nothing in it is trusted: no path leads
                out, and files get no right beyond reading and running.
            most_bytes: How large it may be.

        Raises:
            SandboxError: It is damaged or too large, or the folder cannot be written.
        """
        try:
            self._place.mkdir(parents=True, exist_ok=True)
            making = Path(tempfile.mkdtemp(prefix=".", dir=self._place))
        except OSError as error:
            raise SandboxError("Snapshots cannot be kept", f"{self._place}: {error}", _CHANGED) from error
        try:
            _unpack(archive, making, most_bytes)
            making.chmod(0o755)
            try:
                making.rename(self._place / name)
            except OSError:
                if self.find(name) is None:  # otherwise another workbench was quicker
                    raise
        except (OSError, tarfile.TarError, ValueError) as error:
            raise SandboxError("The snapshot could not be kept", str(error), _CHANGED) from error
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def stored(self) -> list[StoredSnapshot]:
        """List the snapshots that are there.

        Raises:
            SandboxError: The folder cannot be read.
        """
        try:
            folders = [each for each in self._place.iterdir() if is_name(each.name) and each.is_dir()]
            return [
                StoredSnapshot(
                    "bubblewrap",
                    each.name,
                    sum(path.lstat().st_size for path in each.rglob("*")),
                    datetime.fromtimestamp(each.stat().st_mtime, UTC),
                )
                for each in folders
            ]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SandboxError("Snapshots cannot be listed", f"{self._place}: {error}", _CHANGED) from error

    def remove(self, name: str) -> None:
        """Remove a snapshot; one that is gone already is well.

        Raises:
            SandboxError: It cannot be removed.
        """
        try:
            # Taken out of sight first: no run may begin in a half of it.
            with tempfile.TemporaryDirectory(prefix=".", dir=self._place) as leaving:
                (self._place / name).rename(Path(leaving, name))
        except FileNotFoundError:
            return
        except OSError as error:
            hint = "Who made it can remove it; sandbox.snapshots says where they are kept."
            raise SandboxError("A snapshot could not be removed", f"{error}", hint) from error


def is_name(text: str) -> bool:
    """Tell whether a text is the name of a snapshot."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _unpack(archive: IO[bytes], folder: Path, most_bytes: int) -> None:
    archive.seek(0)
    total, top = 0, os.path.realpath(folder)
    with tarfile.open(fileobj=archive, mode="r:") as packed:
        for entry in packed:
            total += entry.size
            if total > most_bytes:
                raise ValueError(f"it is larger than {most_bytes} bytes")
            # Links that were written before are followed here, so that none can lead out.
            parent, name = os.path.split(os.path.normpath(os.path.join(top, entry.name)))
            target = Path(top) if entry.name == "." else Path(os.path.realpath(parent), name)
            if target != Path(top) and Path(top) not in target.parents:
                raise ValueError(f"{entry.name} leads out of the snapshot")
            if entry.isdir():
                target.mkdir(mode=0o755, exist_ok=True)
            elif entry.issym():
                # Never followed on this side: in a sandbox it finds what the sandbox shows.
                target.symlink_to(entry.linkname)
            elif (content := packed.extractfile(entry) if entry.isfile() else None) is not None:
                with content, target.open("xb") as file:
                    shutil.copyfileobj(content, file)
                target.chmod(0o755 if entry.mode & 0o100 else 0o644)
