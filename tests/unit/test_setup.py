"""What `tests/setup --app`, of the README's first command, does where bubblewrap is missing."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def machine(tmp_path, repository):
    """A machine with the given programs and no other: `machine(id="echo 1000")`."""
    script = (repository / "tests" / "setup").read_text(encoding="utf-8").replace(":/usr/sbin:/sbin", "")

    def run(*options, **programs):
        folder = tmp_path / f"bin-{len(os.listdir(tmp_path))}"
        folder.mkdir()
        for name in ("env", "find", "grep"):
            (folder / name).symlink_to(shutil.which(name))
        for name, does in programs.items():
            program = folder / name.replace("_", "-")
            program.write_text(f"#!/bin/sh\n{does}\n")
            program.chmod(0o755)
        return subprocess.run(
            ["/bin/sh", "-c", script, "setup", *options],
            env={"PATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


ROOT = {"id": "echo 0"}
SAYS = f'echo "$@" >> {os.devnull}'


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        (ROOT, "there is no apt-get"),
        ({"id": "echo 1000", "apt_get": SAYS}, "that takes root or sudo"),
        (ROOT | {"apt_get": "exit 7"}, "apt-get failed"),
    ],
)
def test_without_bubblewrap_it_says_what_is_left_out_and_goes_on(machine, programs, why):
    done = machine("--app", **programs)
    assert done.returncode == 0
    assert f"bubblewrap is not installed: {why}. The demo works" in done.stderr
    assert machine(**programs).returncode == 1


def test_it_installs_what_the_app_uses_and_nothing_else(machine, tmp_path):
    log = tmp_path / "log"
    assert machine("--app", **ROOT, bwrap="", apt_get=f'echo "$@" >> {log}').stderr == ""
    assert not log.exists()
    done = machine("--app", id="echo 1000", sudo='exec "$@"', apt_get=f'echo "$@" >> {log}')
    assert (done.returncode, done.stderr) == (0, "Installing bubblewrap.\n")
    assert log.read_text().splitlines()[-1].endswith(" --no-install-recommends bubblewrap")
