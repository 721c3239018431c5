"""Programs whose environment lacks something, repaired in real sandboxes, from the real package index and offline."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from scopes import scope
from small_workspace import Told, executions, pairs_workspace, rows, script_file, through_test, verdicts

from agents.jobs.expert_tests import ExpertRun, ExpertTests
from agents.jobs.runner import run_job
from agents.sandbox.docker.containers import LABEL
from agents.sandbox.docker.engine import connect
from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import TestProgram
from agents.sandbox.registry import find_sandbox
from agents.sandbox.repair import RepairAction, SnapshotMissing
from agents.sandbox.settings import SandboxSettings
from agents.settings import ExpertRunSettings, JobSettings
from screens.items.pair import load
from store.record.raters import ensure_rater
from store.tables.runs import StepRow
from workbench.config import Config
from workbench.job_settings import sample_annotation

SAMPLE = Path(__file__).parents[2] / "sample_data"
TEST = (
    "from candidate import answer\n\n\ndef test_answer():\n    assert answer()\n\n\n"
    "def test_no_network():\n    import socket\n    try:\n        socket.create_connection(('1.1.1.1', 80), 2)\n"
    "    except OSError:\n        return\n    raise AssertionError('connected')\n"
)
DIRECT = "import jwt\n\n\ndef answer():\n    return jwt.__name__ == 'jwt'\n"
BY_COMMAND = (
    "from importlib.metadata import version\n\nVERSION = version('iniconfig')\n\n\n"
    "def answer():\n    return VERSION == '2.0.0'\n"
)
HOPELESS = "import no_such_package_anywhere\n\n\ndef answer():\n    return True\n"
FIX = {"explanation": "The metadata of iniconfig is missing.", "commands": ["pip install iniconfig==2.0.0"]}
IN_VAIN = {"explanation": "Perhaps it comes by itself.", "commands": ["true"]}
REPLIES = [
    *through_test("direct", 1, TEST),
    *through_test("command", 1, TEST),
    ("bug_fixer", "command", FIX),
    *through_test("hopeless", 0, TEST),
    ("bug_fixer", "hopeless", IN_VAIN),
]


@pytest.fixture(params=["bubblewrap", "docker"])
def job(request, tmp_path):
    """Settings of a job in one of the sandboxes."""
    settings = SandboxSettings(snapshots=str(tmp_path / "snapshots"))
    if request.param == "docker":
        found = request.getfixturevalue("docker_settings")
        # The engine of the tests has no bridge, so that only the machine's own network leads to the index.
        settings = found.model_copy(update={"repair_network": "host"})
    settings = settings.model_copy(update={"max_try_time": 1, "trust_checks": False})
    model = script_file(tmp_path, REPLIES)
    return JobSettings(model, agents="paper", sandbox=request.param, sandboxes=settings)


def left_behind(sandbox, settings):
    """Containers of ours, or folders of snapshots."""
    if sandbox == "bubblewrap":
        return [*Path(settings.snapshots).glob("*")]
    client = connect(settings)
    try:
        return client.api.containers(all=True, filters={"label": LABEL})
    finally:
        client.close()


async def test_a_repair_that_hangs_or_fills_its_room_is_stopped_and_leaves_nothing(job):
    settings = job.sandboxes.model_copy(update={"repair_seconds": 6.0, "repair_bytes": 2**21})
    sandbox = find_sandbox(job.sandbox, settings)
    try:
        hangs = await sandbox.repair(RepairAction("commands", ("echo begun", "trap '' TERM; sleep 60")))
        assert (hangs.outcome, hangs.snapshot) == ("timeout", "")
        assert "begun" in hangs.output
        fill = "python -c \"for n in '123': open('/opt/repaired/' + n, 'wb').write(bytes(1000000))\""
        fills = await sandbox.repair(RepairAction("commands", (fill,)))
        assert (fills.outcome, fills.snapshot) in (("full", ""), ("failed", ""))
        with pytest.raises(SnapshotMissing):
            await sandbox.run(TestProgram("", "", snapshot=hangs.action.snapshot("base")))
        assert left_behind(job.sandbox, settings) == []
    finally:
        await sandbox.close()


def told(step):
    return json.loads(step["reply"]) if step["reply"] else {}


def test_programs_are_repaired_by_installation_by_command_or_given_up(tmp_path, job):
    pairs = [
        (name, "query", code)
        for name, code in zip(("direct", "command", "hopeless"), (DIRECT, BY_COMMAND, HOPELESS), strict=True)
    ]
    with pairs_workspace(tmp_path, pairs) as workspace:
        report = run_job(workspace, job, Told())

        assert (report.done, report.failed, report.error) == (3, 0, None)
        assert verdicts(workspace) == {1: (1.0, "repaired"), 2: (1.0, "repaired"), 3: (0.0, "untested")}
        assert (report.pipeline.numbers["executed"], report.pipeline.numbers["executable"]) == (3, 2)
        ran = {
            number: [one for one in executions(workspace) if one["item_id"] == number] for number in (1, 2, 3)
        }
        steps = {number: rows(workspace, StepRow, item_id=number) for number in (1, 2, 3)}

        assert [step["role"] for step in steps[1]] == [
            "screener",
            "test_writer",
            "executor",
            "repair",
            "executor",
            "arbiter",
        ]
        repair = told(steps[1][3])
        assert (repair["repair"], repair["packages"], repair["outcome"]) == ("install", ["PyJWT"], "done")
        assert "Successfully installed" in repair["output"]
        before, after = ran[1]
        assert (before["snapshot"], before["packages"], before["executable"]) == ("", "", False)
        assert before["error"] == "ModuleNotFoundError: No module named 'jwt'"
        assert (after["snapshot"], after["exit_reason"]) == (repair["snapshot"], "ok")
        assert after["packages"].lower().startswith("pyjwt==")
        assert before["environment"] != after["environment"]

        assert [step["role"] for step in steps[2]] == [
            "screener",
            "test_writer",
            "executor",
            "bug_fixer",
            "repair",
            "executor",
            "arbiter",
        ]
        assert told(steps[2][4])["commands"] == ["pip install iniconfig==2.0.0"]
        assert [one["packages"] for one in ran[2]] == ["", "iniconfig==2.0.0"]

        assert [step["role"] for step in steps[3]][3:] == [
            "repair",
            "bug_fixer",
            "repair",
            "executor",
            "arbiter",
        ]
        failed, in_vain = told(steps[3][3]), told(steps[3][5])
        assert (failed["outcome"], failed["snapshot"], in_vain["outcome"]) == ("failed", "", "done")
        assert "no_such_package_anywhere" in steps[3][3]["error"]
        assert [one["executable"] for one in ran[3]] == [False, False]

        with workspace.reading() as connection:
            panes = {pane.id: pane.text for pane in load(connection, scope(1), 3).case}
        assert "pip install --only-binary :all: no_such_package_anywhere" in panes["steps"]
        assert "install no_such_package_anywhere: exit status 1: ERROR: No matching" in panes["verdict"]
        assert "true: done" in panes["verdict"]
        assert "$ true" in panes["steps"]

        # An expert's run starts from the same snapshot.
        settings = ExpertRunSettings(sandboxes=job.sandboxes)
        with closing(ExpertTests(workspace, lambda: settings)) as runs:
            edited = TEST + "\n\ndef test_more():\n    import jwt\n"
            expert = runs.start(ExpertRun(1, ensure_rater(workspace, "dana"), edited, after["id"])).result(60)
        assert (expert.report.exit_reason, expert.report.passed) == ("ok", 3)
        assert expert.report.snapshot == repair["snapshot"]
        assert expert.report.environment == after["environment"]

        again = run_job(workspace, job, Told())
        assert (again.done, len(executions(workspace))) == (0, 7)


def test_the_sample_is_repaired_without_a_network(tmp_path, job):
    wanted = ["days-between/3", "slug/2", "newest-file/2", "merge-dicts/5"]
    pairs = [json.loads(line) for line in (SAMPLE / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    chosen = [(pair["id"], pair["query"], pair["code"]) for pair in pairs if pair["id"] in wanted]
    sample = sample_annotation(Config(sandbox=job.sandboxes))
    with pairs_workspace(tmp_path, chosen) as workspace:
        report = run_job(workspace, replace(sample, sandbox=job.sandbox), Told())
        assert (report.done, report.counts.reasons, report.sandbox) == (4, {}, job.sandbox)
        paths = {number: path for number, (_, path) in verdicts(workspace).items()}
        assert paths == {1: "repaired", 2: "repaired", 3: "corrected", 4: "untested"}
        packages = [one["packages"] for one in executions(workspace) if one["snapshot"]]
        assert sorted(packages) == ["sample_dates==1.0", "sample_transliteration==1.0"]
        assert [step["role"] for step in rows(workspace, StepRow, item_id=2)][3:] == [
            *("repair", "bug_fixer", "repair", "executor", "arbiter")
        ]
        assert [step["role"] for step in rows(workspace, StepRow, item_id=4)][3:] == [
            *("bug_fixer", "test_correction", "arbiter")
        ]


async def test_a_repair_without_a_network_reads_the_wheels_and_cannot_write_to_them(tmp_path, job):
    folder = tmp_path / "wheels"
    shutil.copytree(SAMPLE / "wheels", folder)
    alone = {"wheels": str(folder), "repair_network": "none"}
    sandbox = find_sandbox(job.sandbox, job.sandboxes.model_copy(update=alone))
    try:
        assert "without a network, where pip installs from a folder of wheels" in sandbox.repairs
        look = "python -c 'import socket; print([name for _, name in socket.if_nameindex()])'"
        seen = await sandbox.repair(RepairAction("commands", (look, "touch /opt/wheels/x || echo refused")))
        assert "['lo']" in seen.output
        assert "refused" in seen.output
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            path.name for path in (SAMPLE / "wheels").iterdir()
        )
        # That nothing is found says nothing about the network, which no try again would bring.
        fetched = await sandbox.repair(
            RepairAction("commands", ("pip install --index-url http://1.1.1.1 six",))
        )
        assert (fetched.outcome, fetched.snapshot) == ("failed", "")
        made = await sandbox.repair(RepairAction("install", ("sample_dates",)))
        assert (made.outcome, made.error) == ("done", "")
    finally:
        await sandbox.close()
    # Other wheels, another snapshot; and a folder that is not there is an error of the settings.
    (folder / "other-1.0-py3-none-any.whl").write_bytes(b"")
    again = find_sandbox(job.sandbox, job.sandboxes.model_copy(update=alone))
    gone = find_sandbox(job.sandbox, job.sandboxes.model_copy(update={"wheels": str(tmp_path / "gone")}))
    try:
        assert (await again.repair(RepairAction("install", ("sample_dates",)))).snapshot != made.snapshot
        with pytest.raises(SandboxError, match="is no folder"):
            await gone.repair(RepairAction("install", ("sample_dates",)))
    finally:
        await again.close()
        await gone.close()
