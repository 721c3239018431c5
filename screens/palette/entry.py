"""The entries of the palette, and their scores for a typed text."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from textual.fuzzy import Matcher

_WORD = re.compile(r"[^\W_]+")

EXACT, LABEL, LABEL_START, HELP, HELP_START, FOUND, PART = 6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0
"""The scores: the whole label, a word of it, the start of one, the same of the help, what a search of the
workspace found, a part of a word. Letters in order alone score less than any of them."""

SURE = HELP_START
"""The score from which on an entry is meant by a word that was typed, not only by letters of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that the palette can open or do.

    Attributes:
        label: Its name, one to three words.
        about: What it does or is, in a sentence.
        run: Opens or does it.
        key: The key that does so elsewhere; empty for none.
        names: Other names, which answer as the label does.
        only_names: Whether nothing but its names answers: the help says more than it does.
        score: The score of what a search found; None for what is scored by its words.
    """

    label: str
    about: str
    run: Callable[[], Awaitable[object] | object]
    key: str = ""
    names: str = ""
    only_names: bool = False
    score: float | None = None

    def match(self, typed: str) -> float:
        """Return how well it answers to a text; 0 where it does not."""
        if self.score is not None:
            return self.score
        if typed.casefold() == self.label.casefold():
            return EXACT
        named, told = _words(f"{self.label} {self.names}"), _words(self.about)
        if self.only_names:
            # Its other names answer as whole words: "ex" means an export rather than an exit.
            named = [*_words(self.label), *(word for word in _words(self.names) if word in _words(typed))]
        scores = [_best(word, named, LABEL, LABEL_START) for word in _words(typed)]
        if not self.only_names:
            helped = [_best(word, told, HELP, HELP_START) for word in _words(typed)]
            scores = [max(both) for both in zip(scores, helped, strict=True)]
        if scores and all(scores):
            # As good as its worst word; with equal ones the other words tell.
            return min(scores) + 0.5 * sum(scores) / len(scores) / EXACT
        if self.only_names:
            return 0.0
        if typed.casefold() in f"{self.label} {self.about}".casefold():
            return PART
        found = Matcher(typed).match(self.label) if len(typed) > 1 else 0.0
        return PART * found / (1 + found)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _best(typed: str, words: list[str], whole: float, start: float) -> float:
    """Return the score of a word that was typed: whether it is one of some words, or their start."""
    if typed in words:
        return whole
    return start if any(word.startswith(typed) for word in words) else 0.0


def ranked(entries: Iterable[Entry], typed: str) -> list[tuple[float, Entry]]:
    """Return the entries that answer to a text with their scores, the best first; all where none is typed.

    Of equal ones the first stays first, but an end of the program comes last.
    """
    scored = [(entry.match(typed) if typed else 0.0, entry) for entry in entries]
    if not typed:
        return scored
    answering = [pair for pair in scored if pair[0]]
    return sorted(answering, key=lambda pair: (-pair[0], pair[1].only_names))
