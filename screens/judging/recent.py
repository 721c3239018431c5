"""The last judgments of the session as small signs, in which runs of equal labels are noticed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from screens.items.views import ItemView
from store.kinds.comparison import BOTH_BAD
from store.policy.scope import ADJUDICATE
from store.record.actions import Action
from store.tables.record import Judgment, Mark

OVERRIDES = "▲"
UNDECIDED, SKIPPED = "?", "»"
NONE_BAD = "∅"
"""The sign of "both bad"."""


def sign_of_action(item: ItemView, action: Action) -> str:
    """Return the sign of a judgment, "cannot decide" or skip; empty for what is none of these.

    A label has its value, after which `▲` says that it overrides the agents' label that was shown.

    Args:
        item: The item as it was on the screen.
        action: What was recorded of it.
    """
    signs = []
    for record in action.records:
        if isinstance(record, Mark):
            sign = {"cannot_decide": UNDECIDED, "skip": SKIPPED}.get(record.kind, "")
            signs += [sign] if sign and record.active and record.phase != ADJUDICATE else []
        elif record.value is not None and record.phase != ADJUDICATE:
            signs.append(_sign(item, record) + (OVERRIDES if record.origin == "override" else ""))
    return " ".join(signs)


def _sign(item: ItemView, label: Judgment) -> str:
    place = item.place_of(label.target)
    if place is None or label.value is None:
        return ""
    if label.reason == BOTH_BAD and item.has_sides:
        return NONE_BAD
    scale = item.questions[place].spec.scale
    known = next((each for each in scale.values if each.value == label.value), None)
    # Sides of a comparison have keys of their own; other values are what they are called.
    key = known.key if known is not None and item.has_sides else ""
    return key or (known.sign if known is not None else "") or f"{label.value:g}"


def latest_signs(signs: Mapping[UUID, str], taken_back: Collection[UUID], cells: int) -> str:
    """Return the latest signs that fit in some cells, the last at the right: "… 1 1 0▲ ? 1".

    Args:
        signs: The signs by their actions, in the order of these.
        taken_back: Actions that an undo took back.
    """
    found = [sign for action, words in signs.items() if action not in taken_back for sign in words.split()]
    if len(" ".join(found)) <= cells:
        return " ".join(found)
    while found and len(" ".join(found)) > cells - 2:
        del found[0]
    return f"… {' '.join(found)}" if found else ""
