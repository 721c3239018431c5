"""The settings for GitHub: the section `github` of the configuration."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, SecretStr

from agents.llm.settings import Address

PUBLIC = "https://api.github.com"
_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")


class GitHubSettings(BaseModel):
    """Access to GitHub."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    url: Address = PUBLIC
    """Address of the REST interface; that of GitHub Enterprise ends with `/api/v3`."""

    token: SecretStr | None = None
    """Token for it. Unset: the variable GITHUB_TOKEN or GH_TOKEN. Without one GitHub answers 60 requests an
    hour, with one 5,000; a token that may read nothing but what is public is enough."""

    pages: Path | None = None
    """The folder that keeps what GitHub answered, so that nothing unchanged is sent twice, nor counted by its
    limit; at most 1 GiB. It holds user names as GitHub has them, and can be deleted at any time. Unset:
    `github` in your cache folder."""

    @property
    def folder(self) -> Path:
        """The folder of the kept pages."""
        if self.pages is not None:
            return self.pages.expanduser()
        return user_cache_path("workbench", appauthor=False) / "github"

    def given_token(self) -> str | None:
        """Return the token; None where there is none."""
        if self.token is not None:
            return self.token.get_secret_value().strip() or None
        return next((found for name in _VARIABLES if (found := os.environ.get(name, "").strip())), None)
