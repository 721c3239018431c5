"""Finds and reads the file behind a piece of context in a folder of repositories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from store.errors import WorkbenchError

BYTES_MOST = 2_000_000
"""Size up to which a file is shown."""

_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_COMMIT_AT_END = re.compile(r"-([0-9a-f]{6,40})$")
"""The commit at the end of a repository's name in CrossCodeEval: `OWNER-NAME-1a2b3c4`."""

_COMMIT_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RepositoryFile:
    """A file of a repository.

    Attributes:
        lines: The lines of the piece in it, from 1; None where the piece is not in it as it is.
        state: Of which commit it is, in a few words.
    """

    text: str
    lines: range | None
    state: str


def read_file(
    repositories: Path, repository: str, path: str, piece: str, revision: str = ""
) -> RepositoryFile:
    """Read the file that a piece of context is from.

    Args:
        repositories: The folder in which the repositories are.
        repository: The repository, as the item names it; empty where it names none.
        path: The file in it; empty where that is not known.
        piece: The text of the piece.
        revision: The item's commit; empty where that is not known.

    Raises:
        WorkbenchError: The repository or the file is not there, lies elsewhere, or cannot be shown.
    """
    try:
        root = repositories.expanduser().resolve()
        if not root.is_dir():
            raise WorkbenchError(
                "No folder of repositories",
                f"There is no folder {repositories}",
                "Name another with --repositories.",
            )
        tree = _tree(root, repository, repositories)
        text = _read(tree, path, repositories / tree.relative_to(root))
        return RepositoryFile(text, find_lines(text, piece), _state(tree, repository, revision))
    except (OSError, RuntimeError) as error:
        # A folder that may not be entered, a name that is too long, a circle of links, no home folder.
        raise WorkbenchError("Not readable", f"{path} of {repository}: {error}") from error


def folder_names(repository: str) -> Iterator[str]:
    """Yield the names under which a repository is looked for, the most exact first.

    Args:
        repository: As an item names it: `OWNER/NAME`, or `OWNER-NAME-COMMIT` as in CrossCodeEval.
    """
    parts = repository.strip("/").split("/")
    names = ["/".join(parts), parts[-1], "__".join(parts)]
    names += [_COMMIT_AT_END.sub("", name) for name in names]
    if len(parts) == 1:
        # Where the owner's name ends is not known.
        words = names[-1].split("-")
        halves = [("-".join(words[:at]), "-".join(words[at:])) for at in range(1, len(words))]
        names += [between.join(half) for half in halves for between in ("/", "__")]
    yield from dict.fromkeys(names)


def find_repository(root: Path, repository: str, archives: Sequence[str] = ()) -> Path | None:
    """Return the folder or archive of a repository, with links resolved; None where it is not there.

    Args:
        root: The folder in which the repositories are, with links resolved.
        repository: The repository, as an item names it.
        archives: The endings of archives that are looked for besides.

    Raises:
        OSError: A name is too long, or a folder may not be entered.
        RuntimeError: There is a circle of links.
    """
    for name in folder_names(repository):
        folder = _within(root, name)
        if folder is not None and folder.is_dir():
            return folder
        for ending in archives:
            archive = _within(root, name + ending)
            if archive is not None and archive.is_file():
                return archive
    return None


def find_lines(text: str, piece: str) -> range | None:
    """Return the lines of a text, from 1, that a piece consists of; None if it is not in the text.

    Empty lines and blanks at the ends of lines do not count: retrieval often leaves them out.
    """
    lines = [(number, line.rstrip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    wanted = [line.rstrip() for line in piece.split("\n") if line.strip()]
    if not wanted:
        return None
    # As one text, which is searched in linear time.
    whole, part = ("\n".join(("", *each, "")) for each in ([line for _, line in lines], wanted))
    at = whole.find(part)
    if at < 0:
        return None
    first = whole.count("\n", 0, at)
    return range(lines[first][0], lines[first + len(wanted) - 1][0] + 1)


def _tree(root: Path, repository: str, shown: Path) -> Path:
    """Return the folder of a repository, with links resolved.

    Args:
        root: The folder in which the repositories are, with links resolved.
        repository: The repository, as an item names it.
        shown: That folder as errors name it.
    """
    if not repository:
        raise WorkbenchError("No repository", "This item does not say which repository it is from")
    found = find_repository(root, repository)
    if found is not None:
        return found
    raise WorkbenchError(
        "No repository",
        f"{shown} has no folder for {repository}",
        f"Looked for: {', '.join(folder_names(repository))}. Links that lead out of the folder are not "
        "followed.",
    )


def _read(tree: Path, path: str, shown: Path) -> str:
    if not path:
        raise WorkbenchError("No file", "This piece does not say which file it is from")
    found = _within(tree, path)
    if found is None:
        raise WorkbenchError("Not opened", f"{path} leads out of {shown}")
    if not found.is_file():
        raise WorkbenchError(
            "No file", f"{shown} has no file {path}", "The checkout may be at another commit."
        )
    with found.open("rb") as file:
        data = file.read(BYTES_MOST + 1)
    if len(data) > BYTES_MOST:
        raise WorkbenchError(
            "Too large", f"{path} has more than {BYTES_MOST:,} bytes", "Files up to that size are shown."
        )
    if b"\0" in data:
        raise WorkbenchError("Binary file", f"{path} is not a text file")
    # Bytes that are not UTF-8 are shown as such.
    return data.decode("utf-8", "surrogateescape")


def _within(folder: Path, path: str) -> Path | None:
    """Return a path below a folder, with links resolved; None where it leads out of it."""
    try:
        found = (folder / path).resolve()
    except ValueError:  # a NUL character
        return None
    return found if folder in found.parents else None


def _state(tree: Path, repository: str, revision: str) -> str:
    """Return the commit that is checked out, beside the item's where it is another one."""
    at_end = _COMMIT_AT_END.search(repository)
    wanted = revision or (at_end[1] if at_end else "")
    head = head_of(tree)
    if not head:
        return "working tree"
    if not wanted or not _COMMIT.fullmatch(wanted):
        return f"working tree at {head[:_COMMIT_SHOWN]}"
    if head.startswith(wanted):
        return f"working tree at the item's commit {wanted[:_COMMIT_SHOWN]}"
    return f"working tree at {head[:_COMMIT_SHOWN]}, item at {wanted[:_COMMIT_SHOWN]}"


def head_of(tree: Path) -> str:
    """Return the commit that is checked out; empty where that is not in a file of its own.

    Args:
        tree: The working tree, with links resolved.
    """
    words = _first_line(tree, ".git/HEAD")
    if words.startswith("ref: "):
        words = _first_line(tree, f".git/{words.removeprefix('ref: ')}")
    return words if _COMMIT.fullmatch(words) else ""


def _first_line(tree: Path, path: str) -> str:
    found = _within(tree, path)
    if found is None or not found.is_file():
        return ""
    with found.open("rb") as file:
        return file.read(400).decode("ascii", "replace").partition("\n")[0].strip()
