"""Finds the functions of a repository that answer a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.code_search.index import near
from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.repositories.units import Unit
from agents.retrieval.encoders import EMBEDDED, has_embedded
from agents.retrieval.retriever import Retriever
from store.errors import WorkbenchError

MOST_CHARACTERS = 20_000
"""The length of a query."""
LEXICAL = "bm25"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A function or class that was found.

    Attributes:
        score: By what it is ranked.
        streams: The streams that found it, each with its score there: a cosine, or by words that of BM25.
    """

    unit: Unit
    score: float
    streams: dict[str, float]


def default_encoder() -> str:
    """Return the name of the encoder that the extra `models` has; without the extra that of BM25."""
    return EMBEDDED if has_embedded() else LEXICAL


def with_words(encoder: str) -> str:
    """Return the method of an encoder and BM25 together; BM25 is alone."""
    return encoder if encoder == LEXICAL else f"{encoder}+{LEXICAL}"


def check_query(query: str) -> str:
    """Return a query without blanks around it.

    Raises:
        WorkbenchError: It is empty, or too long.
    """
    words = query.strip()
    if not words:
        raise WorkbenchError("No query", "The query is empty.", "Say in words what the code does.")
    if len(words) > MOST_CHARACTERS:
        raise WorkbenchError(
            "Query too long", f"It has {len(words):,} characters.", f"Give at most {MOST_CHARACTERS:,}."
        )
    return words


def functions_in(units: Sequence[Unit], left_out: Sequence[str] = ()) -> list[Unit]:
    """Return the functions among units.

    Args:
        units: The functions and classes of a repository.
        left_out: What was not read of it, as sentences.

    Raises:
        WorkbenchError: There is none.
    """
    found = [unit for unit in units if unit.kind == "function"]
    if not found:
        raise WorkbenchError(
            "No function",
            " ".join(["The repository has no function in Python, Java, TypeScript, C# or Go.", *left_out]),
            "Check the folder, and the commit.",
        )
    return found


def search_by_query(
    units: Sequence[Unit],
    query: str,
    retriever: Retriever,
    top: int,
    report: ReportWork = ignore_progress,
) -> list[SearchResult]:
    """Return the functions nearest to a query, best first; equal ones by path and line.

    Args:
        units: The functions and classes of a repository, by path and line.
        query: The query.
        retriever: What compares it with functions.
        top: How many are wanted.
        report: Receives the progress.
    """
    functions = functions_in(units)
    found = retriever.search([query], [unit.text for unit in functions], min(top, len(functions)), report)
    (row,) = near(found)
    return [SearchResult(functions[one.place], one.score, {"query": one.score}) for one in row]
