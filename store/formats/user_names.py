"""Replacement of user names in texts: as whole words everywhere, and @mentions outside code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

SOMEBODY = "user"
"""The replacement of a user name."""

NOBODY = frozenset({"ghost", SOMEBODY, "author", "participant", "someone"})
"""UserNames that tell of no one: GitHub's for a deleted account, and the words put in the place of names."""

_SHORTEST = 3
_NEAR = 30
"""Characters before a mention that say whether it is one."""
_RUN = re.compile(r"[A-Za-z0-9]+")
# What is written with letters or digits and is no part of the name after it: %40 and %2F in an address, the
# escapes of strings in programs and JSON, and a terminal's sequences, which texts copied from one hold whole,
# spelled out, or without their first character.
_ESCAPE = re.compile(
    r"(?:(?:\x9b|(?:\x1b|␛|\^\[|\\e|\\0?33|\\x1b|\\u001b)\[)[0-9;?]*[a-z]"
    r"|\[[0-9;]*[0-9][a-z]"
    r"|%(?:25)*[0-9a-f]{2}"
    r"|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[0-3][0-7]{2}|[0abefnrtv]))(?=[a-z0-9])"
)
_LONG_ESCAPE = re.compile(r"\\u[0-9a-f]{8}(?=[a-z0-9])")
# GitHub takes a name before a slash for a team or a package's scope.
_MENTION = re.compile(
    r"(?<![A-Za-z0-9])@((?>[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)(?>(?:\[bot\])?))(?![A-Za-z0-9/])"
)
# What follows @ in a version, and in prose about decorators.
_VERSION = re.compile(r"@\d+\.\d")
_DECORATOR_AFTER = re.compile(r"\s+(?:decorator|annotation)s?\b", re.IGNORECASE)
_DECORATOR_BEFORE = re.compile(
    r"\b(?:decorators?|annotations?|(?:decorate|annotate)d? (?:with|by))\s+\Z", re.IGNORECASE
)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)")
_QUOTES = re.compile(r"[ \t>]*")
_TICKS = re.compile(r"`+")
_BLANK = re.compile(r"\n[ \t>]*\n")


class UserNames:
    """The user names of an import, each looked up by its first run of letters and digits.

    UserNames shorter than three characters are words as well: they are replaced at the head of a repository's
    name and in GitHub's addresses only.
    """

    def __init__(self) -> None:
        self._by_run: dict[str, set[tuple[int, str]]] = {}
        self._without_run: set[str] = set()
        self._short: set[str] = set()

    def add(self, name: str) -> None:
        """Add a name."""
        name = _lower(name.strip())
        run = _RUN.search(name)
        if not name or name in NOBODY:
            return
        if len(name) < _SHORTEST:
            self._short.add(name)
        elif run is None:
            self._without_run.add(name)
        else:
            self._by_run.setdefault(run[0], set()).add((run.start(), name))

    def replaced(self, text: str) -> str:
        """Return a text with every name in it replaced, in any case, where no letter or digit adjoins it."""
        while (found := self._once(text)) != text:
            text = found
        return text

    def _once(self, text: str) -> str:
        spans = sorted(self._spans(_lower(text)), key=lambda span: (span[0], -span[1]))
        pieces, end = [], 0
        for start, stop in spans:
            if start >= end:
                pieces += [text[end:start], SOMEBODY]
                end = stop
        return "".join([*pieces, text[end:]])

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for run in _RUN.finditer(text):
            yield from self._at(text, run.start(), run[0])
        for escape in (*_ESCAPE.finditer(text), *_LONG_ESCAPE.finditer(text)):
            if (after := _RUN.match(text, escape.end())) is not None:
                yield from self._at(text, after.start(), after[0])
        for name in self._without_run:
            for match in re.finditer(re.escape(name), text):
                if not _adjoined(text, match.start() - 1) and not _adjoined(text, match.end()):
                    yield match.span()
        if self._short:
            for match in _paths(self._short).finditer(text):
                yield match.span(match.lastgroup or 0)

    def _at(self, text: str, at: int, run: str) -> Iterator[tuple[int, int]]:
        for before, name in self._by_run.get(run, ()):
            start, end = at - before, at - before + len(name)
            if start < 0 or not text.startswith(name, start) or _adjoined(text, end):
                continue
            if not before or not _adjoined(text, start - 1):
                yield start, end


def _lower(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters become two when lowered; they are part of no user name.
    return "".join(found if len(found := letter.lower()) == 1 else letter for letter in text)


def _adjoined(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and text[at].isalnum()


def _paths(names: set[str]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, sorted(names)))
    return re.compile(
        rf"(?:github\.com|/repos|/users)/(?P<address>{either})(?![a-z0-9_-])"
        rf"|\A(?P<head>{either})(?=/[\w.-])"
        rf"|(?<![\w./-])(?P<reference>{either})(?=/[\w.-]+[#@])"
    )


def without_mentions(text: str, called: Callable[[str], str]) -> tuple[str, int]:
    """Replace the @mentions of a Markdown text outside its code; versions and decorators are none.

    Args:
        text: The text.
        called: Given a name, in lower case, returns what it is replaced with.

    Returns:
        The text, and how many mentions were replaced.
    """
    if "@" not in text:
        return text, 0
    code = code_spans(text)
    starts = [start for start, _ in code]
    replaced = 0

    def mention(match: re.Match[str]) -> str:
        nonlocal replaced
        place = bisect_right(starts, match.start()) - 1
        if place >= 0 and match.start() < code[place][1]:
            return match[0]
        about = text[max(0, match.start() - _NEAR) : match.start()]
        if (
            _VERSION.match(text, match.start())
            or _DECORATOR_AFTER.match(text, match.end())
            or _DECORATOR_BEFORE.search(about)
        ):
            return match[0]
        replaced += 1
        return "@" + called(match[1].lower())

    return _MENTION.sub(mention, text), replaced


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of code in a Markdown text, in order: fenced blocks and code spans.

    An indented block counts as text, since an indented line is often a paragraph of a list.
    """
    spans: list[tuple[int, int]] = []
    fence, depth, begun, prose, at = "", 0, 0, 0, 0
    for line in text.splitlines(keepends=True):
        opened = _FENCE.match(line)
        quotes = (_QUOTES.match(line) or line)[0].count(">")
        if fence and (quotes < depth or _closes(line, fence)):
            # A block within a quotation ends with it.
            prose = at if quotes < depth else at + len(line)
            spans.append((begun, prose))
            fence = ""
            if quotes >= depth:
                at += len(line)
                continue
        if not fence and opened and not (opened[1][0] == "`" and "`" in opened[2]):
            spans += _inline(text, prose, at)
            fence, depth, begun = opened[1], quotes, at
        at += len(line)
    return [*spans, (begun, at)] if fence else [*spans, *_inline(text, prose, at)]


def _closes(line: str, fence: str) -> bool:
    found = line.strip(" \t>\r\n")
    return len(found) >= len(fence) and not found.strip(fence[0])


def _inline(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the code spans of a part of a text; none reaches over an empty line."""
    spans = []
    breaks = [start, *(match.start() for match in _BLANK.finditer(text, start, end)), end]
    for begun, ended in pairwise(breaks):
        ticks = [match.span() for match in _TICKS.finditer(text, begun, ended)]
        by_length: dict[int, list[int]] = {}
        for place, (left, right) in enumerate(ticks):
            by_length.setdefault(right - left, []).append(place)
        place = 0
        while place < len(ticks):
            left, right = ticks[place]
            same = by_length[right - left]
            after = bisect_right(same, place)
            if after < len(same):
                spans.append((left, ticks[same[after]][1]))
                place = same[after]
            place += 1
    return spans
