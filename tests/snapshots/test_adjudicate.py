"""Pictures of the adjudication: a dispute, the end of the list, and nothing to rule on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from judging import Desk
from pictures import NARROW, Sizes, states
from review_bench import CASES, IS_BLANK, bench
from settling import settled
from textual.pilot import Pilot

from screens.adjudicate.screen import AdjudicateScreen
from store.record.evidence import as_json, cite
from store.record.raters import ensure_rater
from store.studies.adjudication import open_adjudication, rule
from store.workspace.duckdb import Workspace

SAID = {
    "ann": (1, "", ()),
    "bob": (0, "a lone newline counts as blank, and the query says empty", (4,)),
    "cat": (0, "", ()),
}
"""Three raters' labels of a pair, with their comments and the lines that they cite."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with bench(tmp_path, CASES[:4], run_name="pictured") as made:
        yield made


def judged(workspace: Workspace) -> None:
    """Have three raters judge the third and the fourth pair, about which they disagree."""
    for name, (value, comment, lines) in SAID.items():
        evidence = as_json(cite("code", IS_BLANK, IS_BLANK.splitlines(), lines, None))
        for item in (3, 4):
            Desk(workspace, name).judge(
                item, float(value), comment=comment, evidence=evidence, blind=True, elapsed_ms=8100
            )


@states(("working", "finished", "empty"), in_both=("working",), otherwise=NARROW)
def test_adjudication(
    snap_compare: Callable[..., bool], workspace: Workspace, state: str, sizes: Sizes
) -> None:
    if state != "empty":
        judged(workspace)
    if state == "finished":
        found, disputes = open_adjudication(workspace, ensure_rater(workspace, "eve"))
        for dispute in disputes:
            rule(workspace, found, dispute, 0.0)

    async def arrive(pilot: Pilot[Any]) -> None:
        def is_there() -> bool:
            screen = pilot.app.screen
            if not isinstance(screen, AdjudicateScreen) or screen.adjudication is None:
                return False
            return screen.guard.is_painted or screen.guard.is_bare

        await settled(pilot.app)
        assert is_there()
        if state == "finished":
            await pilot.press("n", "n")
            assert pilot.app.screen.guard.is_bare

    assert snap_compare(app_of(workspace, "eve", start_with="adjudicate"), sizes=sizes, run_before=arrive)
