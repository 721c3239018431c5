"""Requests for candidate pairs, from the command line or the app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.jobs.work_progress import ReportWork
from agents.retrieval.candidates import Candidates, CorpusTexts, find_by_method, find_candidates
from agents.retrieval.encoders import shown_name
from agents.retrieval.lexical import LexicalRetriever
from agents.retrieval.methods import METHODS, check_combination, open_members, retriever_named
from agents.retrieval.vectors import VectorCache
from store.errors import WorkbenchError
from store.formatting import pluralize

if TYPE_CHECKING:
    from agents.llm.settings import ModelSettings
    from agents.retrieval.settings import RetrievalSettings

MOST_CODES = 1000
"""Codes of a query at most."""


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """The settings of a search.

    Attributes:
        models: The models and lexical methods, as `open_members` names them.
        top: Codes of each query.
        combine: How the similarities of several models are put together: "mean" or "z".
    """

    models: tuple[str, ...]
    top: int = 20
    combine: str = "mean"

    @property
    def source(self) -> str:
        """The name of the source of the pairs, which tells how they were found."""
        how = f", {self.combine}" if len(self.models) > 1 else ""
        return f"candidates {' '.join(map(shown_name, self.models))}{how}, top {self.top}"


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the candidates of a request.

    Attributes:
        find: Does it, given the texts and what receives the progress.
        warnings: What should be known of its models.
    """

    find: Callable[[CorpusTexts, ReportWork], Candidates]
    warnings: tuple[str, ...] = ()


def model_names(given: str) -> tuple[str, ...]:
    """Return the models that are named in a line, separated by commas."""
    return tuple(name for part in given.split(",") if (name := part.strip()))


def open_finder(
    request: CandidateRequest, retrieval: RetrievalSettings, api: ModelSettings, *, weights: bool = True
) -> Finder:
    """Return what finds the candidates of a request.

    Args:
        request: The request.
        retrieval: Where vectors are kept, and how texts are encoded.
        api: The settings of services.
        weights: Whether weights are downloaded; without them the request is checked, and cannot be carried
            out.

    Raises:
        WorkbenchError: There is no such model, they cannot be combined so, or the number of codes is out of
            bounds.
    """
    names, top = list(request.models), request.top
    if not 1 <= top <= MOST_CODES:
        raise WorkbenchError(
            "Number of codes",
            f"{top:,} is no number of codes of each query.",
            f"Give 1 to {MOST_CODES:,}.",
        )
    if not names:
        raise WorkbenchError("No model", "No model is named.", "Name one, such as minilm.")
    if len(names) == 1 and names[0] in METHODS:
        retriever = retriever_named(names[0])
        return Finder(lambda corpus, report: find_by_method(corpus, retriever, top=top, report=report))
    check_combination(names, request.combine)
    members = open_members(names, batch_size=retrieval.batch_size, api=api, weights=weights)

    warnings = [one.warning for one in members if not isinstance(one, LexicalRetriever) and one.warning]

    def find(corpus: CorpusTexts, report: ReportWork) -> Candidates:
        cache = VectorCache(retrieval.folder)
        return find_candidates(corpus, members, cache, top=top, combine=request.combine, report=report)

    return Finder(find, tuple(warnings))


def truncated_lines(found: Candidates) -> list[str]:
    """Return of which models texts were longer than they read, a sentence for each."""
    lines = []
    for model, (queries, codes) in found.truncated.items():
        counted = [pluralize(queries, "query", "queries")] if queries else []
        counted += [pluralize(codes, "code")] if codes else []
        if counted:
            longer = "which is longer" if queries + codes == 1 else "which are longer"
            lines.append(
                f"{model} read only the beginning of {' and '.join(counted)}, {longer} than it reads."
            )
    return lines
