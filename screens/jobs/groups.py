"""The groups in which a run's items are listed: by how they ended, and by what models replied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from screens.items.steps import role_word
from store.counted import counted
from store.queries.run_failures import FailureCause, ItemGroup
from store.queries.run_outputs import RoleOutputs


@dataclass(frozen=True, slots=True)
class Listed:
    """A group as it is listed: what it is called, how far it is indented, how many items it has."""

    group: ItemGroup
    words: str
    items: int
    indent: int = 0


def groups_by_end(causes: Sequence[FailureCause], finished: int) -> list[Listed]:
    """Return the groups of a run's items: failures by cause and message, those that wait, those labelled."""
    failed = [cause for cause in causes if not cause.waits]
    groups = [Listed(ItemGroup(), "all that failed", sum(cause.items for cause in failed))]
    for cause in failed:
        groups.append(Listed(ItemGroup(cause=cause.cause), cause.words, cause.items, 1))
        if cause.different > 1:
            for message in cause.messages:
                group = ItemGroup(cause=cause.cause, message=message.text)
                groups.append(Listed(group, message.text, message.items, 2))
    for cause in causes:
        if cause.waits:
            groups.append(Listed(ItemGroup(cause=cause.cause), "need a sandbox", cause.items))
    groups.append(Listed(ItemGroup(finished=True), "labelled", finished))
    return groups


def groups_by_output(roles: Sequence[RoleOutputs]) -> list[Listed]:
    """Return a group for each role that replied, and below it one for each reply that several items got."""
    groups = []
    for each in roles:
        words = f"{role_word(each.role)}: {counted(each.different, 'different output')}"
        groups.append(Listed(ItemGroup(role=each.role), words, each.items))
        for output in each.named:
            group = ItemGroup(role=each.role, output=output.text)
            groups.append(Listed(group, in_words(output.text), output.items, 1))
    return groups


def in_words(output: str) -> str:
    """Return a reply without the signs of JSON, where it is JSON."""
    try:
        reply = json.loads(output)
    except ValueError:
        return output
    if not isinstance(reply, dict):
        return output
    return " · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in reply.items())
