"""`workbench sandbox snapshots`: what repairs left is listed and removed, and made again when it is needed."""

import asyncio

import pytest
from small_workspace import pairs_workspace
from sqlalchemy import insert

from agents.sandbox.protocol import TestProgram
from agents.sandbox.registry import find_sandbox
from agents.sandbox.repair import RepairAction, SnapshotMissing
from agents.sandbox.settings import SandboxSettings
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.runs import Execution, ExecutionRow

PROGRAM = "def test_repaired():\n    assert open('/opt/repaired/note').read() == 'kept\\n'\n"
USED = RepairAction("commands", ("true",))
UNUSED = RepairAction("commands", ("echo kept > /opt/repaired/note",))


@pytest.fixture(params=["bubblewrap", "docker"])
def place(request, tmp_path, monkeypatch):
    """A sandbox's name and its settings, which the command line is given too."""
    settings = SandboxSettings(snapshots=str(tmp_path / "snapshots"), docker_host="unix:///nowhere/d.sock")
    if request.param == "docker":
        found = request.getfixturevalue("docker_settings")
        settings = found.model_copy(update={"repair_network": "none", "snapshots": settings.snapshots})
    monkeypatch.setenv("WORKBENCH_SANDBOX__SNAPSHOTS", settings.snapshots)
    monkeypatch.setenv("WORKBENCH_SANDBOX__DOCKER_HOST", settings.docker_host)
    monkeypatch.setenv("WORKBENCH_SANDBOX__IMAGE", settings.image)
    return request.param, settings


@pytest.fixture
def run():
    """Run a coroutine, each in the same loop."""
    with asyncio.Runner() as runner:
        yield runner.run


def workspace_with_one_use(folder, sandbox, snapshot):
    with pairs_workspace(folder, [("a", "query", "x = 1\n")]) as workspace:
        execution = Execution(
            id=workspace.ids.next(),
            item_id=1,
            program="",
            program_digest="",
            sandbox=sandbox,
            environment="e",
            exit_reason="ok",
            snapshot=snapshot,
            seconds=0.1,
            created_at=now(),
        )
        row = insert(table_of(ExecutionRow)).values(execution.model_dump())
        workspace.lane.submit(lambda connection: connection.execute(row)).result()
        return str(workspace.path)


def test_snapshots_without_use_are_removed_and_made_again_when_needed(workbench, tmp_path, place, run):
    name, settings = place
    sandbox = find_sandbox(name, settings)
    used = run(sandbox.repair(USED)).snapshot
    unused = run(sandbox.repair(UNUSED)).snapshot
    study = workspace_with_one_use(tmp_path, name, used)

    def listed(*options):
        said = workbench("sandbox", "snapshots", *options, "--json")
        assert said.code == 0, said.err
        found = {one["name"]: one for one in said.json()["snapshots"] if one["sandbox"] == name}
        return {key: found[key] for key in (used, unused) if key in found}

    # Nothing can go by itself, and what can go does not before it is asked to.
    assert [one["can_go"] for one in listed().values()] == [False, False]
    assert [one["can_go"] for one in listed("--older-than", "1").values()] == [False, False]
    before = listed(study)
    assert [(one["used"], one["can_go"]) for one in before.values()] == [(1, False), (0, True)]
    assert 0 < before[unused]["bytes"] < 5_000_000
    assert not any(one["removed"] for one in before.values())
    assert unused[:12] in workbench("sandbox", "snapshots", study).out
    refused = workbench("sandbox", "snapshots", "--remove")
    assert (refused.code, len(listed())) == (2, 2)

    program = TestProgram("", PROGRAM, snapshot=unused)
    assert run(sandbox.run(program)).exit_reason == "ok"
    assert [one["removed"] for one in listed(study, "--remove").values()] == [False, True]
    assert listed().keys() == {used}

    with pytest.raises(SnapshotMissing):
        run(sandbox.run(program))
    again = run(sandbox.repair(UNUSED))
    assert (again.snapshot, again.exit_code) == (unused, 0)
    assert run(sandbox.run(program)).exit_reason == "ok"
    assert [one["removed"] for one in listed("--older-than", "0", "--remove").values()] == [True, True]
    assert listed() == {}
    run(sandbox.close())
