"""Finds the client for a model by its name: "openai:NAME", "anthropic:NAME", "scripted:FILE"."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from agents.llm.protocol import LanguageModel
from agents.llm.settings import ModelSettings
from store.errors import UnknownName, WorkbenchError

GROUP = "workbench.models"
"""Entry points of this group are functions (name, settings) -> LanguageModel; others may add their own."""


NOT_ASKED = ("completions", "transformers")
"""Providers of ours whose models continue a text, and answer no question."""

IN_FILES = ("scripted", "transformers")
"""Providers of ours whose models are files: what a run calls them is not how they are named to it."""


def open_model(spec: str, settings: ModelSettings) -> LanguageModel:
    """Make the client of a name; it connects to nothing until it is asked.

    Args:
        spec: The provider, a colon, and what the provider calls the model.
        settings: How services are reached.

    Returns:
        The model, to be used and closed in one asyncio loop.

    Raises:
        WorkbenchError: The name has no colon, or the provider cannot be loaded.
        UnknownName: Nobody provides such models.
        ModelError: The provider lacks something it needs, such as a key or a file.
    """
    provider, colon, model = (part.strip() for part in spec.partition(":"))
    known = ", ".join(f"{name}:NAME" for name in providers())
    if not (colon and provider and model):
        raise WorkbenchError(
            "Model name incomplete",
            f'"{spec}" does not say both who provides the model and which one it is.',
            f"Write the provider, a colon and the name. Known: {known}.",
        )
    found = _entries().get(provider)
    if found is None:
        raise UnknownName(
            "Unknown model provider", f'Nobody provides "{provider}" models.', f"Known: {known}."
        )
    try:
        create = found.load()
    except (ImportError, AttributeError) as error:
        raise WorkbenchError(
            "Model provider cannot be loaded",
            f'"{provider}" is registered as {found.value}, which failed: {error}.',
            "Install the package that provides it again.",
        ) from error
    model_client: LanguageModel = create(model, settings)
    return model_client


def providers() -> list[str]:
    """List the names that may precede the colon.

    Returns:
        Names in alphabetical order.
    """
    return sorted(_entries())


def _entries() -> dict[str, EntryPoint]:
    # The first distribution on the path wins, as it does for modules.
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found
