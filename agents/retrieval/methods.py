"""Finds a retriever by the name of its method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agents.retrieval.lexical import LexicalRetriever, bag_of_words, bm25
from agents.retrieval.retriever import Retriever
from store.errors import UnknownName, WorkbenchError

if TYPE_CHECKING:
    from agents.llm.settings import ModelSettings
    from agents.retrieval.encoder import Encoder, Role
    from agents.retrieval.settings import RetrievalSettings

METHODS: dict[str, Callable[[], LexicalRetriever]] = {"bm25": bm25, "bow": bag_of_words}

_WITHOUT_BOUND = ("bm25",)
"""Methods whose scores have no upper bound; those of all others are cosines."""


def open_retriever(name: str, settings: RetrievalSettings, api: ModelSettings | None) -> Retriever:
    """Return the retriever of a method: of words, of one model, or of several as an ensemble.

    Args:
        name: `bm25`, `bow`, a model as `agents.retrieval.encoders.open_encoders` names it, or several joined
            by `+`: the mean of their cosines counts, or of their z-scores where `bm25` is among them.
        settings: Where vectors are kept, and how texts are encoded.
        api: The settings of services.

    Raises:
        UnknownName: There is no such method or model.
        WorkbenchError: The extra for models is not installed.
    """
    if name in METHODS:
        return retriever_named(name)
    from agents.retrieval.mixed import EnsembleRetriever
    from agents.retrieval.vectors import VectorCache

    names = name.split("+")
    try:
        members = open_members(names, batch_size=settings.batch_size, api=api)
    except UnknownName as error:
        methods = f"Methods: {', '.join(METHODS)}, minilm, or another model."
        raise UnknownName(error.title, error.message, f"{methods} {error.hint}".strip()) from error
    called = "+".join(member.name for member in members)
    combine = "z" if set(names).intersection(_WITHOUT_BOUND) else "mean"
    return EnsembleRetriever(called, members, VectorCache(settings.folder), combine)


def open_members(
    names: Sequence[str], *, batch_size: int, api: ModelSettings | None, weights: bool = True
) -> list[Encoder | LexicalRetriever]:
    """Return the models and lexical methods of an ensemble.

    Args:
        names: Each a lexical method, or a model as `agents.retrieval.encoders.open_encoders` names it.
        batch_size: Texts that are encoded at a time.
        api: The settings of services.
        weights: Whether weights are downloaded: see `open_encoders`.

    Raises:
        UnknownName: There is no such method or model, or two of them have the same name.
        WorkbenchError: See `open_encoders`.
    """
    from agents.retrieval.encoders import open_encoders, refuse_twice

    models = [name for name in names if name not in METHODS]
    encoders = iter(open_encoders(models, batch_size=batch_size, api=api, weights=weights))
    members = [METHODS[name]() if name in METHODS else next(encoders) for name in names]
    refuse_twice([member.name for member in members])
    return members


def check_combination(names: Sequence[str], combine: str) -> None:
    """Refuse a mean in which one method decides alone.

    `combine` is "mean" or "z".

    Raises:
        WorkbenchError: It is the mean of cosines and of scores without an upper bound.
    """
    without = next((name for name in names if name in _WITHOUT_BOUND), None)
    if combine == "mean" and without and len(names) > 1:
        raise WorkbenchError(
            "Not combined",
            f"The scores of {without} have no upper bound: in a mean with others they decide alone.",
            f"Combine them by z-scores (--combine z), or give {without} alone.",
        )


def settings_of(retriever: Retriever) -> dict[str, Any]:
    """Return what the rankings of a retriever depend on besides its name.

    That is which models they are of, and how they are combined where words are compared, too.
    """
    from agents.retrieval.mixed import EnsembleRetriever

    if not isinstance(retriever, EnsembleRetriever):
        return {}
    roles: tuple[Role, ...] = ("query", "code")
    found: dict[str, Any] = {
        member.name: {role: dict(member.identity(role)) for role in roles}
        for member in retriever.members
        if not isinstance(member, LexicalRetriever)
    }
    if len(found) < len(retriever.members):
        found["combine"] = retriever.combine
    return found


def retriever_named(name: str) -> Retriever:
    """Return the retriever of a method.

    Raises:
        UnknownName: There is no such method.
    """
    create = METHODS.get(name)
    if create is None:
        raise UnknownName("Unknown method", f"There is no method {name}.", f"Methods: {', '.join(METHODS)}.")
    return create()
