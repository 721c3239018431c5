"""Pictures of comparisons: side by side, one above the other, with their differences, blind in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from comparisons_bench import comparisons
from pictures import states
from review_bench import press, review_app, settled
from textual.pilot import Pilot

from screens.judging.judgment_builder import SessionProgress
from store.workspace.duckdb import Workspace

STATES = {"both": (), "differences": ("equals_sign",), "both-bad": ("0", "p")}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    with comparisons(tmp_path, count=2) as made:
        yield made


@states(STATES, in_both={"both"})
def test_compare(
    snap_compare: Callable[..., bool], workspace: Workspace, state: str, size: tuple[int, int]
) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await press(pilot, *STATES[state])
        await settled(pilot)

    assert snap_compare(review_app(workspace, blind=True), terminal_size=size, run_before=steps)
