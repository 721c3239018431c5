"""The filters and orders of a queue: one table for the dialogs and the sentence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from agents.pipelines.registry import kinds_with_agents, verdict_paths
from store.kinds.spec import ranked_kinds, task_kinds
from store.queries.rows import WAITING_PATH, QueueSort, SortKey, label_words

TEXT_WANTED = "part of the item's id or texts"
"""The placeholder of the search line."""


_STATUSES = (
    ("open", "unjudged"),
    ("judged", "judged"),
    ("skipped", "skipped"),
    ("cannot_decide", "cannot decide"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to set a part of a filter.

    Attributes:
        value: The value for the filter; None lets everything through.
        word: Its name in the modal.
    """

    value: Any
    word: str


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a filter that is chosen among a few.

    Attributes:
        name: The part of `QueueFilter`.
        title: Its name in the modal.
        choices: The ways to set it; the first one lets everything through.
        agents: Whether it rests on the agents' labels, which a blind queue must not.
    """

    name: str
    title: str
    choices: tuple[Choice, ...]
    agents: bool = False


def fields(*, blind: bool, kind: str | None = None, here: Collection[str] = ()) -> list[Field]:
    """Return the parts of a filter that can be chosen.

    Args:
        blind: Leave out what rests on the agents' labels.
        kind: The kind that the filter names, whose words its labels have; None for all that there are.
        here: The kinds that there are; none where that is not known. What none of them has is left out.
    """
    kinds, labelled = task_kinds(), not blind and _any_of(here, kinds_with_agents())
    of_agents = (kind,) if kind else [one for one in kinds_with_agents() if not here or one in here]
    names = [(each.name, each.plural) for each in kinds.values()]
    paths = [(path, path) for path in verdict_paths(of_agents)]
    theirs = [(f"{value:g}", word) for value, word in label_words(of_agents, whole=True).items()]
    every = [
        _field("kind", "Kind", *names),
        _field("status", "Status", *_STATUSES),
        _field("label", "Your label", *label_words((kind,) if kind else here, whole=True).items()),
        _field("agent", "Agents' label", *theirs, ("none", "none"), agents=True),
        _field("agreement", "Agreement", ("agree", "agree"), ("disagree", "▲ disagree"), agents=True),
        _field("path", "Agents' path", *paths, (WAITING_PATH, "needs a sandbox"), agents=True),
        _field("flagged", "Flag", (True, "⚑ flagged"), (False, "not flagged")),
    ]
    if kind is not None and kind not in kinds_with_agents():
        # Of a kind that no agent labels there is nothing to choose by.
        every = [replace(field, choices=field.choices[:1]) if field.agents else field for field in every]
    return [
        field
        for field in every
        if (labelled or not field.agents) and (field.name != "kind" or len(kinds) > 1)
    ]


def _field(name: str, title: str, *choices: tuple[Any, str], agents: bool = False) -> Field:
    """Return a part of a filter; its first choice lets everything through."""
    known = tuple(Choice(value, word) for value, word in choices)
    return Field(name, title, (Choice(None, "any"), *known), agents)


def _any_of(here: Collection[str], kinds: Collection[str]) -> bool:
    """Return whether one of the kinds that there are is among some; where those are not known, one may be."""
    return not here or not frozenset(kinds).isdisjoint(here)


@dataclass(frozen=True, slots=True)
class Order:
    """An order of the queue, with the key that chooses it and how it reads.

    Attributes:
        letter: The key that chooses it.
        title: How it reads.
        agents: Whether it rests on the agents' labels.
        ranked: Whether it rests on what only items of ranked kinds have.
    """

    key: SortKey
    letter: str
    title: str
    agents: bool = False
    ranked: bool = False


ORDERS = (
    Order("position", "i", "order of import"),
    Order("title", "t", "title"),
    Order("label", "y", "your label"),
    Order("agent", "a", "agents' label", agents=True),
    Order("status", "s", "status"),
    Order("similarity", "m", "similarity", ranked=True),
    Order("rank", "k", "rank among the candidates", ranked=True),
)


def orders(*, blind: bool, here: Collection[str] = ()) -> list[Order]:
    """Return the orders that can be chosen.

    Args:
        blind: Leave out what rests on the agents' labels.
        here: The kinds that there are; none where that is not known. What none of them has is left out.
    """
    labelled = not blind and _any_of(here, kinds_with_agents())
    ranked = _any_of(here, ranked_kinds())
    return [order for order in ORDERS if (labelled or not order.agents) and (ranked or not order.ranked)]


def order_phrase(sort: QueueSort) -> str:
    """Return an order as a phrase to read."""
    title = next(order.title for order in ORDERS if order.key == sort.key)
    return f"by {title} {'↓' if sort.descending else '↑'}"
