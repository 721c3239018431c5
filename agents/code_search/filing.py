"""Files what a code search found as pairs to label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agents.code_search.searching import SearchResult
from store.ingest.importing import import_records

if TYPE_CHECKING:
    from agents.repositories.reading import Repository
    from store.ingest.report import ImportReport
    from store.workspace.duckdb import Workspace


def source_of(repository: Repository) -> str:
    """Return the name of the source of the pairs that are filed from a repository."""
    at = f" @ {repository.commit[:7]}" if repository.commit else ""
    return f"search of {repository.name}{at}"


def file_pairs(
    workspace: Workspace, query: str, repository: Repository, found: Sequence[SearchResult], method: str
) -> ImportReport:
    """Add a query with each code that was found for it as pairs; those that are there stay as they are.

    A pair has the rank of the code among what was found, and as similarities its score in each stream.

    Args:
        workspace: The open workspace.
        query: The query.
        repository: Where it was searched.
        found: What was found, best first.
        method: What compared them, such as the name of the encoder.

    Raises:
        WorkspaceError: The workspace is a packet or could not be written.
    """
    return import_records(
        workspace, _records(query, repository, found, method), format="jsonl", source=source_of(repository)
    )


def _records(
    query: str, repository: Repository, found: Sequence[SearchResult], method: str
) -> Iterator[dict[str, Any]]:
    for rank, one in enumerate(found, start=1):
        unit = one.unit
        named = "\0".join((query, repository.name, unit.path, unit.name, unit.text))
        yield {
            "id": f"search-{hashlib.sha256(named.encode()).hexdigest()[:16]}",
            "query": query,
            "code": unit.text,
            "name": unit.name,
            "language": unit.language,
            "repository": repository.name,
            "path": unit.path,
            "rank": rank,
            "similarity": {f"{method} {stream}": score for stream, score in one.streams.items()},
            "extra": {"commit": repository.commit, "line": unit.line, "end_line": unit.end_line},
        }
