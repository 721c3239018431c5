"""Which repositories tasks are constructed of: the conditions of CrossCodeEval (section 2.1)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from agents.github.objects import read_repositories, read_text
from store.errors import ImportFailed

CREATED = "2023-03-05..2023-06-15"
"""When the repositories of CrossCodeEval were created."""
FEWEST_STARS = 3
MOST_KILOBYTES = 1000
"""Of a repository, zipped; GitHub says how large its objects are."""
PERMISSIVE = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "BSL-1.0", "CC0-1.0"),
        *("ISC", "MIT", "MIT-0", "NCSA", "PostgreSQL", "UPL-1.0", "Unlicense", "WTFPL", "Zlib"),
    )
)
"""Licences by their SPDX names."""

NOT_LISTED = "not among the repository objects"
LICENCE = "its licence is not permissive"
FORK = "a fork"
OTHER_TIME = "created at another time"
FEW_STARS = f"fewer than {FEWEST_STARS} stars"
TOO_LARGE = "1 MB or more, zipped"
KNOWN = "a file is in the list of hashes"

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on repositories.

    Attributes:
        objects: GitHub's objects of repositories, by their names in small letters; None for none.
        created: The first and the last day on which a repository may have been created.
        hashes: Of files that no repository may have: SHA-256 of their bytes, or git's SHA-1.
    """

    objects: Mapping[str, Mapping[str, Any]] | None = None
    created: tuple[date, date] | None = None
    hashes: frozenset[str] = field(default_factory=frozenset)

    def why_not(self, place: str) -> str:
        """Return why a repository is left out by its object; empty where it is not."""
        if self.objects is None:
            return ""
        found = next((self.objects[name] for name in _names_of(place) if name in self.objects), None)
        if found is None:
            return NOT_LISTED
        licence = found.get("license")
        day = _day(found.get("created_at"))
        conditions: list[tuple[Callable[[], bool], str]] = [
            (lambda: isinstance(licence, dict) and str(licence.get("spdx_id")) in PERMISSIVE, LICENCE),
            (lambda: found.get("fork") is False, FORK),
            (lambda: self._is_within(day), OTHER_TIME),
            (lambda: _number(found.get("stargazers_count")) >= FEWEST_STARS, FEW_STARS),
            (lambda: _kilobytes(place, found) < MOST_KILOBYTES, TOO_LARGE),
        ]
        return next((why for holds, why in conditions if not holds()), "")

    def _is_within(self, day: date | None) -> bool:
        if self.created is None:
            return True
        return day is not None and self.created[0] <= day <= self.created[1]

    def has_known(self, texts: Iterable[str]) -> bool:
        """Return whether one of some files is in the list of hashes."""
        return bool(self.hashes) and any(not self.hashes.isdisjoint(_hashes(text)) for text in texts)


def read_selection(objects: str, created: str, hashes: str) -> Selection:
    """Return the conditions of files and of an interval of days; each empty for none.

    Raises:
        ImportFailed: A file cannot be read, or is no such file, or the interval is none.
    """
    found = None
    if objects:
        found = {str(one["full_name"]).lower(): one for one in read_repositories(objects)}
    lines = read_text(hashes).lower().split() if hashes else []
    if wrong := next((line for line in lines if not _HASH.fullmatch(line)), ""):
        raise ImportFailed("No hash", f"{hashes}: {wrong[:70]!r} is no SHA-256 or SHA-1.", "Give one a line.")
    return Selection(found, interval_of(created) if created else None, frozenset(lines))


def interval_of(text: str) -> tuple[date, date]:
    """Return the days of an interval such as `2023-03-05..2023-06-15`.

    Raises:
        ImportFailed: It is none.
    """
    first, _, last = text.partition("..")
    try:
        found = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError as error:
        raise ImportFailed(
            "No interval", f"{text!r} is no interval of days.", f"Give one: {CREATED}"
        ) from error
    if found[0] > found[1]:
        raise ImportFailed("No interval", f"{text!r} ends before it begins.", f"Give one: {CREATED}")
    return found


def _names_of(place: str) -> list[str]:
    """Return the names OWNER/NAME that a place of a repository can mean, in small letters."""
    path = PurePosixPath(place.split("@", maxsplit=1)[0].lower().removesuffix(".git").rstrip("/"))
    stem = re.sub(r"\.(?:zip|tar|tgz|tbz2|txz|tar\.\w+)$", "", path.name)
    found = [f"{path.parent.name}/{stem}", stem.replace("__", "/")]
    for name in (stem, re.sub(r"-[0-9a-f]{6,40}$", "", stem)):
        parts = name.split("-")
        found += ["/".join(("-".join(parts[:at]), "-".join(parts[at:]))) for at in range(1, len(parts))]
    return found


def _kilobytes(place: str, found: Mapping[str, Any]) -> float:
    """Return how large a repository is: a zip file as it is, otherwise as GitHub says."""
    path = Path(place)
    if path.suffix == ".zip" and path.is_file():
        return path.stat().st_size / 1000
    return _number(found.get("size"))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _hashes(text: str) -> list[str]:
    """Return the SHA-256 of a file, and its SHA-1 as git has it; with a byte order mark, too."""
    found = []
    for content in (text.encode(), text.encode("utf-8-sig")):
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        found += [hashlib.sha256(content).hexdigest(), git.hexdigest()]
    return found
