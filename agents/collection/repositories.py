"""Collects the repositories whose issues become questions, as a work (CoReQA, III.A)."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.repositories.files import find_repository
from agents.repositories.reading import read_repository
from store.errors import ImportFailed, WorkbenchError
from store.formatting import pluralize
from store.kinds.answer import CHARACTERS_OF_TOKEN
from store.new_file import write_new

if TYPE_CHECKING:
    from agents.github.client import GitHub
    from agents.jobs.control import Control

LANGUAGES = {"python": "Python", "java": "Java", "go": "Go", "typescript": "TypeScript"}
"""The languages of the paper, and GitHub's names of them."""
MOST_FOUND = 1000
"""Results of one search, which GitHub shows."""

NO_LICENCE = "without a licence"
NOT_COUNTED = "GitHub does not say how many issues are closed"
GONE = "not there any more"
BYTES, TREE = "GitHub's bytes by language", "its files"


@dataclass(frozen=True, slots=True)
class RepositoryRequest:
    """Which repositories are collected; the defaults are the paper's.

    Attributes:
        language: One of `LANGUAGES`.
        top: How many with a licence are looked at, those with the most stars.
        fewest_closed: The fewest closed issues and pull requests that one has.
        most_closed: The most.
        tokens: The size, in estimated tokens, that parts large ones from small ones.
        above: How many large ones are drawn.
        below: How many small ones.
        seed: Of the draw.
        repositories: A folder with repositories, OWNER/NAME, whose files are counted; empty for none.
    """

    language: str
    top: int = 500
    fewest_closed: int = 1_000
    most_closed: int = 50_000
    tokens: int = 200_000
    above: int = 50
    below: int = 5
    seed: int = 0
    repositories: str = ""


@dataclass(slots=True)
class RepositoriesFound:
    """The result of a collection of repositories so far.

    Attributes:
        looked_at: Repositories that were looked at.
        left_out: How many were left out, by why.
        drawn: GitHub's objects of those that were drawn, by stars; `collected` says what was counted.
    """

    looked_at: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    drawn: list[dict[str, Any]] = field(default_factory=list)

    def leave_out(self, why: str, count: int = 1) -> None:
        """Count what is left out."""
        if count:
            self.left_out[why] = self.left_out.get(why, 0) + count

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = [one["full_name"] for one in self.drawn]
        sizes = Counter(one["collected"]["characters_of"] for one in self.drawn)
        return {
            "looked_at": self.looked_at,
            "left_out": self.left_out,
            "repositories": names,
            "sizes": dict(sizes),
        }

    def sentences(self) -> list[str]:
        """Return what was found, and what was not, as lines."""
        sizes = Counter(one["collected"]["characters_of"] for one in self.drawn)
        of = pluralize(self.looked_at, "repository", "repositories")
        return [
            f"{pluralize(len(self.drawn), 'repository', 'repositories')} of {of}.",
            *(f"  size by {how}: {count:,}" for how, count in sorted(sizes.items())),
            *(f"  left out: {count:,}, {why}" for why, count in self.left_out.items()),
        ]


@dataclass(frozen=True, slots=True)
class RepositoryCollection:
    """The collection of repositories (`agents.jobs.work.Work`); its result is a `RepositoriesFound`.

    What was counted of each is kept beside the file until that is whole: begun again, it is not asked again.

    Args:
        request: What is asked for.
        out: The file that gets GitHub's objects, one a line.
        settings: How GitHub is reached.
    """

    request: RepositoryRequest
    out: Path
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return PART.kind

    @property
    def name(self) -> str:
        """Its name in lists."""
        return f"{self.request.language} repositories"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return {**asdict(self.request), "out": str(self.out)}

    async def run(self, control: Control) -> str:
        """Collect, and write the file.

        Raises:
            Halted: It was stopped; what was counted is kept.
            WorkbenchError: GitHub cannot be reached, or the file not be written.
        """
        from agents.github.client import github

        found = RepositoriesFound()
        control.result = found

        counted = _Counted(self.out.with_name(f"{self.out.name}.part"), asdict(self.request))
        async with github(self.settings.github, partial(control.log, "info")) as api:
            candidates = await self._most_starred(api, control, found)
            at_once = asyncio.Semaphore(self.settings.concurrency)
            done = 0

            async def count(one: dict[str, Any]) -> None:
                nonlocal done
                name = one["full_name"]
                async with at_once:
                    await control.gate.passing()
                    if name not in counted.found:
                        counted.add(name, await self._counts(api, control, name))
                done += 1
                control.note(WorkProgress("counting issues and files", done, len(candidates)))

            await asyncio.gather(*map(count, candidates))
        self._draw(candidates, counted.found, found)
        self._write(found)
        counted.delete()
        return pluralize(len(found.drawn), "repository", "repositories")

    async def _most_starred(
        self, api: GitHub, control: Control, found: RepositoriesFound
    ) -> list[dict[str, Any]]:
        """Return the objects of the repositories with the most stars that have a licence."""
        request = self.request
        query = f"language:{LANGUAGES[request.language]}"
        following: str | None = (
            f"search/repositories?q={query}&sort=stars&order=desc&per_page={min(100, request.top)}"
        )
        kept: dict[str, dict[str, Any]] = {}
        while following is not None and len(kept) < request.top and found.looked_at < MOST_FOUND:
            await control.gate.passing()
            page, following = await api.page(following)
            for one in page:
                name = str(one.get("full_name") or "")
                if name in kept or len(kept) >= request.top:
                    continue
                found.looked_at += 1
                licence = one.get("license")
                if isinstance(licence, dict) and licence.get("spdx_id") not in (None, "NOASSERTION"):
                    kept[name] = one
                else:
                    found.leave_out(NO_LICENCE)
            control.note(WorkProgress("finding repositories", len(kept), request.top))
        return list(kept.values())

    async def _counts(self, api: GitHub, control: Control, name: str) -> dict[str, Any]:
        """Return how many issues are closed, and how large a repository is."""
        from agents.github.client import GitHubFailed

        try:
            closed = await api.count(f"repos/{name}/issues?state=closed")
            if not self._is_active(closed):
                return {"closed": closed}
            tree = await aside(control, partial(_characters, self.request.repositories, name))
            if tree is not None:
                return {"closed": closed, "characters": tree, "characters_of": TREE}
            sizes = await api.object(f"repos/{name}/languages")
        except GitHubFailed as error:
            if not error.is_of_one:
                raise
            return {"gone": error.status}
        characters = sum(size for size in sizes.values() if isinstance(size, int))
        return {"closed": closed, "characters": characters, "characters_of": BYTES}

    def _is_active(self, closed: int | None) -> bool:
        return closed is not None and self.request.fewest_closed <= closed <= self.request.most_closed

    def _draw(
        self,
        candidates: list[dict[str, Any]],
        counted: Mapping[str, Mapping[str, Any]],
        found: RepositoriesFound,
    ) -> None:
        """Draw among those that are active, large ones and small ones."""
        request = self.request
        sizes: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
        for one in candidates:
            counts = counted[one["full_name"]]
            closed = counts.get("closed")
            if "gone" in counts:
                found.leave_out(GONE)
            elif closed is None:
                found.leave_out(NOT_COUNTED)
            elif not self._is_active(closed):
                few = closed < request.fewest_closed
                found.leave_out(
                    f"fewer than {request.fewest_closed:,} closed"
                    if few
                    else f"more than {request.most_closed:,} closed"
                )
            else:
                tokens = counts["characters"] / CHARACTERS_OF_TOKEN
                own = {**counts, "tokens": round(tokens)}
                sizes[tokens < request.tokens].append({**one, "collected": own})
        draw = random.Random(request.seed)
        for group, most, words in zip(
            sizes, (request.above, request.below), ("at least", "fewer than"), strict=True
        ):
            # By name, so that the draw does not hang on the stars of the day.
            group.sort(key=lambda one: one["full_name"].lower())
            found.drawn += draw.sample(group, min(most, len(group)))
            found.leave_out(
                f"not drawn, with {words} {request.tokens:,} tokens", len(group) - min(most, len(group))
            )
        found.drawn.sort(key=lambda one: (-int(one.get("stargazers_count") or 0), one["full_name"]))

    def _write(self, found: RepositoriesFound) -> None:
        lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found.drawn)
        write_new(self.out, lambda file: file.write(lines.encode()))


def _open_collection(description: Mapping[str, Any], settings: WorkSettings) -> RepositoryCollection:
    asked = dict(description)
    out = Path(asked.pop("out"))
    return RepositoryCollection(RepositoryRequest(**asked), out, settings)


PART = WorkPart(
    "repository-collection",
    "collection of repositories",
    "Finds repositories of GitHub with many closed issues.",
    _open_collection,
    asks=True,
)
"""The collection of repositories among the works."""


class _Counted:
    """The counts of each repository so far, in a file beside the one that is to be written.

    Args:
        path: The file.
        request: What it is counted for; what was counted for something else is not taken.
    """

    def __init__(self, path: Path, request: Mapping[str, Any]) -> None:
        self._path = path
        self.found: dict[str, dict[str, Any]] = {}
        names = ("language", "fewest_closed", "most_closed", "repositories")
        wanted = {name: request[name] for name in names}
        lines: list[Any] = []
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                lines.append(json.loads(line))
        except (OSError, ValueError):
            # A line that was cut off is counted again.
            pass
        if lines and lines[0] == wanted:
            self.found = {one["full_name"]: one["counts"] for one in lines[1:]}
        self._write([wanted, *({"full_name": name, "counts": counts} for name, counts in self.found.items())])

    def add(self, name: str, counts: dict[str, Any]) -> None:
        """Keep what was counted of a repository."""
        self.found[name] = counts
        self._write([{"full_name": name, "counts": counts}], "a")

    def delete(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)

    def _write(self, lines: list[Any], mode: str = "w") -> None:
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                file.writelines(f"{json.dumps(line)}\n" for line in lines)
        except OSError as error:
            raise WorkbenchError(
                "Cannot write", f"{self._path}: {error.strerror or error}.", "Choose another place."
            ) from error


def _characters(folder: str, name: str, report: ReportWork) -> int | None:
    """Return the characters of a repository's files where they are at hand."""
    place = find_repository(Path(folder).resolve(), name) if folder else None
    if place is None:
        return None
    try:
        read = read_repository(str(place), lambda _: True, partial(report, WorkProgress("counting", 0, 0)))
    except ImportFailed:
        return None
    return sum(len(file.text) for file in read.files)
