"""Finds a retriever by the name of its method."""

from __future__ import annotations

from collections.abc import Callable

from agents.retrieval.lexical import bag_of_words, bm25
from agents.retrieval.retriever import Retriever
from store.errors import UnknownName

METHODS: dict[str, Callable[[], Retriever]] = {"bm25": bm25, "bow": bag_of_words}


def retriever_named(name: str) -> Retriever:
    """Return the retriever of a method.

    Raises:
        UnknownName: There is no such method.
    """
    create = METHODS.get(name)
    if create is None:
        raise UnknownName("Unknown method", f"There is no method {name}.", f"Methods: {', '.join(METHODS)}.")
    return create()
