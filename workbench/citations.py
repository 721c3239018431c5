"""The lines that a command cites: `code:3-5` of an item, as the panes of its review show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from screens.items.reader import ItemReader
from screens.items.views import PaneText
from screens.widgets.text.document import Document
from store.errors import JudgmentRefused
from store.policy.scope import Scope
from store.record.evidence import PARTS, Citation, ItemPart, as_json, cite

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

_FORM = re.compile(r"(?P<part>[a-z]+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")


def evidence_of(workspace: Workspace, scope: Scope, item_id: int, wanted: Sequence[str]) -> str:
    """Return the evidence of a judgment that cites some lines of an item.

    Args:
        workspace: The open workspace.
        scope: Who cites, and what of the item is hidden from them.
        item_id: The item.
        wanted: Lines as `part:first-last` or `part:line`.

    Raises:
        JudgmentRefused: There are no such lines.
    """
    view = ItemReader(workspace, scope).read(item_id)
    shown = {part.part: part for part in (view.subject, *view.case) if part.part is not None and part.text}
    numbers: dict[ItemPart, set[int]] = {}
    for each in wanted:
        part, lines = _asked(each)
        if part not in shown:
            raise JudgmentRefused(
                "Nothing to cite",
                f"The item has no {part} to cite" + (" in a blind review." if view.blind else "."),
                f"There is: {', '.join(map(str, shown))}.",
            )
        there = len(Document(shown[part].text).lines)
        if lines.stop - 1 > there:
            raise JudgmentRefused(
                "No such line", f"{each}: the {part} has {there} lines.", "Lines are counted from 1."
            )
        numbers.setdefault(part, set()).update(lines)
    return as_json(one for part, found in numbers.items() for one in _cited(shown[part], found))


def _cited(pane: PaneText, numbers: set[int]) -> list[Citation]:
    assert pane.part is not None
    return cite(pane.part, pane.text, Document(pane.text).lines, numbers, pane.execution)


def _asked(text: str) -> tuple[ItemPart, range]:
    found = _FORM.fullmatch(text.strip())
    first = int(found["first"]) if found else 0
    last = int(found["last"] or first) if found else 0
    part = next((known for known in PARTS if found and known == found["part"]), None)
    if part is None or not 1 <= first <= last:
        raise JudgmentRefused(
            "No such lines", f"{text!r} names no lines.", "Give them as code:3-5, test:2 or log:7."
        )
    return part, range(first, last + 1)
