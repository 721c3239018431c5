"""The line that says how much of a queue is judged, and which key lists which kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from textual.content import Content

from screens.widgets.item_list.columns import kind_letters
from store.formatting import progress_bar
from store.kinds.counting import in_order
from store.kinds.spec import task_kinds

if TYPE_CHECKING:
    from screens.queue.loader import QueueProgress

BARS = (10, 6, 4)
"""Cells of a bar beside others, the first that there is room for."""

_GAP = "  "


def progress_line(
    progress: QueueProgress | None, here: Mapping[str, int], chosen: str | None, keys: list[str], width: int
) -> Content:
    """Return how much is judged; of several kinds each with its key, the chosen one in brackets.

    Args:
        progress: The counts; None before there are any.
        here: How many items of each kind the workspace holds.
        chosen: The kind that is listed; None for all.
        keys: The keys of all kinds together, and of each kind in order.
        width: Cells of the line.
    """
    if len(here) < 2:
        if progress is None:
            return Content("")
        done, listed = sum(progress.judged.values()), sum(progress.listed.values())
        if not listed:
            return Content("")
        bar = progress_bar(done / listed, max(10, min(40, width // 3)))
        return Content.assemble((bar, "$text-accent"), f" {done:,} of {listed:,} judged")
    lines = _variants(progress, here, chosen, keys)
    line = next(lines)
    while line.cell_length > width and (shorter := next(lines, None)) is not None:
        line = shorter
    return line


def _variants(
    progress: QueueProgress | None, here: Mapping[str, int], chosen: str | None, keys: list[str]
) -> Iterator[Content]:
    """Return the line in ever shorter forms."""
    known, kinds = task_kinds(), in_order(here)
    plurals = ["all", *(known[kind].plural if kind in known else kind for kind in kinds)]
    # The bar of the chosen one and of the others; None for no counts.
    forms: list[tuple[int | None, int | None]] = [(bar, bar) for bar in BARS]
    forms += [(6, 0), (10, None), (0, None), (None, None)]
    for of_chosen, of_others in forms:
        parts: list[Content] = []
        for kind, word, key in zip((None, *kinds), plurals, keys, strict=False):
            bar = of_chosen if kind == chosen else of_others
            # Where one kind is listed there is nothing to say of all.
            is_told = kind is not None or chosen is None
            counts = Content("")
            if progress is not None and bar is not None and is_told:
                counts = _counts(progress, kind, bar)
            part = Content.assemble((key, "bold"), " ", _named(word, kind, chosen), counts)
            parts.append(Content.assemble("[", part, "]").stylize("$text-accent") if kind == chosen else part)
        yield Content(_GAP).join(parts)


def _named(word: str, kind: str | None, chosen: str | None) -> Content:
    """Return the word for a kind, the letter underlined that stands for it in a list of all kinds."""
    place = word.find(kind_letters().get(kind, "")) if kind is not None and chosen is None else -1
    return Content(word).stylize("underline", place, place + 1) if place >= 0 else Content(word)


def _counts(progress: QueueProgress, kind: str | None, bar: int) -> Content:
    """Return the bar and the counts of a kind, of all together with None; nothing where none is listed."""
    kinds = progress.listed if kind is None else (kind,)
    done, listed = (
        sum(counts.get(each, 0) for each in kinds) for counts in (progress.judged, progress.listed)
    )
    if not listed:
        return Content("")
    drawn = f" {progress_bar(done / listed, bar)}" if bar else ""
    return Content(f"{drawn} {done:,}/{listed:,}")
