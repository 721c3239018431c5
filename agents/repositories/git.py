"""Reads commits of git repositories, without a checkout, and fetches them from a URL."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from agents.repositories.entries import LINK, MOST_BYTES, SUBMODULE, TOO_LARGE, Entry, plain_path
from store.errors import ImportFailed
from store.processes import temporary_folder

MOST_FETCHED = 1 << 30
"""The bytes of a commit that is fetched."""

_SCHEMES = ("https", "http", "ssh", "git", "file")
_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_URL = re.compile(rf"({'|'.join(_SCHEMES)})://", re.I)
_SSH = re.compile(r"[\w.-]+@[\w.-]+:(?!:)")
"""`git@host:owner/name`, as ssh has it."""
_OTHER = re.compile(r"[\w+-]+(::|://)")
_BLOCK = 512
"""The unit of sh's `ulimit -f`, in bytes."""
_TOO_LARGE = re.compile(r"signal 25|File too large|file size limit", re.I)

_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "credential.helper=", "protocol.allow=never"),
    *(f"protocol.{scheme}.allow=always" for scheme in _SCHEMES),
    *("http.lowSpeedLimit=1000", "http.lowSpeedTime=60", "transfer.fsckObjects=false", "gc.auto=0"),
    # One pack, whose size is bounded.
    "fetch.unpackLimit=1",
    *("fetch.recurseSubmodules=false", "core.symlinks=false"),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=30",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
"""No setting of the user, no question for a password, and nothing that is fetched on the way."""


def is_git_url(place: str) -> bool:
    """Return whether a place is a git URL.

    Raises:
        ImportFailed: It is one that is not fetched: of another protocol, such as `ext::`, or with a password.
    """
    if place.startswith("-"):
        raise _refused(place, "begins with -")
    if not (_URL.match(place) or _SSH.match(place)):
        if _OTHER.match(place):
            raise _refused(place, f"is of no protocol that is fetched: {', '.join(_SCHEMES)}")
        return False
    if _URL.match(place) and urlsplit(place).password is not None:
        raise _refused(place.partition("://")[0] + "://...", "holds a password")
    return True


def _refused(place: str, why: str) -> ImportFailed:
    return ImportFailed("Not fetched", f"{place} {why}.", "Give a URL such as https://HOST/OWNER/NAME.")


def split_reference(place: str) -> tuple[Path, str]:
    """Return the path of a folder or archive, and what stands after its `@`; empty for nothing."""
    path = Path(place).expanduser()
    if "@" not in place or path.exists():
        return path, ""
    for at in (number for number, character in enumerate(place) if character == "@"):
        if (shorter := Path(place[:at]).expanduser()).is_dir() and place[at + 1 :]:
            return shorter, place[at + 1 :]
    return path, ""


@contextmanager
def fetched(place: str) -> Iterator[tuple[Clone, str]]:
    """Fetch one commit of a URL into a temporary folder; give it, and the name of the repository.

    Args:
        place: The URL; after it `@` and a branch, a tag or a whole commit, otherwise its main branch.

    Raises:
        ImportFailed: It cannot be fetched, or is larger than `MOST_FETCHED`.
    """
    url, reference = _split_url(place)
    with temporary_folder("workbench-fetch-") as folder:
        _git(folder, "init", "--quiet", "--bare", "--template=")
        options = ("--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head")
        wanted = f"+{reference or 'HEAD'}:refs/workbench/fetched"
        limit = f'ulimit -f {MOST_FETCHED // _BLOCK} && exec "$@"'
        limited = ("sh", "-c", limit, "sh", *_command(folder), "fetch", *options, "--", url, wanted)
        done = subprocess.run(
            limited, env=os.environ | _ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            # What was killed at the limit has left its file.
            sizes = (path.stat().st_size for path in folder.rglob("*"))
            if _TOO_LARGE.search(said) or any(size > MOST_FETCHED - _BLOCK for size in sizes):
                raise ImportFailed(
                    "Too large",
                    f"{url} has more than {MOST_FETCHED >> 20:,} MiB.",
                    "Clone it, and name its folder.",
                )
            raise ImportFailed(
                "Not fetched",
                f"{url}{f' at {reference}' if reference else ''}: {said or 'git failed'}",
                "Check the URL, and the branch, tag or commit. If it asks for a password, clone it, and name "
                "the folder.",
            )
        parts = re.split(r"[/:]+", url.rstrip("/").removesuffix(".git").rstrip("/"))
        yield Clone.of_folder(folder, "refs/workbench/fetched"), "/".join(parts[-2:])


def _split_url(place: str) -> tuple[str, str]:
    """Return a URL, and what stands after the `@` behind its host; empty for nothing."""
    found = _URL.match(place)
    # What is before the host's end may hold an @ of its own: a user.
    end = place.find("/", found.end()) if found else place.find(":")
    url, at, reference = place[max(end, 0) :].rpartition("@")
    return (place[: max(end, 0)] + url, reference) if at else (place, "")


@dataclass(frozen=True, slots=True)
class Clone:
    """A commit of a clone.

    Attributes:
        folder: The clone, with or without a working tree.
        commit: The whole name of the commit.
    """

    folder: Path
    commit: str

    @classmethod
    def of_folder(cls, folder: Path, reference: str) -> Clone:
        """Find a commit.

        Raises:
            ImportFailed: The folder is no clone, or has no such commit.
        """
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
        try:
            return cls(folder, _git(folder, *words).decode().strip())
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode(errors="replace").strip() or f"it has no commit {reference}"
            raise ImportFailed(
                "No such commit", f"{folder}: {why}.", "Name a branch, a tag or a commit of the clone."
            ) from error

    def entries(self, path: str = "") -> Iterator[Entry]:
        """Yield the files of the commit, while the clone is there.

        Args:
            path: Of a file or a folder; empty for all of them.
        """
        below = (path,) if path else ()
        listed = _git(self.folder, "ls-tree", "-r", "-z", "-l", "--full-tree", "--", self.commit, *below)
        with subprocess.Popen(
            [*_command(self.folder), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ENVIRONMENT,
        ) as reader:
            try:
                for line in listed.split(b"\0")[:-1]:
                    facts, _, named = line.partition(b"\t")
                    mode, _, name, size = facts.decode().split()
                    why = _LEFT_OUT.get(mode, "")
                    if not why and int(size) > MOST_BYTES:
                        why = TOO_LARGE
                    yield Entry(os.fsdecode(named), why, partial(_object, reader, name))
            finally:
                reader.kill()


_LEFT_OUT = {"120000": LINK, "160000": SUBMODULE}
"""Modes of paths that are no files."""


def _object(reader: subprocess.Popen[bytes], name: str, most: int) -> bytes:
    """Return the content of an object.

    Raises:
        OSError: It is not there.
    """
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(f"{name}\n".encode())
    reader.stdin.flush()
    size = reader.stdout.readline().rpartition(b" ")[2].strip()
    if not size.isdigit():
        raise OSError(f"no object {name}")
    return reader.stdout.read(int(size) + 1)[:-1][:most]


def head_of(tree: Path) -> str:
    """Return the commit that is checked out, without git; empty where that is not in a file of its own.

    Args:
        tree: The working tree, with links resolved.
    """
    words = _first_line(tree, ".git/HEAD")
    if words.startswith("ref: "):
        words = _first_line(tree, f".git/{words.removeprefix('ref: ')}")
    return words if _COMMIT.fullmatch(words) else ""


def _first_line(tree: Path, path: str) -> str:
    found = plain_path(tree, path)
    if found is None or not found.is_file():
        return ""
    with found.open("rb") as file:
        return file.read(400).decode("ascii", "replace").partition("\n")[0].strip()


def _command(folder: Path) -> list[str]:
    return ["git", "-C", str(folder), *(word for setting in _SETTINGS for word in ("-c", setting))]


def _git(folder: Path, *words: str) -> bytes:
    """Return what git prints.

    Raises:
        ImportFailed: There is no git.
        subprocess.CalledProcessError: It failed.
    """
    try:
        return subprocess.run(
            [*_command(folder), *words],
            env=os.environ | _ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        ).stdout
    except FileNotFoundError as error:
        raise ImportFailed(
            "No git", "There is no program git.", "Install it, or give a folder or archive."
        ) from error
