"""Which texts of an item can be rewritten, and to what."""

from __future__ import annotations

from store.kinds.protocol import TaskKind, task_kinds
from store.tables.record import REVISION


def refusal(kind: TaskKind, part: str, text: str) -> str:
    """Return why a text of an item cannot be rewritten so, as a sentence; empty where it can.

    Args:
        kind: The item's kind.
        part: The column that holds the text.
        text: What it is to be.
    """
    if part not in kind.editable:
        known = " and ".join(kind.editable) or "nothing"
        return f"The {part} of {kind.plural} cannot be revised; {known} can."
    if part in kind.never_empty and not text.strip():
        return f"The {kind.editable[part]} cannot be empty."
    return ""


def refused_mark(kind: str, mark: str, text: str) -> str:
    """Return why a mark that is a revision does not belong to items of a kind; empty where it does.

    Args:
        kind: The name of the items' kind.
        mark: The kind of the mark, which begins with `REVISION`.
        text: What it says.
    """
    known = task_kinds().get(kind)
    if known is None:
        return f"Nothing installed knows items of the kind {kind!r}."
    return refusal(known, mark.removeprefix(REVISION), text)


def without_added_end(text: str, before: str) -> str:
    """Return a text without the line feed with which editors end the last line.

    Args:
        text: What is in the file.
        before: The text that stood; where it ends with a line feed itself, that is meant.
    """
    return text if before.endswith("\n") else text.removesuffix("\n")
