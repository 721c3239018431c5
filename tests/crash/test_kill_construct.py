"""kill -9 in the middle of `workbench construct`: the tasks are those of a run that nobody killed, none twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from construction_projects import write_project

pytestmark = pytest.mark.crash

# The process kills itself at the beginning of the next repository, or before it keeps that one is done.
KILLED = """
import os, signal, sys
from agents.construction.work import _Constructing

done, of_repository = [], _Constructing.of_repository

async def counted(self, place):
    if len(done) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(place)
    found = await of_repository(self, place)
    if len(done) == int(sys.argv[1]) and sys.argv[2] == "added":
        os.kill(os.getpid(), signal.SIGKILL)
    return found

_Constructing.of_repository = counted
import workbench.cli
workbench.cli.main(sys.argv[3:])
"""


@pytest.mark.parametrize(("after", "when"), [(1, "kept"), (2, "added"), (2, "kept")])
def test_the_tasks_are_the_same(after: int, when: str, tmp_path: Path, workbench: Any) -> None:
    projects = [write_project(tmp_path / f"shop{number}", "python") for number in range(3)]
    for number, project in enumerate(projects):
        main = project / "main.py"
        main.write_text(main.read_text().replace("coins = ", f"coins{number} = "))

    def exported(name: str) -> str:
        out = tmp_path / f"{name}.jsonl"
        assert workbench("export", tmp_path / f"{name}.duckdb", out, "--format", "crosscodeeval").code == 0
        return out.read_text()

    construct = [*map(str, projects), "--language", "python", "--seed", "3"]
    whole = workbench("construct", tmp_path / "whole.duckdb", *construct, "--json").json()
    killed = ["construct", str(tmp_path / "killed.duckdb"), *construct]
    run = subprocess.run([sys.executable, "-c", KILLED, str(after), when, *killed], check=False)
    assert run.returncode == -signal.SIGKILL
    told = workbench(*killed, "--json").json()
    assert told["tasks"] == whole["tasks"]
    assert exported("killed") == exported("whole")
    # It went on: one work, and what was kept of the first repository is not done again.
    with duckdb.connect(str(tmp_path / "killed.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT kind, state FROM work").fetchall() == [("construction", "done")]
