"""Constructs completion tasks of repositories, as a work (CrossCodeEval, section 2)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from agents.completions.chunks import ENDINGS
from agents.construction.places import Finder, Found
from agents.construction.predictable import Predictor
from agents.construction.selection import KNOWN, Selection, read_selection
from agents.construction.tasks import (
    DRAWN,
    PREDICTED,
    Rules,
    Task,
    Tokenizer,
    first_of_each,
    record_of,
    tasks_of,
)
from agents.jobs.pause_gate import Halted
from agents.jobs.work import WorkPart, WorkSettings, aside, undivided
from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.pipelines.spec import imported
from agents.repositories.reading import Repository, read_repository
from agents.repositories.syntax import CSHARP, JAVA, PYTHON, TYPESCRIPT
from store.errors import ImportFailed, RecordsRefused, WorkbenchError
from store.formatting import pluralize
from store.ingest.importing import import_records
from store.kinds.completion_settings import CONSTRUCTION
from store.tables.columns import table_of
from store.tables.imported import Completion

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.jobs.control import Control
    from agents.sandbox.settings import SandboxSettings

PRESET = "crosscodeeval"
FEWEST_FILES, MOST_FILES = 10, 50
"""Source files of a repository of the preset (section 2.1)."""
MOST_SOURCE = 64 << 20
"""Bytes of the source files of a repository, which compilers hold in memory."""
MOST_REPOSITORIES = 1000
"""Repositories of one construction, which keeps what came of each."""
_MOST_SAID = 300
_LONGEST_NAME = 255
"""Bytes of a name of a file or a folder."""

NOT_READ = "not readable"
NO_FILES = "no file of the language"
TOO_MUCH = f"more than {MOST_SOURCE >> 20} MiB of source files"
FEW_FILES = f"fewer than {FEWEST_FILES} source files"
MANY_FILES = f"more than {MOST_FILES} source files"
NOT_COMPILED = "not compiled"
REPLACED = "not in UTF-8"
UNUSABLE = "with a name that compilers do not take"
TAKEN = "the workspace has other tasks with its ids"

FINDERS: Mapping[str, Callable[[SandboxSettings], Finder]] = {
    CSHARP: imported("agents.construction.csharp_files:CSharpFinder"),
    JAVA: imported("agents.construction.java_files:JavaFinder"),
    PYTHON: imported("agents.construction.python_files:PythonFinder"),
    TYPESCRIPT: imported("agents.construction.typescript_files:TypeScriptFinder"),
}
"""The finder of each language."""


@dataclass(frozen=True, slots=True)
class ConstructionRequest:
    """Which tasks are constructed.

    Attributes:
        repositories: Folders, archives or git URLs: see `agents.repositories.reading.read_repository`.
        preset: `PRESET` for the paper's conditions on repositories; empty for none.
        tokenizer: A file `tokenizer.json`; empty for the rule.
        predictor: The model by which predictable tasks are left out; empty for none.
        objects: A file of GitHub's repository objects, by which repositories are left out; empty for none.
        created: The days between which they were created; empty for any.
        hashes: A file of hashes of files that no repository may have; empty for none.
    """

    repositories: tuple[str, ...]
    language: str
    preset: str = ""
    seed: int = 0
    cursor: str = DRAWN
    tokenizer: str = ""
    longest_string: int | None = None
    predictor: str = ""
    objects: str = ""
    created: str = ""
    hashes: str = ""


@dataclass(slots=True)
class OfRepository:
    """The result for a repository.

    Attributes:
        name: Its name, which its tasks have.
        why: Why there are no tasks of it; empty where there can be.
        said: What was said of that.
        files: Files of the language.
        places: Places that were found.
        tasks: Tasks that were made.
        not_asked: Tasks among them of which the model that leaves out predictable ones gave no reply.
        left_out: How many places gave no task, by why.
        files_left_out: How many files were left out, by why.
    """

    name: str
    why: str = ""
    said: str = ""
    files: int = 0
    places: int = 0
    tasks: int = 0
    not_asked: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    files_left_out: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Constructed:
    """The result of a construction so far.

    Attributes:
        tokenizer: What counted tokens.
        program: What found the names.
        cursor: How cursors were placed.
        predictor: The model that was to complete tasks without context; empty for none.
        repositories: The results of those that are done, by their places.
        added: The tasks that are new.
        known: The tasks that were there.
    """

    language: str
    tokenizer: str
    program: str
    cursor: str
    seed: int
    predictor: str = ""
    repositories: dict[str, OfRepository] = field(default_factory=dict)
    added: int = 0
    known: int = 0

    def total(self, name: str) -> int:
        """Return a sum over the repositories: of `files`, `places`, `tasks` or `not_asked`."""
        return sum(getattr(one, name) for one in self.repositories.values())

    def counts(self, name: str) -> Counter[str]:
        """Return the sums of `left_out` or `files_left_out`."""
        found = Counter[str]()
        for one in self.repositories.values():
            found.update(getattr(one, name))
        return found

    def keep(self, kept: Mapping[str, Any]) -> None:
        """Take what was kept of the repositories that are done."""
        self.added, self.known = kept["added"], kept["known"]
        self.repositories = {place: OfRepository(**one) for place, one in kept["repositories"].items()}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        sums = {name: self.total(name) for name in ("files", "places", "tasks", "not_asked")}
        counts = {name: dict(self.counts(name)) for name in ("left_out", "files_left_out")}
        return {**asdict(self), **sums, **counts}

    def sentences(self) -> list[str]:
        """Return what was made, and what was not, as lines."""
        of = pluralize(self.total("places"), "place")
        many = pluralize(len(self.repositories), "repository", "repositories")
        known = f", {self.known:,} already there" if self.known else ""
        lines = [
            f"{pluralize(self.total('tasks'), 'task')} of {of} in {many}, found by {self.program}; "
            f"{self.added:,} added{known}."
        ]
        for what, head, name in (("place", "no task", "left_out"), ("file", "left out", "files_left_out")):
            counts = self.counts(name).most_common()
            lines += [f"  {head}: {pluralize(count, what)}, {why}" for why, count in counts]
        if silent := self.total("not_asked"):
            lines.append(f"  {pluralize(silent, 'task')} kept without a reply of {self.predictor}")
        without = [one for one in self.repositories.values() if one.why]
        return [*lines, *(f"  left out: {one.name}, {one.why}. {one.said}".rstrip() for one in without)]


@dataclass(frozen=True, slots=True)
class Construction:
    """The construction of tasks (`agents.jobs.work.Work`); its result is a `Constructed`.

    Begun again, it goes on with the repositories that are not done.
    """

    request: ConstructionRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return CONSTRUCTION

    @property
    def name(self) -> str:
        """Its name in lists."""
        of = pluralize(len(self.request.repositories), "repository", "repositories")
        return f"{self.request.language} tasks of {of}"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Construct, repository by repository; the tasks of one are kept together.

        Raises:
            Halted: It was stopped; the tasks of the repositories that are done are kept.
            WorkbenchError: The program that finds names is not there, or there is no such tokenizer.
        """
        request, places = self.request, self.request.repositories
        if len(places) > MOST_REPOSITORIES:
            raise WorkbenchError(
                "Too many repositories",
                f"{len(places):,} are more than {MOST_REPOSITORIES:,}.",
                "Construct them in parts, into one workspace.",
            )
        finder = FINDERS[request.language](self.settings.sandboxes)
        tokenizer = Tokenizer(request.tokenizer)
        rules = Rules(request.language, tokenizer, request.seed, request.cursor, request.longest_string)
        found = Constructed(request.language, tokenizer.name, finder.program, request.cursor, request.seed)
        selection = read_selection(request.objects, request.created, request.hashes)
        predictor = None
        if request.predictor:
            predictor = Predictor(request.predictor, control, self.settings, request.language)
            found.predictor = predictor.name
        if control.kept:
            found.keep(control.kept)
        control.result = found
        try:
            await self._construct(_Constructing(request, control, found, finder, rules, selection, predictor))
        finally:
            if predictor is not None:
                await predictor.close()
        known = f", {found.known:,} already there" if found.known else ""
        return f"{pluralize(found.added, 'task')} added{known}"

    async def _construct(self, work: _Constructing) -> None:
        control, found, places = work.control, work.found, self.request.repositories
        for number, place in enumerate(places):
            await control.gate.passing()
            control.note(WorkProgress("constructing tasks", number, len(places)))
            if place not in found.repositories:
                found.repositories[place] = await work.of_repository(place)
                control.keep(asdict(found))
        control.note(WorkProgress("constructing tasks", len(places), len(places)))


@dataclass(frozen=True, slots=True)
class _Constructing:
    """The construction, as it works."""

    request: ConstructionRequest
    control: Control
    found: Constructed
    finder: Finder
    rules: Rules
    selection: Selection
    predictor: Predictor | None

    async def of_repository(self, place: str) -> OfRepository:
        """Construct the tasks of a repository, and add them to the workspace.

        Raises:
            WorkbenchError: Another one has its name.
        """
        found = OfRepository(Path(place).name)
        found.why = self.selection.why_not(place)
        if found.why:
            return found
        read = await aside(self.control, partial(self._read, place, found))
        if read is None:
            return found
        found.name = named(read)
        # A text with other characters than its file has is no task of it.
        usable = [file for file in read.files if _is_usable(file.path)]
        _add(found.files_left_out, {UNUSABLE: len(read.files) - len(usable)})
        files = {file.path: file.text for file in usable if not file.replaced}
        _add(found.files_left_out, {REPLACED: len(usable) - len(files)})
        # Unlike the search for context, in TypeScript too, whatever the name of its folder is.
        paths = list(files)
        found.files, found.why = len(paths), self._why_not([files[path] for path in paths])
        if found.why:
            return found
        if any(other.name == found.name for other in self.found.repositories.values() if not other.why):
            raise WorkbenchError(
                "Two of one name",
                f"Two repositories are called {found.name}, so their tasks would have the same ids.",
                "Rename a folder, or construct them into two workspaces.",
            )
        try:
            places = await self.finder.find({path: files[path] for path in paths})
            found.places = len(places.places)
            _add(found.files_left_out, places.left_out)
            tasks = await aside(self.control, partial(self._tasks, found, files, places))
        except (WorkbenchError, Halted):
            raise
        except Exception as error:  # noqa: BLE001 - files of others, and what compilers say of them
            found.why, found.said = NOT_COMPILED, f"{type(error).__name__}: {error}"[:_MOST_SAID]
            found.places, found.left_out = 0, {}
            return found
        if places.problem:
            found.why, found.said = NOT_COMPILED, places.problem[:_MOST_SAID]
        if self.predictor is not None:
            self.control.note(WorkProgress(f"asking {self.predictor.name}", 0, len(tasks)))
            ids = [f"{found.name}/{task.id_in_repository}" for task in tasks]
            known = await self.predictor.predicted(tasks, ids)
            tasks = [task for task, predicted in zip(tasks, known, strict=True) if not predicted]
            found.not_asked = known.count(None)
            _add(found.left_out, {PREDICTED: known.count(True)} if any(known) else {})
        found.tasks = len(tasks)
        await undivided(partial(self._add, found, tasks))
        return found

    def _read(self, place: str, found: OfRepository, report: ReportWork) -> Repository | None:
        """Return the files of a repository in the language; None where they cannot be read."""
        still = partial(report, WorkProgress(f"reading {found.name}", 0, 0))
        endings = ENDINGS[self.rules.language]
        try:
            read = read_repository(place, lambda path: path.endswith(endings), still)
        except ImportFailed as error:
            found.why, found.said = NOT_READ, error.message[:_MOST_SAID]
            return None
        _add(found.files_left_out, read.left_out)
        return read

    def _why_not(self, texts: Sequence[str]) -> str:
        """Return why a repository with some files of the language is left out; empty where it is not."""
        if not texts:
            return NO_FILES
        if sum(len(text.encode()) for text in texts) > MOST_SOURCE:
            return TOO_MUCH
        if self.selection.has_known(texts):
            return KNOWN
        if self.request.preset == PRESET:
            return FEW_FILES if len(texts) < FEWEST_FILES else MANY_FILES if len(texts) > MOST_FILES else ""
        return ""

    def _tasks(
        self, found: OfRepository, files: Mapping[str, str], places: Found, _: ReportWork
    ) -> list[Task]:
        left_out = Counter[str]()
        made = list(tasks_of(found.name, files, places.places, self.rules, left_out))
        with self.control.workspace.reading() as connection:
            known = references_without(connection, found.name)
        kept = first_of_each(made, known, left_out)
        _add(found.left_out, left_out)
        return kept

    def _add(self, found: OfRepository, tasks: Sequence[Task]) -> None:
        """Add tasks to the workspace, all or none; those that are there stay."""
        if not tasks:
            return
        name = found.name
        records = [record_of(task, name, self.rules.language) for task in tasks]
        try:
            report = import_records(
                self.control.workspace, records, format="crosscodeeval", source=f"constructed of {name}"
            )
        except RecordsRefused:
            found.why, found.tasks, found.places, found.left_out = TAKEN, 0, 0, {}
            found.said = (
                "It has changed since, or another repository is called the same. Construct it into another "
                "workspace, or give its folder another name."
            )
            return
        self.found.added += report.items_added
        self.found.known += report.items_known


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for why, count in more.items():
        if count:
            counts[why] = counts.get(why, 0) + count


def _is_usable(path: str) -> bool:
    """Return whether compilers can be given the name of a file: one a line, some of them in quotes."""
    short = all(len(os.fsencode(part)) <= _LONGEST_NAME for part in path.split("/"))
    return path.isprintable() and '"' not in path and short


def named(repository: Repository) -> str:
    """Return the name that the tasks of a repository have: with the beginning of its commit, if known."""
    return f"{repository.name}-{repository.commit[:7]}" if repository.commit else repository.name


def references_without(connection: Connection, repository: str) -> set[str]:
    """Return the references of the tasks of all other repositories."""
    table = table_of(Completion)
    asked = select(table.c.reference).where(table.c.repository != repository)
    return set(connection.execute(asked).scalars())


def open_construction(description: Mapping[str, Any], settings: WorkSettings) -> Construction:
    """Return the construction of a description."""
    fields = {**description, "repositories": tuple(description["repositories"])}
    return Construction(ConstructionRequest(**fields), settings)


PART = WorkPart(
    CONSTRUCTION,
    "construction of tasks",
    "Constructs completion tasks of repositories.",
    open_construction,
    asks=True,
)
"""The construction of tasks among the works."""
