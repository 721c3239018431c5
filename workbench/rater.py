"""Who judges: the name given, the configured one, or the login name."""

from __future__ import annotations

import getpass

from workbench.config import Config


def rater_name(given: str | None, config: Config) -> str | None:
    """Return the rater's name, None where it is blank or unknown: then nothing can be judged."""
    name = given if given is not None else config.rater if config.rater is not None else _login()
    return name.strip() or None


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # No entry for this user number, as in many containers.
        return ""
