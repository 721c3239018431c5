"""The workspace of docs/retrieval.md, in which two methods have ranked the codes, and the way to their report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.main
from review_bench import screen_text
from settling import until
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.reports.screen import ReportsScreen
from workbench.cli.program import program


def ranked_workspace(folder: Path) -> Path:
    """Make the workspace in a folder; return its path."""
    path = folder / "s.duckdb"
    data = Path(__file__).resolve().parents[1] / "sample_data"
    run = typer.main.get_command(program)
    for arguments in (
        ("import", path, data / "pairs.jsonl", data / "labels.csv"),
        ("import", path, data / "corpus.jsonl"),
        ("evaluate", "retrieval", path, "--methods", "bm25,bow", "--rater", "sample-ana"),
    ):
        run.main([str(word) for word in arguments], standalone_mode=False)
    return path


async def report(app: WorkbenchApp, pilot: Pilot[Any], shows: str = "ndcg@10") -> None:
    """Open the retrieval report."""
    await pilot.press("r")
    await until(pilot, lambda: isinstance(app.screen, ReportsScreen) and app.screen.report is not None)
    screen = app.screen
    assert isinstance(screen, ReportsScreen)
    while screen.report is not None and screen.report.name != "retrieval":
        await pilot.press("down")
    await pilot.press("enter")
    await until(pilot, lambda: shows in screen_text(app), shows)
