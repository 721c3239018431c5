"""Settings of retrieval: the cache of vectors, and how texts are encoded."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, Field


class RetrievalSettings(BaseModel):
    """How queries and codes are encoded for retrieval."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    vectors: Path | None = None
    """The folder that keeps the vectors of texts, so that no text is encoded twice by one model. Unset:
    `vectors` in your cache folder. It can be deleted at any time."""

    batch_size: int = Field(default=32, ge=1, le=4096)
    """How many texts a model encodes at a time; more are quicker on a GPU, and take more of its memory."""

    @property
    def folder(self) -> Path:
        """The folder of the cache."""
        if self.vectors is not None:
            return self.vectors.expanduser()
        return user_cache_path("workbench", appauthor=False) / "vectors"
