"""Pictures of two methods compared query by query, of their rankings of a query, and of a code of the corpus."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from pictures import NARROW, WIDE, Sizes, at
from ranked_bench import ranked_workspace, report
from review_bench import screen_text
from settling import settled, until
from textual.pilot import Pilot

from store.workspace.duckdb import Workspace


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of docs/retrieval.md."""
    return ranked_workspace(tmp_path_factory.mktemp("ranked"))


STEPS = {
    "by-query": ("enter", "bm25 better on 12"),
    "rankings": ("enter", " relevant ─"),
    # The first code of the second list is in no pair with the query.
    "code": ("tab home enter", "def concat_all"),
}
"""Screens, with the keys that lead from the one before to each, and what each shows."""


@at(NARROW, WIDE)
@pytest.mark.parametrize("shown", STEPS)
def test_retrieval(
    snap_compare: Callable[..., bool], ranked: Path, tmp_path: Path, shown: str, sizes: Sizes
) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        app: Any = pilot.app
        await report(app, pilot)
        for screen, (keys, text) in STEPS.items():
            await pilot.press(*keys.split())
            await until(pilot, lambda text=text: text in screen_text(app), text)
            await settled(pilot.app)
            if screen == shown:
                return

    with Workspace.open(Path(shutil.copy(ranked, tmp_path / "s.duckdb"))) as workspace:
        assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)
