"""Where a completion differs from its reference, as marks over the completion's text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from screens.widgets.text.overlay import Span
from store.formatting import pluralize

SAME, PARTLY, ADDED = "=", "~", "+"
"""Glyphs of lines: the reference has it, has it with differences, has no such line."""

LINES_PRODUCT = 1_000_000
"""Lines of one text times lines of the other up to which equal lines are found wherever they are."""

LIKE_PRODUCT = 400
"""The same for lines that differ, up to which each is compared with the one that it is most like."""

TOKENS_PRODUCT = 400_000
"""Tokens of one line times tokens of the other, all lines together, up to which tokens are compared."""

ALIKE = 0.3
"""Share of tokens, from 0 to 1, that two lines have in common at least to be taken for the same line."""

_TOKEN = re.compile(r"[^\W\d]\w*|\d+|\s+|.", re.DOTALL)

_Pair = tuple[int | None, int | None]
"""A line of the reference and the one of the completion in its place, from 0; None where there is none."""


@dataclass(frozen=True, slots=True)
class Differences:
    """A completion with what differs from its reference.

    Attributes:
        text: The completion, exactly.
        spans: Stretches of it that the reference does not have ("changed"), and empty ones where it leaves
            out something that the reference has ("missing"); in order, none over another.
        gutter: A glyph for each of its lines, by the line's number, from 1.
        sentence: A summary, without a full stop.
    """

    text: str
    spans: tuple[Span, ...]
    gutter: Mapping[int, str]
    sentence: str


def differences(reference: str, completion: str) -> Differences:
    """Compare a completion with its reference, by lines and within them by tokens.

    Tokens are names, numbers, runs of blanks and single characters. What is too large for that is compared by
    lines alone, at their places.

    Args:
        reference: The author's text.
        completion: The model's text.

    Returns:
        The completion with its marks.
    """
    if not completion:
        return Differences(completion, (), {}, _sentence(reference, completion, ()))
    theirs, ours = reference.split("\n"), completion.split("\n")
    pairs = _paired(theirs, ours)
    starts = list(accumulate((len(line) + 1 for line in ours), initial=0))
    last_paired = max((new for old, new in pairs if old is not None and new is not None), default=-1)
    spans: list[Span] = []
    gutter: dict[int, str] = {}
    budget = TOKENS_PRODUCT
    # Where the completion goes on after what was compared so far.
    place = 0
    for old, new in pairs:
        if new is None:
            spans.append(Span(place, place, "missing"))
            continue
        start, end = starts[new], starts[new + 1] - 1
        place = min(end + 1, len(completion))
        if old is None:
            # With the line goes one of the line feeds around it.
            with_feed = (start, end + 1) if new < last_paired else (max(0, start - 1), end)
            spans.append(Span(*with_feed, "changed"))
            gutter[new + 1] = ADDED
        elif theirs[old] == ours[new]:
            gutter[new + 1] = SAME
        else:
            before, after = _TOKEN.findall(theirs[old]), _TOKEN.findall(ours[new])
            budget -= len(before) * len(after)
            like = _alike(_words(before), _words(after)) >= ALIKE
            if like and budget >= 0:
                spans += _within(before, after, start)
            else:
                spans.append(Span(start, end, "changed" if start < end else "missing"))
            gutter[new + 1] = PARTLY if like else ADDED
    if not ours[-1]:
        # Nothing after the last line feed is no line.
        gutter.pop(len(ours), None)
    joined = tuple(_joined(spans, completion))
    return Differences(completion, joined, gutter, _sentence(reference, completion, joined))


def _paired(theirs: Sequence[str], ours: Sequence[str]) -> list[_Pair]:
    """Return which lines correspond, in the order of both."""
    pairs: list[_Pair] = []
    head = 0
    while head < min(len(theirs), len(ours)) and theirs[head] == ours[head]:
        pairs.append((head, head))
        head += 1
    if (len(theirs) - head) * (len(ours) - head) > LINES_PRODUCT:
        return pairs + _in_place(range(head, len(theirs)), range(head, len(ours)))
    matcher = SequenceMatcher(None, theirs[head:], ours[head:])
    for same, a1, a2, b1, b2 in matcher.get_opcodes():
        old, new = range(head + a1, head + a2), range(head + b1, head + b2)
        if same == "equal":
            pairs += zip(old, new, strict=True)
        elif len(old) * len(new) <= LIKE_PRODUCT:
            pairs += _most_alike(theirs, ours, old, new)
        else:
            pairs += _in_place(old, new)
    return pairs


def _in_place(old: range, new: range) -> list[_Pair]:
    both = min(len(old), len(new))
    pairs: list[_Pair] = list(zip(old[:both], new[:both], strict=True))
    return [*pairs, *((line, None) for line in old[both:]), *((None, line) for line in new[both:])]


def _most_alike(theirs: Sequence[str], ours: Sequence[str], old: range, new: range) -> list[_Pair]:
    """Pair lines so that those together are as alike as can be, and stay in order."""
    before = [_words(_TOKEN.findall(theirs[line])) for line in old]
    after = [_words(_TOKEN.findall(ours[line])) for line in new]
    alike = [[_alike(one, other) for other in after] for one in before]
    # The best sum for what is left from a line of each on.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for a in reversed(range(len(old))):
        for b in reversed(range(len(new))):
            paired = best[a + 1][b + 1] + alike[a][b] if alike[a][b] >= ALIKE else 0.0
            best[a][b] = max(paired, best[a + 1][b], best[a][b + 1])
    pairs: list[_Pair] = []
    a = b = since_a = since_b = 0
    while a < len(old) and b < len(new):
        if alike[a][b] >= ALIKE and best[a][b] == best[a + 1][b + 1] + alike[a][b]:
            pairs += [*_in_place(old[since_a:a], new[since_b:b]), (old[a], new[b])]
            a, b = since_a, since_b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return [*pairs, *_in_place(old[since_a:], new[since_b:])]


def _words(tokens: Iterable[str]) -> Counter[str]:
    return Counter(filter(str.strip, tokens))


def _alike(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _within(before: list[str], after: list[str], start: int) -> Iterator[Span]:
    """Yield what differs in a line that begins at an offset."""
    places = list(accumulate(map(len, after), initial=start))
    for same, _, _, b1, b2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if same != "equal":
            yield Span(places[b1], places[b2], "missing" if b1 == b2 else "changed")


def _joined(spans: list[Span], text: str) -> Iterator[Span]:
    """Yield stretches, those that touch as one; that something is missing beside a changed one is clear."""
    changed: list[Span] = []
    for span in (span for span in spans if span.style == "changed" and span.start < span.end):
        if changed and changed[-1].end >= span.start:
            changed[-1] = Span(changed[-1].start, span.end, "changed")
        else:
            changed.append(span)
    missing: list[Span] = []
    for span in (span for span in spans if span.style == "missing"):
        at = bisect_right(changed, span.start, key=lambda other: other.start) - 1
        clear = at >= 0 and span.start <= changed[at].end + (
            text[changed[at].end : changed[at].end + 1] == "\n"
        )
        if not clear and (not missing or missing[-1] != span):
            missing.append(span)
    yield from sorted([*changed, *missing], key=lambda span: span.start)


def _sentence(reference: str, completion: str, spans: Sequence[Span]) -> str:
    if completion == reference:
        return "equals the reference" if completion else "equals the reference: both are empty"
    if not completion:
        return "empty completion"
    if not completion.strip():
        return "only blanks"
    if completion.strip() == reference.strip():
        return "equals the reference except for outer blanks"
    if not reference.strip():
        return "the reference is empty"
    theirs, ours = reference.rstrip().split("\n"), completion.rstrip().split("\n")
    same = next(
        (at for at, (old, new) in enumerate(zip(theirs, ours, strict=False)) if old != new),
        min(len(theirs), len(ours)),
    )
    if same == len(theirs):
        return f"the whole reference, then {pluralize(len(ours) - same, 'more line')}"
    if completion.startswith(reference.rstrip()):
        return "the whole reference, then more in the same line"
    if reference.startswith(completion.rstrip()):
        return "only the beginning of the reference"
    if same:
        lines = "line" if same == 1 else f"{same:,} lines"
        return f"the reference's first {lines}, then differs"
    if not set(filter(str.strip, _TOKEN.findall(reference))) & set(_TOKEN.findall(completion)):
        return "nothing in common with the reference"
    return f"differs from the reference in {pluralize(len(spans), 'place')}"
