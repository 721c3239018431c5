"""The journal: a second copy of the records of humans, one JSON object a line, beside the workspace.

A line is written and forced to disk before its record is committed to the workspace, so the journal can
hold a record that the workspace lacks, never the other way round. Lines name raters, questions and items
by their names, so that they can be replayed into a workspace that was imported afresh.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from store.errors import WorkspaceError
from store.record.ids import ROOM

VERSION = 1

TAKEN_BACK = "taken_back"
"""The type of a line that names records, journaled but never committed, which their rater has undone."""

MEMBER = "member"
"""The type of a line that holds what a rater of a study said: consent, experience, that they withdraw."""

JOURNAL_SUFFIX = ".journal.jsonl"
"""The ending that a journal's file name adds to that of its workspace."""


def journal_path(workspace_path: Path) -> Path:
    """Return the path of the journal of a workspace file."""
    return workspace_path.with_name(workspace_path.name + JOURNAL_SUFFIX)


def check_journal(workspace_path: Path) -> None:
    """Refuse a folder, a pipe or a device in the place of the journal, before anything waits for it.

    Raises:
        WorkspaceError: A folder, a pipe or a device is there.
    """
    path = journal_path(workspace_path)
    if path.exists() and not path.is_file():
        raise WorkspaceError(
            "The journal is no file",
            f"{path} is a folder, a pipe or a device, and the second copy of every judgment goes there.",
            "Move it away, then start again.",
        )


def member_line(study: str, rater: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of what a rater of a study said of themselves.

    `said` holds columns of `study_rater` with their values.
    """
    plain = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in said.items()
    }
    return {"type": MEMBER, "study": study, "rater": rater, "record": plain}


class Journal:
    """Appends lines to a journal file; used in the write lane only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: list[dict[str, Any]]) -> None:
        """Write lines and force them to disk, all of them or none.

        Raises:
            OSError: They could not be written.
        """
        text = "".join(json.dumps({"v": VERSION, **line}, ensure_ascii=True) + "\n" for line in lines)
        fresh = not self.path.exists()
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.fstat(descriptor).st_size
            if before and os.pread(descriptor, 1, before - 1) != b"\n":
                # A line cut off by a crash stays as it is, and must not swallow the next one.
                text = "\n" + text
            try:
                remaining = text.encode()
                while remaining:
                    remaining = remaining[os.write(descriptor, remaining) :]
                os.fsync(descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if fresh:
            _sync_folder(self.path.parent)

    def take_back(self, ids: Sequence[UUID]) -> None:
        """Say of records whose line may be here that they were taken back before they were committed.

        Raises:
            OSError: It could not be read or written.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        written = [str(number) for number in ids if str(number).encode() in content]
        if written:
            self.append([{"type": TAKEN_BACK, "records": written}])


def _sync_folder(folder: Path) -> None:
    """Force the name of a new file to disk, too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of a journal: its number (from 1), and its object, or None when it cannot be read."""

    number: int
    record: dict[str, Any] | None


class TakenBack:
    """Records that were undone before they were committed, and what followed from them.

    Args:
        ids: The ids of those that were undone; the room behind each is that of what followed.
    """

    def __init__(self, ids: Iterable[UUID] = ()) -> None:
        self._ids = sorted(number.int for number in ids)

    def __contains__(self, number: UUID) -> bool:
        place = bisect_right(self._ids, number.int)
        return place > 0 and number.int - self._ids[place - 1] <= ROOM


def taken_back(path: Path) -> TakenBack:
    """Return the records that a journal has, but that were undone before they were committed."""
    found: set[UUID] = set()
    word = f'"{TAKEN_BACK}"'.encode()
    with path.open("rb") as file:
        for raw in file:
            if word in raw:
                with suppress(ValueError, TypeError, AttributeError, KeyError, RecursionError):
                    line = json.loads(raw)
                    if line["type"] == TAKEN_BACK:
                        found.update(UUID(number) for number in line["records"])
    return TakenBack(found)


def read_journal(path: Path) -> Iterator[JournalLine]:
    """Yield the lines of a journal in order, empty ones left out; an unreadable line has no record."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError):
                record = None
            yield JournalLine(number, record if isinstance(record, dict) else None)
