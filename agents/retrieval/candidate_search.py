"""The search for candidate pairs as a work: pairs are added at its end, and vectors are kept meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.jobs.limits import held
from agents.jobs.work import WorkPart, WorkSettings, aside, undivided
from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.retrieval.candidate_request import CandidateRequest, open_finder, truncated_lines
from agents.retrieval.candidates import check_corpus, corpus_apart
from agents.retrieval.encoders import shown_name
from agents.retrieval.methods import METHODS
from store.formatting import pluralize
from store.ingest.candidates import add_candidates
from store.queries.corpus import corpus_size

if TYPE_CHECKING:
    from agents.jobs.control import Control
    from agents.retrieval.candidates import Candidates
    from store.workspace.duckdb import Workspace

KIND = "candidates"


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """A search for candidate pairs (`agents.jobs.work.Work`).

    Attributes:
        settings: Where vectors are kept, and how services are reached.
    """

    request: CandidateRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return KIND

    @property
    def name(self) -> str:
        """Its name in lists, which is that of the source of its pairs."""
        return self.request.source

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    def check(self, workspace: Workspace) -> None:
        """Refuse what cannot be searched; nothing is loaded for that, and little downloaded.

        Raises:
            WorkbenchError: There is no such model, they cannot be combined so, the number of codes is
                out of bounds, or there are no queries or no codes.
        """
        open_finder(self.request, self.settings.retrieval, self.settings.models, weights=False)
        with workspace.reading() as connection:
            check_corpus(*corpus_size(connection))

    async def run(self, control: Control) -> str:
        """Search, and add the pairs; the result is a `CandidatesAdded`."""
        computes = not set(self.request.models) <= METHODS.keys()
        if computes and control.limits.gpu.locked():
            control.note(WorkProgress("waiting for another work to end", 0, 0))
        share = control.limits.gpu if computes else None
        async with held(share, control.gate):
            found = await aside(control, partial(self._search, control))
            await control.gate.passing()
            # From here on it is neither paused nor stopped: the pairs are added in one transaction.
            control.note(WorkProgress("adding pairs", 0, len(found.pairs.ranks)))
            added = control.result = await undivided(
                partial(add_candidates, control.workspace, found.pairs, self.request.source)
            )
        control.log("info", f"{pluralize(added.added, 'pair')} added, {added.known:,} already there")
        known = f", {added.known:,} already there" if added.known else ""
        return f"{pluralize(added.added, 'pair')} added{known}"

    def _search(self, control: Control, report: ReportWork) -> Candidates:
        request = self.request
        names = ", ".join(map(shown_name, request.models))
        combined = f", combined by {request.combine}" if len(request.models) > 1 else ""
        control.log("info", f"begun: {names}; {request.top} codes of each query{combined}")
        report(WorkProgress("opening models", 0, 0))
        finder = open_finder(request, self.settings.retrieval, self.settings.models)
        for warning in finder.warnings:
            control.log("warning", warning)
        corpus = corpus_apart(control.workspace, report)
        found = finder.find(corpus, report)
        for line in truncated_lines(found):
            control.log("warning", line)
        for model, share in found.overlaps.items():
            control.log(
                "info", f"{model}: {share:.3f} of the ensemble's {request.top} codes are among its own"
            )
        return found


def open_search(description: Mapping[str, Any], settings: WorkSettings) -> CandidateSearch:
    """Return the search of a description."""
    fields = {**description, "models": tuple(description["models"])}
    return CandidateSearch(CandidateRequest(**fields), settings)


PART = WorkPart(
    KIND,
    "candidate search",
    "Finds the best codes of each query, and adds them as pairs.",
    open_search,
    asks=True,
)
"""The search for candidate pairs among the works."""
