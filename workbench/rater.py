"""The name of the rater: the one given, the configured one, or the login name."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from store.record.rater_ref import checked_name

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace
    from workbench.config import Config
    from workbench.lazy_config import LazyConfig


def rater_name(given: str | None, config: Config | LazyConfig) -> str | None:
    """Return the rater's name, None where the configured one is blank or none is known.

    Args:
        given: The name on the command line, if any.
        config: The configuration.

    Raises:
        JudgmentRefused: The name given is blank, or a name holds what cannot be seen.
    """
    if given is not None:
        return checked_name(given)
    name = config.rater if config.rater is not None else _login()
    return checked_name(name) if name.strip() else None


def known_rater(config: Config | LazyConfig) -> str:
    """Return the configured rater's name, or the login name; empty where none is known or may be stored."""
    try:
        return rater_name(None, config) or ""
    except WorkbenchError:
        return ""


def rater_name_in(workspace: Workspace, given: str | None, config: Config | LazyConfig) -> str | None:
    """Return the rater's name in a workspace: in a packet that of its rater, else as `rater_name`.

    Args:
        workspace: The open workspace.
        given: The name on the command line, if any.
        config: The configuration.

    Raises:
        JudgmentRefused: The name given is blank, or a name holds what cannot be seen.
        UnknownName: The workspace is a packet, and the name given is not its rater's.
    """
    from store.policy.sealing import packet_in

    packet = packet_in(workspace)
    return rater_name(given, config) if packet is None else packet.check_rater(given)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # No entry for this user number, as in many containers.
        return ""
