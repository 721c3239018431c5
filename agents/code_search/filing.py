"""Files what a code search found as pairs to label."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from store.ingest.importing import import_records

if TYPE_CHECKING:
    from agents.code_search.findings import Findings
    from agents.code_search.searching import SearchResult
    from store.ingest.report import ImportReport
    from store.workspace.duckdb import Workspace


def source_of(findings: Findings) -> str:
    """Return the name of the source of the pairs that are filed from a search: that of its repository."""
    return f"search of {findings.place}"


def file_pairs(workspace: Workspace, findings: Findings, ranks: Collection[int]) -> ImportReport:
    """Add a query with each code that was found for it as pairs; those that are there stay as they are.

    A pair has the rank of the code among what was found, and as similarities its score in each stream.

    Args:
        workspace: The open workspace.
        findings: What was found.
        ranks: The ranks of the results that are filed, from 1.

    Raises:
        WorkspaceError: The workspace is a packet or could not be written.
    """
    return import_records(workspace, _records(findings, ranks), format="jsonl", source=source_of(findings))


def not_run(found: Iterable[SearchResult]) -> str:
    """Return a sentence about results in languages whose programs are not run; empty where there is none."""
    others = " and ".join(sorted({one.unit.language for one in found} - {"python"}))
    return (
        f"Programs in {others} are not run: agents without execution and experts label them."
        if others
        else ""
    )


def _records(findings: Findings, ranks: Collection[int]) -> Iterator[dict[str, Any]]:
    for rank, one in enumerate(findings.results, start=1):
        unit = one.unit
        # Of some that were kept, the text had no room.
        if rank not in ranks or not unit.text:
            continue
        named = "\0".join((findings.query, findings.repository, unit.path, unit.name, unit.text))
        yield {
            "id": f"search-{hashlib.sha256(named.encode()).hexdigest()[:16]}",
            "query": findings.query,
            "code": unit.text,
            "name": unit.name,
            "language": unit.language,
            "repository": findings.repository,
            "path": unit.path,
            "rank": rank,
            "similarity": {f"{findings.compared} {stream}": score for stream, score in one.streams.items()},
            "extra": {"commit": findings.commit, "line": unit.line, "end_line": unit.end_line},
        }
