"""The findings of a code search, as screens show them and a workspace keeps them."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.code_search.agents import Augmented
from agents.code_search.searching import SearchResult
from agents.code_search.streams import RankBy, Stream
from store.errors import WorkbenchError

MOST_KEPT = 900_000
"""Characters that a workspace keeps of a search, as JSON."""
_MOST_CODE = 200_000
"""Characters of these of the code that was written, which are cut, and as many of the paragraph."""
_OF_A_PLACE = 300
"""Characters of these that are left for each further result without its text."""


@dataclass(slots=True)
class Findings:
    """The findings of a search, which grow while it works.

    Attributes:
        query: The query.
        repository: The name of the repository.
        commit: Its commit; empty where that is not known.
        units: How many functions and classes it has.
        compared: By what texts are compared: the name of an encoder, `bm25`, or both.
        model: The model that writes about the query and code for it; empty for none.
        augmented: The paragraph about the query; None until there is one.
        code: The code that was written for it; empty for none.
        searched: The streams that were searched.
        results: The union of their results, best first.
        ranked: How the results are ranked: by the best cosine, or by a model that read all of them.
        notes: What went wrong and what was left out, a sentence each.
        requests: The requests to the model.
        cost: What they cost in US dollars; None where that is not known.
        seconds: How long it took.
    """

    query: str
    repository: str = ""
    commit: str = ""
    units: int = 0
    compared: str = ""
    model: str = ""
    augmented: Augmented | None = None
    code: str = ""
    searched: list[Stream] = field(default_factory=list)
    results: list[SearchResult] = field(default_factory=list)
    ranked: RankBy = "cosine"
    notes: list[str] = field(default_factory=list)
    requests: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def by_streams(self, streams: Collection[Stream]) -> list[SearchResult]:
        """Return what some of the streams found, best first.

        The order of a model is kept; otherwise the best score in any of these streams counts.
        """
        found = [
            replace(one, streams=own, score=max(own.values()))
            for one in self.results
            if (own := {stream: score for stream, score in one.streams.items() if stream in streams})
        ]
        if self.ranked == "model" or not self.model:
            return found
        return sorted(found, key=lambda one: (-one.score, one.unit.path, one.unit.line))

    @property
    def place(self) -> str:
        """The repository, with the beginning of its commit where that is known."""
        return f"{self.repository} @ {self.commit[:7]}" if self.commit else self.repository

    def as_json(self, top: int) -> dict[str, Any]:
        """Return what `workbench search --json` prints, with so many results."""
        augmented = self.augmented
        return {
            "query": self.query,
            "augmented": None if augmented is None else augmented.paragraph,
            "sources": [] if augmented is None else [asdict(one) for one in augmented.sources],
            "repository": self.repository,
            "commit": self.commit or None,
            "units": self.units,
            "results": [
                {
                    "rank": rank,
                    "path": one.unit.path,
                    "line": one.unit.line,
                    "end_line": one.unit.end_line,
                    "name": one.unit.name,
                    "kind": one.unit.kind,
                    "score": one.score,
                    "streams": one.streams,
                }
                for rank, one in enumerate(self.results[:top], start=1)
            ],
            "requests": self.requests,
            "cost": self.cost,
            "seconds": round(self.seconds, 3),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; results that have no room for their texts are without them."""
        augmented = self.augmented
        if augmented is not None:
            augmented = replace(augmented, paragraph=_cut(augmented.paragraph))
        shown = replace(self, augmented=augmented, code=_cut(self.code), results=[])
        found: dict[str, Any] = _adapter().dump_python(shown, mode="json")
        left = MOST_KEPT - _characters(found)
        results = _adapter().dump_python(self, include={"results"}, mode="json")["results"]
        for further, one in zip(reversed(range(len(results))), results, strict=True):
            one["unit"]["doc"] = ""
            if _characters(one) > left - further * _OF_A_PLACE:
                one["unit"]["text"] = ""
            left -= _characters(one)
            if left < 0:
                break
            found["results"].append(one)
        return found

    @classmethod
    def of_dict(cls, fields: object) -> Findings:
        """Return what `to_dict` returned.

        Raises:
            WorkbenchError: Another version made it.
        """
        try:
            found: Findings = _adapter().validate_python(fields)
        except ValidationError as error:
            raise not_shown() from error
        return found


def not_shown() -> WorkbenchError:
    """Return the error that what is kept of a search is not understood."""
    return WorkbenchError("Search not shown", "It was kept by another version of workbench.", "Search again.")


def _characters(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    """Return the beginning of a text that has room as JSON."""
    while (size := _characters(text)) > _MOST_CODE:
        text = text[: len(text) * _MOST_CODE // size]
    return text


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Findings)
