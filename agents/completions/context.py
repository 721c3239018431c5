"""Retrieves the cross-file context of completion tasks from their repositories, as a work (section 3.3)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import select

from agents.completions.chunks import ENDINGS, MOST_CHUNKS, Chunk, chosen, cut, nearest, of_language, query_of
from agents.completions.imports import Imports
from agents.completions.okapi import Okapi, words_in
from agents.jobs.limits import held
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import Pace, ReportWork, WorkProgress
from agents.repositories.files import commit_in_name, find_repository, folder_of_repositories
from agents.repositories.reading import read_repository
from agents.retrieval.kept_context import check_setting, items_with_context, write_context
from store.errors import ImportFailed, WorkbenchError
from store.formatting import pluralize
from store.tables.columns import table_of
from store.tables.imported import Completion

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.completions.chunks import Hit
    from agents.jobs.control import Control
    from agents.repositories.reading import Repository

KIND = "context-retrieval"
BM25 = "bm25"
LONGEST = 256
"""Tokens of a chunk that a model on this machine reads (section 3.5)."""
TASKS_AT_ONCE = 100
"""Tasks of a repository whose context is written together."""

NO_REPOSITORY = "repository not found"
UNREADABLE = "repository not readable"
NO_FILE = "file not in its repository"
NO_LANGUAGE = "language unknown"
NO_CHUNK = "no other file with code in the language"
NO_QUERY = "no line before the cursor"


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Which context is retrieved.

    Attributes:
        repositories: The folder with the repositories; see `agents.repositories.files.find_repository`.
        retriever: `bm25`, or a model as `agents.retrieval.encoders.open_encoders` names it.
        setting: The name under which the context is kept.
        with_reference: Whether the reference is a part of the query, for an upper bound; then the chunks that
            are found are taken, otherwise those that follow them.
    """

    repositories: str
    retriever: str
    setting: str
    with_reference: bool = False


@dataclass(slots=True)
class ContextRetrieved:
    """The numbers of tasks of a retrieval.

    Attributes:
        retriever: Its name, without folders.
        retrieved: Tasks that have context now.
        known: Tasks that had context under the setting before.
        left_out: Tasks without context, by why.
        missing: Repositories that were not found.
        on_disk: Repositories read from disk because the commit in their name could not be read, with
            the reason of each.
    """

    setting: str
    retriever: str
    with_reference: bool
    tasks: int = 0
    retrieved: int = 0
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    on_disk: dict[str, str] = field(default_factory=dict)


class Task(NamedTuple):
    """A completion task, as far as its context depends on it."""

    item_id: int
    language: str
    repository: str
    path: str
    prompt: str
    reference: str


class Scorer(Protocol):
    """Compares the tasks of a repository with its chunks."""

    def __call__(self, task: int, places: Sequence[int]) -> Sequence[float]:
        """Return the scores of chunks for a task, by the places of both in the lists that it was made for."""
        ...


MakeScorer = Callable[[Sequence[Chunk], Sequence[str], Collection[int]], Scorer]
"""Makes a scorer of the chunks of a repository, the queries of its tasks, and which chunks are searched."""


def by_words(chunks: Sequence[Chunk], queries: Sequence[str], searched: Collection[int]) -> Scorer:
    """Compare by words (`Okapi`); only the chunks that are searched count in the weights of words."""
    words = [words_in(query) for query in queries]
    # In a large repository few chunks are near to any task.
    counts: dict[int, Counter[str]] = {}

    def scores(task: int, places: Sequence[int]) -> Sequence[float]:
        for place in places:
            if place not in counts:
                counts[place] = Counter(words_in(chunks[place].text))
        found: list[float] = Okapi([counts[place] for place in places]).scores(words[task]).tolist()
        return found

    return scores


def by_vectors(name: str, settings: WorkSettings, report: ReportWork) -> tuple[str, str, MakeScorer]:
    """Return the name of an encoder, what tells it from others, and what makes scorers by its cosines.

    Raises:
        WorkbenchError: There is no such encoder.
    """
    from agents.retrieval.encoders import open_encoders
    from agents.retrieval.vectors import VectorCache

    retrieval = settings.retrieval
    (encoder,) = open_encoders([name], batch_size=retrieval.batch_size, api=settings.models, longest=LONGEST)
    cache = VectorCache(retrieval.folder)

    def make(chunks: Sequence[Chunk], queries: Sequence[str], searched: Collection[int]) -> Scorer:
        # Both are code: they are encoded alike.
        rows = {place: row for row, place in enumerate(sorted(searched))}
        of_chunks = cache.vectors(encoder, [chunks[place].text for place in rows], "code", report).all()
        of_queries = cache.vectors(encoder, queries, "code", report).all()

        def scores(task: int, places: Sequence[int]) -> Sequence[float]:
            of_task = of_chunks[[rows[place] for place in places]] @ of_queries[task]
            found: list[float] = of_task.tolist()
            return found

        return scores

    told = json.dumps(dict(encoder.identity("code")), sort_keys=True, default=str)
    return encoder.name, hashlib.sha256(told.encode()).hexdigest()[:12], make


@dataclass(frozen=True, slots=True)
class ContextRetrieval:
    """The retrieval of context (`agents.jobs.work.Work`); its result is a `ContextRetrieved`.

    Begun again, it goes on with the tasks that have no context under the setting yet.
    """

    request: ContextRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return KIND

    @property
    def name(self) -> str:
        """Its name in lists: the setting of the context."""
        return f"context {self.request.setting}"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Retrieve, and keep what is found, repository by repository.

        Raises:
            Halted: It was stopped; what was retrieved until then is kept.
            WorkbenchError: There is no folder or no encoder of that name, there are no tasks, or context of
                another retriever has that setting.
        """
        check_setting(self.request.setting)
        share = None if self.request.retriever == BM25 else control.limits.gpu
        async with held(share, control.gate):
            found = await aside(control, partial(_Retrieving(self, control).run))
        why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(found.left_out.items()))
        without = f"; without: {why}" if why else ""
        return f"context of {pluralize(found.retrieved, 'task')} by {found.retriever}{without}"


class _Retrieving:
    """The retrieval, as it works, in a thread."""

    def __init__(self, work: ContextRetrieval, control: Control) -> None:
        self._request, self._settings = work.request, work.settings
        self._workspace, self._control = control.workspace, control
        self._make: MakeScorer = by_words
        self._encoder = ""
        self._found = ContextRetrieved(work.request.setting, BM25, work.request.with_reference)

    def run(self, report: ReportWork) -> ContextRetrieved:
        request, found = self._request, self._found
        root = folder_of_repositories(Path(request.repositories))
        if request.retriever != BM25:
            report(WorkProgress("opening the encoder", 0, 0))
            found.retriever, self._encoder, self._make = by_vectors(request.retriever, self._settings, report)
        self._control.result = found
        by_repository = self._tasks()
        pace = Pace("retrieving context", found.tasks, report, done=found.known)
        for (repository, language), tasks in by_repository.items():
            files = self._files(root, repository, language, len(tasks))
            if files is not None:
                self._retrieve(files, tasks, pace)
            pace.reach(found.known + found.retrieved + found.left_out.total())
        return found

    @property
    def _how(self) -> dict[str, Any]:
        """The retriever and its query, which are kept with each piece."""
        how = {"retriever": self._found.retriever, "with_reference": self._request.with_reference}
        # Two models can have one name.
        return {**how, "encoder": self._encoder} if self._encoder else how

    def _tasks(self) -> dict[tuple[str, str], list[Task]]:
        """Return the tasks without context under the setting, by repository and language."""
        found = self._found
        with self._workspace.reading() as connection:
            tasks, known = _read_tasks(connection, self._request.setting, self._how)
        found.tasks, found.known = len(tasks), len(known)
        by_repository = defaultdict[tuple[str, str], list[Task]](list)
        for task in tasks:
            if task.item_id in known:
                continue
            if task.language not in ENDINGS:
                found.left_out[NO_LANGUAGE] += 1
            else:
                by_repository[task.repository, task.language].append(task)
        return by_repository

    def _files(self, root: Path, repository: str, language: str, tasks: int) -> dict[str, str] | None:
        """Return the files of a repository in a language, by path; None where it cannot be read."""
        try:
            place = find_repository(root, repository) if repository else None
            if place is None:
                self._found.left_out[NO_REPOSITORY] += tasks
                if repository and repository not in self._found.missing:
                    self._found.missing.append(repository)
                return None
            read, why = _read(place, repository, language)
            if why:
                self._found.on_disk[repository] = why
                self._control.log("warning", f"{repository} is read as it is on disk: {why}")
        except (ImportFailed, OSError, RuntimeError) as error:
            self._found.left_out[UNREADABLE] += tasks
            self._control.log("warning", f"{repository}: {error}")
            return None
        for sentence in read.sentences():
            self._control.log("info", f"{repository}: {sentence}")
        return {file.path: file.text for file in read.files}

    def _retrieve(self, files: Mapping[str, str], tasks: Sequence[Task], pace: Pace) -> None:
        """Retrieve the context of the tasks of a repository, and write it."""
        found, with_reference = self._found, self._request.with_reference
        paths = of_language(files, tasks[0].language)
        chunks = [chunk for path in paths for chunk in cut(path, files[path])]
        by_path = defaultdict[str, list[int]](list)
        for place, chunk in enumerate(chunks):
            by_path[chunk.path].append(place)
        searched: list[tuple[Task, list[int], str]] = []
        for task in tasks:
            query = query_of(task.prompt, task.reference if with_reference else "")
            others = [place for path in nearest(by_path, task.path) for place in by_path[path]]
            if task.path not in files:
                found.left_out[NO_FILE] += 1
            elif not query:
                found.left_out[NO_QUERY] += 1
            elif not others:
                found.left_out[NO_CHUNK] += 1
            else:
                searched.append((task, others, query))
        if not searched:
            return
        imports = Imports(files, tasks[0].language)
        wanted = {place for _, others, _ in searched for place in others[:MOST_CHUNKS]}
        score = self._make(chunks, [query for *_, query in searched], wanted)
        for start in range(0, len(searched), TASKS_AT_ONCE):
            rows: dict[int, list[dict[str, Any]]] = {}
            for number, (task, others, _) in enumerate(searched[start : start + TASKS_AT_ONCE], start):
                scores = score(number, others[:MOST_CHUNKS])
                hits = chosen([chunks[place] for place in others], scores, following=not with_reference)
                rows[task.item_id] = self._rows(task, hits, imports)
            written = self._workspace.lane.submit(
                partial(write_context, rows, self._request.setting)
            ).result()
            found.retrieved += written
            found.known += len(rows) - written
            pace.add(len(rows))

    def _rows(self, task: Task, hits: Sequence[Hit], imports: Imports) -> list[dict[str, Any]]:
        """Return the rows of what was retrieved for a task."""
        of_task = imports.of(task.path)
        return [
            {
                "item_id": task.item_id,
                "setting": self._request.setting,
                "rank": rank,
                "path": hit.path,
                "text": hit.text,
                "score": hit.score,
                "extra": json.dumps(
                    {
                        **self._how,
                        "imported": hit.path in of_task,
                        "shared_import": not of_task.isdisjoint(imports.of(hit.path)),
                    }
                ),
            }
            for rank, hit in enumerate(hits, start=1)
        ]


def _read_tasks(
    connection: Connection, setting: str, extra: Mapping[str, Any]
) -> tuple[list[Task], set[int]]:
    """Return all tasks, and which of them have context under the setting.

    Raises:
        WorkbenchError: There are no tasks, or other context has that setting.
    """
    table = table_of(Completion)
    asked = select(*(table.c[name] for name in Task._fields)).order_by(table.c.item_id)
    rows = (Task._make(part or "" for part in row) for row in connection.execute(asked))
    tasks = [task._replace(language=task.language.lower()) for task in rows]
    if not tasks:
        raise WorkbenchError(
            "No tasks", "There are no completion tasks.", "Import some: workbench import WORKSPACE FILE"
        )
    return tasks, items_with_context(connection, setting, [task.item_id for task in tasks], extra)


def _read(place: Path, repository: str, language: str) -> tuple[Repository, str]:
    """Read the files of a repository in a language: at the commit in its name where a clone has that.

    Returns:
        The files, and why those on disk were read in place of the commit; empty where they were not.
    """

    def wanted(path: str) -> bool:
        return path.endswith(ENDINGS[language])

    why = ""
    if (commit := commit_in_name(repository)) and (place / ".git").exists():
        try:
            return read_repository(f"{place}@{commit}", wanted), ""
        except ImportFailed as error:
            # What is on disk is better than nothing.
            why = error.message
    return read_repository(str(place), wanted), why


def open_retrieval(description: Mapping[str, Any], settings: WorkSettings) -> ContextRetrieval:
    """Return the retrieval of a description."""
    return ContextRetrieval(ContextRequest(**description), settings)


PART = WorkPart(
    KIND,
    "context retrieval",
    "Retrieves the cross-file context of completion tasks.",
    open_retrieval,
    asks=True,
)
"""The retrieval of context among the works."""
