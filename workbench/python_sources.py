"""Reads the repositories whose Python functions are imported as a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agents.repositories.reading import Repository, has_file, read_repository, shown_name
from store.errors import ImportFailed
from store.events import Progress, ReportProgress
from store.formats.corpus import PYTHON
from store.ingest.corpus import NOT_READ, PythonSources
from store.ingest.inputs import data_files
from store.paths import is_folder

_COMMIT_SHOWN = 10


def read_python_sources(
    places: Iterable[str], format: str | None, report: ReportProgress
) -> tuple[list[PythonSources], list[Path]]:
    """Read the Python sources among what is to be imported.

    Args:
        places: Files and folders, of which those without data files may hold Python sources; of the format
            `python` any repositories.
        format: The name of the format that the user gave.
        report: Receives the progress, in this thread; an exception from it ends the reading.

    Returns:
        The sources, and the paths of all that is something else.

    Raises:
        ImportFailed: A repository cannot be read, or has no Python sources.
    """
    sources, paths = [], []
    for place in places:
        if format == PYTHON.name or _is_python(Path(place)):
            sources.append(_read(place, report))
        else:
            paths.append(Path(place))
    return sources, paths


def _is_python(folder: Path) -> bool:
    return is_folder(folder) and not data_files(folder) and has_file(folder, _is_source)


def _is_source(path: str) -> bool:
    return path.endswith(".py")


def _read(place: str, report: ReportProgress) -> PythonSources:
    shown = shown_name(place)

    still = partial(report, Progress(f"reading {shown}", 0, None))

    def wanted(path: str) -> bool:
        still()
        return _is_source(path)

    read = read_repository(place, wanted, still)
    if not read.files:
        raise ImportFailed(
            "No Python sources",
            " ".join([f"{shown} holds no Python sources. Nothing was imported.", *read.sentences()]),
            "Files of functions have formats of their own: workbench import --formats",
        )
    # Python itself takes no file with bytes of another encoding.
    not_read = {NOT_READ: read.replaced} if read.replaced else {}
    files = [(file.path, file.text) for file in read.files if not file.replaced]
    name = _source_name(place, read)
    return PythonSources(
        shown, name, read.name, sorted(files, key=_in_order_of_a_walk), {**read.left_out, **not_read}
    )


def _source_name(place: str, read: Repository) -> str:
    """Return a folder's own name, and the name of another repository with its commit."""
    if is_folder(folder := Path(place)):
        return shown_name(folder.name)
    return f"{read.name}@{read.commit[:_COMMIT_SHOWN]}" if read.commit else read.name


def _in_order_of_a_walk(file: tuple[str, str]) -> list[tuple[bool, str]]:
    """Return what orders files before the folders beside them: the ids of codes are in this order."""
    *folders, name = file[0].split("/")
    return [*((True, folder) for folder in folders), (False, name)]
