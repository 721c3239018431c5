"""What a sandbox refuses to do, as a user is told of it."""

from __future__ import annotations

from store.errors import WorkbenchError

INSTALL_HINT = (
    "Install bubblewrap (apt-get install bubblewrap), or Docker and then workbench sandbox build; "
    "workbench sandbox check tries them out."
)


class SandboxError(WorkbenchError):
    """A program was refused, or there is no sandbox to run it in; nothing of it ran."""
