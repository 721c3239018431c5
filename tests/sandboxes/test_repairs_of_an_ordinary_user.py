"""Repairs in bubblewrap by a user that is not root, whom nothing but user namespaces gives any right."""

import json
import os
import subprocess
import sys
from pathlib import Path

from agents.sandbox.repair import RepairAction

ROOT = Path(__file__).parents[2]
USER = 12345
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


def open_interpreter() -> str:
    """This version of Python where any user may run it: ours, or the system's."""
    ours = Path(sys.executable).resolve()
    if all(folder.stat().st_mode & 0o001 for folder in ours.parents):
        return str(ours)
    system = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    assert system.exists(), f"{ours} is closed to other users, and there is no {system}"
    return str(system)


def test_an_ordinary_user_repairs_and_runs_what_was_repaired(tmp_path):
    who = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # another user must get through
    home = tmp_path / "home"
    home.mkdir()
    if os.getuid() == 0:
        os.chown(home, USER, USER)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    ran = subprocess.run(
        [*(who if os.getuid() == 0 else []), open_interpreter(), "-c", PROGRAM, str(home / "snapshots")],
        env={
            **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))},
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT}:{packages}",
        },
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr
    uid, installed, further, reason, packages = json.loads(ran.stdout)
    assert uid != 0
    assert installed["outcome"] == further["outcome"] == "done", (installed, further)
    assert further["output"].startswith("$ id -u\n65534\n")
    assert "Read-only file system" in further["output"]
    assert (reason, packages) == ("ok", ["iniconfig==2.0.0"])
    base = installed["snapshot"]
    assert further["snapshot"] == RepairAction("commands", tuple(further["action"]["items"])).snapshot(base)
