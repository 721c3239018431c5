"""The name of the rater: the one given, the configured one, or the login name."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from store.record.rater_ref import checked_name

if TYPE_CHECKING:
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


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # No entry for this user number, as in many containers.
        return ""
