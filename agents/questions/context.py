"""Retrieves the context of questions about repositories, as a work (CoReQA, III.A: related content)."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from agents.github.markdown import code_blocks, without_code
from agents.jobs.limits import held
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import Pace, ReportWork, WorkProgress, ignore_progress
from agents.questions.chunks import OVERLAP, SIZE, Chunking, Cut
from agents.repositories.files import find_repository, folder_of_repositories
from agents.repositories.git import Clone
from agents.repositories.reading import ARCHIVES, Repository, read_repository
from agents.retrieval.kept_context import check_setting, items_with_context, write_context
from agents.retrieval.methods import METHODS, open_retriever
from store.errors import ImportFailed, WorkbenchError
from store.formatting import pluralize
from store.kinds.answer import CHARACTERS_OF_TOKEN
from store.record.revisions import current_texts
from store.tables.columns import table_of
from store.tables.imported import RepositoryQuestion
from store.tables.responses import ContextChunk

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.jobs.control import Control
    from agents.retrieval.retriever import Retriever

KIND = "question-context"
REPOSITORY = "repository"
"""The retriever that retrieves everything."""
WINDOW = 200_000
"""Tokens of a whole repository at most, and how they are estimated (section III.A)."""
TOP = 10
"""Chunks of a question: half of them for its words and half for its code (section III.A)."""
ITEMS_AT_ONCE = 100

NO_REPOSITORY = "repository not found"
UNREADABLE = "repository not readable"
NO_COMMIT = "no commit before the issue"
NO_CHUNK = "no text in the repository"
NO_HIT = "no chunk with a word of the question"

_NAMED = re.compile(r"[\w.\-/]*[\w\-]")


@dataclass(frozen=True, slots=True)
class QuestionContextRequest:
    """Which context is retrieved.

    Attributes:
        repositories: The folder with the repositories; see `agents.repositories.files.find_repository`.
            Questions that name no repository are about the folder or archive itself.
        retriever: See `agents.retrieval.methods.open_retriever`; or `REPOSITORY`, for all of its files.
        setting: The name under which the context is kept.
        cut: How files are cut into chunks: `agents.questions.chunks.Chunking`.
        size: Characters of a chunk at most.
        overlap: Characters that a chunk can share with the one before it.
        window: Tokens of a whole repository at most.
    """

    repositories: str
    retriever: str
    setting: str
    cut: Cut = "separators"
    size: int = SIZE
    overlap: int = OVERLAP
    window: int = WINDOW


@dataclass(slots=True)
class QuestionContextRetrieved:
    """The numbers of questions of a retrieval.

    Attributes:
        retriever: Its name.
        items: All questions.
        retrieved: Questions that have context now.
        known: Questions that had context under the setting before.
        left_out: Questions without context, by why.
        missing: Repositories that were not found.
        with_files: Questions with context whose reference answer names files of the repository.
        hits: Those of which a chunk is from such a file.
        recall: The files found, of all that are named; None where none is.
    """

    setting: str
    retriever: str
    items: int = 0
    retrieved: int = 0
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    with_files: int = 0
    hits: int = 0
    recall: float | None = None


Piece = tuple[str, str, float | None, Mapping[str, Any]]
"""A piece of a repository: its file, its text, its score, and what else is kept with it."""


class Question(NamedTuple):
    """A question, as far as its context depends on it."""

    item_id: int
    repository: str
    revision: str
    created_at: str
    question: str
    reference: str
    issue_body: str

    @property
    def code(self) -> str:
        """Its code, or that of its issue; empty for none."""
        return "\n".join(code_blocks(self.question) or code_blocks(self.issue_body))

    @property
    def words(self) -> str:
        """The question without code; as it is where it is nothing else."""
        return without_code(self.question).strip() or self.question


@dataclass(frozen=True, slots=True)
class QuestionContextRetrieval:
    """The retrieval of context (`agents.jobs.work.Work`); its result is a `QuestionContextRetrieved`.

    Begun again, it goes on with the questions that have no context under the setting yet.
    """

    request: QuestionContextRequest
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
        """Retrieve, and keep what is found, tree by tree.

        Raises:
            Halted: It was stopped; what was retrieved until then is kept.
            WorkbenchError: There is no folder or no retriever of that name, there are no questions, or
                context of another retriever has that setting.
        """
        check_setting(self.request.setting)
        share = None if self.request.retriever in (REPOSITORY, *METHODS) else control.limits.gpu
        async with held(share, control.gate):
            found = await aside(control, partial(_Retrieving(self, control).run))
        return f"context of {pluralize(found.retrieved, 'question')} by {found.retriever}"


class _Retrieving:
    """The retrieval, as it works, in a thread."""

    def __init__(self, work: QuestionContextRetrieval, control: Control) -> None:
        self._request, self._settings = work.request, work.settings
        self._workspace, self._control = control.workspace, control
        self._chunking = Chunking(work.request.cut, work.request.size, work.request.overlap)
        self._found = QuestionContextRetrieved(work.request.setting, work.request.retriever)

    def run(self, report: ReportWork) -> QuestionContextRetrieved:
        request, found = self._request, self._found
        given = Path(request.repositories).expanduser().resolve()
        root = given if given.name.lower().endswith(ARCHIVES) else folder_of_repositories(given)
        report(WorkProgress("opening the retriever", 0, 0))
        retriever = None
        if request.retriever != REPOSITORY:
            retriever = open_retriever(request.retriever, self._settings.retrieval, self._settings.models)
            found.retriever = retriever.name
        self._control.result = found
        by_tree = self._questions(root)
        pace = Pace("retrieving context", found.items, report, done=found.known + found.left_out.total())
        for place, questions in by_tree.items():
            tree = self._read(place, questions)
            if tree is not None and retriever is None:
                self._take_all(tree, questions, report)
            elif tree is not None and retriever is not None:
                self._retrieve(tree, questions, retriever, report)
            pace.reach(found.known + found.retrieved + found.left_out.total())
        with self._workspace.reading() as connection:
            _evaluate(connection, found)
        return found

    @property
    def _how(self) -> dict[str, Any]:
        """The retriever and the chunks, which are kept with each piece."""
        of = {"retriever": self._found.retriever}
        if of["retriever"] == REPOSITORY:
            return {**of, "window": self._request.window}
        return {**of, "chunks": asdict(self._chunking)}

    def _questions(self, root: Path) -> dict[str, list[Question]]:
        """Return the questions without context under the setting, by the tree that they are about."""
        found = self._found
        with self._workspace.reading() as connection:
            questions, known = _read_questions(connection, self._request.setting, self._how)
        found.items, found.known = len(questions), len(known)
        places: dict[str, Path | None] = {}
        by_tree = defaultdict[str, list[Question]](list)
        for question in questions:
            if question.item_id in known:
                continue
            name = question.repository
            try:
                if name not in places:
                    places[name] = find_repository(root, name) if name and root.is_dir() else None
                    if not name:
                        places[name] = root
                    elif places[name] is None:
                        found.missing.append(name)
                place = places[name]
                if place is None:
                    found.left_out[NO_REPOSITORY] += 1
                    continue
                by_tree[_tree(place, question)].append(question)
            except (ImportFailed, OSError, RuntimeError) as error:
                found.left_out[UNREADABLE] += 1
                self._control.log("warning", f"{name}: {error}")
            except LookupError:
                found.left_out[NO_COMMIT] += 1
        return by_tree

    def _read(self, place: str, questions: Sequence[Question]) -> Repository | None:
        """Return the files of a tree; None where they cannot be read."""
        try:
            tree = read_repository(place, lambda _: True)
        except ImportFailed as error:
            self._found.left_out[UNREADABLE] += len(questions)
            self._control.log("warning", str(error))
            return None
        for sentence in tree.sentences():
            self._control.log("info", f"{tree.name}: {sentence}")
        return tree

    def _retrieve(
        self, tree: Repository, questions: Sequence[Question], retriever: Retriever, report: ReportWork
    ) -> None:
        """Retrieve the context of the questions about a tree, and write it."""
        found = self._found
        chunks = [
            (file.path, text) for file in tree.files for text in self._chunking.chunks(file.path, file.text)
        ]
        if not chunks:
            found.left_out[NO_CHUNK] += len(questions)
            return
        queries = [text for one in questions for text in filter(None, (one.words, one.code))]
        ranking = retriever.search(queries, [text for _, text in chunks], TOP, ignore_progress)
        endings = unique_endings(file.path for file in tree.files)
        rows: dict[int, list[dict[str, Any]]] = {}
        at = 0
        for one in questions:
            lists = []
            for source in ("question", "code") if one.code else ("question",):
                scored = zip(ranking.codes[at].tolist(), ranking.scores[at].tolist(), strict=True)
                lists.append([(source, place, score) for place, score in scored if place >= 0])
                at += 1
            hits = chosen(lists)
            if not hits:
                found.left_out[NO_HIT] += 1
                continue
            pieces = [(*chunks[place], score, {"found_by": source}) for source, place, score in hits]
            rows[one.item_id] = self._rows(one, tree, pieces, endings)
        self._write(rows, report)

    def _take_all(self, tree: Repository, questions: Sequence[Question], report: ReportWork) -> None:
        """Take all files of a tree as the context of the questions about it, where they fit."""
        characters = sum(len(file.text) for file in tree.files)
        if characters / CHARACTERS_OF_TOKEN > self._request.window:
            self._found.left_out[f"more than {self._request.window:,} tokens"] += len(questions)
            return
        if not tree.files:
            self._found.left_out[NO_CHUNK] += len(questions)
            return
        endings = unique_endings(file.path for file in tree.files)
        pieces: list[Piece] = [(file.path, file.text, None, {}) for file in tree.files]
        for one in questions:
            # One at a time: each has the whole repository.
            self._write({one.item_id: self._rows(one, tree, pieces, endings)}, report)

    def _rows(
        self, question: Question, tree: Repository, pieces: Sequence[Piece], endings: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """Return the rows of the pieces of a question, the first with the files that its answer names."""
        named = {"named": sorted(named_files(question.reference, endings))}
        of_all = {**self._how, "commit": tree.commit}
        return [
            {
                "item_id": question.item_id,
                "setting": self._request.setting,
                "rank": rank,
                "path": path,
                "text": text,
                "score": score,
                "extra": json.dumps({**of_all, **more, **(named if rank == 1 else {})}),
            }
            for rank, (path, text, score, more) in enumerate(pieces, start=1)
        ]

    def _write(self, rows: Mapping[int, Sequence[Mapping[str, Any]]], report: ReportWork) -> None:
        """Write the context of questions."""
        found, items = self._found, list(rows)
        for start in range(0, len(items), ITEMS_AT_ONCE):
            some = {item: rows[item] for item in items[start : start + ITEMS_AT_ONCE]}
            written = self._workspace.lane.submit(
                partial(write_context, some, self._request.setting)
            ).result()
            found.retrieved += written
            found.known += len(some) - written
            report(WorkProgress("writing context", found.retrieved, found.items))


def _tree(place: Path, question: Question) -> str:
    """Return the tree that a question is about, as `read_repository` names it.

    That of its commit, or of the last one before its issue; a folder without history is taken as it is.

    Raises:
        ImportFailed: The commit is not there.
        LookupError: There was no commit before the issue.
    """
    if not (place / ".git").exists():
        return str(place)
    if question.revision:
        return f"{place}@{Clone.of_folder(place, question.revision).commit}"
    if question.created_at:
        return f"{place}@{Clone.before(place, question.created_at).commit}"
    return str(place)


def chosen(lists: Sequence[Sequence[tuple[str, int, float]]], top: int = TOP) -> list[tuple[str, int, float]]:
    """Return the chunks that go with a question: of each list as many, none twice.

    Args:
        lists: For each query its name, and places and scores of chunks, best first.
        top: How many go with it in all.
    """
    hits: list[tuple[str, int, float]] = []
    taken = set[int]()
    share = top // max(1, len(lists))
    for number, ranked in enumerate(lists):
        # What an earlier list has is replaced by what comes next.
        most = top if number == len(lists) - 1 else share * (number + 1)
        for source, place, score in ranked:
            if len(hits) < most and place not in taken:
                taken.add(place)
                hits.append((source, place, score))
    return hits


def unique_endings(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths of a tree by themselves, and by every ending that only one of them has."""
    own = sorted(set(paths))
    by_ending = defaultdict[str, set[str]](set)
    for path in own:
        parts = path.split("/")
        for at in range(len(parts)):
            by_ending["/".join(parts[at:])].add(path)
    found = {ending: next(iter(of)) for ending, of in by_ending.items() if len(of) == 1}
    return found | {path: path for path in own}


def named_files(text: str, endings: Mapping[str, str]) -> set[str]:
    """Return the files of a tree that a text names, by their paths or by unique endings of these.

    Args:
        text: The text.
        endings: See `unique_endings`.
    """
    words = (word.lstrip("./") for word in _NAMED.findall(text))
    return {endings[word] for word in words if word in endings}


def _read_questions(
    connection: Connection, setting: str, how: Mapping[str, Any]
) -> tuple[list[Question], set[int]]:
    """Return all questions with their current texts, and which have context under the setting.

    Raises:
        WorkbenchError: There are no questions, or other context has that setting.
    """
    table = table_of(RepositoryQuestion)
    asked = select(*(table.c[name] for name in Question._fields)).order_by(table.c.item_id)
    questions = [Question._make(part or "" for part in row) for row in connection.execute(asked)]
    if not questions:
        raise WorkbenchError(
            "No questions",
            "There are no repository questions.",
            "Import some, or collect them: workbench collect issues WORKSPACE OWNER/REPO",
        )
    revised = current_texts(connection)
    questions = [
        Question._make({**one._asdict(), **revised.get(one.item_id, {})}.values()) for one in questions
    ]
    return questions, items_with_context(connection, setting, [one.item_id for one in questions], how)


def _evaluate(connection: Connection, found: QuestionContextRetrieved) -> None:
    """Compare the files of the context with those that reference answers name."""
    chunk, question = table_of(ContextChunk), table_of(RepositoryQuestion)
    asked = (
        select(chunk.c.item_id, chunk.c.rank, chunk.c.path, chunk.c.extra)
        .join(question, question.c.item_id == chunk.c.item_id)
        .where(chunk.c.setting == found.setting)
    )
    named: dict[int, set[str]] = {}
    paths = defaultdict[int, set[str]](set)
    for item_id, rank, path, extra in connection.execute(asked):
        paths[item_id].add(path)
        if rank == 1:
            named[item_id] = set(json.loads(extra).get("named", ()))
    having = {item_id: files for item_id, files in named.items() if files}
    there = {item_id: files & paths[item_id] for item_id, files in having.items()}
    found.with_files = len(having)
    found.hits = sum(map(bool, there.values()))
    total = sum(map(len, having.values()))
    found.recall = sum(map(len, there.values())) / total if total else None


def open_retrieval(description: Mapping[str, Any], settings: WorkSettings) -> QuestionContextRetrieval:
    """Return the retrieval of a description."""
    return QuestionContextRetrieval(QuestionContextRequest(**description), settings)


PART = WorkPart(
    KIND,
    "context retrieval",
    "Retrieves the context of questions about repositories.",
    open_retrieval,
    asks=True,
)
"""The retrieval of context of questions among the works."""
