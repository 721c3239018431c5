"""The signs of results in texts, each with a colour: ✓ passed, ✗ failed, ! error, ~ passes on a stub."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from screens.widgets.text.overlay import STYLE_OF_SIGN, Span
from store.outcome_counts import passes_on_stub
from store.queries.executions import ExecutionView, OutcomeView

OUTCOME_GLYPHS = {"passed": "✓", "failed": "✗", "error": "!"}
"""The sign of each outcome of a test."""

ERROR = OUTCOME_GLYPHS["error"]
INDISCRIMINATE = "~"
"""The sign of a test that passes on a stub of the code, too."""

SIGN_OF_COUNT = {
    "passed": OUTCOME_GLYPHS["passed"],
    "failed": OUTCOME_GLYPHS["failed"],
    "errors": ERROR,
    "not_discriminating": INDISCRIMINATE,
}
"""The sign beside a count of `OutcomeCounts`."""

_TEST = re.compile(r"[ \t]*(?:async )?def test_(\w+)")
_WORST_LAST = ("✓", INDISCRIMINATE, ERROR, "✗")


def sign_of(test: OutcomeView) -> str:
    """Return the sign of what a test showed."""
    return INDISCRIMINATE if passes_on_stub(test) else OUTCOME_GLYPHS[test.outcome]


def signs_of_lines(program: str, execution: ExecutionView) -> dict[int, str]:
    """Return the signs of the tests that a program defines, by the number of the line, from 1.

    Of a test that ran several times it is the sign that tells most against the code.
    """
    signs: dict[str, str] = {}
    for test in sorted(execution.outcomes, key=lambda test: _WORST_LAST.index(sign_of(test))):
        signs[test.name.partition("[")[0].removeprefix("test_")] = sign_of(test)
    defined = ((number, _TEST.match(line)) for number, line in enumerate(program.split("\n"), start=1))
    return {number: signs[found[1]] for number, found in defined if found and found[1] in signs}


def sign_spans(lines: Sequence[str], signed: Collection[int]) -> Iterator[Span]:
    """Yield the stretches of a text that a sign begins, up to two blanks or to the next part of the line.

    Args:
        lines: All lines of the text.
        signed: Which of them have signs, from 0. In others a sign is somebody's own.
    """
    place = 0
    for number, line in enumerate(lines):
        at = place
        for part in line.split(" · ") if number in signed else ():
            text = part.lstrip()
            if text[1:2] == " " and text[0] in STYLE_OF_SIGN:
                start = at + len(part) - len(text)
                yield Span(start, start + len(text.split("  ")[0]), STYLE_OF_SIGN[text[0]])
            at += len(part) + 3
        place += len(line) + 1
