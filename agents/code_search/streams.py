"""The streams of a code search, and their union (RepoRift, section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from agents.code_search.index import Near, UnitIndex
from agents.code_search.searching import SearchResult
from agents.repositories.units import LANGUAGES, Kind, units_of
from agents.retrieval.encoder import Role

Stream = Literal["query", "code", "classes", "parts"]
RankBy = Literal["cosine", "model"]
STREAMS: tuple[Stream, ...] = ("query", "code", "classes", "parts")
"""The streams, in the order of the paper: functions near the query, functions and classes near the code that
was written for it, and functions near the functions in that code."""
NEAREST = 3
"""The number of results of a stream; the stream of the parts has one for each part."""
MOST_PARTS = 20
"""The functions in the written code that are compared."""


def nearest(index: UnitIndex, text: str, role: Role, kind: Kind) -> list[Near]:
    """Return the functions or classes nearest to a query or to written code."""
    (found,) = index.nearest([text], role, kind, NEAREST)
    return found


def parts_of(code: str, language: str) -> list[str]:
    """Return the functions in written code."""
    suffix = next(one.suffixes[0] for one in LANGUAGES if one.name == language)
    parts = [unit.text for unit in units_of(f"written{suffix}", code) if unit.kind == "function"]
    return parts[:MOST_PARTS]


def by_parts(index: UnitIndex, parts: Sequence[str]) -> list[Near]:
    """Return for each function in written code the nearest one."""
    return [near for row in index.nearest(parts, "code", "function", 1) for near in row]


def union(index: UnitIndex, found: Mapping[Stream, Sequence[Near]]) -> list[SearchResult]:
    """Return what any stream found, by the best score of any; equal ones by path and line."""
    scores: dict[int, dict[str, float]] = {}
    for stream, near in found.items():
        for one in near:
            own = scores.setdefault(one.place, {})
            own[stream] = max(one.score, own.get(stream, one.score))
    best = sorted(scores, key=lambda place: (-max(scores[place].values()), place))
    return [SearchResult(index.units[place], max(scores[place].values()), scores[place]) for place in best]
