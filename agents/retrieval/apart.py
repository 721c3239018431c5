"""A search by words in a process of its own: in a thread of the app, keys would wait for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Queue

from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.retrieval.retriever import Ranking, Retriever
from agents.retrieval.stored_texts import StoredTexts
from store.child import yielded_by_child

_AHEAD = 4096
"""Bytes of progress that may wait: a search that is paused soon stands still."""


def search_apart(
    retriever: Retriever, queries: Sequence[str], codes: Sequence[str], top: int, report: ReportWork
) -> Ranking:
    """Return what `retriever.search` does; the retriever can be pickled.

    Raises:
        WorkbenchError: The process ended too early.
    """
    files = [texts.fileno() for texts in (queries, codes) if isinstance(texts, StoredTexts)]
    searching = partial(_searched, retriever, queries, codes, top)
    with yielded_by_child(
        searching, "compares the texts", "Nothing was added.", files=files, ahead=_AHEAD
    ) as told:
        for each in told:
            if isinstance(each, Ranking):
                return each
            report(each)
    raise AssertionError("a search ends with its ranking, or with an error")


def _searched(
    retriever: Retriever, queries: Sequence[str], codes: Sequence[str], top: int
) -> Iterator[WorkProgress | Ranking]:
    """Yield the progress of a search, and at its end the ranking."""
    told: Queue[WorkProgress | None] = Queue(1)
    with ThreadPoolExecutor(1) as pool:
        ranking = pool.submit(retriever.search, queries, codes, top, told.put)
        ranking.add_done_callback(lambda _: told.put(None))
        while (progress := told.get()) is not None:
            yield progress
        yield ranking.result()
