"""Searches for candidate pairs behind the app: a thread of low priority that can be paused and stopped."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Literal
from uuid import UUID, uuid4

from agents.jobs.events import ENDED, JobLog, JobState
from agents.jobs.pause_gate import Halted
from agents.retrieval.candidate_request import open_finder, truncated_lines
from agents.retrieval.candidates import check_corpus, corpus_apart
from agents.retrieval.encoders import shown_name
from agents.retrieval.progress import WorkProgress
from store.errors import WorkbenchError
from store.formatting import format_duration, pluralize
from store.ingest.candidates import CandidatesAdded, add_candidates
from store.queries.corpus import corpus_size
from store.record.ids import now
from store.workspace.packet_fact import refuse_packet

if TYPE_CHECKING:
    from agents.llm.settings import ModelSettings
    from agents.retrieval.candidate_request import CandidateRequest
    from agents.retrieval.settings import RetrievalSettings
    from store.workspace.duckdb import Workspace

THREAD = "candidate-search"
CLOSE_SECONDS = 2.0
"""Seconds that the app waits for a search when it ends; one layer of a model takes less."""
TELL_SECONDS = 0.1
"""Seconds between two events of progress."""
NICE = 10
"""Added to the nice value of the thread, so that it has a lower priority."""


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """Something about a search has changed.

    Attributes:
        search: The search, which has the change already.
        what: Its progress, its state, a line of its log, or its end.
    """

    search: CandidateSearch
    what: Literal["progress", "state", "log", "end"]


Emit = Callable[[SearchEvent], None]


class CandidateSearch:
    """A search that was started; its methods can be called from any thread.

    Attributes:
        id: Its key.
        request: What is searched.
        started_at: When it began.
        progress: The step at work; None before the first.
        log: Its messages.
        added: What came of it; None before that.
        error: Why it failed.
    """

    def __init__(
        self,
        request: CandidateRequest,
        workspace: Workspace,
        retrieval: RetrievalSettings,
        api: ModelSettings,
        emit: Emit,
    ) -> None:
        self.id: UUID = uuid4()
        self.request = request
        self.started_at: datetime = now()
        self.progress: WorkProgress | None = None
        self.log: list[JobLog] = []
        self.added: CandidatesAdded | None = None
        self.error: WorkbenchError | None = None
        self._workspace = workspace
        self._retrieval, self._api = retrieval, api
        self._emit = emit
        self._state: JobState = "running"
        self._changing = threading.Lock()
        self._may_work = threading.Event()
        self._may_work.set()
        self._step_began = self._told = monotonic()
        # A daemon: the load of a model cannot be interrupted, and must not hold up the end of the program.
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    @property
    def state(self) -> JobState:
        """Its state."""
        return self._state

    @property
    def name(self) -> str:
        """Its name in lists, which is that of the source of its pairs."""
        return self.request.source

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def pause(self) -> None:
        """Let it wait before the next layer of a model, or the next block of texts."""
        self._change({"running": "paused"})

    def resume(self) -> None:
        """Go on after a pause."""
        self._change({"paused": "running"})

    def stop(self) -> None:
        """End it; vectors of whole blocks are kept, and the same request goes on from them."""
        self._change({"running": "stopping", "paused": "stopping"})

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end; return whether it came in so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _change(self, states: dict[JobState, JobState]) -> None:
        with self._changing:
            changed = self._state in states
            self._state = states.get(self._state, self._state)
            if self._state == "paused":
                self._may_work.clear()
            else:
                self._may_work.set()
        if changed:
            self._tell("state")

    # -- in its thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        _lower_priority()
        state: JobState = "failed"
        try:
            self._work()
            state = "done"
        except Halted:
            state = "stopped"
            self._write("info", "stopped")
        except WorkbenchError as error:
            self.error = error
        except Exception as bug:  # noqa: BLE001 - it must reach the one who waits, not die in a thread
            self.error = WorkbenchError(
                "The search broke",
                f"A mistake in the program ended it: {type(bug).__name__}: {bug}",
                "No pair was added. Please report this with the job's log.",
            )
            self._write("error", traceback.format_exc())
        finally:
            if self.error is not None:
                self._write("error", f"failed: {self.error}")
            with self._changing:
                self._state = state
            self._tell("end")

    def _work(self) -> None:
        request = self.request
        names = ", ".join(map(shown_name, request.models))
        combined = f", combined by {request.combine}" if len(request.models) > 1 else ""
        self._write("info", f"begun: {names}; {request.top} codes of each query{combined}")
        self._report(WorkProgress("opening models", 0, 0))
        finder = open_finder(request, self._retrieval, self._api)
        for warning in finder.warnings:
            self._write("warning", warning)
        corpus = corpus_apart(self._workspace, self._report)
        found = finder.find(corpus, self._report)
        # From here on it is neither paused nor stopped: the pairs are added in one transaction.
        self._report(WorkProgress("adding pairs", 0, len(found.pairs.ranks)))
        for line in truncated_lines(found):
            self._write("warning", line)
        for model, share in found.overlaps.items():
            self._write(
                "info", f"{model}: {share:.3f} of the ensemble's {request.top} codes are among its own"
            )
        self.added = add_candidates(self._workspace, found.pairs, request.source)
        self._write(
            "info", f"{pluralize(self.added.added, 'pair')} added, {self.added.known:,} already there"
        )

    def _report(self, progress: WorkProgress) -> None:
        """Take note of the progress, and wait while paused.

        Raises:
            Halted: It was stopped.
        """
        before, at = self.progress, monotonic()
        begins = before is None or before.stage != progress.stage
        if begins:
            if before is not None and before.total:
                self._write("info", _ended(before, at - self._step_began))
            self._step_began = at
        self.progress = progress
        if begins or at - self._told >= TELL_SECONDS:
            self._told = at
            self._tell("progress")
        self._may_work.wait()
        self._step_began += monotonic() - at
        if self._state == "stopping":
            raise Halted

    def _write(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self.log.append(JobLog(0, level, text))
        self._tell("log")

    def _tell(self, what: Literal["progress", "state", "log", "end"]) -> None:
        self._emit(SearchEvent(self, what))


def _ended(step: WorkProgress, seconds: float) -> str:
    kept = f", {step.kept:,} of them kept from before" if step.kept else ""
    return f"{step.stage}: {step.done:,} in {format_duration(seconds)}{kept}"


def _lower_priority() -> None:
    """Let whoever judges go first, and so all threads that this one begins; Linux alone knows that."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


class CandidateSearches:
    """Starts searches, one at a time; closed before the workspace is.

    Args:
        workspace: The open workspace.
        retrieval: Where vectors are kept, and how texts are encoded.
        api: The settings of services.
        emit: Called with every event, from any thread; it must not block.
    """

    def __init__(
        self, workspace: Workspace, retrieval: RetrievalSettings, api: ModelSettings, emit: Emit
    ) -> None:
        self.started: list[CandidateSearch] = []
        self._workspace = workspace
        self._retrieval, self._api = retrieval, api
        self._emit = emit

    @property
    def running(self) -> CandidateSearch | None:
        """The search that has not ended; None when all have."""
        return next((one for one in self.started if one.state not in ENDED), None)

    def check(self, request: CandidateRequest) -> None:
        """Refuse what cannot be searched; nothing is loaded for that, and little downloaded.

        Raises:
            WorkbenchError: There is no such model, they cannot be combined so, the number of codes is
                out of bounds, or there are no queries or no codes.
        """
        open_finder(request, self._retrieval, self._api, weights=False)
        with self._workspace.reading() as connection:
            check_corpus(*corpus_size(connection))

    def start(self, request: CandidateRequest) -> CandidateSearch:
        """Start a search.

        Raises:
            WorkbenchError: Another one is at work, or the workspace is a packet.
        """
        refuse_packet(self._workspace, "Candidates are added")
        if (busy := self.running) is not None:
            raise WorkbenchError(
                "A search is running",
                f"It is {busy.state}; one search works at a time.",
                "Stop it, or wait for its end.",
            )
        search = CandidateSearch(request, self._workspace, self._retrieval, self._api, self._emit)
        self.started.append(search)
        search.start()
        return search

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Stop the search, and wait for its end, but not longer than so many seconds."""
        if (search := self.running) is not None:
            search.stop()
            search.wait(seconds)
