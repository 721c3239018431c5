"""Cuts the files of a repository into chunks: at the separators of their language, or at definitions.

The separators are LangChain's, with which CoReQA cuts (section III.A, "Related Content Retrieval"); cutting
at definitions is what the paper leaves for later (section VI.C).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Literal

from agents.repositories.units import units_of

Cut = Literal["separators", "definitions"]

SIZE = 2_000
"""Characters of a chunk at most; ten of them are about 5,000 tokens (the paper names no size)."""
OVERLAP = 200
"""Characters that a chunk can share with the one before it, as LangChain has it by default."""

_ENDS = ("\n\n", "\n", " ", "")
_FLOW = ("\nif ", "\nfor ", "\nwhile ", "\nswitch ", "\ncase ")
_ACCESS = ("\npublic ", "\nprotected ", "\nprivate ", "\nstatic ")
_JAVASCRIPT = ("\nconst ", "\nlet ", "\nvar ")
_SEPARATORS: dict[str, tuple[str, ...]] = {
    "python": ("\nclass ", "\ndef ", "\n\tdef ", *_ENDS),
    "java": ("\nclass ", *_ACCESS, *_FLOW, *_ENDS),
    "go": ("\nfunc ", "\nvar ", "\nconst ", "\ntype ", "\nif ", "\nfor ", "\nswitch ", "\ncase ", *_ENDS),
    "typescript": (
        *("\nenum ", "\ninterface ", "\nnamespace ", "\ntype ", "\nclass ", "\nfunction "),
        *(*_JAVASCRIPT, *_FLOW, "\ndefault ", *_ENDS),
    ),
    "javascript": ("\nfunction ", *_JAVASCRIPT, "\nclass ", *_FLOW, "\ndefault ", *_ENDS),
    "csharp": (
        *("\ninterface ", "\nenum ", "\ndelegate ", "\nevent ", "\nclass ", "\nabstract ", *_ACCESS),
        *("\nreturn ", "\nif ", "\ncontinue ", "\nfor ", "\nforeach ", "\nwhile ", "\nswitch ", "\nbreak "),
        *("\ncase ", "\nelse ", "\ntry ", "\nthrow ", "\nfinally ", "\ncatch ", *_ENDS),
    ),
    "markdown": ("\n#{1,6} ", "```\n", r"\n\*\*\*+\n", r"\n---+\n", r"\n___+\n", *_ENDS),
    "rst": (r"\n=+\n", r"\n-+\n", r"\n\*+\n", r"\n\n.. *\n\n", *_ENDS),
}
"""Where the files of a language are cut, the best places first; every one begins a piece."""

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".ts", ".tsx"), "typescript"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **{".java": "java", ".go": "go", ".cs": "csharp", ".rst": "rst"},
}


@dataclass(frozen=True, slots=True)
class Chunking:
    """The way in which files are cut into chunks.

    Attributes:
        cut: At separators, or at definitions, of which what is too long is cut at separators.
        size: Characters of a chunk at most.
        overlap: Characters that a chunk can share with the one before it.
    """

    cut: Cut = "separators"
    size: int = SIZE
    overlap: int = OVERLAP

    def chunks(self, path: str, text: str) -> list[str]:
        """Return the chunks of a file, without blanks at their ends, in order."""
        language = _LANGUAGES.get(PurePosixPath(path).suffix.lower(), "")
        if self.cut == "separators":
            return split(text, language, self.size, self.overlap)
        return [*self._definitions(path, text, language)]

    def _definitions(self, path: str, text: str, language: str) -> Iterator[str]:
        """Yield functions, and classes that are short enough, whole; what is between them is cut."""
        lines = text.splitlines(keepends=True)
        units = [(one.line - 1, one.end_line) for one in units_of(path, text)]

        def within(first: int, last: int, units: Sequence[tuple[int, int]]) -> Iterator[str]:
            at = first
            while units:
                (begin, end), *rest = units
                inner = [one for one in rest if one[0] < end]
                units = rest[len(inner) :]
                if begin < at:
                    continue
                yield from split("".join(lines[at:begin]), language, self.size, self.overlap)
                whole = "".join(lines[begin:end])
                if len(whole) <= self.size:
                    yield from filter(None, [whole.strip()])
                elif inner:
                    yield from within(begin, end, inner)
                else:
                    yield from split(whole, language, self.size, self.overlap)
                at = end
            yield from split("".join(lines[at:last]), language, self.size, self.overlap)

        yield from within(0, len(lines), units)


def split(text: str, language: str, size: int, overlap: int) -> list[str]:
    """Cut a text at the first separator that it has; pieces that are too long at the next ones.

    Args:
        text: The text.
        language: A language with separators of its own; any other word for none.
        size: Characters of a chunk at most.
        overlap: Characters that a chunk can share with the one before it.
    """
    return [*_split(text, _SEPARATORS.get(language, _ENDS), size, overlap)]


def _split(text: str, separators: Sequence[str], size: int, overlap: int) -> Iterator[str]:
    at = next((at for at, one in enumerate(separators) if not one or re.search(one, text)), -1)
    separator, left = separators[at], separators[at + 1 :]
    short: list[str] = []
    for piece in _pieces(text, separator):
        if len(piece) < size:
            short.append(piece)
            continue
        yield from _joined(short, size, overlap)
        short = []
        if left:
            yield from _split(piece, left, size, overlap)
        else:
            yield piece
    yield from _joined(short, size, overlap)


def _pieces(text: str, separator: str) -> Iterable[str]:
    """Return the pieces of a text, each from a separator to the next one; its characters without one."""
    if not separator:
        return text
    begins = chain((0,), (found.start() for found in re.finditer(separator, text)), (len(text),))
    return (text[one:other] for one, other in pairwise(begins) if one < other)


def _joined(pieces: Iterable[str], size: int, overlap: int) -> Iterator[str]:
    """Yield pieces that follow each other as chunks, as long as may be."""
    held: deque[str] = deque()
    length = 0
    for piece in pieces:
        if held and length + len(piece) > size:
            if whole := "".join(held).strip():
                yield whole
            while length > overlap or (length and length + len(piece) > size):
                length -= len(held.popleft())
        held.append(piece)
        length += len(piece)
    if whole := "".join(held).strip():
        yield whole
