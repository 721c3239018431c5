"""The models that can be chosen for a run: configured, of earlier runs, or named by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from textual.content import Content

from agents.llm.registry import IN_FILES, NOT_ASKED, providers
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.text.sanitize import one_line, shortened

if TYPE_CHECKING:
    from agents.settings import JobSettings

LISTED = 4
"""The most models that are listed at a time."""

_NAME_CELLS = 28


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that can be chosen.

    Attributes:
        name: Its name with its provider; of one that is typed the provider alone, with its colon.
        source: Where it is known from, in a few words.
    """

    name: str
    source: str


def known_models(configured: Sequence[str], asked: Sequence[str]) -> tuple[KnownModel, ...]:
    """Return the models that can be chosen, each once.

    Args:
        configured: The models of the plan and of the configuration.
        asked: The models that earlier runs asked, by the names under which runs keep them.
    """
    here = providers()
    found = {name: "configured" for name in configured if name}
    for name in asked:
        if (provider := name.partition(":")[0]) in here and provider not in (*IN_FILES, *NOT_ASKED):
            found.setdefault(name, "of an earlier run")
    for provider in here:
        if provider not in NOT_ASKED:
            found.setdefault(f"{provider}:", "type its file" if provider in IN_FILES else "type its name")
    return tuple(KnownModel(name, source) for name, source in found.items())


def next_model(models: Sequence[KnownModel], typed: str, places: int) -> str:
    """Return the model so many places after the one that is filled in; the first or last after another."""
    at = _place(models, typed)
    return models[(at + places) % len(models) if at is not None else min(places, 0)].name


def drawn_models(models: Sequence[KnownModel], typed: str) -> Content:
    """Return some of the models as lines, with a mark at the one that is filled in.

    Args:
        typed: What is filled in.
    """
    at = _place(models, typed)
    top = max(0, min((at or 0) - LISTED // 2, len(models) - LISTED))
    lines = []
    for place, model in enumerate(models[top : top + LISTED], top):
        mark = CURSOR if place == at else " "
        name = f"{shortened(one_line(model.name, 400), _NAME_CELLS):<{_NAME_CELLS}}"
        lines.append(Content.assemble((mark, "bold $text-accent"), name, (f" {model.source}", "$text-muted")))
    if more := len(models) - top - len(lines):
        lines[-1] = lines[-1] + Content.styled(f" · {more} more", "$text-muted")
    return Content("\n").join(lines)


def _place(models: Sequence[KnownModel], typed: str) -> int | None:
    return next((place for place, model in enumerate(models) if model.name == typed), None)


def model_of_run(configuration: Mapping[str, Any], settings: JobSettings) -> str:
    """Return the model that a run asked for the roles that are given none of their own.

    Args:
        configuration: What identifies the run.
        settings: Those of its agents, with the models of single roles.

    Returns:
        Its name; empty where no role shows it, or where the name tells nothing of the file that it is.
    """
    of_roles = configuration.get("roles", {})
    others = (role for role in settings.active_roles() if not replace(settings, model="").model_of(role))
    asked = next((of_roles.get(role, configuration).get("model", "") for role in others), "")
    return "" if asked.partition(":")[0] in IN_FILES else asked
