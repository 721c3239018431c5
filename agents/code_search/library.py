"""The passages of a repository's documents and code, which a model looks up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import PurePosixPath

from agents.code_search.agents import PAGE, Page
from agents.code_search.index import MakeIndex, TextIndex
from agents.code_search.web import WebPassage
from agents.repositories.reading import Repository
from agents.repositories.units import Unit
from store.errors import WorkbenchError

PASSAGE = 1_000
"""The characters of a passage."""
_MOST_PASSAGES = 20_000
_NEAREST = 12
_DOCUMENTS = {".md", ".rst", ".txt", ".adoc"}


def is_document(path: str) -> bool:
    """Return whether a file is one that people read about a repository."""
    place = PurePosixPath(path)
    return place.suffix.lower() in _DOCUMENTS or place.name.lower() == "readme"


class Library:
    """The passages of a repository: of its documents, and the beginnings of its functions and classes.

    Args:
        repository: The files.
        units: The functions and classes.
        make_index: Makes passages ready to be compared.
        web: Looks words up on the web; None for the repository alone.

    Attributes:
        notes: Why the web was not looked up, a sentence each.
    """

    def __init__(
        self,
        repository: Repository,
        units: Sequence[Unit],
        make_index: MakeIndex,
        web: Callable[[str], Sequence[WebPassage]] | None = None,
    ) -> None:
        documents = (
            (file.path, text)
            for file in repository.files
            if is_document(file.path)
            for text in _passages(file.text)
            if text.strip()
        )
        code = ((f"{unit.path}:{unit.line}", unit.text[:PASSAGE]) for unit in units)
        self._found = [*islice(chain(documents, code), _MOST_PASSAGES)]
        self._index = make_index([text for _, text in self._found])
        self._make_index, self._web = make_index, web
        self.notes: list[str] = []

    def page(self, words: str) -> Page:
        """Return one page of the passages nearest to some words, the nearest first."""
        text, read = "", []
        found = [*_nearest(words, self._found, self._index), *self._on_web(words)]
        for _, place, nearest in sorted(found, key=lambda one: -one[0]):
            passage = f"{place}\n{nearest[:PASSAGE]}\n\n"
            if len(text) + len(passage) > PAGE:
                continue
            text += passage
            read.append(place)
        return Page(text.rstrip(), tuple(dict.fromkeys(read)))

    def _on_web(self, words: str) -> Iterator[tuple[float, str, str]]:
        if self._web is None:
            return
        try:
            found = [(one.address, one.text) for one in self._web(words)]
        except WorkbenchError as error:
            self.notes.append(f"{error.title}: {error.message}")
            return
        yield from _nearest(words, found, self._make_index([text for _, text in found]))


def _nearest(
    words: str, passages: Sequence[tuple[str, str]], index: TextIndex
) -> Iterator[tuple[float, str, str]]:
    """Yield the passages nearest to some words: the score, the place and the text of each.

    Args:
        words: The words.
        passages: The place and the text of each.
        index: Their texts.
    """
    (found,) = index.nearest([words], "query", _NEAREST)
    for one in found:
        yield one.score, *passages[one.place]


def _passages(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text, short ones together, long ones in parts."""
    passage = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for start in range(0, len(paragraph), PASSAGE):
            part = paragraph[start : start + PASSAGE].strip("\n")
            if passage and len(passage) + len(part) > PASSAGE:
                yield passage
                passage = ""
            passage = f"{passage}\n\n{part}" if passage else part
    yield passage
