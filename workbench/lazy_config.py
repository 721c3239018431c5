"""The configuration for a quick start: it is loaded only where a file or a variable sets something."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from screens.settings import ScreenSettings
from workbench.config_path import config_path, is_anything_set

if TYPE_CHECKING:
    from workbench.config import Config


class LazyConfig:
    """The configuration, loaded when something is asked that the defaults do not answer.

    Args:
        given: The file of --config, if any.
        config: A configuration that was loaded already.
        blind: Whether the review is blind whatever is configured.

    Raises:
        WorkbenchError: (whenever it is loaded) A file or a variable cannot be understood.
    """

    def __init__(
        self, given: Path | None = None, *, config: Config | None = None, blind: bool = False
    ) -> None:
        self._given = given
        self._blind = blind
        self._set = config is not None or is_anything_set(given)
        if config is not None:
            self.whole = config

    @property
    def path(self) -> Path:
        """The file that is read, or would be if it were there."""
        return config_path(self._given)

    @cached_property
    def whole(self) -> Config:
        """All of it."""
        from workbench.config import load_config

        return load_config(self._given).config

    @cached_property
    def screens(self) -> ScreenSettings:
        """How the app looks and which keys it has."""
        configured = self.whole.screens if self._set else ScreenSettings()
        return replace(configured, blind=True) if self._blind else configured

    @property
    def rater(self) -> str | None:
        """The configured rater's name."""
        return self.whole.rater if self._set else None

    @property
    def workspace(self) -> Path | None:
        """The configured workspace."""
        return self.whole.workspace if self._set else None
