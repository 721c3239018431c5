"""Queries of CodeSearchNet, each with the repository in which its function is (RepoRift, section 3.1)."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from agents.code_search.docstrings import cut_parameters
from agents.code_search.evaluation import SearchBenchmark, without_docstrings
from agents.code_search.searching import MOST_CHARACTERS
from agents.repositories.entries import BEYOND
from agents.repositories.files import find_repository, folder_of_repositories
from agents.repositories.reading import read_repository
from agents.repositories.units import Unit, clean, units_in
from agents.retrieval.stored_texts import StoredTexts
from store.errors import ImportFailed, WorkbenchError
from store.events import silent
from store.formats.protocol import Sample
from store.processes import temporary_folder
from store.reading.files import prepare
from store.reading.records import read_records
from store.record.rater_ref import LONGEST_NAME

MOST_UNITS = 200_000
"""The functions and classes of a repository."""

NO_ROW, NO_DOCSTRING, TWICE = "lines that are no row", "rows without a docstring", "rows that are there twice"
TOO_LONG = f"docstrings over {MOST_CHARACTERS:,} characters"
NO_REPOSITORY, UNREADABLE, TOO_LARGE = (
    "repository not found",
    "repository cannot be read",
    "repository over a limit",
)
NO_FUNCTION = "function not in its repository"

_COLUMNS = (
    ("repo", "repository_name"),
    ("path", "func_path_in_repository"),
    ("func_name",),
    ("docstring", "func_documentation_string", "docstring_summary"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of CodeSearchNet.

    Attributes:
        repository: `OWNER/NAME`.
        path: The file in it.
        function: The name of the function, after that of its class.
        docstring: Its docstring as it is written.
        query: That in one line, without what is cut.
    """

    repository: str
    path: str
    function: str
    docstring: str
    query: str


def read_rows(file: Path, left_out: Counter[str], *, cut: bool = False) -> StoredTexts:
    """Return the rows of a file with a query, each as JSON.

    Args:
        file: JSON lines, plain or gzipped.
        left_out: Receives how many lines were left out, by why.
        cut: Whether parameters and returned values are cut from the docstrings.

    Raises:
        ImportFailed: The file cannot be read.
        WorkbenchError: It has no row with a query.
    """
    rows, known = StoredTexts(), set[bytes]()
    with temporary_folder("workbench-evaluate-") as folder:
        given = prepare(0, file, folder, silent)
        for raw in read_records(given, Sample(file, "json lines", frozenset())):
            fields = _fields(raw.value or {})
            if fields is None:
                left_out[NO_ROW] += 1
                continue
            docstring = fields[-1]
            query = " ".join((cut_parameters(docstring) if cut else docstring).split())
            if not query or len(query) > MOST_CHARACTERS:
                left_out[TOO_LONG if query else NO_DOCSTRING] += 1
                continue
            row = json.dumps([*fields, query])
            digest = hashlib.blake2b(row.encode(), digest_size=16).digest()
            if digest in known:
                left_out[TWICE] += 1
                continue
            known.add(digest)
            rows.append(row)
    if not rows:
        raise no_query(file, left_out)
    return rows


def _fields(record: dict[str, Any]) -> list[str] | None:
    """Return the repository, the path, the name and the docstring of a record; None where it lacks one."""
    given = (
        next((record[name] for name in names if isinstance(record.get(name), str)), None)
        for names in _COLUMNS
    )
    found = [clean(one) for one in given if one is not None]
    if len(found) != len(_COLUMNS):
        return None
    # One spelling of each, so that a row is not there twice.
    repository, path = (
        "/".join(part for part in one.split("/") if part not in ("", ".")) for one in found[:2]
    )
    found[:2] = repository, path
    return found if all(found[:-1]) and len(repository) <= LONGEST_NAME else None


def no_query(file: Path, left_out: Counter[str]) -> WorkbenchError:
    """Return the error that no row has a query and its function."""
    why = ", ".join(f"{why}: {count:,}" for why, count in left_out.items() if count)
    return WorkbenchError(
        "No query",
        f"{file} has no row that can be searched ({why or 'no rows'}).",
        "Rows need repo, path, func_name and docstring, and their repositories a folder in --repositories.",
    )


def by_rows(
    rows: StoredTexts,
    folder: Path,
    number: int,
    seed: int,
    left_out: Counter[str],
    *,
    wanted: Callable[[str], bool],
) -> Iterator[SearchBenchmark]:
    """Draw rows, and yield them with the repositories of their functions, one at a time.

    For a row that is left out another one is drawn, as in the paper.

    Args:
        rows: The rows.
        folder: The folder in which the repositories are.
        number: How many are taken; all that can be where there are fewer.
        seed: The seed of the draw.
        left_out: Receives how many were left out, by why.
        wanted: Which files of a repository are read.

    Raises:
        WorkbenchError: There is no such folder.
    """
    root = folder_of_repositories(folder)
    drawn = iter(random.Random(seed).sample(range(len(rows)), len(rows)))
    taken: set[str] = set()
    # Repositories of several owners may be one folder: it has the name under which it was found first.
    names: dict[Path, str] = {}
    opened: tuple[Path, _Opened | str] | None = None
    while some := [Row(*json.loads(rows[place])) for place in islice(drawn, number - len(taken))]:
        by_place = defaultdict[Path, list[Row]](list)
        for row in some:
            place = _place(root, row.repository)
            if isinstance(place, str):
                left_out[place] += 1
                continue
            names.setdefault(place, row.repository)
            by_place[place].append(row)
        for place, own in by_place.items():
            if opened is None or opened[0] != place:
                opened = None  # before the next one is read: they may be large
                opened = place, _opened(place, names[place], wanted)
            found = opened[1]
            if isinstance(found, str):
                left_out[found] += len(own)
                continue
            queries: dict[str, str] = {}
            for row in own:
                name = found.name_of(row)
                if name is None:
                    left_out[NO_FUNCTION] += 1
                elif name in taken:
                    left_out[TWICE] += 1
                else:
                    taken.add(name)
                    queries[name] = row.query
            if queries:
                yield replace(found.benchmark, queries=queries)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A repository, and its functions and classes with their docstrings."""

    benchmark: SearchBenchmark
    units: Sequence[Unit]

    def name_of(self, row: Row) -> str | None:
        """Return the name of the function of a row; of several that of the same docstring, or the first."""
        places = [
            place
            for place, unit in enumerate(self.units)
            if unit.kind == "function" and unit.path == row.path and unit.name == row.function
        ]
        words = row.docstring.split()
        same = [place for place in places if self.units[place].doc.split() == words]
        return next((self.benchmark.ids[place] for place in (*same, *places)), None)


def _place(root: Path, repository: str) -> Path | str:
    """Return the folder or the archive of a repository; why it is left out where there is none."""
    try:
        return find_repository(root, repository) or NO_REPOSITORY
    except (OSError, RuntimeError):
        return UNREADABLE


def _opened(place: Path, repository: str, wanted: Callable[[str], bool]) -> _Opened | str:
    """Return a repository; why it is left out where it cannot be searched."""
    try:
        read = read_repository(str(place), wanted)
    except (ImportFailed, OSError, RuntimeError):
        return UNREADABLE
    if read.left_out.get(BEYOND):
        return TOO_LARGE
    units = units_in(read)
    if len(units) > MOST_UNITS:
        return TOO_LARGE
    return _Opened(without_docstrings(replace(read, name=repository), units, f"{repository}:"), units)
