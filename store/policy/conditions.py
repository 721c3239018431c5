"""Reads the condition of an assignment."""

from __future__ import annotations

from store.policy.scope import Shows
from store.policy.words import BLIND, HIDDEN_MODELS, OWN_TEST, TESTS

HIDING = {Shows.AGENTS: (BLIND, OWN_TEST), Shows.MODELS: (BLIND, OWN_TEST, HIDDEN_MODELS)}
"""The words that hide something."""
SHOWING = {Shows.TESTS: (TESTS,)}
"""The words that show something which is hidden otherwise."""


def shown_under(condition: str, shows: Shows) -> bool:
    """Return whether a condition shows something of an item."""
    words = condition.split()
    if shows in SHOWING:
        return not set(SHOWING[shows]).isdisjoint(words)
    return set(HIDING[shows]).isdisjoint(words)


def asks_test(condition: str) -> bool:
    """Return whether a condition has the rater write a test program."""
    return OWN_TEST in condition.split()
