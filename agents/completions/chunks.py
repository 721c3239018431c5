"""Cuts files into chunks, and chooses those that go with a task (CrossCodeEval, section 3.3, appendix C)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

LINES = 10
"""Lines of a chunk, and of a query; lines without text do not count."""
MOST_CHUNKS = 1000
"""Chunks of a repository that are searched for one task: those of the nearest files."""
TOP = 5
"""Chunks that go with a task."""

_LETTER = re.compile(r"\w")

ENDINGS = {"csharp": (".cs",), "java": (".java",), "python": (".py",), "typescript": (".ts", ".tsx")}
"""The endings of the files of a language."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a file.

    Attributes:
        path: The file.
        number: Which chunk of its file it is, from 0.
    """

    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that goes with a task; file and score are those of the chunk that was found for it."""

    path: str
    text: str
    score: float


def of_language(paths: Iterable[str], language: str) -> list[str]:
    """Return the paths of files of a language; in TypeScript those below `src`, where there are any."""
    found = [path for path in paths if path.endswith(ENDINGS[language])]
    within = [path for path in found if path.startswith("src/")]
    return within if language == "typescript" and within else found


def cut(path: str, text: str) -> list[Chunk]:
    """Cut a file into chunks that do not overlap, without blank lines; those without a word are left out."""
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    chunks: list[Chunk] = []
    for at in range(0, len(lines), LINES):
        piece = "\n".join(lines[at : at + LINES])
        if _LETTER.search(piece):
            chunks.append(Chunk(path, len(chunks), piece))
    return chunks


def distance(path: str, other: str) -> int:
    """Return how many folders lie between two files."""
    ours, theirs = PurePosixPath(path).parts, PurePosixPath(other).parts
    common = 0
    for one, two in zip(ours, theirs, strict=False):
        if one != two:
            break
        common += 1
    return sum(max(len(parts) - common - 1, 0) for parts in (ours, theirs))


def nearest(paths: Iterable[str], current: str) -> list[str]:
    """Return the paths of the other files, the nearest first."""
    return sorted(
        (path for path in paths if path != current), key=lambda path: (distance(path, current), path)
    )


def query_of(prompt: str, reference: str = "") -> str:
    """Return the query of a task: the last lines before the cursor, or of those with the reference."""
    lines = [line for text in (prompt, reference) for line in text.split("\n") if line.strip()]
    return "\n".join(lines[-LINES:])


def chosen(chunks: Sequence[Chunk], scores: Sequence[float], *, following: bool) -> list[Hit]:
    """Return the chunks that go with a task.

    Args:
        chunks: All chunks, those of the nearest files first.
        scores: The scores of the first ones, at most `MOST_CHUNKS`.
        following: Whether the chunk after each that is found is taken, or itself where it is the last of its
            file; no text twice. Otherwise those that are found.
    """
    best = sorted(range(len(scores)), key=lambda place: (-scores[place], -place))
    if not following:
        return [Hit(chunks[at].path, chunks[at].text, float(scores[at])) for at in best[:TOP]]
    known = {(chunk.path, chunk.number): chunk for chunk in chunks}
    found: dict[str, Hit] = {}
    for at in best:
        hit = chunks[at]
        taken = known.get((hit.path, hit.number + 1), hit)
        found.setdefault(taken.text, Hit(hit.path, taken.text, float(scores[at])))
        if len(found) == TOP:
            break
    return list(found.values())
