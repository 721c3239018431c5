"""Finds sandboxes by name, ours and those of other packages, and chooses one.

A sandbox is an entry point of the group `workbench.sandboxes`: a class, or a function, that takes
`(settings: SandboxSettings, allowed: frozenset[str] | None)` and gives a `Sandbox`, where `allowed` names the
programs that a sandbox without isolation may run, by digest (None: any).
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings

    CreateSandbox = Callable[[SandboxSettings, frozenset[str] | None], Sandbox]

GROUP = "workbench.sandboxes"
ISOLATING = ("bubblewrap", "docker")
"""The sandboxes that may run any program, in the order in which they are tried: the quicker first."""
RESTRICTED = "process"


def sandboxes() -> tuple[str, ...]:
    """Name the sandboxes that are installed, in alphabetical order."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def find_sandbox(
    name: str, settings: SandboxSettings, allowed: frozenset[str] | None = frozenset()
) -> Sandbox:
    """Make the sandbox of a name.

    Args:
        name: Its entry point's name.
        settings: The user's settings.
        allowed: Digests of the programs that a sandbox without isolation may run; None for any.

    Returns:
        The sandbox; whether it works here, its `check` says.

    Raises:
        SandboxError: No sandbox has this name.
    """
    for point in entry_points(group=GROUP, name=name):
        create: CreateSandbox = point.load()
        return create(settings, allowed)
    known = ", ".join(sandboxes()) or "none"
    raise SandboxError("Unknown sandbox", f"No sandbox is called {name!r}.", f"Installed: {known}.")


async def choose_sandbox(
    settings: SandboxSettings, requested: str | None, allowed: frozenset[str], *, rather: str = ""
) -> Sandbox:
    """Choose where test programs run.

    Args:
        settings: The user's settings.
        requested: The name the user asked for in so many words, which for `process` means that it may run
            any program; None for the best that works.
        allowed: Digests of the programs that may run without isolation when nobody asked for anything.
        rather: The sandbox to try before the others when nobody asked for anything.

    Returns:
        The requested sandbox; else the first of `ISOLATING` that works here; else a subprocess that refuses
        every program not in `allowed`. It is the caller's to close.

    Raises:
        SandboxError: The requested sandbox does not exist or does not work here.
    """
    if requested is not None:
        sandbox = find_sandbox(requested, settings, None)
        check = await sandbox.check()
        if not check.works:
            await sandbox.close()
            raise SandboxError(f"The sandbox {requested} does not work here", check.detail, check.hint)
        return sandbox
    for name in sorted(ISOLATING, key=lambda name: name != rather):
        sandbox = find_sandbox(name, settings, allowed)
        if (await sandbox.check()).works:
            return sandbox
        await sandbox.close()
    return find_sandbox(RESTRICTED, settings, allowed)
