"""Reads commits of git repositories, without a checkout, and fetches them from a URL."""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from agents.repositories.entries import LINK, MOST_BYTES, SUBMODULE, TOO_LARGE, UNREADABLE, Entry, plain_path
from store.errors import ImportFailed
from store.processes import temporary_folder

MOST_FETCHED = 1 << 30
"""The bytes of a commit that is fetched."""
MOST_SECONDS = 600.0
"""The time that a fetch may take."""
_POLL_SECONDS = 0.5
"""The time between two reports of a fetch."""

_SCHEMES = ("https", "http", "ssh", "git", "file")
_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_URL = re.compile(rf"({'|'.join(_SCHEMES)})://", re.I)
_SSH = re.compile(r"[\w.-]+@[\w.-]+:(?!:)")
"""`git@host:owner/name`, as ssh has it."""
_OTHER = re.compile(r"[\w+-]+(::|://)")
_USER = re.compile(r"(?<=://)[^/?#]*@")
_QUERY = re.compile(r"(://[^?]*)\?.*", re.S)
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


def _environment() -> dict[str, str]:
    # GIT_DIR and its like lead to another repository than the one that is named.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _ENVIRONMENT


def is_git_url(place: str) -> bool:
    """Return whether a place is a git URL.

    Raises:
        ImportFailed: It is one that is not fetched: of another protocol, such as `ext::`, with a password, a
            token or a query, or not valid.
    """
    if place.startswith("-"):
        raise _refused(place, "begins with -")
    if not (_URL.match(place) or _SSH.match(place)):
        if _OTHER.match(place):
            raise _refused(place, f"is of no protocol that is fetched: {', '.join(_SCHEMES)}")
        return False
    if not _URL.match(place):
        return True
    if (parts := _parts(place)) is None:
        raise _refused(place, "is no valid URL")
    if parts.password is not None:
        raise _refused(place, "holds a password")
    if parts.scheme in ("http", "https") and "@" in parts.netloc:
        raise _refused(place, "holds a user or a token")
    if parts.scheme != "file" and "?" in place:
        raise _refused(place, "holds a query")
    return True


def shown_url(place: str) -> str:
    """Return a URL, or a text with one, as it may be shown: without a user, a password and a query."""
    if _URL.match(place) and _parts(place) is None:
        # Where its password ends is not known.
        return f"{place.partition('://')[0]}://..."
    return _QUERY.sub(r"\1?...", _USER.sub("...@", place))


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a URL; None where it is not valid."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is checked only when it is asked for
    except ValueError:
        return None
    return parts


def _refused(place: str, why: str) -> ImportFailed:
    return ImportFailed(
        "Not fetched", f"{shown_url(place)} {why}.", "Give a URL such as https://HOST/OWNER/NAME."
    )


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
def fetched(place: str, report: Callable[[], object] | None = None) -> Iterator[tuple[Clone, str]]:
    """Fetch one commit of a URL into a temporary folder; give it, and the name of the repository.

    Args:
        place: The URL; after it `@` and a branch, a tag or a whole commit, otherwise its main branch.
        report: Called twice a second during the fetch, which an exception from it ends.

    Raises:
        ImportFailed: It cannot be fetched, is larger than `MOST_FETCHED`, or takes more than `MOST_SECONDS`.
    """
    url, reference = _split_url(place)
    with temporary_folder("workbench-fetch-") as folder:
        _git(folder, "init", "--quiet", "--bare", "--template=")
        options = ("--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head")
        wanted = f"+{reference or 'HEAD'}:refs/workbench/fetched"
        limit = f'ulimit -f {MOST_FETCHED // _BLOCK} && exec "$@"'
        limited = ("sh", "-c", limit, "sh", *_command(folder), "fetch", *options, "--", url, wanted)
        shown = shown_url(url)
        failed, printed = _fetch(limited, shown, report)
        if failed:
            said = printed.decode(errors="replace").strip().replace(url, shown)
            # What was killed at the limit has left its file.
            sizes = (path.stat().st_size for path in folder.rglob("*"))
            if _TOO_LARGE.search(said) or any(size > MOST_FETCHED - _BLOCK for size in sizes):
                raise ImportFailed(
                    "Too large",
                    f"{shown} has more than {MOST_FETCHED >> 20:,} MiB.",
                    "Clone it, and name its folder.",
                )
            raise ImportFailed(
                "Not fetched",
                f"{shown}{f' at {reference}' if reference else ''}: {said or 'git failed'}",
                "Check the URL, and the branch, tag or commit. If it asks for a password, clone it, and name "
                "the folder.",
            )
        parts = re.split(r"[/:]+", url.rstrip("/").removesuffix(".git").rstrip("/"))
        yield Clone.of_folder(folder, "refs/workbench/fetched"), "/".join(parts[-2:])


def _fetch(command: tuple[str, ...], shown: str, report: Callable[[], object] | None) -> tuple[int, bytes]:
    """Return the exit status of a fetch, and what it printed as errors.

    Raises:
        ImportFailed: It takes too long.
    """
    ends = time.monotonic() + MOST_SECONDS
    with subprocess.Popen(
        command,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Its helpers, such as ssh, are ended with it.
        start_new_session=True,
    ) as process:
        kill = partial(_kill_group, process)
        # A thread that is left behind at the end of the program does not come to its own end.
        atexit.register(kill)
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    _, printed = process.communicate(timeout=_POLL_SECONDS)
                    return process.returncode, printed
                if report is not None:
                    report()
                if time.monotonic() > ends:
                    raise ImportFailed(
                        "Not fetched",
                        f"{shown} takes more than {MOST_SECONDS / 60:.0f} minutes.",
                        "Clone it, and name its folder.",
                    )
        finally:
            kill()
            atexit.unregister(kill)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # The number of one that was waited for may be another's by now.
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


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
            ImportFailed: The folder is no clone, is only a folder in one, or has no such commit.
        """
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
        try:
            commit = _git(folder, *words).decode().strip()
            if below := os.fsdecode(_git(folder, "rev-parse", "--show-prefix")).strip():
                root = os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n")
                raise ImportFailed(
                    "Not a clone",
                    f"{folder} is the folder {below} of the clone {root}.",
                    f"Only a whole clone is read at a commit: name {root}@{reference}",
                )
            return cls(folder, commit)
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode(errors="replace").strip() or f"it has no commit {reference}"
            raise ImportFailed(
                "No such commit", f"{folder}: {why}.", "Name a branch, a tag or a commit of the clone."
            ) from error

    @classmethod
    def before(cls, folder: Path, moment: str) -> Clone:
        """Find the last commit before a moment, of what is checked out.

        Args:
            folder: The clone.
            moment: The time, in the form of ISO 8601.

        Raises:
            ImportFailed: The folder is no clone.
            LookupError: There was none yet.
        """
        head = cls.of_folder(folder, "HEAD").commit
        words = ("rev-list", "-1", f"--before={moment}", "--end-of-options", head)
        commit = _git(folder, *words).decode().strip()
        if not commit:
            raise LookupError(f"{folder} has no commit before {moment}")
        return cls(folder, commit)

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
            env=_environment(),
        ) as reader:
            try:
                for line in listed.split(b"\0")[:-1]:
                    facts, _, named = line.partition(b"\t")
                    mode, _, name, size = facts.decode().split()
                    why = _LEFT_OUT.get(mode, "")
                    if not why:
                        # A clone that is partial lacks some files: of these it says BAD.
                        missing = not size.isdigit()
                        why = UNREADABLE if missing else TOO_LARGE if int(size) > MOST_BYTES else ""
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
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        ).stdout
    except FileNotFoundError as error:
        raise ImportFailed(
            "No git", "There is no program git.", "Install it, or give a folder or archive."
        ) from error
