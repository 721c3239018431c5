"""Finds a retriever by the name of its method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agents.retrieval.lexical import bag_of_words, bm25
from agents.retrieval.retriever import Retriever
from store.errors import UnknownName

if TYPE_CHECKING:
    from agents.llm.settings import ModelSettings
    from agents.retrieval.encoder import Role
    from agents.retrieval.settings import RetrievalSettings

METHODS: dict[str, Callable[[], Retriever]] = {"bm25": bm25, "bow": bag_of_words}


def open_retriever(name: str, settings: RetrievalSettings, api: ModelSettings | None) -> Retriever:
    """Return the retriever of a method: of words, of one model, or of several as an ensemble.

    Args:
        name: `bm25`, `bow`, a model as `agents.retrieval.encoders.open_encoders` names it, or several joined
            by `+`, whose mean cosine counts.
        settings: Where vectors are kept, and how texts are encoded.
        api: The settings of services.

    Raises:
        UnknownName: There is no such method or model.
        WorkbenchError: The extra for models is not installed.
    """
    if name in METHODS:
        return retriever_named(name)
    from agents.retrieval.dense import DenseRetriever
    from agents.retrieval.encoders import open_encoders
    from agents.retrieval.vectors import VectorCache

    try:
        encoders = open_encoders(name.split("+"), batch_size=settings.batch_size, api=api)
    except UnknownName as error:
        methods = f"Methods: {', '.join(METHODS)}, minilm, or another model."
        raise UnknownName(error.title, error.message, f"{methods} {error.hint}".strip()) from error
    called = "+".join(encoder.name for encoder in encoders)
    return DenseRetriever(called, encoders, VectorCache(settings.folder))


def settings_of(retriever: Retriever) -> dict[str, Any]:
    """Return what the rankings of a retriever depend on besides its name: which models they are of."""
    from agents.retrieval.dense import DenseRetriever

    if not isinstance(retriever, DenseRetriever):
        return {}
    roles: tuple[Role, ...] = ("query", "code")
    return {
        encoder.name: {role: dict(encoder.identity(role)) for role in roles} for encoder in retriever.encoders
    }


def retriever_named(name: str) -> Retriever:
    """Return the retriever of a method.

    Raises:
        UnknownName: There is no such method.
    """
    create = METHODS.get(name)
    if create is None:
        raise UnknownName("Unknown method", f"There is no method {name}.", f"Methods: {', '.join(METHODS)}.")
    return create()
