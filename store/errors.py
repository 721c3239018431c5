"""The errors that users see.

WorkbenchError
├── WorkspaceError          the workspace file cannot be opened, read or written
│   ├── WorkspaceLocked     another process holds it
│   │   └── WorkspaceSuspended   and is stopped, so that it answers nobody
│   └── WorkspaceTooNew     a newer version of the program wrote it
├── ImportFailed            a file could not be imported; nothing was
│   ├── ColumnsUnclear      a table whose columns have to be chosen (store.ingest.own_table)
│   ├── EmptyFile           it holds no records
│   ├── RecordsRefused      records of it cannot be taken, each named with file and line
│   └── UnknownFormat       it is of no known format (store.formats.protocol)
├── ExportFailed            a file could not be written
├── UnknownName             a name (rater, format, model, item) that nothing answers to
├── JudgmentRefused         a judgment that the record cannot take (value off the scale, no rater)
├── HiddenData              what was asked for tells of what the rater must not see
├── SqlError                a statement was refused, failed or was stopped
├── GitHubFailed            GitHub did not answer (agents.github.client)
├── BudgetReached           a run has spent what it may; nothing failed (agents.jobs.errors)
├── ModelError              a language model gave no usable reply (agents.llm.errors)
└── SandboxError            a program could not be run (agents.sandbox.errors)
    ├── NeedsSandbox        only isolation may run it, and there is none: it waits (agents.sandbox.errors)
    ├── RepairBroken        the place of a repair failed, not the repair (agents.sandbox.repair)
    ├── SandboxBroken       the sandbox failed, not the program in it (agents.jobs.step_recorder)
    └── SnapshotMissing     the repaired environment is not here any more (agents.sandbox.repair)

Every error says what happened (`title`, `message`) and what mends it (`hint`). Bugs are not
WorkbenchErrors: they end the program with a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence

from store.formatting import pluralize

__all__ = [
    "EmptyFile",
    "ExportFailed",
    "HiddenData",
    "ImportFailed",
    "JudgmentRefused",
    "RecordsRefused",
    "SqlError",
    "UnknownName",
    "WorkbenchError",
    "WorkspaceError",
    "WorkspaceLocked",
    "WorkspaceSuspended",
    "WorkspaceTooNew",
]

_PLACES = 5
"""Lines that are named of a reason for which records are refused."""

_SHOWN, _ROWS, _CELLS = 10, 14, 74
"""Refused records that are listed, in so many rows of a terminal of 80 cells, which hold so many each."""


class WorkbenchError(Exception):
    """An error that the user can mend, in three parts: title, message and hint.

    Attributes:
        command: A whole command that mends it, to be pasted; empty for none.
    """

    exit_code = 2
    command = ""

    def __init__(self, title: str, message: str, hint: str = "") -> None:
        stop = (
            "" if message.endswith((".", "!", "?", "…", ":")) else "."
        )  # a service's own words may have none
        super().__init__(f"{title}: {message}" + (f"{stop} {hint}" if hint else ""))
        self.title = title
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error as it is: not every subclass is made of its text."""
        return Exception.__new__, (type(self), *self.args), self.__dict__


class WorkspaceError(WorkbenchError):
    """The workspace file cannot be opened, read or written."""


def not_written(cause: object) -> WorkspaceError:
    """Return the error for a record that could not be written to the disk."""
    return WorkspaceError(
        "Not written",
        f"{cause}. What was acknowledged before is kept; this was not recorded.",
        "Make room on the disk, then run the command again.",
    )


class WorkspaceLocked(WorkspaceError):
    """Another process holds the workspace file."""


class WorkspaceSuspended(WorkspaceLocked):
    """Another process holds the workspace file, and is stopped, so that it answers nobody."""


class WorkspaceTooNew(WorkspaceError):
    """A newer version of the program wrote the workspace file."""


class ImportFailed(WorkbenchError):
    """A file could not be imported, and nothing of it was."""


class EmptyFile(ImportFailed):
    """A file holds no records."""


MOST_LISTED = 1_000
"""The most refused records that an import lists."""


class RecordsRefused(ImportFailed):
    """Records of the files are invalid; nothing was imported.

    Attributes:
        problems: The problems, each as (file name, line, reason), the first ones when there are very many.
    """

    def __init__(self, problems: Sequence[tuple[str, int | None, str]], count: int) -> None:
        lines: list[str] = []
        rows = 0
        # Each reason once, with the first lines where it holds.
        places: dict[tuple[str, str], list[int | None]] = {}
        for name, line, reason in problems:
            places.setdefault((name, reason), []).append(line)
        told_of = 0
        for (name, reason), found in list(places.items())[:_SHOWN]:
            also = ", ".join(f"{line}" for line in found[1:_PLACES] if line is not None)
            more_places = f" and {len(found) - _PLACES:,} more" if len(found) > _PLACES else ""
            told = f"{place(name, found[0])}: {reason}" + (f" (also {also}{more_places})" if also else "")
            rows += -(-len(told) // _CELLS)
            if lines and rows > _ROWS:
                break
            lines.append(told)
            told_of += len(found)
        more = [f"and {count - told_of:,} more"] if count > told_of else []
        super().__init__(
            "Nothing was imported",
            "\n".join([f"{pluralize(count, 'record')} cannot be taken:", *lines, *more]),
            "Correct them, or import the good ones and write the bad ones to a file: --rejects FILE",
        )
        self.problems = tuple(problems)


def place(name: str, line: int | None) -> str:
    """Return "file:line", or the file alone."""
    return name if line is None else f"{name}:{line}"


class ExportFailed(WorkbenchError):
    """A file could not be written."""


class UnknownName(WorkbenchError):
    """There is nothing of the name that the user gave."""


class JudgmentRefused(WorkbenchError):
    """A judgment cannot be recorded: no rater, no such item, or a value off the scale."""


class SqlError(WorkbenchError):
    """A statement was refused, failed or was stopped."""


class HiddenData(WorkbenchError):
    """The request would reveal something that is hidden from the rater."""
