"""Phrases for numbers of items by kind: "85 pairs, 12 completions and 9 repository questions"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from store.formatting import pluralize
from store.kinds.spec import task_kinds


def in_order(kinds: Iterable[str]) -> list[str]:
    """Return the names of kinds in the order in which they are listed; unknown ones stand last."""
    known = list(task_kinds())
    return sorted(kinds, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))


def counted_kinds(counts: Mapping[str, int]) -> str:
    """Return items by kind as a phrase, "no items" without any."""
    known = task_kinds()
    said = [
        pluralize(counts[kind], known[kind].singular, known[kind].plural)
        if kind in known
        else pluralize(counts[kind], kind)
        for kind in in_order(counts)
    ]
    return joined(said) or "no items"


def joined(words: list[str]) -> str:
    """Return words as one phrase: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def unknown_kinds_note(kinds: Iterable[str]) -> str:
    """Return a sentence on unknown kinds, empty where all are known."""
    unknown = [repr(kind) for kind in in_order(set(kinds) - set(task_kinds()))]
    if not unknown:
        return ""
    return (
        f"Unknown task kind {joined(unknown)}: the judgments of its items are kept, and count again when the "
        "package that adds it is installed."
    )
