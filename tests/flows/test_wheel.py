"""The wheel: what is in it, and that it works in an environment that holds nothing else.

The wheel is installed by pip with what it depends on, at the versions of constraints.txt. Only where pip
cannot get at packages (a machine without a connection) are the dependencies lent by the environment that runs
the tests; the program itself always comes from the wheel.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; install the extra dev")
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(REPOSITORY),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_what_the_program_needs_and_nothing_else(wheel, repository):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {
        *("workbench", "screens", "agents", "store")
    }
    for package in ("workbench", "screens", "agents", "store"):
        for path in (repository / package).rglob("*"):
            if path.suffix in (".py", ".tcss", ".sql", ".txt") or path.name in ("py.typed", "Dockerfile"):
                assert path.relative_to(repository).as_posix() in names
    for path in (repository / "sample_data").iterdir():
        if path.is_file():
            assert f"workbench/sample_data/{path.name}" in names
    assert not [name for name in names if "tests" in name.split("/") or "__pycache__" in name]
    assert {name.split("/")[-1] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel's `workbench` in an empty environment."""
    folder = tmp_path_factory.mktemp("empty") / "env"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    whole = subprocess.run(
        [*install, "-c", str(REPOSITORY / "constraints.txt"), str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    if whole.returncode != 0:
        subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
        place = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = subprocess.run(
            [str(python), "-c", place], capture_output=True, text=True, check=True
        ).stdout.strip()
        with open(os.path.join(site, "lent.pth"), "w", encoding="utf-8") as file:
            file.write(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "workbench"


def test_it_runs_the_demo_in_an_empty_environment(installed, in_folder):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "WORKBENCH_SANDBOX__WALL_SECONDS": "5",
    }
    command = [str(installed), "demo", "--headless", "--at", "demo.duckdb", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["labelled"] == facts["items"] >= 60
    assert facts["executed"] == facts["unclear"] > 0
    where = "import workbench, store.workspace.duckdb as w; print(workbench.__file__, w.__file__)"
    python = installed.with_name("python")
    found = subprocess.run(
        [str(python), "-c", where], capture_output=True, text=True, env=environment, check=True
    )
    assert all(path.startswith(str(installed.parent.parent)) for path in found.stdout.split())


def test_the_base_install_needs_no_torch(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode("utf-8")
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert any("torch" in line for line in needs)
    assert all("extra ==" in line for line in needs if "torch" in line or "sentence-transformers" in line)
