"""Settings of code search: where the web is looked up."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, HttpUrl, TypeAdapter, field_validator


class SearchSettings(BaseModel):
    """Settings of `workbench search`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    web: str | None = None
    """Address of a search service that answers in SearXNG's JSON, such as http://127.0.0.1:8888/search.
    Look-ups of `search --model` send it the words that the model wants to read about. Unset: only the
    repository is looked up."""

    @field_validator("web")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        # Kept as it is written.
        if value is not None:
            TypeAdapter(HttpUrl).validate_python(value)
        return value
