"""Settings of code search: where the web is looked up."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from agents.llm.settings import Address


class SearchSettings(BaseModel):
    """Settings of `workbench search`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    web: Address | None = None
    """Address of a search service that answers in SearXNG's JSON, such as http://127.0.0.1:8888/search.
    Look-ups of `search --model` send it the words that the model wants to read about. Unset: only the
    repository is looked up."""
