"""The line of the jobs at work, at the foot of every screen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from agents.jobs.events import JobProgressed, Spent
from screens.jobs.job_line import jobs_line


def job(state: str, title: str, done: int, total: int, said: str = "") -> Any:
    progress = JobProgressed(1, None, done, 0, total, 10.0, 60.0, "", Spent(), 0)
    return SimpleNamespace(state=state, title=title, progress=progress, said=said)


JOBS = [
    job("paused", "agents", 12, 199),
    job("running", "agents", 40, 199),
    job("running", "candidate search", 0, 3199),
    job("running", "word count", 1, 2),
]


@pytest.mark.parametrize("width", [78, 98, 118, 200])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_jobs_fit_on_one_line(width: int, number: int) -> None:
    text = jobs_line(JOBS[:number], "J", width)
    assert cell_len(text) <= width
    assert text.count("│") == number - 1 if number < 4 else "│ 1 more" in text


def test_several_say_what_they_are_and_how_far() -> None:
    # The last one has the room that the others leave.
    assert jobs_line(JOBS[:3], "J", 78).startswith(
        "‖ agents 6 % │ ▶ agents 20 % │ ▶ candidate search running"
    )
    assert jobs_line(JOBS[:3], "J", 60) == "‖ agents 6 % │ ▶ agents 20 % │ ▶ candidate search 0 %"
    assert jobs_line(JOBS[:1], "J", 78) == "‖ agents paused ▋░░░░░░░░░ 12 of 199 · 60/min · J shows more"
    assert jobs_line(JOBS[:2], "J", 78).startswith("‖ agents paused ")
