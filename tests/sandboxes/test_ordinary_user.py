"""bubblewrap for a user that is not root, whom nothing but user namespaces gives any right."""

import json
import os

from ordinary_user import run_python

from agents.sandbox.repair import RepairAction

ISOLATION = ("tests/sandboxes/test_hostile_programs.py", "tests/unit/test_sandbox_isolation.py")
PROGRAM = """
import asyncio, json, os, sys
from dataclasses import asdict
from agents.sandbox.protocol import TestProgram
from agents.sandbox.registry import find_sandbox
from agents.sandbox.repair import RepairAction
from agents.sandbox.settings import SandboxSettings

TEST = "def test_repaired():\\n    import iniconfig\\n    assert open('/opt/repaired/note').read()\\n"

async def main():
    sandbox = find_sandbox("bubblewrap", SandboxSettings(snapshots=sys.argv[1]))
    installed = await sandbox.repair(RepairAction("install", ("iniconfig==2.0.0",)))
    words = ("id -u", "touch /usr/x && exit 1 || echo kept > /opt/repaired/note")
    further = await sandbox.repair(RepairAction("commands", words), installed.snapshot)
    report = await sandbox.run(TestProgram("", TEST, snapshot=further.snapshot))
    await sandbox.close()
    print(json.dumps([os.getuid(), asdict(installed), asdict(further), report.exit_reason, report.packages]))

asyncio.run(main())
"""


def test_an_ordinary_user_repairs_and_runs_what_was_repaired(tmp_path):
    home = tmp_path / "home"
    ran = run_python(["-c", PROGRAM, home / "snapshots"], home)

    assert ran.returncode == 0, ran.stderr
    uid, installed, further, reason, packages = json.loads(ran.stdout)
    assert uid != 0
    assert installed["outcome"] == further["outcome"] == "done", (installed, further)
    assert further["output"].startswith("$ id -u\n65534\n")
    assert "Read-only file system" in further["output"]
    assert (reason, packages) == ("ok", ["iniconfig==2.0.0"])
    base = installed["snapshot"]
    assert further["snapshot"] == RepairAction("commands", tuple(further["action"]["items"])).snapshot(base)


def test_an_ordinary_users_forks_are_as_isolated_as_roots(tmp_path):
    """The same tests, hostile programs among them: for this user the kernel counts by the user namespace."""
    chosen = [f"/mnt/repository/{name}" if os.getuid() == 0 else name for name in ISOLATION]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "-k", "forks and not ordinary"]
    ran = run_python(["-m", "pytest", *options, *chosen], tmp_path / "home")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
    assert "skipped" not in ran.stdout
