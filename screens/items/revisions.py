"""The texts of an item that were rewritten, for the review: who wrote what, and what that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from screens.items.history import local
from screens.items.responses import RULE
from screens.items.views import Editable, PaneText
from screens.widgets.text.differences import differences
from screens.widgets.text.overlay import Span
from store.formatting import pluralize
from store.kinds.spec import TaskKind
from store.record.revisions import RevisionView, Version

SOMEBODY = "another rater"
"""The name of other raters in a blind review."""


def editable_of(
    kind: TaskKind, fields: Mapping[str, Any], revisions: Mapping[str, RevisionView], *, blind: bool
) -> tuple[Editable, ...]:
    """Return the texts of an item that can be rewritten.

    Args:
        fields: Its columns, with current revisions.
        blind: Whether other raters are not named.
    """
    found = []
    for part, title in kind.editing.columns.items():
        text, seen = str(fields[part]), revisions.get(part)
        if seen is None:
            found.append(Editable(part, title, text, text))
            continue
        standing = seen.current
        revised = "" if standing is None else _by(standing, seen.imported, blind=blind)
        found.append(Editable(part, title, text, seen.imported, revised, seen.changes))
    return tuple(found)


def revisions(kind: TaskKind, revised: Mapping[str, RevisionView], *, blind: bool) -> tuple[PaneText, ...]:
    """Return a pane with every version of what was rewritten, marked where it differs from the one before.

    Args:
        revised: The revised texts of the item; without any there is no pane.
        blind: Whether other raters are not named.
    """
    text = ""
    spans: list[Span] = []
    landmarks: list[int] = []
    start = None
    for part, title in kind.editing.columns.items():
        seen = revised.get(part)
        if seen is None:
            continue
        before = seen.imported
        for version in (None, *seen.versions):
            is_current = version == seen.current
            if version is None:
                words, shown = "as imported", seen.imported
            else:
                words = f"{_by(version, seen.imported, blind=blind)} · {local(version.created_at)}"
                words += " · undone" if version.taken_back else ""
                shown = version.text
            words += " · current" if is_current else ""
            text += "\n\n" if text else ""
            landmarks.append(text.count("\n") + 1)
            start = landmarks[-1] if is_current and start is None else start
            text += f"{RULE} {title} · {words} {RULE}\n"
            if shown:
                moved = differences(before, shown).spans if version is not None else ()
                spans += (
                    replace(span, start=span.start + len(text), end=span.end + len(text)) for span in moved
                )
                text += shown
            else:
                text += "(empty)"
            if version is not None and not version.taken_back:
                before = version.text
    if not text:
        return ()
    number = sum(len(seen.versions) for seen in revised.values())
    return (
        PaneText(
            "revisions",
            # Short, since the tab is beside all others.
            "Edits",
            text,
            landmarks=tuple(landmarks),
            heading=f"Edits · {pluralize(number, 'revision')} · changes are marked",
            spans=tuple(spans),
            start=start,
        ),
    )


def _by(version: Version, imported: str, *, blind: bool) -> str:
    who = SOMEBODY if blind and not version.is_own else version.rater
    if version.text == imported:
        return f"imported text again, by {who}"
    return f"{'revised' if imported else 'written'} by {who}"
