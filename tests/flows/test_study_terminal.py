"""A study in a real terminal: planned in the form, frozen, judged in three packets, and ruled on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judging import judged_workspace
from sqlalchemy import select
from tmux_terminal import TmuxTerminal

from store.queries.studies import find_study
from store.tables.columns import table_of
from store.tables.people import Assignment, Rater
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

RATERS = ("ana", "ben", "chi")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Open the app in a terminal: `opened(path, "--rater", "ana")`; all are closed at the end."""
    config = tmp_path / "config.toml"
    config.touch()
    terminals: list[TmuxTerminal] = []

    def start(path: Path, *options: str, rater: str = "lead") -> TmuxTerminal:
        env = {"WORKBENCH_CONFIG": str(config), "WORKBENCH_RATER": rater, "PATH": os.environ["PATH"]}
        terminals.append(TmuxTerminal([sys.executable, "-m", "workbench", str(path), *options], env=env))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def leave(terminal: TmuxTerminal) -> None:
    terminal.press("C-q")
    terminal.wait_for("ended with 0")
    terminal.close()


def judge_packet(terminal: TmuxTerminal, says: str, number: int) -> None:
    """Judge every item of a packet by one key each, each time once the item is on the screen."""
    terminal.wait_for("Sitting 1 of 1")
    terminal.press("Enter")
    terminal.wait_for(f"1 of {number} ")
    for place in range(2, number + 1):
        terminal.press_at_item(says, f"{place} of {number} ")
    terminal.press_at_item(says, "finished")
    leave(terminal)


def fill_in_the_form(terminal: TmuxTerminal) -> None:
    """Type a new study: its name, its raters, and an option that is folded away at first."""
    terminal.wait_for("needs raters")
    terminal.type("rq2")
    terminal.press_until("Tab", "Raters")
    terminal.type("ana ben chi")
    terminal.wait_for("'ana ben chi' has blanks and no comma")
    terminal.press("C-u")
    terminal.wait_for("needs raters")
    terminal.type(",".join(RATERS))
    terminal.wait_for("3 assignments for each rater in 1 sitting")
    terminal.press_until("Up", "Name")
    terminal.press_until("Up", "More:")
    terminal.press("Enter")
    terminal.wait_for("Idle minutes")
    for title in ("Coordinators", "Seed", "Questions"):
        terminal.press_until("Down", title)
    terminal.type("match")
    terminal.wait_for(lambda screen: "all: match" not in screen and "match" in screen)
    terminal.press("C-s")


def test_a_study_goes_from_the_form_to_a_ruling(tmp_path: Path, opened: Any, workbench: Any) -> None:
    with judged_workspace(tmp_path, 3) as workspace:
        path = workspace.path
    terminal = opened(path)
    terminal.wait_for("s studies")
    terminal.press("s")
    terminal.wait_for("No study yet")
    terminal.press("n")
    fill_in_the_form(terminal)
    terminal.wait_for(lambda screen: "rq2" in screen and "draft" in screen and "F freeze" in screen)
    terminal.press("F")
    terminal.wait_for(lambda screen: "reeze" in screen and "rq2" in screen)
    terminal.press("Enter")
    terminal.wait_for("open")
    leave(terminal)

    packets = {rater: tmp_path / f"{rater}.duckdb" for rater in RATERS}
    for rater, says in zip(RATERS, "110", strict=True):
        assert workbench("packet", "make", path, "rq2", rater, packets[rater]).code == 0
        judge_packet(opened(packets[rater], rater=""), says, 3)
    merged = workbench("packet", "merge", path, *packets.values(), "--json").json()
    assert [one["judgments"] for one in merged["packets"]] == [3, 3, 3]

    terminal = opened(path, "--start", "adjudicate")
    terminal.wait_for("R3 0")
    terminal.press_at_item("1", "2 of 3")
    leave(terminal)

    with Workspace.open(path) as workspace, workspace.reading() as connection:
        protocol = find_study(connection, "rq2").protocol
        assert (protocol.questions, protocol.coordinators) == (("pair.match",), ("lead",))
        judgment, assignment, rater = (table_of(model) for model in (JudgmentRow, Assignment, Rater))
        records = connection.execute(
            select(judgment.c.value, judgment.c.origin, judgment.c.phase, rater.c.name)
            .join(assignment, assignment.c.id == judgment.c.assignment_id)
            .join(rater, rater.c.id == judgment.c.rater_id)
            .order_by(judgment.c.id)
        ).all()
    given = [(record.name, record.value, record.phase) for record in records if record.origin != "ruling"]
    assert sorted(given) == sorted(
        (r, float(v), "label") for r, v in zip(RATERS, "110", strict=True) for _ in "123"
    )
    ruled = [(record.name, record.value, record.phase) for record in records if record.origin == "ruling"]
    assert ruled == [("lead", 1.0, "adjudicate")]
