"""A real Docker Engine for the tests: the one that DOCKER_HOST names, or one of their own in a folder."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SECONDS = 60
IMAGE = "workbench-sandbox-of-the-tests"


def answers(address: str) -> bool:
    """Tell whether an engine listens there."""
    import docker

    try:
        client = docker.DockerClient(base_url=address, timeout=10)
    except (docker.errors.DockerException, OSError):
        return False
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False
    finally:
        client.close()


@contextmanager
def engine(folder: Path) -> Iterator[str]:
    """Give the address of an engine; one that was started for it ends with it.

    Without one, the tests that need it fail where `tests/setup` was to install it: as root, or in CI.
    """
    named = os.environ.get("DOCKER_HOST", "")
    if named and answers(named):
        yield named
        return
    program = shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip("DOCKER_HOST names no engine that answers, and only root can start one")
    assert program is not None, "dockerd is not installed: run tests/setup"
    address = f"unix://{folder}/d.sock"
    command = [
        # A test process that is killed, as those of an interrupted run are, takes its engine along.
        *("setpriv", "--pdeathsig", "TERM"),
        program,
        "-H",
        address,
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
    ]
    command += ["-p", str(folder / "d.pid"), "--iptables=false", "--ip6tables=false", "--bridge=none"]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        until = time.monotonic() + SECONDS
        while not answers(address):
            said = (folder / "log").read_text(errors="replace")[-2000:]
            assert daemon.poll() is None, f"dockerd ended: {said}"
            assert time.monotonic() < until, f"dockerd did not answer in {SECONDS} s: {said}"
            time.sleep(0.1)
        yield address
    finally:
        daemon.terminate()
        try:
            daemon.wait(SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
