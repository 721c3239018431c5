"""What can go wrong, as a user is told of it.

WorkbenchError
├── WorkspaceError          the workspace file cannot be opened, read or written
│   ├── WorkspaceLocked     another process holds it
│   └── WorkspaceTooNew     a newer version of the program wrote it
├── ImportFailed            a file could not be imported; nothing was
├── ExportFailed            a file could not be written
├── UnknownName             a name (rater, format, model, item) that nothing answers to
├── JudgmentRefused         a judgment that the record cannot take (value off the scale, no rater)
├── ModelError              a language model gave no usable reply (agents.llm)
└── SandboxError            a program could not be run (agents.sandbox)

Every error says what happened (`title`, `message`) and what mends it (`hint`). Bugs are not
WorkbenchErrors: they end the program with a traceback.
"""

from __future__ import annotations


class WorkbenchError(Exception):
    """An error that the user can mend, in three parts: title, message and hint."""

    exit_code = 2

    def __init__(self, title: str, message: str, hint: str = "") -> None:
        super().__init__(f"{title}: {message}" + (f" {hint}" if hint else ""))
        self.title = title
        self.message = message
        self.hint = hint


class WorkspaceError(WorkbenchError):
    """The workspace file cannot be opened, read or written."""


class WorkspaceLocked(WorkspaceError):
    """Another process holds the workspace file."""


class WorkspaceTooNew(WorkspaceError):
    """A newer version of the program wrote the workspace file."""


class ImportFailed(WorkbenchError):
    """A file could not be imported, and nothing of it was."""


class ExportFailed(WorkbenchError):
    """A file could not be written."""


class UnknownName(WorkbenchError):
    """Nothing answers to a name that the user gave."""


class JudgmentRefused(WorkbenchError):
    """The record cannot take a judgment: no rater, no such item, or a value off the scale."""
