"""Errors of sandboxes."""

from __future__ import annotations

from store.errors import WorkbenchError
from store.queries.rows import NEEDS_SANDBOX

INSTALL_HINT = (
    "Install bubblewrap (apt-get install bubblewrap), or Docker and then workbench sandbox build; "
    "workbench sandbox check tries them out."
)


class SandboxError(WorkbenchError):
    """A program was refused, or there is no sandbox to run it in; nothing of it ran."""


class NeedsSandbox(SandboxError):
    """A program may run in isolation only, and nothing isolates here: its item waits for a sandbox."""

    def __init__(self, message: str, hint: str = INSTALL_HINT) -> None:
        super().__init__(NEEDS_SANDBOX, message, hint)
