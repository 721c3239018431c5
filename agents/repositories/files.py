"""Finds and reads the file behind a piece of context in a folder of repositories."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.repositories.entries import BINARY, LINK, MOST_BYTES, TOO_LARGE, UNREADABLE, plain_path
from agents.repositories.reading import ARCHIVES, Repository, read_one_file
from store.errors import ImportFailed, WorkbenchError

_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_REFERENCE = re.compile(r"\w[\w./+-]*")
"""A commit, a branch or a tag, and nothing else that git would understand."""
_COMMIT_AT_END = re.compile(r"-([0-9a-f]{6,40})$")
"""The commit at the end of a name, in CrossCodeEval and of GitHub's archives: `OWNER-NAME-1a2b3c4`."""

_COMMIT_SHOWN = 10
_NOT_SHOWN = {
    LINK: ("Not opened", "is a link, or behind one", "Links are not followed."),
    TOO_LARGE: ("Too large", f"has more than {MOST_BYTES:,} bytes", "Files up to that size are shown."),
    BINARY: ("Binary file", "is not a text file", ""),
    UNREADABLE: ("Not readable", "cannot be read", "Check its permissions."),
}
"""Title, message and hint for a file that is left out, by why."""


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
        revision: The item's commit, tag or branch; empty where that is not known.

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
        place = _place(root, repository, repositories)
        wanted = revision or commit_in_name(repository)
        return _read(place, path, piece, wanted, repositories / place.relative_to(root))
    except (OSError, RuntimeError) as error:
        # A folder that may not be entered, a name that is too long, a circle of links, no home folder.
        raise WorkbenchError("Not readable", f"{path} of {repository}: {error}") from error


def folder_of_repositories(given: Path) -> Path:
    """Return the folder in which repositories are, with links resolved.

    Raises:
        WorkbenchError: There is none.
    """
    root = given.expanduser().resolve()
    if not root.is_dir():
        raise WorkbenchError(
            "No folder of repositories", f"There is no folder {given}.", "Name another with --repositories."
        )
    return root


def commit_in_name(repository: str) -> str:
    """Return the commit at the end of a repository's name in CrossCodeEval; empty for none."""
    at_end = _COMMIT_AT_END.search(repository)
    return at_end[1] if at_end else ""


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


def find_repository(root: Path, repository: str) -> Path | None:
    """Return the folder or the archive of a repository; None where it is not there.

    Where none has a name of `folder_names`, the only one that is named after the repository and a commit is
    taken, as GitHub names its archives.

    Args:
        root: The folder in which the repositories are, with links resolved.
        repository: The repository, as an item names it.

    Raises:
        OSError: A name is too long, or a folder may not be entered.
        RuntimeError: There is a circle of links.
    """
    for name in folder_names(repository):
        for ending in ("", *ARCHIVES):
            found = plain_path(root, name + ending)
            if found is not None and (found.is_file() if ending else found.is_dir()):
                return found
    owner, _, name = repository.strip("/").partition("/")
    plain = {name, f"{owner}-{name}"}
    at_commit = [
        one
        for one in (sorted(root.iterdir()) if name else [])
        if plain_path(root, one.name) is not None and _without_commit(one.name) in plain
    ]
    return at_commit[0] if len(at_commit) == 1 else None


def looked_for(repository: str) -> str:
    """Return the names under which a repository is looked for, as a sentence."""
    at_commit = f", {repository.replace('/', '-')}-COMMIT" if "/" in repository.strip("/") else ""
    return f"Looked for: {', '.join(folder_names(repository))}{at_commit}. Links are not followed."


def _without_commit(name: str) -> str:
    """Return a name without the end of an archive's and the commit before it; empty where there is none."""
    ending = next((one for one in ARCHIVES if name.lower().endswith(one)), "")
    plain = name[: len(name) - len(ending)]
    return _COMMIT_AT_END.sub("", plain) if _COMMIT_AT_END.search(plain) else ""


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


def _place(root: Path, repository: str, shown: Path) -> Path:
    """Return the folder or the archive of a repository.

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
        f"{shown} has no folder for {repository}, and no archive",
        looked_for(repository),
    )


def _read(place: Path, path: str, piece: str, wanted: str, shown: Path) -> RepositoryFile:
    if not path:
        raise WorkbenchError("No file", "This piece does not say which file it is from")
    plain = posixpath.normpath(path)
    if plain.partition("/")[0] in ("", ".", "..") or "\0" in plain:
        raise WorkbenchError("Not opened", f"{path} leads out of {shown}")
    found, state = _read_at(place, plain, wanted)
    for file in found.files:
        said = ", bytes of another encoding replaced" if file.replaced else ""
        return RepositoryFile(file.text, find_lines(file.text, piece), state + said)
    for why in found.left_out.keys() & _NOT_SHOWN.keys():
        title, message, hint = _NOT_SHOWN[why]
        raise WorkbenchError(title, f"{path} {message}", hint)
    raise WorkbenchError("No file", f"{shown} has no file {path}", f"Looked for in: {state}.")


def _read_at(place: Path, path: str, wanted: str) -> tuple[Repository, str]:
    """Read a file at the item's commit, or where there is none as it is on disk; say which of them."""
    git = plain_path(place, ".git")
    if _REFERENCE.fullmatch(wanted) and git is not None and git.is_dir():
        # Without git, and where the clone has no such commit, what is on disk is better than nothing.
        with suppress(ImportFailed):
            found = read_one_file(place, path, wanted)
            return found, f"the item's commit {found.commit[:_COMMIT_SHOWN]}"
    found = read_one_file(place, path)
    return found, _state("working tree" if place.is_dir() else "archive", found.commit, wanted)


def _state(what: str, commit: str, wanted: str) -> str:
    """Return which commit is on disk, beside the item's where it is another one."""
    if not commit:
        return what
    if not _COMMIT.fullmatch(wanted):
        return f"{what} at {commit[:_COMMIT_SHOWN]}"
    if commit.startswith(wanted):
        return f"{what} at the item's commit {wanted[:_COMMIT_SHOWN]}"
    return f"{what} at {commit[:_COMMIT_SHOWN]}, item at {wanted[:_COMMIT_SHOWN]}"
