"""Settings of retrieval: the cache of vectors, and how texts are encoded."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, Field


class RetrievalSettings(BaseModel):
    """Settings for encoding queries and codes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    vectors: Path | None = None
    """The folder that keeps the vectors of texts, so that no text is encoded twice by one model. Unset:
    `vectors` in your cache folder. It can be deleted at any time."""

    batch_size: int = Field(default=32, ge=1, le=4096)
    """The number of texts that a model encodes at a time. More are quicker on a GPU, and take more of its
    memory."""

    @property
    def folder(self) -> Path:
        """The folder of the cache."""
        if self.vectors is not None:
            return self.vectors.expanduser()
        return user_cache_path("workbench", appauthor=False) / "vectors"
