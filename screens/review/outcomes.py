"""The tests of an item's run in a row: a sign for each, and how many there are of each sign."""

from __future__ import annotations

from collections import Counter

from textual.content import Content

from screens.widgets.text.overlay import STYLE_OF_SIGN
from screens.widgets.text.paint import STYLES

WORDS = {"✓": "passed", "✗": "failed", "!": "error", "~": "passes on a stub"}
"""What each sign says of a test, in the order in which they are counted."""

CELLS = 40
"""Signs that are shown; of more tests the rest is counted."""


def outcomes(signs: str) -> Content:
    """Return the results of a run: `✓✓✗~  2 passed · 1 failed · 1 passes on a stub`; empty without tests.

    Args:
        signs: The sign of each test in the order in which they ran.
    """
    counts = Counter(signs)
    row = Content("").join(Content.styled(sign, _style(sign)) for sign in signs[:CELLS])
    rest = f" +{len(signs) - CELLS:,}" if len(signs) > CELLS else ""
    words = (
        Content.assemble((f"{counts[sign]:,}", _style(sign)), f" {word}")
        for sign, word in WORDS.items()
        if counts[sign]
    )
    return Content.assemble(row, rest, "  ", Content(" · ").join(words)) if signs else Content("")


def _style(sign: str) -> str:
    return STYLES[STYLE_OF_SIGN[sign]]
