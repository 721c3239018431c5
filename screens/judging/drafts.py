"""What a rater has begun and not recorded, by item, kept across sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

DRAFTS_KEPT = 200
"""Drafts of a kind that are kept across sessions, the latest ones."""

Value = TypeVar("Value")


class Drafts(Generic[Value]):
    """Drafts of one kind, the latest last.

    Args:
        name: What a session calls them.
        encode: Returns a draft as a session keeps it.
        decode: Returns a draft of what a session kept.
    """

    def __init__(self, name: str, encode: Callable[[Value], Any], decode: Callable[[Any], Value]) -> None:
        self._name = name
        self._encode = encode
        self._decode = decode
        self._drafts: dict[int, Value] = {}

    def get(self, item_id: int) -> Value | None:
        """Return the draft of an item; None without one."""
        return self._drafts.get(item_id)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._drafts

    def __iter__(self) -> Iterator[int]:
        return iter(self._drafts)

    def put(self, item_id: int, draft: Value | None) -> None:
        """Take another draft of an item; None drops the one that there is."""
        # The latest draft comes last, so that the oldest ones go when there are too many.
        self._drafts.pop(item_id, None)
        if draft is not None:
            self._drafts[item_id] = draft

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        kept = session.get(self._name)
        for number, draft in (kept if isinstance(kept, dict) else {}).items():
            self._drafts.setdefault(int(number), self._decode(draft))

    @property
    def kept(self) -> dict[str, Any]:
        """What a session keeps of them."""
        latest = list(self._drafts.items())[-DRAFTS_KEPT:]
        return {self._name: {str(number): self._encode(draft) for number, draft in latest}}


def text_drafts(name: str) -> Drafts[str]:
    """Return drafts that are texts."""
    return Drafts(name, str, str)
