"""How the labels of now differ from those of a split, in words."""

from __future__ import annotations

from collections.abc import Iterator

from store.formatting import pluralize
from store.splits.splits import SplitChanges

SHOWN = 10
"""The number of labels or items of each sort that are listed."""


def change_lines(changes: SplitChanges) -> Iterator[str]:
    """Yield lines that say how the labels of now differ from those of a split."""
    if not changes:
        yield "The true labels are the same as when the split was made."
        return
    if changes.changed:
        yield f"{pluralize(len(changes.changed), 'label')} changed since:"
        for item, then, today in changes.changed[:SHOWN]:
            yield f"  {item}: {then:g}, now {today:g}"
        if changes.changed[SHOWN:]:
            yield f"  and {len(changes.changed) - SHOWN:,} more"
    for names, what in (
        (changes.gone, "without a true label now"),
        (changes.new, "labelled since, in no part"),
    ):
        if names:
            more = f", and {len(names) - SHOWN:,} more" if names[SHOWN:] else ""
            yield f"{pluralize(len(names), 'item')} {what}: {', '.join(names[:SHOWN])}{more}"
