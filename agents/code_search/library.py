"""What is looked up about a repository: its documents and its code, in passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from agents.code_search.agents import PAGE, Page
from agents.code_search.index import Compare
from agents.repositories.reading import Repository
from agents.repositories.units import Unit

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
        compare: Finds the nearest passages.
    """

    def __init__(self, repository: Repository, units: Sequence[Unit], compare: Compare) -> None:
        found = [
            (file.path, text)
            for file in repository.files
            if is_document(file.path)
            for text in _passages(file.text)
        ]
        found += [(f"{unit.path}:{unit.line}", unit.text[:PASSAGE]) for unit in units]
        self._places = [place for place, _ in found[:_MOST_PASSAGES]]
        self._texts = [text for _, text in found[:_MOST_PASSAGES]]
        self._compare = compare

    def page(self, words: str) -> Page:
        """Return one page of the passages nearest to some words, the nearest first."""
        (found,) = self._compare([words], self._texts, "query", _NEAREST)
        text, places = "", []
        for one in found:
            passage = f"{self._places[one.place]}\n{self._texts[one.place]}\n\n"
            if len(text) + len(passage) > PAGE:
                break
            text += passage
            places.append(self._places[one.place])
        return Page(text.rstrip(), tuple(dict.fromkeys(places)))


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
    if passage.strip():
        yield passage
