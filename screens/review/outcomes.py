"""The tests of an item's run in a row: a sign for each, and how many came out in which way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import starmap

from textual.content import Content

from screens.items.signs import SIGN_OF_COUNT, sign_of
from screens.widgets.text.overlay import STYLE_OF_SIGN
from screens.widgets.text.paint import STYLES
from store.outcome_counts import OutcomeCounts
from store.queries.executions import OutcomeView

_BETWEEN = re.compile(" · |  +")

CELLS = 40
"""Signs that are shown; of more tests the rest is counted."""


def outcomes(tests: Sequence[OutcomeView], width: int, *, above: str = "") -> Content:
    """Return the results of a run: `✓✓✗~  3 of 4 passed · 1 failed · 1 does not discriminate`.

    Args:
        tests: The tests in the order in which they ran; without any, the results are empty.
        width: The cells that there are; signs make room for the words.
        above: The line above; what it says is not said again.
    """
    if not tests:
        return Content("")
    known = set(_BETWEEN.split(above))
    said = [(name, words) for name, words in OutcomeCounts.of(tests).words().items() if words not in known]
    words = Content("  ") + Content(" · ").join(starmap(_count, said)) if said else Content("")
    signs = "".join(map(sign_of, tests))
    most = min(CELLS, max(1, width - words.cell_length))
    if len(signs) > most:
        most = max(1, min(most, width - words.cell_length - len(f" +{len(signs):,}")))
    row = Content("").join(Content.styled(sign, _style(sign)) for sign in signs[:most])
    rest = f" +{len(signs) - most:,}" if len(signs) > most else ""
    return Content.assemble(row, rest, words)


def _count(name: str, said: str) -> Content:
    """Return a count, its number in the colour of its sign; that none passed is no good sign."""
    number, _, rest = said.partition(" ")
    style = _style(SIGN_OF_COUNT[name]) if name in SIGN_OF_COUNT and number != "0" else ""
    return Content.assemble((number, style), f" {rest}")


def _style(sign: str) -> str:
    return STYLES[STYLE_OF_SIGN[sign]]
