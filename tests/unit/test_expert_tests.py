"""Tests that experts ask for: in which sandbox they run, what is recorded of them, and how they end early."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from review_bench import Case, Ran, bench, uid
from small_workspace import rows
from sqlalchemy import delete, insert, update

from agents.jobs.expert_tests import ExpertRun, ExpertTests
from agents.jobs.recorded_reports import step_reply
from agents.jobs.run_record import committed
from agents.sandbox.errors import SandboxError
from agents.sandbox.registry import find_sandbox
from agents.sandbox.repair import RepairAction
from agents.sandbox.settings import SandboxSettings
from agents.settings import ExpertRunSettings
from store.errors import UnknownName, WorkbenchError
from store.record.ids import now
from store.record.raters import ensure_rater
from store.tables.columns import table_of
from store.tables.runs import ExecutionRow, Step, StepRow, TestOutcomeRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path

GOOD = "def double(x):\n    return 2 * x\n"
DOUBLES = "from candidate import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
EDITED = DOUBLES.replace("4", "5")
NOWHERE = SandboxSettings(bwrap="no-such-bwrap", docker_host="tcp://127.0.0.1:1")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    case = Case("doubles", "double", code=GOOD, assessment="unclear", test=DOUBLES, ran=Ran(), label=1)
    with bench(tmp_path, [case]) as made:
        yield made


def run(
    workspace: Workspace, settings: ExpertRunSettings, test: str, sandbox: str = "", item: int = 1
) -> Any:
    """Run a test of dana's and wait for what comes of it."""
    with closing(ExpertTests(workspace, lambda: settings)) as runs:
        wanted = ExpertRun(item, ensure_rater(workspace, "dana"), test)
        return runs.start(wanted).result(60)


def test_a_sandbox_that_isolates_nothing_runs_what_agents_wrote_and_nothing_edited(
    workspace: Workspace,
) -> None:
    asked = ExpertRunSettings(sandbox="process", sandboxes=SandboxSettings(trust_checks=False))
    assert run(workspace, asked, DOUBLES).report.sandbox == "process"
    executed = run(workspace, asked, EDITED)
    assert (executed.report.sandbox, executed.report.failed) == ("bubblewrap", 1)
    without = ExpertRunSettings(sandbox="process", sandboxes=NOWHERE)
    with pytest.raises(SandboxError, match=r"Needs a sandbox.*edited test"):
        run(workspace, without, EDITED)
    with pytest.raises(SandboxError, match="Needs a sandbox: This program"):
        run(workspace, ExpertRunSettings(sandboxes=NOWHERE), DOUBLES)
    assert len(rows(workspace, ExecutionRow)) == 3


def test_a_run_is_recorded_as_the_experts_and_in_the_journal(workspace: Workspace) -> None:
    executed = run(workspace, ExpertRunSettings(), EDITED)
    agents, row = rows(workspace, ExecutionRow)
    assert agents["id"] == uid(110)
    rater = ensure_rater(workspace, "dana")
    assert (row["id"], row["rater_id"], row["step_id"], row["program"]) == (
        executed.id,
        rater.id,
        None,
        EDITED,
    )
    (outcome,) = rows(workspace, TestOutcomeRow, execution_id=executed.id)
    assert (outcome["name"], outcome["outcome"], outcome["flaky"]) == ("test_two", "failed", False)
    (line,) = map(json.loads, journal_path(workspace.path).read_text().splitlines())
    assert (line["type"], line["rater"], line["item"]) == ("execution", "dana", "doubles")
    assert (line["record"]["program"], line["outcomes"][0]["name"]) == (EDITED, "test_two")


def test_a_sandbox_that_breaks_is_an_error_and_no_record(workspace: Workspace, tmp_path: Path) -> None:
    # It passes its check, and breaks with the first program after that.
    broken, used = tmp_path / "bwrap", tmp_path / "used"
    broken.write_text(
        f'#!/bin/sh\nfor last; do :; done\ncase "$*" in *--version*) exec {shutil.which("bwrap")} "$@";; esac\n'
        f'if [ -e {used} ]; then exit 1; fi\ntouch {used}\nexec {shutil.which("bwrap")} "$@"\n'
    )
    broken.chmod(0o700)
    settings = ExpertRunSettings(sandbox="bubblewrap", sandboxes=SandboxSettings(bwrap=str(broken)))
    with pytest.raises(SandboxError, match="The sandbox broke: bubblewrap did not run the test"):
        run(workspace, settings, DOUBLES)
    assert len(rows(workspace, ExecutionRow)) == 1


def test_closing_ends_what_is_running_and_records_nothing(workspace: Workspace) -> None:
    endless = "def test_ever():\n    while True:\n        pass\n"
    settings = ExpertRunSettings(sandboxes=SandboxSettings(wall_seconds=600, cpu_seconds=600))
    runs = ExpertTests(workspace, lambda: settings)
    future = runs.start(ExpertRun(1, ensure_rater(workspace, "dana"), endless))
    runs.close()
    runs.close()
    assert future.cancelled()
    with pytest.raises(WorkbenchError, match="about to end"):
        runs.start(ExpertRun(1, ensure_rater(workspace, "dana"), endless))
    assert len(rows(workspace, ExecutionRow)) == 1


def test_an_item_that_is_not_there_is_said(workspace: Workspace) -> None:
    with pytest.raises(UnknownName):
        run(workspace, ExpertRunSettings(), DOUBLES, item=99)


def test_what_ran_in_a_container_is_run_again_in_one(workspace: Workspace, docker_settings: Any) -> None:
    workspace.native().execute("UPDATE execution SET sandbox = 'docker'")
    settings = ExpertRunSettings(sandboxes=docker_settings)
    with closing(ExpertTests(workspace, lambda: settings)) as runs:
        wanted = ExpertRun(1, ensure_rater(workspace, "dana"), EDITED, like=uid(110))
        executed = runs.start(wanted).result(120)
    row = rows(workspace, ExecutionRow)[-1]
    assert (row["id"], row["sandbox"], row["image"] != "") == (executed.id, "docker", True)
    assert (executed.report.failed, executed.report.outcomes[0].flaky) == (1, False)


def test_a_repaired_environment_that_was_removed_is_made_again(workspace: Workspace, tmp_path: Path) -> None:
    settings = ExpertRunSettings(
        sandbox="bubblewrap", sandboxes=SandboxSettings(snapshots=str(tmp_path / "s"))
    )
    first, second = (RepairAction("commands", (f"echo {n} > /opt/repaired/{n}",)) for n in "ab")
    names: list[str] = []

    async def repaired() -> None:
        box = find_sandbox("bubblewrap", settings.sandboxes)
        for number, action in enumerate((first, second)):
            after = names[-1] if names else ""
            report = await box.repair(action, after)
            step = Step(
                id=uid(900 + number),
                run_id=uid(1),
                item_id=1,
                role="repair",
                outcome="ok",
                request_hash=action.snapshot(after),
                reply=step_reply(report),
                created_at=now(),
            )
            await committed(workspace.lane.submit(lambda c, s=step: c.execute(row_of_step(s))))
            names.append(report.snapshot)
        await box.close()

    asyncio.run(repaired())
    changed = update(table_of(ExecutionRow)).values(sandbox="bubblewrap", snapshot=names[-1])
    workspace.lane.submit(lambda connection: connection.execute(changed)).result()
    shutil.rmtree(tmp_path / "s")
    both = "from candidate import double\n\ndef test_both():\n    open('/opt/repaired/a')\n    open('/opt/repaired/b')\n"
    with closing(ExpertTests(workspace, lambda: settings)) as runs:
        like = rows(workspace, ExecutionRow)[0]["id"]
        wanted = ExpertRun(1, ensure_rater(workspace, "dana"), both, like)
        executed = runs.start(wanted).result(60)

        assert (executed.report.exit_reason, executed.report.snapshot) == ("ok", names[-1])

        forgotten = delete(table_of(StepRow)).where(table_of(StepRow).c.id == uid(900))
        workspace.lane.submit(lambda connection: connection.execute(forgotten)).result()
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(SandboxError, match="repaired environment is gone"):
            runs.start(wanted).result(60)


def row_of_step(step: Step) -> Any:
    """The statement that records a step."""
    return insert(table_of(StepRow)).values(**step.model_dump())
