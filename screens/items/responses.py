"""Responses of models and the context of an item, as texts in panes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from screens.items.views import PaneText, Piece
from screens.widgets.text.overlay import Span
from store.formatting import pluralize
from store.queries.responses import ChunkView, ResponseView

RULE = "──"
"""Begins the line above a piece."""


def named(response: ResponseView) -> str:
    """Return what a screen calls a response: its letter, with the model where that is not hidden."""
    return f"{response.letter} · {response.name}" if response.name else response.letter


def context(chunks: Sequence[ChunkView], fields: Mapping[str, Any], empty: str) -> PaneText:
    """Return the pieces of other files one below the other, each under where it is from and its score.

    Args:
        fields: The fields of the item: its language and repository, and the commit where the kind has it.
        empty: The sentence shown without pieces.
    """
    lines: list[str] = []
    pieces: list[Piece] = []
    language, repository, revision = fields["language"] or None, fields["repository"], fields.get("revision")
    spans: list[Span] = []
    place = 0
    several = len({chunk.setting for chunk in chunks}) > 1
    for chunk in chunks:
        words = [chunk.setting] if several and chunk.setting else []
        words += [f"{chunk.rank}", chunk.path or "a file without a name"]
        words += [] if chunk.score is None else [f"score {chunk.score:.4g}"]
        lines += [""] if lines else []
        pieces.append(
            Piece(len(lines) + 1, repository or "", revision or "", chunk.path or "", chunk.text, language)
        )
        rule = f"{RULE} {' · '.join(words)} {RULE}"
        place += 1 if place else 0
        spans.append(Span(place, place + len(rule), "rule"))
        place += len(rule) + 1 + len(chunk.text) + 1
        lines += [rule, *chunk.text.split("\n")]
    return PaneText(
        "context",
        "Context",
        "\n".join(lines),
        language=language,
        kind="code",
        empty=empty,
        landmarks=tuple(piece.line for piece in pieces),
        pieces=tuple(pieces),
        part="context",
        spans=tuple(spans),
        heading=f"Context · {pluralize(len(chunks), 'piece')} of other files" if chunks else "",
    )
