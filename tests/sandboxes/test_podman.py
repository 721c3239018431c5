"""podman's engine, which speaks Docker's API: the same programs end for the same reasons, or it is refused."""

import asyncio
import tempfile

import pytest
from engine import IMAGE, podman
from hostile import PROGRAMS, assert_contained, containers

from agents.sandbox.check import CHECK_PROGRAM
from agents.sandbox.docker.containers import PYTHON_LABEL
from agents.sandbox.docker.engine import connect
from agents.sandbox.docker.local_image import write_image
from agents.sandbox.docker.sandbox import DockerSandbox
from agents.sandbox.errors import SandboxError
from agents.sandbox.interpreter import find_interpreter
from agents.sandbox.settings import SandboxSettings


@pytest.fixture(scope="module")
def archive(docker_settings):
    """The image that Docker has, as a file: packed once for every engine."""
    with tempfile.TemporaryFile() as file:
        python = find_interpreter().program
        write_image(file, python, f"{IMAGE}:latest", "amd64", {PYTHON_LABEL: str(python)})
        yield file


def with_image(address, archive):
    settings = SandboxSettings(docker_host=address, image=IMAGE)
    client = connect(settings)
    try:
        archive.seek(0)
        client.images.load(archive)
    finally:
        client.close()
    return settings


@pytest.fixture(scope="module")
def settings(archive):
    with podman() as address:
        yield with_image(address, archive)


@pytest.fixture(scope="module")
def sandbox(settings):
    return DockerSandbox(settings)


@pytest.mark.parametrize(
    "name", ["fork bomb", "endless loop that ignores signals", "a daemon child", "filling /tmp", "kill(-1)"]
)
def test_podman_contains_hostile_programs(sandbox, settings, name, tmp_path, monkeypatch):
    assert set(PROGRAMS) > {name}
    assert_contained(sandbox, name, tmp_path, monkeypatch)
    assert containers(settings) == []


async def test_podman_runs_programs_from_a_pool_and_passes_the_trial_of_its_limits(settings):
    sandbox = DockerSandbox(settings)
    check = await sandbox.check()
    await sandbox.open(2)
    try:
        reports = await asyncio.gather(*(sandbox.run(CHECK_PROGRAM) for _ in range(3)))
    finally:
        await sandbox.close()

    assert (check.works, check.hint) == (True, "")
    assert [report.exit_reason for report in reports] == ["ok"] * 3
    assert reports[0].image.startswith("sha256:")
    assert containers(settings) == []


def test_podman_without_rights_over_cgroups_is_refused(archive):
    with podman(rootless=True) as address:
        sandbox = DockerSandbox(with_image(address, archive))
        check = asyncio.run(sandbox.check())
        with pytest.raises(SandboxError, match="limits do not bite"):
            asyncio.run(sandbox.run(CHECK_PROGRAM))

    assert not check.works
    assert "64 processes where 8 are allowed" in check.detail
    assert "256 MiB of memory where 64 are allowed" in check.detail
    assert "bubblewrap" in check.hint
