"""Twelve programs that mean harm: each contained, each with the reason why it ended, and nothing left of it."""

import asyncio
import os

import pytest
from forked_box import BOXES
from hostile import PROGRAMS, assert_contained, containers

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.settings import SandboxSettings


@pytest.fixture(params=["forks", "docker"])
def sandbox(request):
    if request.param == "docker":
        return request.getfixturevalue("docker_sandbox")
    box = BubblewrapSandbox(SandboxSettings(), None)
    check = asyncio.run(box.check())
    if not check.works and os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip(f"bubblewrap does not work here: {check.detail}")
    assert check.works, check
    return BOXES["forks"]()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_contained_and_leaves_nothing(sandbox, name, tmp_path, monkeypatch, request):
    assert_contained(sandbox, name, tmp_path, monkeypatch)

    if sandbox.name == "docker":
        assert containers(request.getfixturevalue("docker_settings")) == []
